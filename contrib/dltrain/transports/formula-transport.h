/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_FORMULA_TRANSPORT_H
#define DLTRAIN_FORMULA_TRANSPORT_H

#include "contrib/dltrain/base/event-pool.h"
#include "contrib/dltrain/base/slots.h"
#include "contrib/dltrain/base/transport.h"
#include "contrib/dltrain/observers/trace-collector.h"
#include "contrib/rdma/core/ideal-completion.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dltrain
{

/**
 * The common part of transports between servers that move messages by a law of their own, without
 * packets. It has channels and their messages, one after the other; the time of a message on an
 * idle path; and the reports of arrivals.
 *
 *     Post --> behind the channel's others --> Send: the law's --> Arrived: delivered, in order
 *                                                |                 of the posts, and recorded
 *                    Next: the channel's next <--'                 --> the last acknowledgement
 *
 * Acknowledgements take no bandwidth; the last one takes the time of an idle way back. A channel's
 * queue is touched in its sender's events, deliveries in the receiver's.
 */
class FormulaTransport : public PacketlessTransport
{
  public:
    using Transport::Open;
    ChannelId Open(const ChannelName& name,
                   TransportUser& user,
                   uint64_t cookie,
                   uint64_t mostBps) override;
    void Post(ChannelId channel, const TransportPost& post) override;
    void Close(ChannelId channel) override;
    std::string Describe(ChannelId channel) const override;

  protected:
    static constexpr uint32_t NONE = UINT32_MAX;

    explicit FormulaTransport(const NetworkParts& parts);

    /// The properties of a channel's messages that decide their time.
    struct Kind
    {
        uint64_t bytes = UINT64_MAX;
        ns3::RdmaOperation operation = ns3::RdmaOperation::WRITE;
        bool hasImmediate = false;

        bool operator==(const Kind& other) const
        {
            return bytes == other.bytes && operation == other.operation &&
                   hasImmediate == other.hasImmediate;
        }
    };

    /// Times of a kind that no law changes, ps.
    struct Times
    {
        int64_t lead = 0;  ///< for a READ: until the other end sends
        int64_t back = 0;  ///< time of its last acknowledgement
        int64_t shown = 0; ///< the ideal that slowdown is a multiple of
    };

    struct Channel
    {
        ChannelName name;
        TransportUser* user = nullptr;
        uint64_t cookie = 0;
        uint64_t mostBps = 0; ///< 0: none
        uint32_t from = 0;    ///< endpoints: of the bytes, so of a READ name.to
        uint32_t to = 0;
        uint32_t head = NONE; ///< messages: the first is being sent
        uint32_t tail = NONE;
        bool busy = false;
        bool reversed = false; ///< it carries READs
        uint64_t posted = 0;
        uint64_t delivered = 0;
        /// Messages that have arrived before one of those ahead of them.
        std::vector<uint32_t> early;
        Kind kind; ///< kind of the last message
        Times times;
        std::vector<rdma::PathLink> path;
    };

    struct Message
    {
        TransportPost post;
        PendingMessages::Message noted;
        Times times;
        uint32_t channel = 0;
        uint32_t next = NONE;
        uint64_t number = 0; ///< number within the channel
    };

    // The law -------------------------------------------------------------------------------------

    /// \return the links from a channel's `from` to its `to`, which it takes from now on; empty if
    /// they are not connected
    virtual std::vector<rdma::PathLink> FindPath(uint32_t channel) = 0;
    /// From now on messages of the channel consist of these frames, at least one in each run.
    /// \param ideal from the first byte sent to the arrival of the last one on the idle path, ps,
    /// whatever rate the channel has
    virtual void SetFrames(uint32_t channel,
                           const std::vector<rdma::FrameRun>& frames,
                           int64_t ideal) = 0;
    /// A message was posted, with the frames of the last SetFrames.
    virtual void OnPosted(uint32_t message) = 0;
    /// The channel's first message begins, in an event of its sender.
    virtual void Send(uint32_t channel, int64_t now) = 0;

    /// A message has been delivered, in an event of its receiver.
    virtual void OnDelivered(uint32_t /* message */, int64_t /* now */)
    {
    }

    // What it calls -------------------------------------------------------------------------------

    /// The channel's first message has been sent: the next one begins, at `at` or later. In an
    /// event of the sender.
    void Next(uint32_t channel, int64_t at);
    /// All of a message has arrived, in an event of its receiver.
    void Arrived(uint32_t message, int64_t now);

    /// Frames as far apart as their channel's own rate has them, ps after the first begins; 0: it
    /// has none.
    struct Paced
    {
        int64_t lastBegins = 0;
        int64_t all = 0; ///< until another could begin
    };

    static Paced PacedOf(const Channel& channel, const std::vector<rdma::FrameRun>& frames);

    /// \return what goes first: as switches have their queues by default (--ets), 6 and 7 strictly
    /// before all others, which are alike; InfiniBand has one lane for all
    uint8_t LevelOf(uint8_t priority) const
    {
        return priority < 6 || m_oneLane ? 0 : priority;
    }

    /// \return things[number], of a list that grows with the numbers of channels or messages
    template <class T>
    static T& Reach(std::vector<T>& things, std::size_t number)
    {
        if (number >= things.size())
        {
            things.resize(number + 1);
        }
        return things[number];
    }

    /// \return ns-3 node id
    uint32_t ContextOf(uint32_t endpoint) const
    {
        return m_contexts[endpoint];
    }

    ns3::RdmaFabric& m_fabric;
    TraceCollector& m_collector;
    const Places& m_places;
    Slots<Channel> m_channels;
    Slots<Message> m_messages;

  private:
    enum class EventKind : uint8_t
    {
        BEGIN,   ///< a channel's first message may be sent
        COMPLETE ///< the last acknowledgement is back
    };

    struct Event
    {
        EventKind kind;
        uint32_t which; ///< channel or message
    };

    friend class EventPool<FormulaTransport, Event>;
    void OnEvent(const Event& event, int64_t now);

    /// The bytes of a channel go from `to` to `from`.
    void Reverse(uint32_t channel);
    void SetKind(uint32_t channel, const Kind& kind);
    std::vector<rdma::FrameRun> FramesOf(const Kind& kind) const;
    void Deliver(uint32_t message, int64_t now);
    void OnComplete(uint32_t message, int64_t now);
    /// A message's flows.csv row, ended now.
    void Record(const Message& message, int64_t now);

    bool m_oneLane;
    uint32_t m_mtu;
    rdma::FrameSizes m_sizes;
    std::vector<uint32_t> m_contexts; ///< by endpoint
    EventPool<FormulaTransport, Event> m_events;
};

} // namespace dltrain

#endif // DLTRAIN_FORMULA_TRANSPORT_H
