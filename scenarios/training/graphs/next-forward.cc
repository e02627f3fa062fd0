/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/graphs/next-forward.h"

#include "scenarios/training/graphs/shared-transfers.h"

#include <algorithm>
#include <string>
#include <utility>

namespace training
{

namespace
{

constexpr TaskId kNoTask = UINT32_MAX;

/// Behind the last computation of the first forward.
TaskId
EndOfForward(const StepGraph& step)
{
    TaskId end = 0;
    for (TaskId id = 0; id < step.tasks.size(); ++id)
    {
        const Task& task = step.tasks[id];
        if (Computes(task) && task.phase == Phase::kForward)
        {
            end = id + 1;
        }
        else if (Computes(task) && task.phase == Phase::kBackward)
        {
            break;
        }
    }
    return end;
}

class Turned
{
  public:
    Turned(const std::vector<RankLayer>& layers, const StepGraph& step)
        : m_layers(layers),
          m_step(step),
          m_forward(EndOfForward(step)),
          m_now(step.tasks.size(), kNoTask)
    {
        m_graph.streams = step.streams;
        for (const RankLayer& layer : layers)
        {
            m_parameters.push_back(layer.parameters + layer.expertParameters +
                                   (m_parameters.empty() ? 0 : m_parameters.back()));
        }
        FindOptimizer();
        FindUnpacking();
    }

    StepGraph Make(bool first)
    {
        for (TaskId id = 0; first && id < m_forward; ++id)
        {
            m_now[id] = Add(m_step.tasks[id]);
        }
        for (TaskId id = m_forward; id < m_step.tasks.size(); ++id)
        {
            const Task& task = m_step.tasks[id];
            if (task.phase != Phase::kOptimizer && !m_unpacks[id])
            {
                m_now[id] = Add(task);
            }
        }
        std::fill(m_now.begin(), m_now.begin() + m_forward, kNoTask);
        for (TaskId id = 0; id < m_forward; ++id)
        {
            const Task& task = m_step.tasks[id];
            if (Computes(task) && task.layer != kNoLayer)
            {
                UpdateUpTo(static_cast<uint32_t>(task.layer));
            }
            const TaskId now = Add(task);
            m_now[id] = now;
            if (Computes(task))
            {
                Await(now);
            }
        }
        UpdateUpTo(static_cast<uint32_t>(m_layers.size() - 1));
        return std::move(m_graph);
    }

  private:
    void FindOptimizer()
    {
        m_awaited.resize(m_layers.size());
        for (const Task& task : m_step.tasks)
        {
            if (task.phase != Phase::kOptimizer)
            {
                continue;
            }
            m_optimizerPs += task.duration.ps;
            for (const TaskId before : task.after)
            {
                const Task& awaited = m_step.tasks[before];
                if (awaited.phase != Phase::kOptimizer)
                {
                    m_awaited[LayerOf(awaited)].push_back(before);
                }
            }
        }
    }

    /// What only the optimizer waits for, on the computing stream, behind a reduction.
    void FindUnpacking()
    {
        m_unpacks.resize(m_step.tasks.size(), false);
        for (TaskId id = m_forward; id < m_step.tasks.size(); ++id)
        {
            const Task& task = m_step.tasks[id];
            const auto isQueued = [this](TaskId before) { return IsQueued(m_step.tasks[before]); };
            m_unpacks[id] = Computes(task) && task.phase == Phase::kGradient &&
                            task.layer != kNoLayer &&
                            std::any_of(task.after.begin(), task.after.end(), isQueued);
            for (const TaskId before : task.after)
            {
                m_unpacks[before] = m_unpacks[before] && task.phase == Phase::kOptimizer;
            }
        }
    }

    /// What belongs to no layer is awaited by the first one.
    std::size_t LayerOf(const Task& task) const
    {
        return task.layer == kNoLayer ? 0
                                      : std::min<std::size_t>(static_cast<std::size_t>(task.layer),
                                                              m_layers.size() - 1);
    }

    /// With the dependencies that are within the step.
    TaskId Add(Task task)
    {
        std::vector<TaskId> after;
        for (const TaskId before : task.after)
        {
            if (m_now[before] != kNoTask)
            {
                after.push_back(m_now[before]);
            }
        }
        task.after = std::move(after);
        m_graph.tasks.push_back(std::move(task));
        return static_cast<TaskId>(m_graph.tasks.size() - 1);
    }

    /// Puts what the layers' forwards need in front of what comes next.
    void UpdateUpTo(uint32_t layer)
    {
        for (; m_updated <= layer && m_updated < m_layers.size(); ++m_updated)
        {
            for (TaskId id = m_forward; id < m_step.tasks.size(); ++id)
            {
                if (m_unpacks[id] && LayerOf(m_step.tasks[id]) == m_updated)
                {
                    m_now[id] = Add(m_step.tasks[id]);
                }
            }
            m_next.insert(m_next.end(), m_awaited[m_updated].begin(), m_awaited[m_updated].end());
            Task task;
            task.kind = TaskKind::kMemory;
            task.phase = Phase::kOptimizer;
            task.stream = 0;
            task.duration = rdma::Duration(ShareUpTo(m_updated) -
                                           (m_updated > 0 ? ShareUpTo(m_updated - 1) : 0));
            task.name = "optimizer " + m_layers[m_updated].name;
            if (task.duration.ps > 0)
            {
                Await(Add(std::move(task)));
            }
        }
    }

    /// \return ps of the optimizer for the layers up to this one
    int64_t ShareUpTo(uint32_t layer) const
    {
        const auto all = static_cast<double>(std::max<uint64_t>(m_parameters.back(), 1));
        return layer + 1 == m_layers.size()
                   ? m_optimizerPs
                   : static_cast<int64_t>(static_cast<double>(m_optimizerPs) *
                                          static_cast<double>(m_parameters[layer]) / all);
    }

    /// The task that stands at the end waits for what is still to be awaited.
    void Await(TaskId id)
    {
        std::vector<TaskId>& after = m_graph.tasks[id].after;
        for (const TaskId before : std::exchange(m_next, {}))
        {
            after.push_back(m_now[before]);
        }
        std::sort(after.begin(), after.end());
        after.erase(std::unique(after.begin(), after.end()), after.end());
    }

    const std::vector<RankLayer>& m_layers;
    const StepGraph& m_step;
    TaskId m_forward;          ///< the first tasks are the forward
    std::vector<TaskId> m_now; ///< by task of the usual step: its number in the turned one
    StepGraph m_graph;
    std::vector<uint64_t> m_parameters;         ///< of the layers up to each one
    std::vector<std::vector<TaskId>> m_awaited; ///< by layer: what the optimizer waited for
    std::vector<bool> m_unpacks;                ///< by task of the usual step
    std::vector<TaskId> m_next;                 ///< to be awaited by the next computation
    uint32_t m_updated = 0;                     ///< layers so far
    int64_t m_optimizerPs = 0;
};

} // namespace

StepGraph
WithNextForward(const std::vector<RankLayer>& layers, const StepGraph& step, bool first)
{
    return Turned(layers, step).Make(first);
}

} // namespace training
