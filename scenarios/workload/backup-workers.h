/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_WORKLOAD_BACKUP_WORKERS_H
#define SCENARIOS_WORKLOAD_BACKUP_WORKERS_H

#include "scenarios/workload/served.h"

namespace workload
{

/**
 * Synchronous SGD with b backup workers (Chen et al. 2016): each server goes on when it has the
 * first n - b gradients of a step, and drops those that come later. Once all servers have updated
 * their shards, the parameters of the next step go to the workers that have sent their gradients. A
 * late worker ends its step all the same, sends gradients that are dropped, and goes on with the
 * newest parameters (as TensorFlow's SyncReplicasOptimizer has it: stale gradients are dropped, and
 * a worker begins a step with the parameters of the newest one).
 *
 * The news that all servers are done, and the next work of workers, is known a decision later
 * (Notice), without messages of its own. Adding up gradients as they come costs nothing (assumed).
 */
class BackupWorkers : public Served
{
  public:
    BackupWorkers(const training::TrainingPlan& plan,
                  const training::ServedPlan& served,
                  uint32_t warmup,
                  uint32_t measured);

    std::optional<Round> Next(coll::Rank runner) override;
    std::optional<Round> Woken(coll::Rank runner, uint32_t word) override;

  private:
    /// The next action of a runner by itself.
    enum class Stage : uint8_t
    {
        kBegin,
        kPush, ///< a connection whose reply is on its way
        kRest,
    };

    struct Own
    {
        Stage stage = Stage::kBegin;
        uint32_t step = 0;
    };

    struct Worker
    {
        uint32_t step = 0; ///< step of its parameters
        uint32_t open = 0; ///< its round, and pushes to other GPUs
    };

    void Join(const Who& who, const Round& round, Notice& notice) override;
    /// All servers have updated their shards.
    void NextStep(Notice& notice);
    /// Gradients are at a server.
    void Arrive(Rank worker, uint32_t shard, Notice& notice);
    /// Ends one of the parts that Worker::open counts.
    void EndPart(Rank worker, Notice& notice);
    /// The worker begins a step with the newest parameters.
    void Release(Rank worker, Notice& notice);

    std::vector<Own> m_own; ///< by runner, for itself
    // Joined:
    std::vector<Worker> m_workers;
    std::vector<uint32_t> m_arrived; ///< by shard: gradients of this step that it takes
    uint32_t m_updated = 0;          ///< shards
};

} // namespace workload

#endif // SCENARIOS_WORKLOAD_BACKUP_WORKERS_H
