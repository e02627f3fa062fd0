/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/stage-speeds.h"

#include "scenarios/training/gpu-kinds.h"
#include "scenarios/training/piece-layers.h"
#include "scenarios/training/pipeline/unequal-partition.h"
#include "scenarios/training/rank-layers.h"

#include <algorithm>

namespace training
{

std::vector<std::vector<double>>
SecondsByStage(const TrainingOptions& o)
{
    std::vector<std::vector<double>> ofKind;
    for (uint32_t kind = 0; kind < std::max<std::size_t>(1, o.kinds.size()); ++kind)
    {
        auto& seconds = ofKind.emplace_back();
        for (const RankLayer& layer : LayersOfModel(OnKind(o, kind)))
        {
            seconds.push_back(layer.Forward() + layer.Backward());
        }
    }
    std::vector<std::vector<double>> ofStage;
    for (const auto& kinds : KindsByStage(o))
    {
        auto& seconds = ofStage.emplace_back(ofKind.front().size(), 0);
        for (const uint32_t kind : kinds)
        {
            for (std::size_t i = 0; i < seconds.size(); ++i)
            {
                seconds[i] = std::max(seconds[i], ofKind[kind][i]);
            }
        }
    }
    return ofStage;
}

namespace
{

/// Piece p of virtual stages is of stage p mod stages.
std::vector<uint32_t>
Cut(const TrainingOptions& o, const std::vector<std::vector<double>>& ofStage)
{
    std::vector<std::vector<double>> ofPiece;
    for (uint64_t piece = 0; piece < o.Pieces(); ++piece)
    {
        ofPiece.push_back(ofStage[piece % o.pipeline]);
    }
    return UnequalPartition(ofPiece);
}

} // namespace

std::vector<uint32_t>
LayersBySpeed(const TrainingOptions& o)
{
    return Cut(o, SecondsByStage(o));
}

std::vector<uint32_t>
BlocksBySpeed(const TrainingOptions& o)
{
    if (o.Pieces() > StageBlocksOf(o.model))
    {
        return {};
    }
    std::vector<std::vector<double>> ofStage;
    for (const std::vector<double>& layers : SecondsByStage(o))
    {
        auto& blocks = ofStage.emplace_back();
        bool first = true; // layers ahead of the first block are with it
        for (std::size_t i = 0; i < layers.size(); ++i)
        {
            const bool block = IsBlock(o.model, o.model.layers[i]);
            if (blocks.empty() || (block && !first))
            {
                blocks.push_back(0);
            }
            first = first && !block;
            blocks.back() += layers[i];
        }
    }
    return Cut(o, ofStage);
}

std::string
BlocksText(const std::vector<uint32_t>& blocks)
{
    std::string text;
    for (const uint32_t count : blocks)
    {
        text += (text.empty() ? "" : "-") + std::to_string(count);
    }
    return text;
}

} // namespace training
