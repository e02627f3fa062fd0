/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_WORKLOAD_DOWNPOUR_H
#define SCENARIOS_WORKLOAD_DOWNPOUR_H

#include "scenarios/workload/served.h"

#include <deque>

namespace workload
{

/**
 * Downpour SGD (Dean et al. 2012, section 4.1 and the first algorithm of the appendix): in step k a
 * replica fetches parameters if k mod n_fetch = 0, and pushes what gradients it has accrued if
 * k mod n_push = 0. Replicas wait for nobody, and a server applies gradients as they come, one
 * after another.
 *
 *     one after another   fetch 0 | compute 0 | push 0 | fetch 1 | compute 1 | push 1
 *     overlapping         fetch 0   | fetch 1     | fetch 2
 *                         compute 0 | compute 1   | compute 2     with what came in the step before
 *                                   | push 0      | push 1
 *
 * A connection does what its replica asks in its order, so a fetch behind a push is of parameters
 * with that push. A replica takes the parameters of the shard beside it as a step begins, and waits
 * in the same way.
 */
class Downpour : public Served
{
  public:
    Downpour(const training::TrainingPlan& plan,
             const training::ServedPlan& served,
             uint32_t warmup,
             uint32_t measured);

    std::optional<Round> Next(coll::Rank runner) override;
    std::optional<Round> Woken(coll::Rank runner, uint32_t word) override;

  private:
    /// Where a connection is.
    struct Place
    {
        uint32_t step = 0; ///< step of its replica
        uint32_t done = 0; ///< parts of that step that are done: request, reply and push
        bool pushed = false;
    };

    /// Parameters that a replica has.
    struct Read
    {
        uint32_t step; ///< step in which they came
        uint64_t of;   ///< updates by other replicas that are in them
    };

    /// Gradients of a replica for a shard.
    struct Push
    {
        Rank replica;
        uint32_t step; ///< step that they end with
    };

    struct Pair
    {
        std::deque<Read> reads;
        uint64_t applied = 0; ///< updates by this replica
    };

    struct Shard
    {
        std::deque<Push> queue; ///< the first one is being applied
        uint64_t applied = 0;
    };

    bool Fetches(uint32_t step) const
    {
        return step % m_served.Options().fetchEvery == 0;
    }

    bool Pushes(uint32_t step) const
    {
        return step % m_served.Options().pushEvery == 0;
    }

    /// Whether gradients are on their way in a step; then they end with step - Lag().
    bool Carries(uint32_t step) const
    {
        return step >= Lag() && Pushes(step - Lag());
    }

    uint32_t Lag() const
    {
        return m_served.Overlaps() ? 1 : 0;
    }

    Round StepOf(Rank replica);
    std::optional<Round> Go(const Who& who, Place& at);

    void Join(const Who& who, const Round& round, Notice& notice) override;
    void JoinReplica(Rank replica, uint32_t step, Notice& notice);
    void TakeRead(Rank replica, uint32_t shard, uint32_t step);
    void Apply(uint32_t shard, const Push& push, Notice& notice);
    void Applied(uint32_t shard, Notice& notice);
    /// The replica's next step may begin, as to the shard beside it.
    void GoOn(Rank replica, Notice& notice);

    Pair& PairOf(Rank replica, uint32_t shard)
    {
        return m_pairs[std::size_t{replica} * m_served.Shards() + shard];
    }

    // By runner, for itself:
    std::vector<uint32_t> m_begun; ///< steps of replicas
    std::vector<Place> m_places;   ///< places of connections
    // Joined:
    uint64_t m_rounds = 0; ///< steps that replicas have ended
    std::vector<Pair> m_pairs;
    std::vector<Shard> m_shards;

    /// The state of a replica with a shard beside it.
    struct Local
    {
        uint32_t pending = 0; ///< pushes that are not applied
        bool rests = false;
        uint32_t next = 0; ///< step
    };

    std::vector<Local> m_local;
};

} // namespace workload

#endif // SCENARIOS_WORKLOAD_DOWNPOUR_H
