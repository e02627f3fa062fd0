/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/parameter-gathers.h"

#include "scenarios/training/framework.h"
#include "scenarios/training/zero-partition.h"

#include <algorithm>

namespace training
{

uint64_t
GatheredElements(const TrainingOptions& o, const RankLayer& layer)
{
    return layer.parameters - PersistentElements(o, layer);
}

namespace
{

/// A range of a layer's tensors.
struct Some
{
    uint64_t elements = 0;
    uint32_t tensors = 0;
};

Some
SharedOut(const TrainingOptions& o, const RankLayer& layer)
{
    const uint64_t persist = o.sharding.parameters ? *o.persistElements : 0;
    const auto count = std::count_if(layer.tensors.begin(),
                                     layer.tensors.end(),
                                     [persist](uint64_t t) { return t > persist; });
    return {GatheredElements(o, layer), static_cast<uint32_t>(count)};
}

Some
TwiceInBackward(const TrainingOptions& o, const RankLayer& layer)
{
    Some some;
    if (!o.sharding.parameters || !GathersOf(o).againInBackward || !layer.recomputed)
    {
        return some;
    }
    uint64_t behind = 0;
    for (auto t = layer.tensors.rbegin(); t != layer.tensors.rend(); ++t)
    {
        if (*t > *o.persistElements && 2 * behind >= *o.reuseElements)
        {
            some.elements += *t;
            ++some.tensors;
        }
        behind += *t;
    }
    return some;
}

/// The first use of layer i in backward.
uint32_t
BackwardUse(uint32_t layers, uint32_t i)
{
    return layers + 2 * (layers - 1 - i);
}

} // namespace

uint64_t
GatheredTwiceInBackward(const TrainingOptions& o, const RankLayer& layer)
{
    return TwiceInBackward(o, layer).elements;
}

std::vector<Gather>
ParameterGathers(const TrainingOptions& o, const std::vector<RankLayer>& layers)
{
    const uint32_t count = static_cast<uint32_t>(layers.size());
    std::vector<uint32_t> backwardUse(count);
    for (uint32_t i = 0; i < count; ++i)
    {
        backwardUse[i] = BackwardUse(count, i);
    }
    for (uint32_t i = 0; i < count; ++i)
    {
        if (layers[i].tiedTo != kNotTied)
        {
            // The head's backward comes first and holds the matrix until the embedding's.
            auto& use = backwardUse[layers[i].tiedTo];
            use = std::min(use, BackwardUse(count, i));
        }
    }
    std::vector<Gather> gathers;
    // Elements used between forward of the layer below i and its use in backward: of i and those
    // above.
    std::vector<uint64_t> used(count + 1, 0);
    for (uint32_t i = count; i-- > 0;)
    {
        const bool again = layers[i].recomputed && GathersOf(o).againInBackward;
        used[i] = used[i + 1] + (again ? 3 : 2) * layers[i].parameters;
    }
    for (uint32_t i = 0; i < count; ++i)
    {
        const Some all = SharedOut(o, layers[i]);
        if (all.elements == 0)
        {
            continue; // nothing of it is shared out
        }
        gathers.push_back({i, i, all.elements, all.tensors});
        // Between a tied matrix's uses at the head lies nothing.
        const bool tied = backwardUse[i] != BackwardUse(count, i);
        const uint64_t between = tied ? 0 : used[i + 1];
        if (between >= *o.reuseElements)
        {
            gathers.push_back({i, backwardUse[i], all.elements, all.tensors});
        }
        const Some twice = TwiceInBackward(o, layers[i]);
        if (twice.elements > 0)
        {
            gathers.push_back({i, BackwardUse(count, i) + 1, twice.elements, twice.tensors, true});
        }
    }
    std::stable_sort(gathers.begin(), gathers.end(), [](const Gather& a, const Gather& b) {
        return a.use < b.use;
    });
    return gathers;
}

uint32_t
EarliestBeside(const TrainingOptions& o, const std::vector<Gather>& gathers, std::size_t g)
{
    const uint32_t use = gathers[g].use;
    if (!*o.overlap || use == 0)
    {
        return use;
    }
    uint32_t beside = use - 1;
    if (gathers[g].again)
    {
        return beside;
    }
    uint64_t between = 0;
    std::size_t k = g;
    while (beside > 0)
    {
        // Going back by one puts the gathers needed by `beside` in between.
        while (k > 0 && gathers[k - 1].use >= beside)
        {
            --k;
            between += gathers[k].elements * DtypeBytes(o.dtype);
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
    const auto bytesOf = [&](uint64_t elements) {
        return static_cast<int64_t>(RoundUp(elements, ranks) * DtypeBytes(o.dtype));
    };
    std::vector<int64_t> change(3 * count + 1, 0);
    // By layer: its next gather, seen from behind.
    std::vector<const Gather*> next(count, nullptr);
    for (std::size_t g = gathers.size(); g-- > 0;)
    {
        const uint32_t i = gathers[g].layer;
        const uint32_t backward = BackwardUse(count, i);
        const int64_t bytes = bytesOf(gathers[g].elements);
        // Parameters that a later gather brings again are released before, the rest stay to the
        // end.
        int64_t stays = bytes;
        if (next[i])
        {
            uint32_t lastUse = i;
            for (uint32_t j = 0; j < count; ++j)
            {
                lastUse = layers[j].tiedTo == i ? j : lastUse;
            }
            lastUse = next[i]->use == backward + 1 ? backward : lastUse;
            const int64_t released = bytesOf(next[i]->elements);
            change[lastUse + 1] -= released;
            stays -= released;
        }
        next[i] = &gathers[g];
        change[EarliestBeside(o, gathers, g)] += bytes;
        change[backward + 2] -= stays;
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
