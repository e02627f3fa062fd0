/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/layout-search/unequal-stages.h"

#include "scenarios/asked/cluster.h"
#include "scenarios/asked/training.h"
#include "scenarios/training/expert-load.h"
#include "scenarios/training/gpu-kinds.h"
#include "scenarios/training/piece-layers.h"
#include "scenarios/training/stage-layers.h"
#include "scenarios/training/stage-speeds.h"

#include <algorithm>

namespace planner::unequal
{

using training::TrainingOptions;

bool
AreStagesOpen(const scenario::Values& values)
{
    return values.Get(&scenario::asked::Cluster::serverKinds).size() > 1 &&
           !values.Given(&scenario::asked::Training::partition) &&
           !values.Given(&scenario::asked::Training::pipelineLayout);
}

void
SizeStages(Settings* settings, TrainingOptions* o)
{
    if (o->kinds.empty())
    {
        return;
    }
    const std::vector<uint32_t> blocks =
        o->pipeline > 1 ? training::BlocksBySpeed(*o) : std::vector<uint32_t>();
    if (blocks.empty())
    {
        if (o->pipeline > 1)
        {
            settings->emplace_back(&scenario::asked::Training::partition, "balanced");
        }
        return;
    }
    settings->emplace_back(&scenario::asked::Training::pipelineLayout,
                           training::BlocksText(blocks));
    o->partition = training::Partition::kGiven;
    o->pieceBlocks = blocks;
    *o = training::Partitioned(std::move(*o));
}

std::string
WordsOfKinds(const scenario::ClusterSpec& cluster)
{
    return cluster.kindWords;
}

namespace
{

std::vector<uint32_t>
BlocksOfPieces(const TrainingOptions& o)
{
    std::vector<uint32_t> blocks(o.Pieces(), 0);
    const std::vector<uint32_t> pieces = training::PiecesOfLayers(o);
    for (std::size_t i = 0; i < pieces.size(); ++i)
    {
        blocks[pieces[i]] += training::IsBlock(o.model, o.model.layers[i]) ? 1 : 0;
    }
    return blocks;
}

/// "2x10 H100, 2x6 A100": what is the same in a row, once.
std::string
RunsText(const std::vector<std::string>& texts)
{
    std::string text;
    for (std::size_t i = 0; i < texts.size();)
    {
        std::size_t same = i;
        while (same < texts.size() && texts[same] == texts[i])
        {
            ++same;
        }
        const std::size_t count = same - i;
        text +=
            (text.empty() ? "" : ", ") + (count > 1 ? std::to_string(count) + "x" : "") + texts[i];
        i = same;
    }
    return text;
}

} // namespace

std::string
PiecesText(const TrainingOptions& o)
{
    std::vector<std::string> texts;
    for (const uint32_t blocks : BlocksOfPieces(o))
    {
        texts.push_back(std::to_string(blocks));
    }
    return RunsText(texts);
}

std::string
StagesText(const TrainingOptions& o)
{
    std::vector<uint32_t> blocks(o.pipeline, 0);
    const std::vector<uint32_t> pieces = BlocksOfPieces(o);
    for (std::size_t piece = 0; piece < pieces.size(); ++piece)
    {
        blocks[piece % o.pipeline] += pieces[piece];
    }
    std::vector<std::string> texts;
    const auto kindsOf = training::KindsByStage(o);
    for (uint32_t stage = 0; stage < o.pipeline; ++stage)
    {
        std::string gpus;
        for (const uint32_t kind : kindsOf[stage])
        {
            gpus += (gpus.empty() ? "" : "+") + o.kinds[kind].gpu.name;
        }
        texts.push_back(std::to_string(blocks[stage]) + " " + gpus);
    }
    return RunsText(texts);
}

std::vector<std::vector<training::RankLayer>>
LayersOfKinds(const TrainingOptions& o)
{
    std::vector<std::vector<training::RankLayer>> layers;
    for (uint32_t kind = 0; kind < std::max<std::size_t>(1, o.kinds.size()); ++kind)
    {
        TrainingOptions its = training::OnKind(o, kind);
        its.expertPosition = training::BusiestPosition(o); // all others of its group wait for it
        layers.push_back(training::LayersOfModel(its));
    }
    return layers;
}

} // namespace planner::unequal
