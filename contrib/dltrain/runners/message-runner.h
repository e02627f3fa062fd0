/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_MESSAGE_RUNNER_H
#define DLTRAIN_MESSAGE_RUNNER_H

#include "collectives/core/schedule.h"
#include "collectives/tuner/exchange-rates.h"
#include "contrib/dltrain/base/event-pool.h"
#include "contrib/dltrain/transports/interconnect.h"
#include "contrib/rdma/core/units.h"
#include "library-times.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace reports
{
class CollectivePaths;
struct PathRecord;
} // namespace reports

namespace dltrain
{

using coll::Rank;

class RecallTransport;

/// Hears of messages.
class MessageUser
{
  public:
    virtual ~MessageUser() = default;
    /// A send is acknowledged, or a receive has its message.
    /// \param cookie what its start was given
    /// \param sent of a receive: the start of its send, to 65 ns; -1: a send, or the message had
    /// arrived before it was awaited
    /// \param path on which the rank goes on, held by the caller; null: not noted
    virtual void OnMessageDone(Rank rank,
                               uint64_t cookie,
                               int64_t now,
                               int64_t sent,
                               reports::PathRecord* path) = 0;
};

/// Messages between two ranks that are taken in the order in which they are sent.
struct MessageOrder
{
    uint32_t group = 0; ///< kind
    Rank from = 0;
    Rank to = 0;
    uint16_t tag = 0; ///< at most training::kMostTag

    bool operator<(const MessageOrder& other) const
    {
        return std::tie(group, from, to, tag) <
               std::tie(other.group, other.from, other.to, other.tag);
    }
};

/**
 * Point-to-point messages of a job: the k-th receive of an order takes the k-th send.
 *
 * A message is one of the library's grouped sends and receives, as collperf's sendrecv: it begins
 * when the group is launched. It has the times, shares and pair rate of `exchange` and `channels`
 * in the server's library, as if its two ranks were a communicator and sent one message at a time
 * (assumed). Without a library only the software latency takes time.
 *
 * A message goes over a channel of its order, from the NIC beside the sending GPU (GPU g of a
 * server with n NICs, or n that the library's exchanges use: g mod n, assumed). A send ends when
 * the transport reports the arrival; it does not wait for the receive. Early arrivals are kept,
 * without a limit, as in collectives (assumed). A receive ends when its message has arrived.
 *
 * An order has two halves, one at the sender's server and one at the receiver's, which share
 * nothing: the receiver learns everything from the message.
 */
class MessageRunner : public TransportUser
{
  public:
    /// \param options their library, and the software latency before every send, count
    /// \param job job of the channels that it opens
    MessageRunner(Interconnect& interconnect,
                  const scenario::CollectiveOptions& options,
                  MessageUser& user,
                  uint32_t job = 0);
    ~MessageRunner() override;

    /// Note what receives end after. \param paths must outlive this
    void SetPaths(reports::CollectivePaths* paths)
    {
        m_paths = paths;
        m_interconnect.CarryCauses();
    }

    /// CollectiveRunner::SetFailureListener
    void SetFailureListener(std::function<void(const std::string& what)> listener)
    {
        m_onFailure = std::move(listener);
    }

    /// \param nameOf names of ranks in messages for people; the default is "rank 3"
    void SetNames(std::function<std::string(Rank rank)> nameOf)
    {
        m_nameOf = std::move(nameOf);
    }

    /// Before the first message. \param byGroup priorities of packets, by MessageOrder::group
    void SetPriorities(std::vector<uint8_t> byGroup)
    {
        m_priorities = std::move(byGroup);
    }

    /// CollectiveRunner::Abort
    void Abort()
    {
        m_aborted = true;
    }

    /**
     * In an event without context: takes over the unfinished messages of an aborted runner.
     *
     *     sends of an order    1  2  3 | 4  5 | 6  7      | 6 and 7 begin anew; 4 and 5 end now;
     *                          acknow- | arri- | in       | receives that waited for them,
     *                          ledged  | ved   | flight   | and early arrivals, are kept
     *
     * \return how many messages begin anew
     */
    uint64_t TakeOver(const MessageRunner& other, int64_t now);

    /// \param name tag of the message for observers (reports::MessageId)
    void Send(const MessageOrder& order,
              uint64_t bytes,
              uint32_t name,
              uint64_t cookie,
              int64_t now);
    void Receive(const MessageOrder& order, uint64_t cookie, int64_t now);

    /// \return bytes posted so far
    uint64_t GetBytes() const;

    /// \return a line for each order of which a rank waits for a message
    std::vector<std::string> DescribeUnfinished() const;

    // TransportUser
    void OnDelivered(const Delivery& delivery, int64_t now) override;
    void OnSent(ChannelId channel, uint64_t cookie, uint64_t id, bool failed, int64_t now) override;

  private:
    /// A message that is not acknowledged.
    struct Sent
    {
        uint64_t bytes;
        uint64_t cookie;
        uint32_t name;
    };

    /// The sending rank's half of an order.
    struct Sending
    {
        MessageOrder order;
        uint32_t number = 0;            ///< among those of its server: its channel's cookie has it
        Transport* transport = nullptr; ///< null: it has sent nothing yet
        ChannelId channel = 0;
        bool inside = false;   ///< a server
        std::deque<Sent> sent; ///< sends that are not acknowledged
        uint64_t acknowledged = 0;
        std::string failed; ///< the channel of a send that failed, in words
    };

    /// The receiving rank's half.
    struct Receiving
    {
        /// Paths of messages that have arrived without a receive, held.
        std::deque<reports::PathRecord*> arrived;
        std::deque<uint64_t> cookies; ///< cookies of receives that wait
        uint64_t delivered = 0;       ///< messages, of this runner
    };

    /// A future event: a send whose software latency is over, or the end of a task.
    struct EventPayload
    {
        Sending* send; ///< null: the end
        Rank rank;     ///< rank of the event
        uint32_t name;
        reports::PathRecord* path; ///< held
        uint64_t bytes;
        uint64_t cookie;
        int64_t started; ///< ps: start of the send
    };

    using Events = EventPool<MessageRunner, EventPayload>;
    friend Events;

    /// The halves of a server's ranks: touched in its own events only.
    struct Server
    {
        explicit Server(MessageRunner* runner)
            : events(runner)
        {
        }

        std::map<MessageOrder, uint32_t> sendingOf;
        std::deque<Sending> sending;
        std::map<MessageOrder, Receiving> receiving;
        uint64_t bytes = 0; ///< posted
        Events events;
        std::deque<std::pair<Rank, uint64_t>>
            ending; ///< ranks and cookies of ends to come, all now
    };

    void OnEvent(const EventPayload& e, int64_t now);
    /// \param what the coming action, for checks of the event's owner
    Server& ServerOf(Rank rank, const char* what);
    Sending& GetSending(Server& server, const MessageOrder& order);
    void Post(const EventPayload& send);
    /// A task ends by an event of its own, now.
    void EndSoon(Rank rank, uint64_t cookie, int64_t now);
    /// \param path on which the task ends, held; given back
    /// \param sent MessageUser::OnMessageDone
    void End(Rank rank, uint64_t cookie, reports::PathRecord* path, int64_t now, int64_t sent = -1);
    std::string NameOf(Rank rank) const;
    std::vector<std::string> Describe(const MessageOrder& order,
                                      const Sending* sending,
                                      const Receiving* receiving) const;

    Interconnect& m_interconnect;
    int64_t m_inside;  ///< ps, from a send's start to its post; in a server
    int64_t m_outside; ///< the same between servers

    /// Rates of two ranks.
    struct PairRates
    {
        coll::ExchangeRates inside;
        uint64_t outsideBps = 0; ///< most of two in different servers; 0: no limit
    };

    static std::vector<PairRates> RatesOf(const scenario::CollectiveOptions& options);
    const PairRates& RatesAt(uint32_t server) const;

    std::vector<uint8_t> m_priorities; ///< of packets, by group; empty: all as usual
    LibraryTimes m_times;
    std::vector<PairRates> m_rates; ///< by kind of the sender's server
    std::vector<uint32_t> m_kindOf; ///< by server; empty: all are alike
    bool m_ownNics;                 ///< from the NIC beside the sender to that beside the receiver
    bool m_peersRail;               ///< from the NIC of the receiver's number, instead
    MessageUser& m_user;
    uint32_t m_job;
    reports::CollectivePaths* m_paths = nullptr;
    std::function<void(const std::string& what)> m_onFailure; ///< empty: there is no listener
    std::function<std::string(Rank rank)> m_nameOf;
    bool m_aborted = false;
    std::deque<Server> m_servers;
    std::unique_ptr<RecallTransport> m_recall; ///< between servers; null: nothing is recalled
};

} // namespace dltrain

#endif // DLTRAIN_MESSAGE_RUNNER_H
