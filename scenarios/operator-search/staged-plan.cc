/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/operator-search/staged-plan.h"

#include "scenarios/operator-search/plan-builder.h"
#include "scenarios/training/pipeline/schedule.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

namespace sharding
{

namespace
{

using training::Task;
using training::TaskKind;
using training::TrainingPlan;

/// For each dimension the number of a rank's part.
std::vector<uint32_t>
PartOf(const Layout& layout, uint32_t rank)
{
    std::vector<uint32_t> part;
    for (const Digits& digits : layout)
    {
        uint32_t number = 0;
        for (const Digit& digit : digits)
        {
            number = number * digit.size + rank / digit.stride % digit.size;
        }
        part.push_back(number);
    }
    return part;
}

/// Elements that two parts of a tensor have in common.
double
CommonElements(const std::vector<uint64_t>& shape,
               const Layout& a,
               const std::vector<uint32_t>& partA,
               const Layout& b,
               const std::vector<uint32_t>& partB)
{
    double elements = 1;
    for (std::size_t d = 0; d < shape.size(); ++d)
    {
        const auto size = static_cast<double>(shape[d]);
        const double widthA = size / CountOf(a[d]);
        const double widthB = size / CountOf(b[d]);
        const double from = std::max(widthA * partA[d], widthB * partB[d]);
        const double to = std::min(widthA * (partA[d] + 1), widthB * (partB[d] + 1));
        elements *= std::max(0.0, to - from);
    }
    return elements;
}

} // namespace

std::vector<PartMessage>
MessagesBetween(const std::vector<uint64_t>& shape,
                const Layout& from,
                uint32_t senders,
                const Layout& to,
                uint32_t receivers)
{
    std::map<std::vector<uint32_t>, std::vector<uint32_t>> owners; // by part
    for (uint32_t rank = 0; rank < senders; ++rank)
    {
        owners[PartOf(from, rank)].push_back(rank);
    }
    std::vector<PartMessage> messages;
    for (uint32_t rank = 0; rank < receivers; ++rank)
    {
        const std::vector<uint32_t> wanted = PartOf(to, rank);
        for (const auto& [part, ranks] : owners)
        {
            const double elements = CommonElements(shape, from, part, to, wanted);
            if (elements > 1e-6)
            {
                messages.push_back({ranks[rank % ranks.size()], rank, elements});
            }
        }
    }
    return messages;
}

namespace
{

constexpr uint16_t kSendForward = 3;
constexpr uint16_t kReceiveForward = 4;
constexpr uint16_t kSendBackward = 5;
constexpr uint16_t kReceiveBackward = 6;

/// A tensor between two stages.
struct Crossing
{
    uint32_t fromStage = 0;
    uint32_t fromOp = 0; ///< of the stage's graph
    uint32_t toStage = 0;
    uint32_t toOp = 0;
    uint32_t bytes = 4; ///< of an element
    std::vector<PartMessage> forward;
    std::vector<PartMessage> backward; ///< gradients, from the receivers to the maker
};

/// A message of one rank in each micro-batch.
struct OwnMessage
{
    bool backward = false;
    bool sends = false;
    uint32_t op = 0; ///< of the stage's graph: made there, or needed there
    int32_t offset = 0;
    uint16_t tag = 0;
    uint64_t bytes = 0;

    auto Key() const
    {
        return std::tuple(backward, sends, op, offset, tag, bytes);
    }

    bool operator<(const OwnMessage& o) const
    {
        return Key() < o.Key();
    }
};

/// The stage that has an operator of the whole graph: its last turn, or the turn before another
/// stage's first.
class Crossings
{
  public:
    explicit Crossings(const StagedSharding& staged)
        : m_staged(staged)
    {
        for (uint32_t s = 0; s < staged.stages.size(); ++s)
        {
            for (const Received& r : staged.stages[s].stage.received)
            {
                Add(s, r);
            }
        }
    }

    const std::vector<Crossing>& All() const
    {
        return m_all;
    }

  private:
    void Add(uint32_t stage, const Received& received)
    {
        // The nearest stage ahead that has the operator: of a folded row the one with the last turn
        // so far, which is the block before or the row's end.
        uint32_t maker = stage;
        uint32_t op = 0;
        while (maker-- > 0)
        {
            const auto& whole = m_staged.stages[maker].stage.whole;
            const auto at =
                std::find(whole.begin(), whole.end(), static_cast<int32_t>(received.maker));
            if (at != whole.end())
            {
                op = static_cast<uint32_t>(at - whole.begin());
                break;
            }
        }
        const ShardedStage& from = m_staged.stages[maker];
        const ShardedStage& to = m_staged.stages[stage];
        const Operand& made = from.stage.graph.operators[op].output;
        const TensorInfo& tensor = from.stage.graph.tensors[made.tensor];
        const Layout has = LayoutOf(made, from.sharding.strategies[op]);
        const Layout wants = LayoutOf(to.stage.graph.operators[received.op].output,
                                      to.sharding.strategies[received.op]);
        const uint32_t senders = from.sharding.settings.devices.count;
        const uint32_t receivers = to.sharding.settings.devices.count;
        m_all.push_back({maker,
                         op,
                         stage,
                         received.op,
                         tensor.bytes,
                         MessagesBetween(tensor.shape, has, senders, wants, receivers),
                         MessagesBetween(tensor.shape, wants, receivers, has, senders)});
    }

    const StagedSharding& m_staged;
    std::vector<Crossing> m_all;
};

std::vector<OwnMessage>
MessagesOf(const StagedSharding& staged,
           const std::vector<Crossing>& crossings,
           uint32_t stage,
           uint32_t rank)
{
    std::vector<OwnMessage> own;
    for (std::size_t c = 0; c < crossings.size(); ++c)
    {
        const Crossing& x = crossings[c];
        const auto first = [&](uint32_t s) { return staged.stages[s].firstRank; };
        const auto take = [&](const std::vector<PartMessage>& messages,
                              bool backward,
                              uint32_t sender,
                              uint32_t receiver,
                              uint32_t sendOp,
                              uint32_t receiveOp) {
            for (const PartMessage& m : messages)
            {
                const auto from = static_cast<int32_t>(first(sender) + m.from);
                const auto to = static_cast<int32_t>(first(receiver) + m.to);
                const auto tag = static_cast<uint16_t>(2 * c + (backward ? 1 : 0));
                const auto bytes =
                    static_cast<uint64_t>(std::llround(std::max(1.0, m.elements * x.bytes)));
                if (sender == stage && m.from == rank)
                {
                    own.push_back({backward, true, sendOp, to - from, tag, bytes});
                }
                if (receiver == stage && m.to == rank)
                {
                    own.push_back({backward, false, receiveOp, from - to, tag, bytes});
                }
            }
        };
        take(x.forward, false, x.fromStage, x.toStage, x.fromOp, x.toOp);
        take(x.backward, true, x.toStage, x.fromStage, x.toOp, x.fromOp);
    }
    return own;
}

/// One rank of a stage.
class StagePlanBuilder : public PlanBuilder
{
  public:
    StagePlanBuilder(const ShardedStage& stage,
                     const SliceKernels& kernels,
                     uint32_t passes,
                     const std::vector<OwnMessage>& messages)
        : PlanBuilder(stage.stage.graph,
                      stage.sharding.strategies,
                      kernels,
                      stage.sharding.settings.devices.count,
                      passes),
          m_messages(messages)
    {
        m_role.streams.insert(
            m_role.streams.end(),
            {"send activations", "receive activations", "send gradients", "receive gradients"});
    }

    void Run(const std::vector<training::PipelineAction>& actions)
    {
        for (const training::PipelineAction& action : actions)
        {
            m_pass = action.microBatch;
            if (action.kind == training::PipelineAction::Kind::kForward)
            {
                Forward();
            }
            else
            {
                Backward();
            }
        }
        Optimizer();
    }

  private:
    Tasks Received(uint32_t op, Phase phase) override
    {
        Tasks received;
        for (const OwnMessage& m : m_messages)
        {
            if (!m.sends && m.op == op && m.backward == (phase == Phase::kBackward))
            {
                received.push_back(Message(m, phase, {}));
            }
        }
        return received;
    }

    void Made(uint32_t op, Phase phase, const Tasks& made) override
    {
        for (const OwnMessage& m : m_messages)
        {
            if (m.sends && m.op == op && m.backward == (phase == Phase::kBackward))
            {
                Message(m, phase, made);
            }
        }
    }

    training::TaskId Message(const OwnMessage& m, Phase phase, const Tasks& after)
    {
        Task task;
        task.kind = m.sends ? TaskKind::kSend : TaskKind::kRecv;
        task.phase = phase;
        task.stream = m.backward ? (m.sends ? kSendBackward : kReceiveBackward)
                                 : (m.sends ? kSendForward : kReceiveForward);
        task.bytes = m.bytes;
        task.group = kMessages;
        task.peerOffset = m.offset;
        task.tag = m.tag;
        task.name = std::string(m.sends ? "send " : "receive ") +
                    (m.backward ? "gradient " : "activations ") + std::to_string(m.tag / 2) +
                    " micro-batch " + std::to_string(m_pass);
        task.after = after;
        return Add(std::move(task));
    }

    std::vector<OwnMessage> m_messages;
};

/// Roles and groups of all stages.
class StagedPlanBuilder
{
  public:
    StagedPlanBuilder(const StagedSharding& staged,
                      const SliceKernels& kernels,
                      uint32_t devices,
                      uint32_t passes)
        : m_staged(staged),
          m_kernels(kernels),
          m_passes(passes)
    {
        m_plan.ranks = devices;
        m_plan.roleOf.assign(devices, 0);
        m_plan.stageOf.assign(devices, 0);
        std::vector<coll::Rank> all(devices);
        for (uint32_t rank = 0; rank < devices; ++rank)
        {
            all[rank] = rank;
        }
        m_plan.groupKinds.push_back({"pp", {all}});
    }

    TrainingPlan Build()
    {
        const Crossings crossings(m_staged);
        double flops = 0;
        for (uint32_t s = 0; s < m_staged.stages.size(); ++s)
        {
            AddStage(s, crossings.All());
            const ShardedStage& stage = m_staged.stages[s];
            const Graph& graph = stage.stage.graph;
            for (uint32_t i = 0; i < graph.operators.size(); ++i)
            {
                flops += m_kernels.Flops(graph.operators[i]) * graph.Times(i);
            }
            m_plan.gpuMemoryBytes =
                std::max(m_plan.gpuMemoryBytes, static_cast<uint64_t>(stage.sharding.memory));
        }
        m_plan.samplesPerStep = m_staged.stages.front().stage.graph.samples * m_passes;
        m_plan.flopsPerGpuPerStep = 3 * flops * m_passes / m_plan.ranks;
        return std::move(m_plan);
    }

  private:
    void AddStage(uint32_t s, const std::vector<Crossing>& crossings)
    {
        const ShardedStage& stage = m_staged.stages[s];
        training::PipelineShape shape;
        shape.stages = static_cast<uint32_t>(m_staged.stages.size());
        shape.microBatches = m_passes;
        const auto actions = training::FindPipelineSchedule("1f1b")->OrderOf(shape, s, 0, 0);
        std::map<std::vector<OwnMessage>, uint32_t> roleOf;
        for (uint32_t rank = 0; rank < stage.sharding.settings.devices.count; ++rank)
        {
            const auto messages = MessagesOf(m_staged, crossings, s, rank);
            const auto [at, isNew] =
                roleOf.try_emplace(messages, static_cast<uint32_t>(m_plan.roles.size()));
            if (isNew)
            {
                StagePlanBuilder builder(stage, m_kernels, m_passes, messages);
                builder.Run(actions);
                AddRole(stage, builder);
            }
            m_plan.roleOf[stage.firstRank + rank] = at->second;
            m_plan.stageOf[stage.firstRank + rank] = s;
        }
    }

    /// Groups of one name are one kind, whatever stage they are of.
    void AddRole(const ShardedStage& stage, PlanBuilder& builder)
    {
        training::StepGraph role = builder.TakeRole();
        std::vector<uint32_t> kinds;
        for (const training::GroupKind& kind : builder.Kinds())
        {
            const auto known = std::find_if(
                m_plan.groupKinds.begin(),
                m_plan.groupKinds.end(),
                [&kind](const training::GroupKind& other) { return other.name == kind.name; });
            kinds.push_back(static_cast<uint32_t>(known - m_plan.groupKinds.begin()));
            if (known == m_plan.groupKinds.end())
            {
                m_plan.groupKinds.push_back({kind.name, {}});
            }
            auto& groups = m_plan.groupKinds[kinds.back()].groups;
            for (std::vector<coll::Rank> group : kind.groups)
            {
                for (coll::Rank& rank : group)
                {
                    rank += stage.firstRank;
                }
                if (std::find(groups.begin(), groups.end(), group) == groups.end())
                {
                    groups.push_back(std::move(group));
                }
            }
        }
        for (Task& task : role.tasks)
        {
            task.group = task.kind == TaskKind::kCollective ? kinds[task.group] : 0;
        }
        m_plan.roles.push_back(std::move(role));
    }

    const StagedSharding& m_staged;
    const SliceKernels& m_kernels;
    uint32_t m_passes;
    TrainingPlan m_plan;
};

} // namespace

TrainingPlan
MakeStagedPlan(const StagedSharding& staged,
               const SliceKernels& kernels,
               uint32_t devices,
               uint32_t passes)
{
    return StagedPlanBuilder(staged, kernels, devices, passes).Build();
}

} // namespace sharding
