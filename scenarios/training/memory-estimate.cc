/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/memory-estimate.h"

#include "scenarios/training/parameter-gathers.h"
#include "scenarios/training/rank-work.h"
#include "scenarios/training/zero-partition.h"

#include <algorithm>

namespace training
{

double
ModelStateBytes(double parameters, uint32_t ranks, uint32_t zero, Dtype dtype)
{
    const double element = DtypeBytes(dtype);
    // fp32 master copy, momentum, variance; fp32 training needs no second copy.
    const double optimizer = element == 2 ? 12 : 8;
    const double n = ranks;
    return parameters * (element / (zero >= 3 ? n : 1) + element / (zero >= 2 ? n : 1) +
                         optimizer / (zero >= 1 ? n : 1));
}

MemoryEstimate
EstimateMemory(const TrainingOptions& given)
{
    const TrainingOptions o = ResolvedOptions(given);
    const uint64_t element = DtypeBytes(o.dtype);
    const uint64_t whole = PaddedParameters(o);
    const uint64_t part = RoundUp(whole, o.ranks) / o.ranks;
    MemoryEstimate m;
    m.parameters = element * (o.zero >= 3 ? part : whole);
    m.gradients = element * (o.zero >= 2 ? part : whole);
    m.optimizer = (element == 2 ? 12 : 8) * (o.zero >= 1 ? part : whole);
    const uint32_t sequence = o.model.hasSequence ? o.sequence : 1;
    double kept = 0;
    double largest = 0;
    for (std::size_t i = 0; i < o.model.layers.size(); ++i)
    {
        const auto& layer = o.model.layers[i];
        const Work work =
            o.fusedAttention ? layer.activationBytes.WithoutPairs() : layer.activationBytes;
        const double full = work.At(o.microBatch, sequence);
        const double checkpoint = layer.checkpointBytes.At(o.microBatch, sequence);
        if (IsRecomputed(o, o.model.layers, i) && checkpoint < full)
        {
            kept += checkpoint;
            largest = std::max(largest, full); // of the layer that is being recomputed
        }
        else
        {
            kept += full;
        }
    }
    // Of absurd sizes more than 64 bits hold.
    m.activations =
        static_cast<uint64_t>(std::min((kept + largest) * static_cast<double>(element) / 2, 1e18));
    if (o.zero >= 1 && o.ranks > 1)
    {
        // One being filled, one being reduced.
        m.buffers = 2 * std::min(*o.bucketBytes, whole * element);
    }
    if (o.zero == 3 && o.ranks > 1)
    {
        m.buffers += MostGatheredBytes(o, o.model.layers);
    }
    return m;
}

} // namespace training
