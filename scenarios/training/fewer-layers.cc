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
    return a.parts.Shares(b.parts) || (a.Parameters() == b.Parameters() && a.Flops() == b.Flops() &&
                                       a.parts.size() == b.parts.size());
}

/// Blocks that may be left out, by piece of a pipeline.
struct PieceBlocks
{
    std::vector<uint32_t> repeated; ///< by piece
    uint32_t pieces = 0;            ///< pieces that have any
    uint32_t fewest = 0;            ///< of these
    uint32_t all = 0;

    bool even = false; ///< all pieces have as many, cut anew where there are fewer

    /// Blocks of a piece that has fewest of them, where so many are simulated.
    uint32_t Steps(uint32_t blocks) const
    {
        return fewest - (all - blocks) / pieces;
    }
};

PieceBlocks
PieceBlocksOf(const TrainingOptions& o)
{
    PieceBlocks of;
    of.all = BlocksOf(o.model);
    if (o.pieceLayers.empty() && of.all % o.Pieces() == 0)
    {
        of.pieces = static_cast<uint32_t>(o.Pieces());
        of.fewest = of.all / of.pieces;
        of.even = true;
        return of;
    }
    of.repeated.resize(o.Pieces(), 0);
    const std::vector<uint32_t> pieces = PiecesOfLayers(o);
    for (std::size_t i = 0; i < pieces.size(); ++i)
    {
        of.repeated[pieces[i]] += o.model.layers[i].repeated ? 1 : 0;
    }
    of.fewest = of.all;
    for (const uint32_t blocks : of.repeated)
    {
        of.pieces += blocks > 0 ? 1 : 0;
        of.fewest = blocks > 0 ? std::min(of.fewest, blocks) : of.fewest;
    }
    return of;
}

/// "45, 37": the numbers of blocks with which the piece that has fewest keeps two or more.
std::string
AllowedBlocks(const PieceBlocks& of)
{
    std::string text;
    for (uint32_t steps = of.fewest - 1; steps >= 2; --steps)
    {
        text +=
            (text.empty() ? "" : ", ") + std::to_string(of.all - (of.fewest - steps) * of.pieces);
    }
    return text.empty() ? "none, so leave it out" : text;
}

/// Which layers go: the last blocks of each piece or, where all pieces have as many, the last ones.
std::vector<bool>
LeftOut(const TrainingOptions& o, const PieceBlocks& of, uint32_t blocks)
{
    std::vector<bool> out(o.model.layers.size(), false);
    const std::vector<uint32_t> pieces =
        of.even ? std::vector<uint32_t>(out.size(), 0) : PiecesOfLayers(o);
    std::vector<uint32_t> keeps = of.repeated; // by piece
    for (uint32_t& count : keeps)
    {
        count -= std::min(count, (of.all - blocks) / of.pieces);
    }
    if (of.even)
    {
        keeps = {blocks};
    }
    for (std::size_t i = 0; i < out.size(); ++i)
    {
        if (o.model.layers[i].repeated)
        {
            uint32_t& keep = keeps[pieces[i]];
            out[i] = keep == 0;
            keep -= keep > 0 ? 1 : 0;
        }
    }
    return out;
}

} // namespace

std::vector<uint32_t>
SizesToSimulate(const TrainingOptions& o)
{
    const uint32_t all = BlocksOf(o.model);
    if (o.layers == 0 || o.layers >= all)
    {
        return {all};
    }
    // Every piece of the pipeline loses as many blocks as the others.
    const PieceBlocks of = PieceBlocksOf(o);
    const uint32_t steps = of.Steps(o.layers);
    std::vector<uint32_t> sizes{o.layers};
    for (const uint32_t thirds : {2u, 1u})
    {
        const uint32_t kept = std::max((steps * thirds + 1) / 3, 1u);
        const uint32_t size = all - (of.fewest - kept) * of.pieces;
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
    const PieceBlocks of = PieceBlocksOf(o);
    const uint64_t unit = of.pieces;
    if (!of.even && ((all - o.layers) % unit != 0 || (all - o.layers) / unit + 2 > of.fewest))
    {
        return "allowed: " + AllowedBlocks(of) +
               ", so that every piece of the pipeline loses as many and keeps one where fewer are "
               "simulated";
    }
    if (of.even && (o.layers % unit != 0 || o.layers < 2 * unit))
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
    const PieceBlocks of = PieceBlocksOf(o);
    const std::vector<bool> out = LeftOut(o, of, blocks);
    if (!of.even)
    {
        const std::vector<uint32_t> pieces = PiecesOfLayers(o);
        o.pieceLayers.assign(of.repeated.size(), 0);
        for (std::size_t i = 0; i < out.size(); ++i)
        {
            o.pieceLayers[pieces[i]] += out[i] ? 0 : 1;
        }
    }
    std::vector<LayerSpec> kept;
    std::vector<uint32_t> index(o.model.layers.size(), kNotTied); // where they went
    o.model.parameters = 0;
    for (std::size_t i = 0; i < o.model.layers.size(); ++i)
    {
        LayerSpec& layer = o.model.layers[i];
        if (out[i])
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
