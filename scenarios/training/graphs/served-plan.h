/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Data parallelism by parameter servers instead of collectives: graphs of replicas and servers. A
 * workload decides when each of them runs which of its graphs (scenarios/workload/served.h).
 *
 *   Downpour SGD, Sandblaster   Dean et al., "Large scale distributed deep networks", NIPS 2012,
 *                               sections 4.1 and 4.2, algorithms of the appendix
 *   backup workers              Chen et al., "Revisiting distributed synchronous SGD",
 *                               arXiv 1604.00981
 *
 * A replica is one GPU with all of the model. Its parameters are cut into shards, as many elements
 * each (those left over go one each to some); shard s of S has its server beside GPU floor(s n / S)
 * of n, as those of the collective parameter-server. Data of a GPU for the server beside it do not
 * travel.
 *
 *     replica r                       connection (r, s)           server of shard s
 *     request            ---64 B--->  request
 *     parameters         <---------   reply: the shard
 *     gradients          --------->   push: as many bytes    -->  update, one after another
 *
 * Servers and their connections are actors of the plan: a connection takes its replica's messages
 * in order and does not hold up others. So sends and receives match, and a server needs no rounds
 * of its own.
 */
#ifndef SCENARIOS_TRAINING_GRAPHS_SERVED_PLAN_H
#define SCENARIOS_TRAINING_GRAPHS_SERVED_PLAN_H

#include "scenarios/training/spec/plan-options.h"
#include "scenarios/training/steps/step-graph.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace training
{

enum class Strategy : uint8_t
{
    kSync,          ///< collectives: no parameter servers
    kDownpour,      ///< no replica waits for another
    kSandblaster,   ///< pieces of a batch, handed out by a coordinator
    kBackupWorkers, ///< a step ends with the first n - b gradients
};

/// "sync", "downpour", "sandblaster", "backup-workers".
std::string StrategyName(Strategy strategy);
std::optional<Strategy> ParseStrategy(std::string_view text);

struct ServedOptions
{
    Strategy strategy = Strategy::kSync;
    uint32_t shards = 1;        ///< 1 to the number of GPUs
    uint32_t fetchEvery = 1;    ///< Downpour: steps of a replica (n_fetch)
    uint32_t pushEvery = 1;     ///< Downpour: steps (n_push); Sandblaster: pieces; 0: a batch
    uint32_t backupWorkers = 0; ///< number of backup workers among the GPUs; fewer than all
    uint32_t history = 10;      ///< Sandblaster: pairs of vectors that L-BFGS keeps
};

/// Bytes of a request for a shard's parameters: assumed, a few words of a remote call.
constexpr uint64_t kRequestBytes = 64;
/// Messages a replica sends at once, each to another server: assumed.
constexpr uint32_t kMessagesAtOnce = 16;

/// Memory traffic of an L-BFGS iteration, bytes a parameter: vectors of 4 bytes that are read or
/// written, of `history` pairs (s, y). The two-loop recursion has for each pair, twice, a scalar
/// product (2 vectors) and an addition (3); one scaling (2); then the new parameters (3), the new
/// pair (2 and 3), and the gradient that is kept for the next one (2).
uint32_t LbfgsBytesPerParameter(uint32_t history);

class ServedPlan
{
  public:
    enum class Kind : uint8_t
    {
        kReplica,
        kConnection, ///< a replica and a shard
        kUpdater,    ///< a shard
        kSender,     ///< Sandblaster: what of a replica sends gradients while it computes
    };

    struct Who
    {
        Kind kind = Kind::kReplica;
        coll::Rank replica = 0;
        uint32_t shard = 0;
    };

    /// \param options resolved, without ZeRO: the replicas are options.ranks
    ServedPlan(const TrainingOptions& options, const ServedOptions& served);

    /// The graphs of all runners (Kind), in group kind 0, and the actors. To be taken once.
    TrainingPlan TakePlan()
    {
        return std::move(m_plan);
    }

    const ServedOptions& Options() const
    {
        return m_served;
    }

    coll::Rank Replicas() const
    {
        return m_replicas;
    }

    /// The number of replicas whose gradients a step takes: all but the backup workers.
    uint32_t Counted() const
    {
        return m_replicas - m_served.backupWorkers;
    }

    uint32_t Shards() const
    {
        return m_served.shards;
    }

    /// Sandblaster: of a batch.
    uint32_t Pieces() const
    {
        return m_pieces;
    }

    /// Downpour: replicas compute while their messages are under way.
    bool Overlaps() const
    {
        return m_overlaps;
    }

    /// GPU of a shard's server.
    coll::Rank ServerOf(uint32_t shard) const
    {
        return static_cast<coll::Rank>(uint64_t{shard} * m_replicas / m_served.shards);
    }

    uint64_t ShardBytes(uint32_t shard) const
    {
        return m_shardBytes[shard];
    }

    /// Nothing travels between the two.
    bool IsLocal(coll::Rank replica, uint32_t shard) const
    {
        return ServerOf(shard) == replica;
    }

    /// \return the shard whose server is beside this replica; Shards() if there is none
    uint32_t LocalShard(coll::Rank replica) const;

    // Runners.
    coll::Rank Connection(coll::Rank replica, uint32_t shard) const
    {
        return m_replicas + replica * m_served.shards + shard;
    }

    coll::Rank Updater(uint32_t shard) const
    {
        return m_replicas + m_replicas * m_served.shards + shard;
    }

    coll::Rank Sender(coll::Rank replica) const
    {
        return Updater(m_served.shards) + replica;
    }

    Who WhoIs(coll::Rank runner) const;

    // Graphs: indices into TrainingPlan::roles.

    /// Downpour: the graph of a replica's step. With overlap, it fetches for its next step, and
    /// pushes the gradients of the step before.
    uint32_t Step(coll::Rank replica, bool fetches, bool pushes) const
    {
        return m_replicaGraphs[replica][(fetches ? 1 : 0) + (pushes ? 2 : 0)];
    }

    /// Backup workers: parameters, a step, gradients.
    uint32_t Whole(coll::Rank replica) const
    {
        return m_replicaGraphs[replica][0];
    }

    // Sandblaster.
    uint32_t Fetch(coll::Rank replica) const
    {
        return m_replicaGraphs[replica][0];
    }

    uint32_t Piece(coll::Rank replica) const
    {
        return m_replicaGraphs[replica][1];
    }

    uint32_t Send(coll::Rank replica) const
    {
        return m_replicaGraphs[replica][2];
    }

    uint32_t Request(coll::Rank replica, uint32_t shard) const
    {
        return m_connectionGraphs[replica * m_served.shards + shard][0];
    }

    uint32_t Reply(coll::Rank replica, uint32_t shard) const
    {
        return m_connectionGraphs[replica * m_served.shards + shard][1];
    }

    uint32_t Push(coll::Rank replica, uint32_t shard) const
    {
        return m_connectionGraphs[replica * m_served.shards + shard][2];
    }

    uint32_t Update(uint32_t shard) const
    {
        return m_updateGraphs[shard];
    }

  private:
    struct Parts;

    uint32_t AddReplicaGraph(coll::Rank replica, const Parts& parts);
    void AddReplicas(const StepGraph& step);
    void AddConnections();
    void AddUpdaters(rdma::Duration wholeOptimizer, const TrainingOptions& options);

    ServedOptions m_served;
    coll::Rank m_replicas;
    uint32_t m_pieces;
    bool m_overlaps;
    std::vector<uint64_t> m_shardBytes;
    std::vector<std::array<uint32_t, 4>> m_replicaGraphs;
    std::vector<std::array<uint32_t, 3>> m_connectionGraphs; ///< by replica and shard
    std::vector<uint32_t> m_updateGraphs;
    TrainingPlan m_plan;
};

} // namespace training

#endif // SCENARIOS_TRAINING_GRAPHS_SERVED_PLAN_H
