/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * One training step as a graph of tasks, the same for every rank that plays the same role.
 *
 * A rank owns streams, as a GPU does: stream 0 computes, the others communicate. A stream runs its
 * tasks one at a time in the order in which they stand in the graph; a task also waits for the
 * tasks in `after`. So overlap of gradient reduction with backward, or of prefetch with forward,
 * comes out of the graph and is assumed nowhere. Collectives of one communicator start in the same
 * order on all its ranks because stream order is the same.
 */
#ifndef SCENARIOS_TRAINING_STEPS_STEP_GRAPH_H
#define SCENARIOS_TRAINING_STEPS_STEP_GRAPH_H

#include "collectives/core/schedule.h"
#include "contrib/rdma/core/units.h"
#include "scenarios/training/steps/jitter.h"
#include "scenarios/training/steps/memory-tier.h"
#include "scenarios/training/steps/speed-profile.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace training
{

using TaskId = uint32_t;

enum class TaskKind : uint8_t
{
    kCompute,    ///< occupies the stream for `duration`
    kMemory,     ///< the same, bound by memory bandwidth (optimizer step, casts)
    kHost,       ///< the same beside computing, on the server: a copy over PCIe, work of its CPU;
                 ///< with a tier, a load or a store there
    kCollective, ///< `op` over `bytes` in the group `group`
    kSend, ///< a message to the rank `peerOffset` away in group `group`; ends when it has arrived
    kRecv, ///< a message from that rank; ends when it has arrived
};

/// The purpose of a task: the step time is split by it.
enum class Phase : uint8_t
{
    kForward,
    kBackward,
    kGradient,  ///< reduction of gradients
    kParameter, ///< gathering of parameters
    kOptimizer,
    kLoading, ///< the samples of the next step
    kOther,
};

constexpr int16_t kNoLayer = -1;
constexpr uint8_t kNoTier = UINT8_MAX;
constexpr uint8_t kNotShared = UINT8_MAX;

struct Task
{
    TaskKind kind = TaskKind::kCompute;
    Phase phase = Phase::kOther;
    uint16_t stream = 0;                ///< index into StepGraph::streams
    rdma::Duration duration;            ///< kCompute, kMemory, kHost
    coll::Op op = coll::Op::kAllReduce; ///< kCollective
    uint64_t bytes = 0; ///< kCollective: Collective::bytes (whole vector); kSend, kRecv: the
                        ///< message; kHost: copied
    /// kCollective, all-to-all-v: as Collective::blocks. Ranks whose sizes belong to one matrix
    /// share it.
    std::shared_ptr<const coll::BlockSizes> blocks;
    uint32_t group = 0;     ///< index into TrainingPlan::groupKinds
    int32_t peerOffset = 0; ///< kSend, kRecv: peer = position in the group + peerOffset
    uint16_t tag = 0;       ///< kSend, kRecv: see message-match.h
    /// kHost: an access to `bytes` in TrainingPlan::tiers; `duration` is that of it alone.
    uint8_t tier = kNoTier;
    bool stores = false;         ///< with a tier: it writes
    uint8_t shared = kNotShared; ///< with a tier: index into TrainingPlan::shared
    /// The layer of a computation; of gradients or parameters under way, the lowest layer that they
    /// belong to, which is the first to need them. kNoLayer: of none.
    int16_t layer = kNoLayer;
    std::string name;          ///< "backward layer 7 micro-batch 2", "reduce-scatter bucket 3"
    std::vector<TaskId> after; ///< indices below this task's own
};

/// On the GPU, on its first stream.
inline bool
Computes(const Task& task)
{
    return task.kind == TaskKind::kCompute || task.kind == TaskKind::kMemory;
}

/// Loads from a memory tier or stores there.
inline bool
AccessesMemory(const Task& task)
{
    return task.kind == TaskKind::kHost && task.tier != kNoTier;
}

/// With other ranks.
inline bool
Communicates(const Task& task)
{
    return !Computes(task) && task.kind != TaskKind::kHost;
}

/// A send or a receive.
inline bool
IsMessage(const Task& task)
{
    return task.kind == TaskKind::kSend || task.kind == TaskKind::kRecv;
}

/// One step of one role. Tasks are in topological order.
struct StepGraph
{
    std::vector<std::string> streams; ///< names; [0] is "compute", of an actor's graph empty
    std::vector<Task> tasks;
};

/// A partition of (some of) the ranks into communicators of one kind ("dp", "tp", ...).
struct GroupKind
{
    std::string name;
    std::vector<std::vector<coll::Rank>> groups; ///< each in communicator order
    uint8_t priority = 3; ///< of its packets between servers (--service-levels)
};

/// The order of collectives that are ready at one time.
enum class CollectiveOrder : uint8_t
{
    kFifo,     ///< as they stand in the graph
    kLifo,     ///< what became ready last goes first
    kPriority, ///< what the next forward needs first goes first
};

/// The queue in front of the collectives of data parallelism.
struct CollectiveQueueSpec
{
    CollectiveOrder order = CollectiveOrder::kFifo;
    uint32_t inFlight = 1; ///< collectives of a group that run at once
};

/// Reductions of gradients, and gathers of parameters behind the optimizer: they stand in the
/// queue, if there is one. Other collectives hold computing up, and pass by it.
inline bool
IsQueued(const Task& task)
{
    return task.kind == TaskKind::kCollective && task.layer != kNoLayer;
}

/// A model of fewer blocks than it has, for a part of the run: what the whole takes is extrapolated
/// from several (--layers).
struct PlanSize
{
    uint32_t blocks = 0;
    uint32_t firstRole = 0; ///< rank r plays roles[firstRole + roleOf[r]]
};

/// Everything that ranks 0..ranks-1 do in one step.
struct TrainingPlan
{
    uint32_t ranks = 0;
    std::vector<StepGraph> roles;  ///< roles of each size in turn
    std::vector<uint32_t> roleOf;  ///< per rank; of actors behind them, one that tells their calls
    std::vector<uint32_t> stageOf; ///< per rank: stage of the pipeline; empty: there is none
    std::vector<PlanSize> sizes = {{}}; ///< largest first; at least one
    uint32_t blocks = 0;                ///< blocks of the whole model, if `sizes` have fewer
    /// For a pipeline that is never empty: in the first step, which fills it, rank r plays
    /// roles[fillRoles + roleOf[r]]. 0: all steps are alike.
    uint32_t fillRoles = 0;
    /// A step goes from one backward to the next, and the forward of the next step is its end
    /// (graphs/next-forward.h). The first one, fillRoles, has a forward at its beginning, too.
    bool nextForward = false;
    std::vector<GroupKind> groupKinds;
    std::vector<MemoryTier> tiers;  ///< memories beyond the GPUs'
    std::vector<SharedData> shared; ///< data in them
    /// Nothing: streams run their collectives in the order of the graph, one at a time.
    std::optional<CollectiveQueueSpec> queue;
    std::vector<double>
        slowness;  ///< per rank: computing takes so many times as long; empty: 1 for all
    Jitter jitter; ///< jitter of computing, beside the slowness
    std::map<coll::Rank, SpeedProfile> speeds; ///< speeds of ranks that slow down or stop
    /// The share of a GPU that a collective in progress takes from computing beside it.
    double contention = 0;
    std::vector<double> contentions; ///< per rank, if GPUs are not alike; empty: `contention`
    /// Actors run graphs beside the ranks, as processes on their servers do. They share no stream
    /// and no group of collectives with a rank. Actor `ranks` + i is at the GPU actorAt[i]:
    /// its messages leave from there and arrive there. With actors the workload defines a step.
    std::vector<coll::Rank> actorAt;
    /// The last so many actors send for the rank at their GPU, which goes on computing meanwhile.
    /// Their messages count as the rank's.
    coll::Rank senders = 0;
    // For throughput figures:
    uint64_t samplesPerStep = 0;   ///< global batch
    double flopsPerGpuPerStep = 0; ///< model FLOPs, without recomputation
    /// FLOP/s at which a captured step's FLOPs would run at the peaks of their data types; for
    /// unequal GPUs the mean.
    double peakFlops = 0;
    uint64_t tokensPerStep = 0; ///< of a captured step; 0: not known
    /// Estimate of the memory in use on one GPU (parameters, gradients, optimizer, activations).
    uint64_t gpuMemoryBytes = 0;

    /// Roles of steps that are alike.
    std::size_t UsualRoles() const
    {
        return fillRoles > 0 ? fillRoles : roles.size();
    }

    /// \return collectives and messages of a step, each counted once for each of its ranks (and
    /// actors)
    std::size_t CountCommunicating() const
    {
        std::vector<std::size_t> ofRole;
        for (const StepGraph& graph : roles)
        {
            ofRole.push_back(static_cast<std::size_t>(
                std::count_if(graph.tasks.begin(), graph.tasks.end(), Communicates)));
        }
        std::size_t all = 0;
        for (const uint32_t role : roleOf)
        {
            all += ofRole[role];
        }
        return all;
    }

    double SlownessOf(coll::Rank rank) const
    {
        return slowness.empty() ? 1 : slowness[rank];
    }

    double ContentionOf(coll::Rank rank) const
    {
        return contentions.empty() ? contention : contentions[rank];
    }

    /// The role of a rank in a step of the first size, counted from the beginning of the run.
    uint32_t RoleIn(uint32_t step, coll::Rank rank) const
    {
        return roleOf[rank] + (step == 0 ? fillRoles : 0);
    }

    /// The size for a turn. Steps of every size follow each other, the smallest first, so that the
    /// final counts are of the largest size alone.
    /// \param turn from 0
    /// \return an index into `sizes`
    std::size_t SizeInTurn(std::size_t turn) const
    {
        return sizes.size() - 1 - turn;
    }

    /// \return steps of a run, of all sizes, before the measured ones of the largest. \param
    /// warmup, measured steps of each size
    uint32_t StepsBeforeCounting(uint32_t warmup, uint32_t measured) const
    {
        return static_cast<uint32_t>(sizes.size() - 1) * (warmup + measured) + warmup;
    }

    /// \return stages of the pipeline; 0: there is none
    std::size_t CountStages() const
    {
        const auto last = std::max_element(stageOf.begin(), stageOf.end());
        return last == stageOf.end() ? 0 : *last + std::size_t{1};
    }

    bool HasActors() const
    {
        return !actorAt.empty();
    }

    /// Ranks and actors.
    coll::Rank Runners() const
    {
        return ranks + static_cast<coll::Rank>(actorAt.size());
    }

    bool SendsForItsRank(coll::Rank runner) const
    {
        return runner + senders >= Runners();
    }

    /// The GPU of a rank or an actor.
    coll::Rank PlaceOf(coll::Rank runner) const
    {
        return runner < ranks ? runner : actorAt[runner - ranks];
    }
};

} // namespace training

#endif // SCENARIOS_TRAINING_STEPS_STEP_GRAPH_H
