/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Training with parameter servers: when replicas, connections and servers of a ServedPlan run which
 * of its graphs.
 */
#ifndef SCENARIOS_WORKLOAD_SERVED_H
#define SCENARIOS_WORKLOAD_SERVED_H

#include "scenarios/training/plan/served-plan.h"
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
    /// Downpour: of each gradient that was applied to a shard, how many gradients of other replicas
    /// were, since its replica had fetched the shard's parameters that it is of; how many had so
    /// many.
    std::map<uint64_t, uint64_t> staleness;
    uint64_t applied = 0;           ///< gradients of a shard that went into its parameters
    uint64_t dropped = 0;           ///< that came too late for that
    uint64_t pieces = 0;            ///< Sandblaster: that replicas have ended or were stopped in
    uint64_t backups = 0;           ///< given to a second replica
    uint64_t wasted = 0;            ///< of the pieces those that were not the first result
    std::vector<uint64_t> roundsOf; ///< by replica: steps, or pieces, that it has ended
    std::vector<uint64_t> received; ///< by shard: bytes of gradients, from other GPUs
    std::vector<uint64_t> sent;     ///< by shard: bytes of parameters, to other GPUs
};

/**
 * What strategies have in common. A step is so much work as all replicas do in one of synchronous
 * training, whoever does it: it ends with the round that makes it full. Measuring begins with the
 * end of the last warm-up step.
 *
 * Runners begin rounds by what they themselves have done, or as they are told (Woken). Everything
 * that is known of several of them is behind OnEnded.
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

    /// Those whose server is not beside the replica.
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
