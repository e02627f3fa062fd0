/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/checkpoint-parts.h"

#include "scenarios/training/rank-work.h"
#include "scenarios/training/steps/layout.h"
#include "scenarios/training/zero-partition.h"

#include <utility>

namespace training
{

namespace
{

/// The states of one rank of a stage.
struct StateBytes
{
    uint64_t weights = 0;   ///< 0: stage 3 has them in the share
    uint64_t optimizer = 0; ///< whole with stage 0, else the rank's share
};

StateBytes
BytesOf(const TrainingOptions& o, const std::vector<RankLayer>& held, uint32_t sharers)
{
    const uint64_t whole = PaddedParameters(o, held, sharers);
    const uint64_t mine = o.sharding.optimizer ? RoundUp(whole, sharers) / sharers : whole;
    const bool hasCopy = DtypeBytes(o.dtype) < 4 && o.masterWeights;
    StateBytes bytes;
    bytes.optimizer = OptimizerStateBytes(o.optimizer, o.dtype, o.masterWeights) * mine;
    if (!o.sharding.parameters)
    {
        bytes.weights = DtypeBytes(o.dtype) * whole;
    }
    else if (!hasCopy)
    {
        bytes.optimizer += DtypeBytes(o.dtype) * mine;
    }
    return bytes;
}

bool
IsAbsent(const std::vector<bool>& absent, coll::Rank rank)
{
    return !absent.empty() && absent[rank];
}

} // namespace

CheckpointParts::CheckpointParts(const TrainingOptions& given)
    : m_ranks(given.ranks)
{
    const TrainingOptions o = ResolvedOptions(given);
    const std::vector<RankLayer> all = LayersOfModel(o);
    std::vector<StateBytes> ofStage;
    std::vector<StateBytes> expertsOfStage;
    for (uint32_t stage = 0; stage < o.pipeline; ++stage)
    {
        std::vector<uint32_t> chunkBegin;
        const std::vector<RankLayer> layers = LayersOfStage(o, all, stage, chunkBegin);
        ofStage.push_back(
            BytesOf(o, layers, o.replicas.empty() ? o.Sharers() : o.ReplicasOf(stage)));
        expertsOfStage.push_back(BytesOf(o, ExpertsOf(layers), o.ExpertSharers()));
    }

    // Those that hold the same, and those that hold the same share of it.
    Layout whole = o.GetLayout();
    whole.shard = whole.local = 0;
    whole.secondary = 1;
    Layout shares = o.GetLayout();
    shares.local = 0;
    const auto add = [this](const Layout& layout,
                            GroupOf kind,
                            const std::vector<StateBytes>& bytes,
                            uint64_t StateBytes::*what) {
        for (const auto& holders : GroupsOf(layout, kind))
        {
            Add(bytes[PlaceOf(layout, holders.front()).pipeline].*what, holders);
        }
    };
    add(whole, GroupOf::kGradient, ofStage, &StateBytes::weights);
    add(whole, GroupOf::kExpertGradient, expertsOfStage, &StateBytes::weights);
    if (!o.sharding.optimizer)
    {
        add(whole, GroupOf::kExpertGradient, ofStage, &StateBytes::optimizer);
        add(whole, GroupOf::kExpertGradient, expertsOfStage, &StateBytes::optimizer);
    }
    else
    {
        add(shares, GroupOf::kCopies, ofStage, &StateBytes::optimizer);
        add(shares, GroupOf::kExpertCopies, expertsOfStage, &StateBytes::optimizer);
    }
}

void
CheckpointParts::Add(uint64_t bytes, const std::vector<coll::Rank>& holders)
{
    if (bytes > 0)
    {
        m_parts.push_back({bytes, holders});
    }
}

std::vector<uint64_t>
CheckpointParts::WrittenBy(const std::vector<bool>& absent) const
{
    std::vector<uint64_t> bytes(m_ranks, 0);
    for (const Part& part : m_parts)
    {
        for (const coll::Rank rank : part.holders)
        {
            if (!IsAbsent(absent, rank))
            {
                bytes[rank] += part.bytes;
                break;
            }
        }
    }
    return bytes;
}

std::vector<uint64_t>
CheckpointParts::ReadBy(uint32_t gpus, const std::vector<bool>& absent) const
{
    std::vector<uint64_t> bytes(m_ranks, 0);
    if (m_parts.empty()) // no rank writes checkpoints, and `gpus` may be 0
    {
        return bytes;
    }
    std::vector<std::size_t> hasIt(m_ranks / gpus + 1, 0); // by server: the last part, from 1
    for (std::size_t i = 0; i < m_parts.size(); ++i)
    {
        for (const coll::Rank rank : m_parts[i].holders)
        {
            if (!IsAbsent(absent, rank) && std::exchange(hasIt[rank / gpus], i + 1) != i + 1)
            {
                bytes[rank] += m_parts[i].bytes;
            }
        }
    }
    return bytes;
}

} // namespace training
