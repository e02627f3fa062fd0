/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_SERVING_SHARD_H
#define DLTRAIN_SERVING_SHARD_H

#include "contrib/dltrain/base/event-pool.h"
#include "contrib/dltrain/runners/collective-runner.h"
#include "contrib/dltrain/runners/message-runner.h"
#include "scenarios/inference/stages/stage-costs.h"

#include <cstdint>
#include <deque>
#include <vector>

namespace dltrain
{

/// KV that leaves a server after each of its layers is computed.
struct KvLayerSend
{
    MessageOrder order;
    uint32_t firstBlock = 0; ///< of the stage
    uint32_t blocks = 0;
    uint64_t bytes = 0; ///< of each block
};

/// An iteration of a shard.
struct ShardWork
{
    uint32_t iteration = 0;
    serving::StageLoad load;
    std::vector<KvLayerSend> kv;
};

/// What a shard's iteration took.
struct ShardEnd
{
    uint32_t shard;
    uint32_t iteration;
    int64_t at;      ///< ps
    int64_t tensor;  ///< ps: in all-reduces between servers
    int64_t experts; ///< ps: in dispatch and combine between servers
};

class ServingShard;

/// Hears of a shard, by an event of its server.
class ShardListener
{
  public:
    virtual ~ShardListener() = default;
    virtual void OnShardEnd(const ShardEnd& end) = 0;
};

/**
 * GPUs of one server that do a stage of an instance for one engine. They walk the stage's chain
 * together: all compute for the same time, and all enter the same collectives. Iterations follow
 * one another in the order in which they were ordered.
 *
 *     receive (not the first stage) | compute | all-reduce | compute | ... | send (not the last)
 */
class ServingShard
{
  public:
    /// A communicator and the place of each of the shard's GPUs.
    struct Seats
    {
        uint32_t communicator = UINT32_MAX; ///< none: all of the group are in the server
        std::vector<Rank> positions;
        Rank ranks = 0; ///< of the communicator
    };

    /// The numbers of names in traces.
    struct Tags
    {
        uint32_t reduce;
        uint32_t dispatch;
        uint32_t combine;
        uint32_t activations;
        uint32_t kv;
    };

    struct Place
    {
        uint32_t number = 0;     ///< of the shard
        std::vector<Rank> ranks; ///< its GPUs, not none
        Rank hop = 0;            ///< from a GPU to that of the next stage
        bool first = true;       ///< stage
        bool last = true;        ///< stage
    };

    ServingShard(Place place,
                 const std::vector<serving::StageOp>& chain,
                 Seats tensor,
                 Seats experts,
                 const Tags& tags,
                 CollectiveRunner& collectives,
                 MessageRunner& messages,
                 ShardListener& listener);

    /// By an event without context: behind what it has. \param now ps
    void Add(ShardWork work, int64_t now);

    /// A collective of one of its GPUs has ended, or a message to one has come.
    void OnDone(int64_t now);

    bool GoesOnByItself() const
    {
        return m_events.IsPending();
    }

    const Place& GetPlace() const
    {
        return m_place;
    }

    bool IsBusy() const
    {
        return m_busy;
    }

    /// Kind of group of activations, in orders of messages.
    static constexpr uint32_t ACTIVATIONS = 0;
    static constexpr uint32_t KV = 1;
    /// Cookies of receives: the number of the shard. Of sends, of which nobody waits for the end:
    static constexpr uint64_t NOBODY = UINT64_MAX;

  private:
    /// For exchanges of one kind, in an iteration.
    struct Waits
    {
        int64_t sum = 0;      ///< ps, of those that were simulated
        int64_t first = 0;    ///< ps, of the first of them
        uint32_t count = 0;   ///< of them
        int64_t repeated = 0; ///< ps, for those that are not simulated

        void Add(int64_t ps)
        {
            first = count == 0 ? ps : first;
            sum += ps;
            ++count;
        }

        /// Those that are not simulated take the mean of those that were, but for the first: it
        /// also waits for members that begin the iteration later, which happens once.
        int64_t Mean() const
        {
            return count > 1 ? (sum - first) / (count - 1) : sum;
        }
    };

    enum class What : uint8_t
    {
        BEGIN,
        COMPUTED,
        LAYER, ///< a block's KV can leave
    };

    struct Payload
    {
        What what;
        uint32_t block;
    };

    friend class EventPool<ServingShard, Payload>;
    void OnEvent(const Payload& payload, int64_t now);
    void Begin(int64_t now);
    /// The next member of the chain, or the end.
    void GoOn(int64_t now);
    void Compute(const serving::StageOp& op, int64_t now);
    void Enter(const Seats& seats, coll::Collective what, uint32_t tag, int64_t now);
    void SendLayer(uint32_t block, int64_t now);
    void End(int64_t now);
    uint32_t Context() const;

    Place m_place;
    const std::vector<serving::StageOp>& m_chain;
    Seats m_tensor;
    Seats m_experts;
    Tags m_tags;
    CollectiveRunner& m_collectives;
    MessageRunner& m_messages;
    ShardListener& m_listener;
    std::deque<ShardWork> m_queue; ///< the first one is under way, if busy
    bool m_busy = false;
    std::size_t m_next = 0;  ///< member of the chain
    uint32_t m_halves = 0;   ///< halves of blocks that were computed
    uint32_t m_waiting = 0;  ///< GPUs that have not ended what they do together
    int64_t m_since = 0;     ///< ps: begin of the collective
    bool m_inTensor = false; ///< the collective is an all-reduce
    // Of this iteration:
    Waits m_tensorWaits;  ///< all-reduces on the network
    Waits m_expertsWaits; ///< dispatches and combines on the network
    EventPool<ServingShard, Payload> m_events;
};

} // namespace dltrain

#endif // DLTRAIN_SERVING_SHARD_H
