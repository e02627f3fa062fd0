/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/parameter-gathers.h"

#include "scenarios/training/zero-partition.h"

#include <algorithm>

namespace training
{

uint64_t
GatheredElements(const TrainingOptions& o, const RankLayer& layer)
{
    return layer.parameters - PersistentElements(o, layer);
}

std::vector<Gather>
ParameterGathers(const TrainingOptions& o, const std::vector<RankLayer>& layers)
{
    const uint32_t count = static_cast<uint32_t>(layers.size());
    std::vector<uint32_t> backwardUse(count);
    for (uint32_t i = 0; i < count; ++i)
    {
        backwardUse[i] = 2 * count - 1 - i;
    }
    for (uint32_t i = 0; i < count; ++i)
    {
        if (layers[i].tiedTo != kNotTied)
        {
            // The head's backward comes first and holds the matrix until the embedding's.
            auto& use = backwardUse[layers[i].tiedTo];
            use = std::min(use, 2 * count - 1 - i);
        }
    }
    std::vector<Gather> gathers;
    std::vector<uint64_t> above(count + 1, 0); // elements of the layers above i
    for (uint32_t i = count; i-- > 0;)
    {
        above[i] = above[i + 1] + layers[i].parameters;
    }
    for (uint32_t i = 0; i < count; ++i)
    {
        if (GatheredElements(o, layers[i]) == 0)
        {
            continue; // nothing of it is shared out
        }
        gathers.push_back({i, i});
        // Between a tied matrix's uses at the head lies nothing.
        const bool tied = backwardUse[i] != 2 * count - 1 - i;
        const uint64_t between = tied ? 0 : 2 * above[i + 1];
        if (between >= *o.reuseElements)
        {
            gathers.push_back({i, backwardUse[i]});
        }
    }
    std::stable_sort(gathers.begin(), gathers.end(), [](const Gather& a, const Gather& b) {
        return a.use < b.use;
    });
    return gathers;
}

uint32_t
EarliestBeside(const TrainingOptions& o,
               const std::vector<RankLayer>& layers,
               const std::vector<Gather>& gathers,
               std::size_t g)
{
    const uint32_t use = gathers[g].use;
    if (!*o.overlap || use == 0)
    {
        return use;
    }
    uint32_t beside = use - 1;
    uint64_t between = 0;
    std::size_t k = g;
    while (beside > 0)
    {
        // Going back by one puts the gathers needed by `beside` in between.
        while (k > 0 && gathers[k - 1].use >= beside)
        {
            --k;
            between += GatheredElements(o, layers[gathers[k].layer]) * DtypeBytes(o.dtype);
        }
        if (between >= *o.prefetchBytes)
        {
            break;
        }
        --beside;
    }
    return beside;
}

uint64_t
MostGatheredBytes(const TrainingOptions& o, const std::vector<RankLayer>& layers, uint32_t ranks)
{
    const auto gathers = ParameterGathers(o, layers);
    const uint32_t count = static_cast<uint32_t>(layers.size());
    std::vector<int64_t> change(2 * count + 1, 0);
    // By layer: the use after which its newest gather is released.
    std::vector<uint32_t> freed(count, UINT32_MAX);
    for (std::size_t g = gathers.size(); g-- > 0;)
    {
        const uint32_t i = gathers[g].layer;
        // A later gather exists, so this one is for forward.
        const bool again = freed[i] != UINT32_MAX;
        uint32_t lastUse = again ? i : 2 * count - 1 - i;
        for (uint32_t j = 0; again && j < count; ++j)
        {
            lastUse = layers[j].tiedTo == i ? j : lastUse;
        }
        freed[i] = lastUse;
        const auto bytes = static_cast<int64_t>(RoundUp(GatheredElements(o, layers[i]), ranks) *
                                                DtypeBytes(o.dtype));
        change[EarliestBeside(o, layers, gathers, g)] += bytes;
        change[lastUse + 1] -= bytes;
    }
    int64_t now = 0;
    int64_t most = 0;
    for (const int64_t c : change)
    {
        now += c;
        most = std::max(most, now);
    }
    return static_cast<uint64_t>(most);
}

} // namespace training
