/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/piece-layers.h"

#include <algorithm>

namespace training
{

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

UniformLayers
UniformLayersOf(const TrainingOptions& o)
{
    UniformLayers layers;
    layers.blocks = StageBlocksOf(o.model);
    layers.countBefore = o.countEmbedding;
    layers.countAfter = o.countLoss;
    const auto& all = o.model.layers;
    const auto isBlock = [&o](const LayerSpec& layer) { return IsBlock(o.model, layer); };
    const auto first = std::find_if(all.begin(), all.end(), isBlock);
    const auto last = std::find_if(all.rbegin(), all.rend(), isBlock);
    layers.before = static_cast<uint32_t>(first - all.begin());
    layers.after = static_cast<uint32_t>(last - all.rbegin());
    return layers;
}

std::vector<uint32_t>
LayersOfPieces(const ModelSpec& model, const std::vector<uint32_t>& blocks)
{
    std::vector<uint32_t> layers(blocks.size(), 0);
    std::size_t piece = 0;
    uint32_t in = 0;                      // blocks of this piece
    uint32_t left = StageBlocksOf(model); // blocks to come
    for (const LayerSpec& layer : model.layers)
    {
        const bool block = IsBlock(model, layer);
        while (block ? in == blocks[piece] : left == 0)
        {
            if (piece + 1 == blocks.size())
            {
                break;
            }
            ++piece;
            in = 0;
        }
        in += block ? 1 : 0;
        left -= block ? 1 : 0;
        ++layers[piece];
    }
    return layers;
}

std::vector<uint32_t>
PiecesOfLayers(const TrainingOptions& o)
{
    const auto pieces = static_cast<uint32_t>(o.Pieces());
    const auto count = static_cast<uint32_t>(o.model.layers.size());
    std::vector<uint32_t> of;
    if (!o.pieceLayers.empty())
    {
        for (uint32_t p = 0; p < pieces; ++p)
        {
            of.insert(of.end(), o.pieceLayers[p], p);
        }
        return of;
    }
    // Blocks in equal numbers; the remainder goes to the earlier pieces. Layers before the blocks
    // go with the first piece, layers after them with the last.
    const uint32_t repeated = StageBlocksOf(o.model);
    const bool all = repeated <= 1; // one is as good a place to cut as another
    const uint32_t blocks = all ? count : repeated;
    uint32_t piece = 0;
    uint32_t in = 0; // blocks of this piece
    for (uint32_t i = 0; i < count; ++i)
    {
        const uint32_t most = blocks / pieces + (piece < blocks % pieces ? 1 : 0);
        const bool block = all || IsBlock(o.model, o.model.layers[i]);
        if (block && in == most)
        {
            ++piece;
            in = 0;
        }
        in += block ? 1 : 0;
        of.push_back(piece);
    }
    return of;
}

} // namespace training
