/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_WORKLOAD_SANDBLASTER_H
#define SCENARIOS_WORKLOAD_SANDBLASTER_H

#include "scenarios/workload/served.h"

#include <map>

namespace workload
{

/**
 * Sandblaster L-BFGS (Dean et al. 2012, section 4.2 and the second algorithm of the appendix): a
 * coordinator cuts a batch into pieces and gives replicas one whenever they are free. When none is
 * left, a free replica is given a second copy of the piece that has been under way for longest
 * (at most one such copy of each, assumed, as MapReduce's backup tasks), and the first result
 * counts. Replicas fetch parameters before their first piece of a batch, and send what gradients
 * they have accrued every few pieces, and at the end of the batch. Then each server does an
 * iteration on its shard, and the next batch begins.
 *
 * A replica that computes a piece whose result is there stops with the layer it is in (assumed).
 * The coordinator's orders are known a decision later (Notice), without messages of their own, and
 * so are the scalars that servers exchange; the line search takes its first step (assumed).
 */
class Sandblaster : public Served
{
  public:
    Sandblaster(const training::TrainingPlan& plan,
                const training::ServedPlan& served,
                uint32_t warmup,
                uint32_t measured);

    std::optional<Round> Next(coll::Rank runner) override;
    std::optional<Round> Woken(coll::Rank runner, uint32_t word) override;

  private:
    struct Replica
    {
        uint32_t fetching = 0; ///< rounds that its fetch takes: its own and replies
        uint32_t pushing = 0;  ///< rounds that its push takes
        uint32_t fetched = 0;  ///< batch of its parameters, once fetching is 0
        bool computes = false; ///< computes a piece
        uint32_t batch = 0;    ///< batch of that piece
        uint32_t piece = 0;    ///< in the batch
        uint32_t accrued = 0;  ///< pieces whose gradients it has not sent
    };

    /// A piece that no replica has ended.
    struct Outstanding
    {
        Rank first = 0;
        std::optional<Rank> second = {};
    };

    void Join(const Who& who, const Round& round, Notice& notice) override;
    /// A replica that is free.
    void Assign(Rank replica, Notice& notice);
    void Give(Rank replica, uint32_t piece, Notice& notice);
    void Fetch(Rank replica, Notice& notice);
    void EndPiece(Rank replica, Notice& notice);
    /// Sends its accrued gradients, if it may now.
    void Push(Rank replica, Notice& notice);
    void UpdateIfWhole(Notice& notice);
    void NextBatch(Notice& notice);

    std::vector<bool> m_begun; ///< by runner, for itself
    // Joined:
    std::vector<Replica> m_replicas;
    uint32_t m_given = 0;                      ///< pieces of the batch
    uint32_t m_done = 0;                       ///< pieces of the batch that are done
    uint32_t m_pushing = 0;                    ///< replicas
    uint32_t m_updating = 0;                   ///< shards
    std::map<uint32_t, Outstanding> m_pending; ///< by piece: in the order in which they began
};

} // namespace workload

#endif // SCENARIOS_WORKLOAD_SANDBLASTER_H
