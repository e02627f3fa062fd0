/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/dry-run/whole-step.h"

#include "scenarios/training/fewer-layers.h"
#include "scenarios/training/graphs/ideal-step.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace scenario
{

namespace
{

/// The mean bytes that a GPU sends in one step, from an estimate of so many steps.
std::map<std::string, double>
SentByGpu(const Estimate& e, const TrainingScenario& s, double steps)
{
    std::map<std::string, double> sent;
    for (const auto& [what, bytes] : e.sent)
    {
        sent[what] = bytes / steps / s.plan.ranks;
    }
    return sent;
}

} // namespace

double
MostComputing(const training::TrainingPlan& plan)
{
    double most = 0;
    for (std::size_t i = 0; i < plan.UsualRoles(); ++i)
    {
        double seconds = 0;
        for (const auto& task : plan.roles[i].tasks)
        {
            seconds += task.stream == 0 ? task.duration.Seconds() : 0;
        }
        most = std::max(most, seconds);
    }
    return most;
}

double
HostSeconds(const training::TrainingPlan& plan)
{
    double most = 0;
    for (std::size_t i = 0; i < plan.UsualRoles(); ++i)
    {
        std::map<uint32_t, double> ofStream;
        for (const auto& task : plan.roles[i].tasks)
        {
            if (task.kind == training::TaskKind::kHost && task.phase != training::Phase::kLoading)
            {
                double& seconds = ofStream[task.stream];
                seconds += task.duration.Seconds();
                most = std::max(most, seconds);
            }
        }
    }
    return most;
}

WholeStep
WholeStepOf(const TrainingScenario& s, const Estimate& e, double steps)
{
    WholeStep whole;
    if (s.plan.sizes.size() == 1)
    {
        whole.computeSeconds = e.computeSeconds / steps;
        whole.graphSeconds = e.graphSeconds / steps;
        whole.loadingSeconds = e.loadingSeconds / steps;
        whole.memorySeconds = e.memorySeconds / steps;
        whole.busiestPortSeconds = e.busiestPortSeconds / steps;
        whole.moved = SentByGpu(e, s, steps);
        return whole;
    }
    std::vector<uint32_t> blocks;
    std::vector<double> computing;
    std::vector<double> graph;
    std::vector<double> ports;
    std::map<std::string, std::vector<double>> moved;
    for (std::size_t i = 0; i < s.plan.sizes.size(); ++i)
    {
        const Estimate ofSize = EstimateStep(s, i);
        blocks.push_back(s.plan.sizes[i].blocks);
        computing.push_back(ofSize.computeSeconds);
        graph.push_back(ofSize.graphSeconds);
        ports.push_back(ofSize.busiestPortSeconds);
        for (const auto& [op, bytes] : SentByGpu(ofSize, s, 1))
        {
            moved[op].resize(i);
            moved[op].push_back(bytes);
        }
    }
    const auto extended = [&](std::vector<double> values) {
        values.resize(blocks.size());
        return training::Extrapolated(blocks, values, s.plan.blocks);
    };
    whole.computeSeconds = extended(computing);
    whole.graphSeconds = extended(graph);
    // A pipeline's is no line: with few blocks its stages wait for that of the head.
    const auto all = training::IdealStepOf(s.options, s.plan, s.plan.blocks);
    const auto largest = training::IdealStepOf(s.options, s.plan, blocks.front());
    if (all && largest && largest->stepSeconds > 0)
    {
        whole.graphSeconds = graph.front() * all->stepSeconds / largest->stepSeconds;
    }
    whole.busiestPortSeconds = extended(ports);
    for (const auto& [op, bytes] : moved)
    {
        whole.moved[op] = extended(bytes);
    }
    return whole;
}

} // namespace scenario
