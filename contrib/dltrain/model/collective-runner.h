/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_COLLECTIVE_RUNNER_H
#define DLTRAIN_COLLECTIVE_RUNNER_H

#include "collectives/schedule.h"
#include "event-pool.h"
#include "results/records.h"
#include "scenarios/spec/scenario.h"
#include "transport.h"

#include <deque>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace results
{
class CollectivePaths;
}

namespace dltrain
{

using coll::Rank;

using results::CollectiveRecord;

/// Hears of collectives.
class CollectiveUser
{
  public:
    virtual ~CollectiveUser() = default;
    /// A rank (position in its communicator) has done its part. \param cookie what Start was given
    virtual void OnRankDone(uint32_t communicator, Rank position, uint64_t cookie, int64_t now) = 0;
    /// All ranks have.
    virtual void OnCollectiveDone(uint32_t communicator,
                                  const CollectiveRecord& record,
                                  int64_t now) = 0;
};

/**
 * Runs schedules (collectives/schedule.h): what a rank sends goes over a channel of its own for
 * each (sender, receiver, lane), of whichever transport serves the two.
 *
 * What a receiver knows comes out of the message alone: the channel tells sender and lane, the
 * immediate tells which of the communicator's collectives it belongs to. Messages that arrive
 * before the rank has entered its collective are counted and wait (NCCL's eager buffers, without a
 * limit on their size: assumed).
 *
 * Memory: one LaneState a rank and lane of each collective under way; steps are computed, never
 * stored. Schedules beyond the MOST_SCHEDULES used last are given back. Channels are kept, with
 * the state of their congestion control, as NCCL keeps its connections: direct all-to-all makes n
 * (n-1).
 *
 * Several runners, of several jobs, share a fabric: each job has an interconnect of its own.
 */
class CollectiveRunner : public TransportUser
{
  public:
    /// \param cluster where ranks are: rank r is GPU r mod g of logical server r / g
    /// \param interconnect shared with other users \param job of what it opens
    CollectiveRunner(const scenario::ClusterSpec& cluster,
                     const scenario::CollectiveOptions& options,
                     Interconnect& interconnect,
                     CollectiveUser* user,
                     uint32_t job = 0);
    ~CollectiveRunner() override;

    /// Note what ranks left their collectives after. \param paths must outlive this
    void SetPaths(results::CollectivePaths* paths)
    {
        m_paths = paths;
    }

    /// \param ranks in communicator order. \return the communicator's number
    uint32_t AddCommunicator(std::vector<Rank> ranks);

    /// \return why this collective cannot run as asked for, in a sentence; empty: it can
    std::string WhyNot(uint32_t communicator, const coll::Collective& what) const;

    /**
     * A rank enters the communicator's next collective (each rank counts its own). All ranks must
     * ask for the same. \param tag work requests carry it as their id
     */
    void Start(uint32_t communicator,
               Rank position,
               coll::Op op,
               uint64_t bytes,
               Rank root,
               uint32_t tag,
               uint64_t cookie,
               int64_t now);

    uint32_t GetNRanks(uint32_t communicator) const;

    /// \return ns-3 node id of the server a rank lives in
    uint32_t ContextOf(Rank globalRank) const
    {
        return m_interconnect.GetPlaces().ContextOf(globalRank);
    }

    /// \return bytes sent so far by all ranks together
    uint64_t GetBytes() const
    {
        return m_bytes;
    }

    /// \return one line for each collective that has not ended: how many ranks are in it and what
    /// some of them wait for; and one for messages that failed
    std::vector<std::string> DescribeUnfinished() const;

    // TransportUser
    void OnDelivered(const Delivery& delivery, int64_t now) override;
    void OnSent(ChannelId channel, uint64_t cookie, uint64_t id, bool failed, int64_t now) override;

  private:
    /// A lane of a rank in a collective under way.
    struct LaneState
    {
        coll::Step step; ///< the one at `index`, if not at the end
        coll::StepIndex index = 0;
        coll::StepIndex steps = 0;
        bool started = false;
        // Messages that arrived and were not taken yet. Rings have one peer a lane; the others go
        // to `more`, which has no zeros.
        Rank peer = coll::kNoRank;
        uint32_t arrived = 0;
        std::unique_ptr<std::unordered_map<Rank, uint32_t>> more;
    };

    struct Instance
    {
        std::shared_ptr<const coll::Schedule> schedule;
        CollectiveRecord record;
        std::vector<LaneState> lanes;    ///< [position * lanesPerRank + lane]
        std::vector<uint16_t> lanesLeft; ///< per rank
        std::vector<uint64_t> cookies;   ///< per rank
        std::vector<int64_t> enteredAt;  ///< per rank, ps
        uint32_t lanesPerRank = 1;
        uint32_t entered = 0;
        uint32_t left = 0;
    };

    /// Where a rank sends.
    struct Connection
    {
        Rank peer = coll::kNoRank;
        uint32_t number = 0;  ///< in m_channels: the transport's cookie
        ChannelId channel = 0; ///< the transport's own number
        Transport* transport = nullptr;
    };

    struct Communicator
    {
        std::vector<Rank> ranks;
        coll::Placement placement;
        std::vector<uint32_t> entered;                   ///< per rank: collectives entered so far
        std::deque<std::unique_ptr<Instance>> instances; ///< [sequence - first]
        uint32_t first = 0;
        std::vector<Connection>
            lastConnection; ///< [position * CACHED_LANES + lane]: the one used last
        std::list<std::shared_ptr<const coll::Schedule>> schedules; ///< used last, first
        std::unordered_map<uint64_t, Connection> connections;       ///< by ConnectionKey
    };

    /// Of a communicator: at most 2^20 ranks (coll::Problem), lanes of 16 bits.
    static uint64_t ConnectionKey(Rank from, Rank to, coll::Lane lane)
    {
        return static_cast<uint64_t>(from) << 40 | static_cast<uint64_t>(to) << 16 | lane;
    }

    /// What a channel stands for; its number in m_channels is the transport's cookie.
    struct Channel
    {
        uint32_t communicator;
        Rank from; ///< positions
        Rank to;
        coll::Lane lane;
        bool inside; ///< a server
    };

    enum class EventKind : uint8_t
    {
        LEAVE, ///< a rank is done
        SEND,  ///< the software latency before a send is over
    };

    struct EventPayload
    {
        EventKind kind;
        coll::Lane lane;
        uint32_t communicator;
        uint32_t sequence;
        Rank from;
        Rank to;
        uint64_t bytes;
        uint32_t path; ///< what caused it, held
    };

    friend class EventPool<CollectiveRunner, EventPayload>;
    void OnEvent(const EventPayload& payload, int64_t now);

    Instance& GetInstance(Communicator& comm,
                          uint32_t sequence,
                          const coll::Collective* what,
                          uint32_t tag);
    /// A rank's last lane has ended.
    void EndRank(uint32_t communicator, uint32_t sequence, Rank position, int64_t now);
    /// \return m_cause, for an event
    uint32_t HoldCause();
    void DropCause();
    /// m_cause is the path of this message
    void Deliver(uint32_t communicator,
                 uint32_t sequence,
                 Rank to,
                 coll::Lane lane,
                 Rank from,
                 int64_t now);
    void Advance(uint32_t communicator,
                 uint32_t sequence,
                 Instance& instance,
                 Rank position,
                 coll::Lane lane,
                 int64_t now);
    void Send(uint32_t communicator,
              uint32_t sequence,
              Instance& instance,
              Rank from,
              Rank to,
              coll::Lane lane,
              uint64_t bytes,
              int64_t now);
    void Transfer(uint32_t communicator,
                  uint32_t sequence,
                  Rank from,
                  Rank to,
                  coll::Lane lane,
                  uint64_t bytes);
    const Connection& GetConnection(uint32_t communicator,
                                    Rank from,
                                    Rank to,
                                    coll::Lane lane,
                                    uint32_t rail);
    std::shared_ptr<const coll::Schedule> GetSchedule(Communicator& comm,
                                                      const coll::Algorithm& algorithm,
                                                      const coll::Collective& what);
    static bool TakeArrival(LaneState& lane, Rank peer);
    static void AddArrival(LaneState& lane, Rank peer);

    scenario::CollectiveOptions m_options;
    Interconnect& m_interconnect;
    CollectiveUser* m_user;
    uint32_t m_job;
    uint32_t m_gpusPerServer;
    uint32_t m_nicsPerServer;
    std::deque<Communicator> m_communicators;
    std::vector<Channel> m_channels;
    uint64_t m_failed = 0;     ///< messages
    std::string m_firstFailed; ///< of them, in words
    results::CollectivePaths* m_paths = nullptr;
    uint32_t m_cause = UINT32_MAX; ///< of what is posted: see CollectivePaths
    uint64_t m_bytes = 0;
    EventPool<CollectiveRunner, EventPayload> m_events;
};

} // namespace dltrain

#endif // DLTRAIN_COLLECTIVE_RUNNER_H
