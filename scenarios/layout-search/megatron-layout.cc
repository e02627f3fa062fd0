/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/layout-search/megatron-layout.h"

#include "scenarios/training/piece-layers.h"

#include <algorithm>
#include <cstdint>

namespace planner
{

namespace
{

using training::TrainingOptions;

/// Blocks of each piece; nothing: the layers before them, or behind, are in several pieces, or some
/// stand between them.
std::optional<std::vector<uint32_t>>
BlocksByPiece(const TrainingOptions& o)
{
    const std::vector<uint32_t> pieces = training::PiecesOfLayers(o);
    std::vector<uint32_t> blocks(o.Pieces(), 0);
    const auto& layers = o.model.layers;
    const auto isBlock = [&o](const training::LayerSpec& layer) {
        return training::IsBlock(o.model, layer);
    };
    const auto begin = std::find_if(layers.begin(), layers.end(), isBlock) - layers.begin();
    const auto end = layers.rend() - std::find_if(layers.rbegin(), layers.rend(), isBlock);
    for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(layers.size()); ++i)
    {
        const uint32_t piece = pieces[i];
        const bool isIn = i < begin ? piece == 0
                          : i < end ? isBlock(layers[i])
                                    : piece + 1 == blocks.size();
        if (!isIn)
        {
            return std::nullopt;
        }
        blocks[piece] += i >= begin && i < end ? 1 : 0;
    }
    return end > begin ? std::optional(blocks) : std::nullopt;
}

bool
IsEven(const std::vector<uint32_t>& blocks)
{
    return std::all_of(blocks.begin(), blocks.end(), [&blocks](uint32_t count) {
        return count == blocks.front();
    });
}

} // namespace

std::optional<std::string>
MegatronLayout(const TrainingOptions& o)
{
    const auto blocks = BlocksByPiece(o);
    if (!blocks)
    {
        return std::nullopt;
    }
    std::string text = "E";
    for (std::size_t piece = 0; piece < blocks->size(); ++piece)
    {
        const uint32_t count = (*blocks)[piece];
        text += piece > 0 ? "|" : "";
        text += count == 0 ? "" : count == 1 ? "t" : "t*" + std::to_string(count);
    }
    return text + std::string(o.model.predictors, 'm') + "L";
}

std::optional<std::vector<std::string>>
MegatronCut(const TrainingOptions& o)
{
    std::vector<std::string> flags;
    const bool isUniform = o.partition == training::Partition::kUniform;
    const uint32_t counted = isUniform ? uint32_t{o.countEmbedding} + uint32_t{o.countLoss} : 0;
    const auto blocks = BlocksByPiece(o);
    const bool isEven = blocks && IsEven(*blocks) && o.partition != training::Partition::kGiven;
    if (counted == 0 && !isEven)
    {
        const auto layout = MegatronLayout(o);
        if (!layout)
        {
            return std::nullopt;
        }
        flags.push_back("--pipeline-model-parallel-layout '" + *layout + "'");
        return flags;
    }
    if (counted > 0 && o.countEmbedding)
    {
        flags.emplace_back("--account-for-embedding-in-pipeline-split");
    }
    if (counted > 0 && o.countLoss)
    {
        flags.emplace_back("--account-for-loss-in-pipeline-split");
    }
    if (o.virtualStages > 1)
    {
        // Of the blocks and what counts as one, which all pieces have as many of.
        const uint64_t all = training::StageBlocksOf(o.model) + counted;
        flags.push_back("--num-layers-per-virtual-pipeline-stage " +
                        std::to_string(all / o.Pieces()));
    }
    return flags;
}

} // namespace planner
