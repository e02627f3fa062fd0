/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Training with parameter servers: when replicas, connections and servers of a ServedPlan run which
 * of its graphs.
 */
#ifndef SCENARIOS_WORKLOAD_SERVED_H
#define SCENARIOS_WORKLOAD_SERVED_H

#include "scenarios/training/graphs/served-plan.h"
#include "scenarios/workload/workload.h"

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

namespace workload
{

/// From the end of the warm-up to the end of the run.
struct ServedStatistics
{
    /// Downpour: a histogram over the gradients that were applied to a shard. Key: the number of
    /// gradients of other replicas that were applied between the fetch of its parameters and
    /// itself. Value: the number of such gradients.
    std::map<uint64_t, uint64_t> staleness;
    uint64_t applied = 0;           ///< gradients of a shard that went into its parameters
    uint64_t dropped = 0;           ///< gradients that came too late for that
    uint64_t pieces = 0;            ///< Sandblaster: that replicas have ended or were stopped in
    uint64_t backups = 0;           ///< pieces given to a second replica
    uint64_t wasted = 0;            ///< pieces whose result was not the first
    std::vector<uint64_t> roundsOf; ///< by replica: steps, or pieces, that it has ended
    std::vector<uint64_t> received; ///< by shard: bytes of gradients, from other GPUs
    std::vector<uint64_t> sent;     ///< by shard: bytes of parameters, to other GPUs
};

/**
 * The common part of the strategies. A step is as much work as all replicas do in a step of
 * synchronous training, whichever replica does it. It ends with the round that completes that
 * amount. Measuring begins with the end of the last warm-up step.
 *
 * Runners begin rounds by their own past, or on an order (Woken). All knowledge about several of
 * them goes through OnEnded.
 */
class Served : public Workload
{
  public:
    /// \param plan of `served`; both kept by reference \param warmup steps before the measured ones
    Served(const training::TrainingPlan& plan,
           const training::ServedPlan& served,
           uint32_t warmup,
           uint32_t measured);

    const training::TrainingPlan& Plan() const override
    {
        return m_plan;
    }

    Notice OnEnded(coll::Rank runner, const Round& round) override;

    bool IsDone() const override
    {
        return m_ended == m_steps;
    }

    uint64_t CountTasks() const override;

    const ServedStatistics* Statistics() const override
    {
        return &m_statistics;
    }

  protected:
    using Who = training::ServedPlan::Who;
    using Kind = training::ServedPlan::Kind;
    using Rank = coll::Rank;

    /// A round has ended, and the run goes on.
    virtual void Join(const Who& who, const Round& round, Notice& notice) = 0;

    Round RoundOf(uint32_t graph, uint32_t number) const
    {
        return {graph, number, number >= m_warmup, {}};
    }

    /// A step is full. \return whether another one follows
    bool EndStep(Notice& notice);

    bool IsMeasured() const
    {
        return m_ended >= m_warmup;
    }

    void CountReceived(uint32_t shard);
    void CountSent(uint32_t shard);

    /// \return the number of shards whose server is not beside the replica
    uint32_t RemoteShards(Rank replica) const
    {
        return m_served.Shards() - (m_served.LocalShard(replica) < m_served.Shards() ? 1 : 0);
    }

    const training::TrainingPlan& m_plan;
    const training::ServedPlan& m_served;
    const uint32_t m_warmup;
    const uint32_t m_steps; ///< in all
    // Joined:
    uint32_t m_ended = 0; ///< steps
    ServedStatistics m_statistics;
};

/// \param served not of Strategy::kSync
std::unique_ptr<Workload> MakeServed(const training::TrainingPlan& plan,
                                     const training::ServedPlan& served,
                                     uint32_t warmup,
                                     uint32_t measured);

} // namespace workload

#endif // SCENARIOS_WORKLOAD_SERVED_H
