/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Makes the step graph of one rank of a cut graph (sharded-plan.h). A stage of a pipeline makes its
 * messages where Received() and Made() are called (staged-plan.cc).
 */
#ifndef SCENARIOS_OPERATOR_SEARCH_PLAN_BUILDER_H
#define SCENARIOS_OPERATOR_SEARCH_PLAN_BUILDER_H

#include "scenarios/operator-search/scatter.h"
#include "scenarios/operator-search/sharded-plan.h"
#include "scenarios/training/spec/bounded-time.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sharding
{

class PlanBuilder
{
  public:
    PlanBuilder(const Graph& graph,
                const std::vector<Strategy>& strategies,
                const SliceKernels& kernels,
                uint32_t devices,
                uint32_t passes)
        : m_graph(graph),
          m_strategies(strategies),
          m_kernels(kernels),
          m_devices(devices),
          m_passes(passes),
          m_into(EdgesInto(graph)),
          m_scatters(graph, strategies),
          m_isLast(graph.operators.size(), true),
          m_made(graph.operators.size()),
          m_wanted(graph.operators.size())
    {
        for (const Edge& edge : graph.edges)
        {
            m_isLast[edge.from] = m_isLast[edge.from] && (edge.next || edge.fromInput != kNone);
        }
        m_role.streams = {"compute", "tensor", "gradients"};
        for (uint32_t i = 0; i < graph.operators.size(); ++i)
        {
            m_seconds.push_back({kernels.Forward(graph.operators[i], strategies[i]),
                                 kernels.BackwardInput(graph, i, strategies[i]),
                                 kernels.BackwardWeights(graph, i, strategies[i])});
        }
    }

    virtual ~PlanBuilder() = default;

    training::TrainingPlan Build()
    {
        for (m_pass = 0; m_pass < m_passes; ++m_pass)
        {
            Forward();
            Backward();
        }
        Optimizer();
        training::TrainingPlan plan;
        plan.ranks = m_devices;
        plan.roles = {std::move(m_role)};
        plan.roleOf.assign(m_devices, 0);
        plan.groupKinds = std::move(m_kinds);
        plan.samplesPerStep = m_graph.samples * m_passes;
        double flops = 0;
        for (uint32_t i = 0; i < m_graph.operators.size(); ++i)
        {
            flops += m_kernels.Flops(m_graph.operators[i]) * m_graph.Times(i);
        }
        plan.flopsPerGpuPerStep = 3 * flops * m_passes / m_devices;
        plan.gpuMemoryBytes =
            static_cast<uint64_t>(MemoryOf(m_graph, m_strategies, m_kernels.Options()));
        return plan;
    }

    training::StepGraph TakeRole()
    {
        return std::move(m_role);
    }

    /// Groups of the role's collectives, by Task::group.
    const std::vector<training::GroupKind>& Kinds() const
    {
        return m_kinds;
    }

  protected:
    using Phase = training::Phase;
    using Task = training::Task;
    using TaskId = training::TaskId;
    using TaskKind = training::TaskKind;
    using Tasks = std::vector<TaskId>;

    static constexpr uint16_t kCompute = 0; ///< streams
    static constexpr uint16_t kExchange = 1;
    static constexpr uint16_t kReduce = 2;
    /// Task::group of messages between stages.
    static constexpr uint32_t kMessages = UINT32_MAX;

    /// What an operator waits for from other stages: forward what it takes, backward the gradient
    /// of its output. Of a folded row its first turn that computes.
    virtual Tasks Received(uint32_t /* op */, Phase /* phase */)
    {
        return {};
    }

    /// An operator's output, or backward the gradient of its input, is there, of the last turn.
    virtual void Made(uint32_t /* op */, Phase /* phase */, const Tasks& /* made */)
    {
    }

    struct Seconds
    {
        double forward;
        double backwardInput;
        double backwardWeights;
    };

    TaskId Add(Task task)
    {
        std::sort(task.after.begin(), task.after.end());
        task.after.erase(std::unique(task.after.begin(), task.after.end()), task.after.end());
        m_role.tasks.push_back(std::move(task));
        return static_cast<TaskId>(m_role.tasks.size() - 1);
    }

    /// A computation; behind another one with nothing in between, a longer one.
    TaskId Compute(Phase phase, const std::string& name, double seconds, Tasks after)
    {
        const auto last = static_cast<TaskId>(m_role.tasks.size() - 1);
        if (!m_role.tasks.empty() && m_role.tasks.back().stream == kCompute &&
            m_role.tasks.back().phase == phase && IsBehind(after, last))
        {
            m_sum += seconds;
            m_role.tasks.back().duration = training::BoundedTime(m_sum);
            return last;
        }
        Task task;
        task.kind = phase == Phase::kOptimizer ? TaskKind::kMemory : TaskKind::kCompute;
        task.phase = phase;
        task.stream = kCompute;
        task.duration = training::BoundedTime(seconds);
        task.name = name + (m_passes > 1 && phase != Phase::kOptimizer
                                ? " micro-batch " + std::to_string(m_pass)
                                : "");
        task.after = std::move(after);
        m_sum = seconds;
        return Add(std::move(task));
    }

    /// Whether the last computation waits for all of them already.
    bool IsBehind(const Tasks& after, TaskId last) const
    {
        const Tasks& known = m_role.tasks[last].after;
        return std::all_of(after.begin(), after.end(), [&](TaskId id) {
            return m_role.tasks[id].stream == kCompute ||
                   std::binary_search(known.begin(), known.end(), id);
        });
    }

    uint32_t GroupOf(const char* word, const Digits& digits)
    {
        const std::string name = std::string(word) + "-" + DigitsName(digits);
        const auto [at, isNew] = m_groups.try_emplace(name, static_cast<uint32_t>(m_kinds.size()));
        if (isNew)
        {
            m_kinds.push_back({name, GroupsAlong(digits, m_devices)});
        }
        return at->second;
    }

    TaskId Exchange(Phase phase,
                    coll::Op op,
                    double bytes,
                    const Digits& digits,
                    std::string name,
                    Tasks after)
    {
        Task task;
        task.kind = TaskKind::kCollective;
        task.phase = phase;
        task.stream = phase == Phase::kGradient ? kReduce : kExchange;
        task.op = op;
        task.bytes = static_cast<uint64_t>(std::llround(std::max(1.0, bytes)));
        task.group = GroupOf(phase == Phase::kGradient ? "dp" : "tp", digits);
        task.name = std::move(name);
        task.after = std::move(after);
        return Add(std::move(task));
    }

    /// Partial sums are added up. \return what their reader waits for
    Tasks Sum(Phase phase,
              const std::vector<MoveCollective>& sums,
              const std::string& name,
              TaskId made)
    {
        Tasks after = {made};
        for (const MoveCollective& c : sums)
        {
            after = {Exchange(phase, c.op, c.bytes, c.digits, name, after)};
        }
        return after;
    }

    /// Digits along which the gradient of an input is scattered, on its way to the maker.
    Digits ScatteredGradient(uint32_t i, uint32_t input, uint32_t turn) const
    {
        for (const uint32_t e : m_into[i])
        {
            const Edge& edge = m_graph.edges[e];
            if (edge.toInput == input && IsTaken(edge, turn))
            {
                return m_scatters.Backward(e);
            }
        }
        return {};
    }

    /// The redistribution of an edge. \return what the tensor waits for
    Tasks Move(const Edge& edge, Phase phase, const Tasks& made)
    {
        const Operand& operand = m_graph.OperandOf(edge.from, edge.fromInput);
        const TensorInfo& tensor = m_graph.tensors[operand.tensor];
        Layout from = LayoutOf(operand, m_strategies[edge.from]);
        Layout to =
            LayoutOf(m_graph.operators[edge.to].inputs[edge.toInput], m_strategies[edge.to]);
        if (phase == Phase::kBackward)
        {
            std::swap(from, to);
        }
        Tasks after = made;
        for (const MoveCollective& c :
             CollectivesBetween(from, to, tensor.Elements() * tensor.bytes))
        {
            after = {Exchange(phase,
                              c.op,
                              c.bytes,
                              c.digits,
                              (phase == Phase::kBackward ? "gradient of " : "redistribute ") +
                                  tensor.name,
                              after)};
        }
        return after;
    }

    /// Whether an edge brings the input of this turn of a folded block.
    bool IsTaken(const Edge& edge, uint32_t turn) const
    {
        if (edge.next)
        {
            return turn > 0;
        }
        const bool inside =
            m_graph.operators[edge.from].segment == m_graph.operators[edge.to].segment;
        if (inside || turn == 0)
        {
            return true;
        }
        // From outside: to every block, unless the one before has it.
        const auto& into = m_into[edge.to];
        return std::none_of(into.begin(), into.end(), [&](uint32_t i) {
            const Edge& e = m_graph.edges[i];
            return e.next && e.toInput == edge.toInput;
        });
    }

    std::string NameOf(uint32_t op, uint32_t turn) const
    {
        return m_graph.operators[op].name +
               (m_graph.Times(op) > 1 ? " " + std::to_string(turn) : "");
    }

    void Forward()
    {
        for (const Segment& segment : m_graph.segments)
        {
            for (uint32_t turn = 0; turn < segment.times; ++turn)
            {
                for (uint32_t i = segment.begin; i < segment.end; ++i)
                {
                    ForwardOf(i, turn);
                }
            }
        }
    }

    void ForwardOf(uint32_t i, uint32_t turn)
    {
        const Operator& op = m_graph.operators[i];
        Tasks after;
        for (const uint32_t e : m_into[i])
        {
            const Edge& edge = m_graph.edges[e];
            const bool shared = edge.fromInput != kNone && m_pass > 0; // once a step
            if (!shared && IsTaken(edge, turn))
            {
                const Tasks made = Move(edge,
                                        Phase::kForward,
                                        edge.fromInput == kNone ? m_made[edge.from] : Tasks{});
                after.insert(after.end(), made.begin(), made.end());
            }
        }
        if (turn == 0)
        {
            const Tasks received = Received(i, Phase::kForward);
            after.insert(after.end(), received.begin(), received.end());
        }
        const TaskId computed =
            Compute(Phase::kForward, "forward " + NameOf(i, turn), m_seconds[i].forward, after);
        m_made[i] = {computed};
        const Digits summed = SummedDigits(op, m_strategies[i]);
        if (!summed.empty())
        {
            const TensorInfo& output = m_graph.tensors[op.output.tensor];
            m_made[i] = Sum(Phase::kForward,
                            SumsOf(summed,
                                   m_scatters.Forward(i),
                                   SliceOf(output, LayoutOf(op.output, m_strategies[i])) *
                                       output.bytes * op.summedElements,
                                   m_devices),
                            "partial sums of " + NameOf(i, turn),
                            computed);
        }
        if (turn + 1 == m_graph.Times(i))
        {
            Made(i, Phase::kForward, m_made[i]);
        }
    }

    void Backward()
    {
        for (auto segment = m_graph.segments.rbegin(); segment != m_graph.segments.rend();
             ++segment)
        {
            for (uint32_t turn = segment->times; turn-- > 0;)
            {
                for (uint32_t i = segment->end; i-- > segment->begin;)
                {
                    BackwardOf(i, turn);
                }
            }
        }
        if (m_pass + 1 == m_passes)
        {
            for (auto& [digits, bucket] : m_buckets)
            {
                Flush(digits, &bucket);
            }
            const auto last = static_cast<TaskId>(m_role.tasks.size() - 1);
            for (const auto& [digits, bytes] : m_deferred)
            {
                Reduce(digits, bytes, last);
            }
        }
    }

    void BackwardOf(uint32_t i, uint32_t turn)
    {
        const Operator& op = m_graph.operators[i];
        const Strategy& strategy = m_strategies[i];
        Tasks after = std::exchange(m_wanted[i], {});
        if (turn + 1 == m_graph.Times(i))
        {
            const Tasks received = Received(i, Phase::kBackward);
            const Tasks& begin = received.empty() && m_isLast[i] ? m_made[i] : received;
            after.insert(after.end(), begin.begin(), begin.end());
        }
        const TaskId inputs = Compute(Phase::kBackward,
                                      "backward " + NameOf(i, turn),
                                      m_seconds[i].backwardInput,
                                      after);
        std::vector<Tasks> gradients(op.inputs.size());
        for (uint32_t k = 0; k < op.inputs.size(); ++k)
        {
            const TensorInfo& tensor = m_graph.tensors[op.inputs[k].tensor];
            if (tensor.role == TensorRole::kParameter || !m_graph.HasGradient(i, k))
            {
                continue;
            }
            gradients[k] = {inputs};
            const Digits partial = GradientDigits(op, strategy, k);
            if (!partial.empty())
            {
                gradients[k] =
                    Sum(Phase::kBackward,
                        SumsOf(partial,
                               ScatteredGradient(i, k, turn),
                               SliceOf(tensor, LayoutOf(op.inputs[k], strategy)) * tensor.bytes,
                               m_devices),
                        "gradient of " + NameOf(i, turn),
                        inputs);
            }
        }
        const bool weights = m_seconds[i].backwardWeights > 0;
        const TaskId last = weights ? Compute(Phase::kBackward,
                                              "backward weights " + NameOf(i, turn),
                                              m_seconds[i].backwardWeights,
                                              {inputs})
                                    : inputs;
        for (const uint32_t e : m_into[i])
        {
            const Edge& edge = m_graph.edges[e];
            if (!IsTaken(edge, turn) || !m_graph.HasGradient(i, edge.toInput))
            {
                continue;
            }
            if (edge.fromInput != kNone)
            {
                if (m_pass + 1 == m_passes)
                {
                    m_shared.push_back({&edge, last});
                }
                continue;
            }
            const Tasks moved = Move(edge, Phase::kBackward, gradients[edge.toInput]);
            auto& wanted = m_wanted[edge.from];
            wanted.insert(wanted.end(), moved.begin(), moved.end());
        }
        if (turn == 0 && !gradients.empty())
        {
            Made(i, Phase::kBackward, gradients[0]);
        }
        if (m_pass + 1 == m_passes)
        {
            ReduceParameters(i, last);
        }
    }

    void ReduceParameters(uint32_t i, TaskId made)
    {
        const Operator& op = m_graph.operators[i];
        for (uint32_t k = 0; k < op.inputs.size(); ++k)
        {
            const TensorInfo& tensor = m_graph.tensors[op.inputs[k].tensor];
            if (tensor.role != TensorRole::kParameter)
            {
                continue;
            }
            const Layout layout = LayoutOf(op.inputs[k], m_strategies[i]);
            const double elements = SliceOf(tensor, layout);
            m_updated += m_graph.Owns(i, k) ? elements : 0;
            const Digits copies = CopyDigits(layout, m_devices);
            if (copies.empty() || IsAddedToTheOwners(i, k, layout))
            {
                continue;
            }
            const training::TrainingOptions& o = m_kernels.Options();
            Bucket& bucket = m_buckets[copies];
            bucket.bytes += elements * o.GradientBytes();
            bucket.after = made;
            if (bucket.bytes >= static_cast<double>(*o.bucketBytes))
            {
                Flush(copies, &bucket);
            }
        }
    }

    /// A second user of a parameter in the same layout: its gradient is added before the reduction.
    bool IsAddedToTheOwners(uint32_t i, uint32_t k, const Layout& layout) const
    {
        return std::any_of(m_into[i].begin(), m_into[i].end(), [&](uint32_t index) {
            const Edge& e = m_graph.edges[index];
            return e.fromInput != kNone && e.toInput == k &&
                   LayoutOf(m_graph.OperandOf(e.from, e.fromInput), m_strategies[e.from]) == layout;
        });
    }

    struct Bucket
    {
        double bytes = 0;
        TaskId after = 0;
    };

    void Flush(const Digits& digits, Bucket* bucket)
    {
        if (bucket->bytes > 0 && m_kernels.Options().overlap.value_or(true))
        {
            Reduce(digits, bucket->bytes, bucket->after);
        }
        else if (bucket->bytes > 0)
        {
            m_deferred.emplace_back(digits, bucket->bytes); // behind backward
        }
        *bucket = {};
    }

    void Reduce(const Digits& digits, double bytes, TaskId after)
    {
        m_reduced.push_back(Exchange(Phase::kGradient,
                                     coll::Op::kAllReduce,
                                     bytes,
                                     digits,
                                     "all-reduce bucket " + std::to_string(m_bucket++),
                                     {after}));
    }

    void Optimizer()
    {
        const training::TrainingOptions& o = m_kernels.Options();
        // A parameter that two operators read: its gradient goes to the first one's layout.
        Tasks after = m_reduced;
        for (const auto& [edge, made] : m_shared)
        {
            for (const TaskId id : Move(*edge, Phase::kBackward, {made}))
            {
                after.push_back(id);
            }
        }
        Compute(Phase::kOptimizer,
                "optimizer",
                training::OptimizerSeconds(o.optimizer, m_updated, o.gpu, o.dtype, o.masterWeights),
                after);
    }

    const Graph& m_graph;
    const std::vector<Strategy>& m_strategies;
    const SliceKernels& m_kernels;
    uint32_t m_devices;
    uint32_t m_passes;
    uint32_t m_pass = 0;
    training::StepGraph m_role;
    std::vector<Seconds> m_seconds;
    std::vector<std::vector<uint32_t>> m_into; ///< edges, by operator
    Scatters m_scatters;
    double m_sum = 0; ///< seconds of the last computation
    /// By operator: nobody here takes its last output, whose gradient begins with it.
    std::vector<bool> m_isLast;
    std::vector<Tasks> m_made;   ///< by operator: what its last output waits for
    std::vector<Tasks> m_wanted; ///< by operator: gradients of its output
    std::vector<training::GroupKind> m_kinds;
    std::map<std::string, uint32_t> m_groups;
    std::map<Digits, Bucket> m_buckets;
    uint32_t m_bucket = 0;
    Tasks m_reduced;
    std::vector<std::pair<Digits, double>> m_deferred;
    double m_updated = 0; ///< elements of parameters
    std::vector<std::pair<const Edge*, TaskId>> m_shared;
};

} // namespace sharding

#endif // SCENARIOS_OPERATOR_SEARCH_PLAN_BUILDER_H
