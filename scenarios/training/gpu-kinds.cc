/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/gpu-kinds.h"

#include "scenarios/asked/degrees.h"
#include "scenarios/options/member.h"

#include <algorithm>
#include <set>

namespace training
{

uint32_t
KindOfRank(const TrainingOptions& o, coll::Rank rank)
{
    uint32_t kind = 0;
    coll::Rank end = 0;
    for (; kind + 1 < o.kinds.size(); ++kind)
    {
        end += o.kinds[kind].ranks;
        if (rank < end)
        {
            break;
        }
    }
    return kind;
}

TrainingOptions
OnKind(TrainingOptions o, uint32_t kind)
{
    if (!o.kinds.empty())
    {
        o.gpu = o.kinds[kind].gpu;
    }
    return o;
}

std::vector<std::vector<uint32_t>>
KindsByStage(const TrainingOptions& o)
{
    std::vector<std::set<uint32_t>> of(o.pipeline);
    if (o.kinds.empty())
    {
        of.assign(o.pipeline, {0});
    }
    const Layout layout = o.GetLayout();
    for (coll::Rank rank = 0; !o.kinds.empty() && rank < o.ranks; ++rank)
    {
        of[PlaceOf(layout, rank).pipeline].insert(KindOfRank(o, rank));
    }
    std::vector<std::vector<uint32_t>> kinds;
    for (const auto& stage : of)
    {
        kinds.emplace_back(stage.begin(), stage.end());
    }
    return kinds;
}

std::string
GpuNames(const TrainingOptions& o)
{
    std::string text = o.gpu.name;
    std::set<std::string> named = {o.gpu.name};
    for (const GpuKind& kind : o.kinds)
    {
        text += named.insert(kind.gpu.name).second ? " + " + kind.gpu.name : "";
    }
    return text;
}

double
MeanPeak(const TrainingOptions& o)
{
    if (o.kinds.empty())
    {
        return o.gpu.Peak(o.dtype);
    }
    double sum = 0;
    double ranks = 0;
    for (const GpuKind& kind : o.kinds)
    {
        sum += kind.gpu.Peak(o.dtype) * kind.ranks;
        ranks += kind.ranks;
    }
    return sum / ranks;
}

std::optional<std::string>
WhyNotTensorGroups(const TrainingOptions& o)
{
    if (o.kinds.empty() || o.tensor == 1)
    {
        return std::nullopt;
    }
    for (const auto& group : GroupsOf(o.GetLayout(), GroupOf::kTensor))
    {
        const uint32_t kind = KindOfRank(o, group.front());
        for (const coll::Rank rank : group)
        {
            if (const uint32_t other = KindOfRank(o, rank); other != kind)
            {
                return "is " + std::to_string(o.tensor) + ", and its group of GPU " +
                       std::to_string(group.front()) + " (" + o.kinds[kind].gpu.name +
                       ") has GPU " + std::to_string(rank) + " (" + o.kinds[other].gpu.name +
                       "), which is of another kind of server; allowed: groups inside one kind, "
                       "such as " +
                       Spell(&asked::Degrees::tp) + "=" + std::to_string(o.host.gpus);
            }
        }
    }
    return std::nullopt;
}

FullestGpu
FullestOf(const TrainingOptions& o)
{
    if (o.kinds.empty())
    {
        return {EstimateMemory(o), o.gpu, 0};
    }
    const auto kinds = KindsByStage(o);
    FullestGpu fullest;
    double most = -1;
    for (uint32_t stage = 0; stage < o.pipeline; ++stage)
    {
        const MemoryEstimate memory = EstimateStageMemory(o, stage);
        for (const uint32_t kind : kinds[stage])
        {
            const GpuSpec& gpu = o.kinds[kind].gpu;
            const double share =
                static_cast<double>(memory.Total()) / static_cast<double>(gpu.memoryBytes);
            if (share > most)
            {
                most = share;
                fullest = {memory, gpu, stage};
            }
        }
    }
    return fullest;
}

} // namespace training
