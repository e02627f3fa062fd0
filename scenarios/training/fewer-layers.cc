/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/fewer-layers.h"

#include <algorithm>

namespace training
{

namespace
{

bool
AreAlike(const LayerSpec& a, const LayerSpec& b)
{
    const Work x = a.Flops();
    const Work y = b.Flops();
    return a.Parameters() == b.Parameters() && x.sample == y.sample && x.token == y.token &&
           x.pair == y.pair && x.local == y.local && a.parts.size() == b.parts.size();
}

} // namespace

uint32_t
BlocksOf(const ModelSpec& model)
{
    return static_cast<uint32_t>(
        std::count_if(model.layers.begin(), model.layers.end(), [](const LayerSpec& layer) {
            return layer.repeated;
        }));
}

bool
IsBlock(const ModelSpec& model, const LayerSpec& layer)
{
    return layer.repeated ||
           (model.transformer && layer.parts.size() > 1 && layer.parts.front().name == "attention");
}

uint32_t
StageBlocksOf(const ModelSpec& model)
{
    return static_cast<uint32_t>(
        std::count_if(model.layers.begin(), model.layers.end(), [&](const LayerSpec& layer) {
            return IsBlock(model, layer);
        }));
}

std::vector<uint32_t>
SizesToSimulate(const TrainingOptions& o)
{
    const uint32_t all = BlocksOf(o.model);
    if (o.layers == 0 || o.layers >= all)
    {
        return {all};
    }
    // Every piece of the pipeline keeps as many blocks as the others.
    const auto unit = static_cast<uint32_t>(o.Pieces());
    const uint32_t steps = o.layers / unit; // blocks of a piece
    std::vector<uint32_t> sizes{o.layers};
    for (const uint32_t thirds : {2u, 1u})
    {
        const uint32_t size = std::max((steps * thirds + 1) / 3, 1u) * unit;
        if (size < sizes.back())
        {
            sizes.push_back(size);
        }
    }
    return sizes;
}

std::optional<std::string>
WhyNotFewer(const TrainingOptions& o)
{
    const uint32_t all = BlocksOf(o.model);
    if (o.layers == 0 || o.layers == all)
    {
        return std::nullopt;
    }
    const auto number = [](uint64_t n) { return std::to_string(n); };
    if (o.layers > all)
    {
        return o.model.name +
               (all == 0 ? " has no blocks that are alike" : " has " + number(all) + " blocks");
    }
    const uint64_t unit = o.Pieces();
    if (all % unit != 0)
    {
        return "a pipeline of " + number(unit) + " pieces does not divide the " + number(all) +
               " blocks of " + o.model.name + " evenly";
    }
    if (o.layers % unit != 0 || o.layers < 2 * unit)
    {
        return unit == 1 ? "allowed: from 2 on, as one number of blocks tells no line"
                         : "allowed: multiples of " + number(unit) + " from " + number(2 * unit) +
                               " on, so that all pieces of the pipeline have as many";
    }
    const LayerSpec* first = nullptr;
    for (const LayerSpec& layer : o.model.layers)
    {
        if (layer.repeated && first && !AreAlike(layer, *first))
        {
            return "the blocks of " + o.model.name + " are not alike (\"" + layer.name + "\")";
        }
        first = layer.repeated && !first ? &layer : first;
    }
    return std::nullopt;
}

TrainingOptions
WithBlocks(TrainingOptions o, uint32_t blocks)
{
    const uint32_t all = BlocksOf(o.model);
    if (blocks == all)
    {
        return o;
    }
    std::vector<LayerSpec> kept;
    std::vector<uint32_t> index(o.model.layers.size(), kNotTied); // where they went
    uint32_t count = 0;
    o.model.parameters = 0;
    for (std::size_t i = 0; i < o.model.layers.size(); ++i)
    {
        LayerSpec& layer = o.model.layers[i];
        if (layer.repeated && count++ >= blocks)
        {
            continue;
        }
        index[i] = static_cast<uint32_t>(kept.size());
        o.model.parameters += layer.Parameters();
        layer.tiedTo = layer.tiedTo == kNotTied ? kNotTied : index[layer.tiedTo];
        kept.push_back(std::move(layer));
    }
    o.model.layers = std::move(kept);
    return o;
}

double
Extrapolated(const std::vector<uint32_t>& sizes, const std::vector<double>& values, uint32_t blocks)
{
    if (sizes.size() < 2)
    {
        return values[0];
    }
    const double slope = (values[0] - values[1]) / (static_cast<double>(sizes[0]) - sizes[1]);
    return values[0] + slope * (static_cast<double>(blocks) - sizes[0]);
}

std::optional<double>
ExtrapolationError(const std::vector<uint32_t>& sizes, const std::vector<double>& values)
{
    if (sizes.size() < 3 || values[0] == 0)
    {
        return std::nullopt;
    }
    const double predicted = Extrapolated({sizes[1], sizes[2]}, {values[1], values[2]}, sizes[0]);
    return predicted / values[0] - 1;
}

std::optional<double>
WholeError(const std::vector<uint32_t>& sizes, const std::vector<double>& values, uint32_t blocks)
{
    if (sizes.size() < 3)
    {
        return std::nullopt;
    }
    const double a = sizes[0];
    const double b = sizes[1];
    const double c = sizes[2];
    const double bend =
        ((values[0] - values[1]) / (a - b) - (values[1] - values[2]) / (b - c)) / (a - c);
    const double line = Extrapolated(sizes, values, blocks);
    const double whole = line + bend * (blocks - a) * (blocks - b);
    return whole > 0 ? std::optional(line / whole - 1) : std::nullopt;
}

} // namespace training
