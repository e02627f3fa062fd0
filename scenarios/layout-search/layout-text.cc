/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A layout of options, and layouts in words.
 */
#include "scenarios/asked/cluster.h"
#include "scenarios/asked/training.h"
#include "scenarios/layout-search/layout-space.h"
#include "scenarios/layout-search/options/planner-options.h"
#include "scenarios/training/gpu-kinds.h"
#include "scenarios/training/memory-reserve.h"

#include <algorithm>
#include <utility>

namespace planner
{

namespace
{

using scenario::asked::Cluster;
using scenario::asked::Training;
using training::TrainingOptions;

/// Whether LayoutText has a word of its own for an option.
bool
IsShown(const Setting& setting)
{
    const auto& all = scenario::SearchedOptions();
    return !(setting.Option() == scenario::Member(&Training::rankOrder)) &&
           std::find(all.begin(), all.end(), setting.Name()) != all.end();
}

} // namespace

bool
IsCut(const Setting& setting)
{
    const scenario::Member option = setting.Option();
    return option == scenario::Member(&Training::pipelineLayout) ||
           option == scenario::Member(kCountsEmbedding) || option == scenario::Member(kCountsLoss);
}

Layout
LayoutOf(const TrainingOptions& o, Settings settings, std::size_t job)
{
    Layout layout;
    layout.settings = std::move(settings);
    layout.job = job;
    layout.gpus = o.ranks;
    layout.tensor = o.tensor;
    layout.pipeline = o.pipeline;
    layout.virtualStages = o.virtualStages;
    layout.context = o.context;
    layout.expert = o.expert;
    layout.expertTensor = o.ExpertTensor();
    layout.data = o.Data();
    layout.zero = o.sharding.Stage();
    layout.microBatch = o.microBatch;
    layout.accumulation = o.accumulation;
    layout.recompute = training::RecomputeName(o.recompute);
    layout.sequenceParallel = o.sequenceParallel && o.tensor > 1;
    layout.fusedAttention = o.fusedAttention;
    const training::FullestGpu fullest = training::FullestOf(o);
    layout.memory = fullest.memory.Total();
    layout.reserve = training::ReserveOf(o, fullest.memory).Total();
    layout.fullest = fullest.gpu.memoryBytes;
    return layout;
}

std::string
LayoutText(const Layout& l)
{
    std::string text;
    const auto add = [&text](const char* what, uint32_t degree) {
        text += degree > 1 ? what + std::to_string(degree) + " " : "";
    };
    add("tp", l.tensor);
    add("pp", l.pipeline);
    text += l.stages.empty() ? "" : "(" + l.stages + ") ";
    add("vs", l.virtualStages);
    add("cp", l.context);
    add("ep", l.expert);
    text += l.expertTensor != l.tensor ? "etp" + std::to_string(l.expertTensor) + " " : "";
    text += "dp" + std::to_string(l.data) + " mb" + std::to_string(l.microBatch) + " zero" +
            std::to_string(l.zero);
    text += l.sequenceParallel ? " sp" : "";
    text += l.recompute != "none" ? " " + l.recompute : "";
    text += l.fusedAttention ? "" : " unfused";
    for (const Setting& one : l.settings)
    {
        const bool ofKinds = one.Option() == scenario::Member(&Cluster::serverKinds);
        // What the stages say already.
        const bool isSaid = !l.stages.empty() && (IsCut(one) || ofKinds);
        text += IsShown(one) || isSaid ? "" : " " + one.Name() + "=" + one.Text();
    }
    return text;
}

std::string
LayoutOptions(const Layout& layout)
{
    std::string text;
    for (const Setting& one : layout.settings)
    {
        text += (text.empty() ? "--" : " --") + one.Name() + "=" + one.Text();
    }
    return text;
}

} // namespace planner
