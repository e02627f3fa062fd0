/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_ANALYTIC_TRANSPORT_H
#define DLTRAIN_ANALYTIC_TRANSPORT_H

#include "contrib/rdma/core/ideal-completion.h"
#include "event-pool.h"
#include "slots.h"
#include "topologies/nic-server.h"
#include "trace-collector.h"
#include "transport.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dltrain
{

/**
 * Moves messages by a formula, without packets.
 *
 *                 at s                     first byte: s + ideal - W_in
 *     post -----> [ sender's NIC: W_out ] ---- path ----> [ receiver's NIC: W_in ] --> delivered
 *                 last byte leaves: e      last byte: e + ideal - W_out
 *
 * `ideal` is the closed form of an idle path (rdma::IdealCompletion: headers, propagation,
 * pipelines, store and forward, the path's slowest link), W_out and W_in what the message's frames
 * take on the first and the last link, which are NICs' work (topo::NicServer). A message is
 * delivered when the receiver's NIC is done with it and its last byte is there. So alone it takes
 * `ideal` to the picosecond, as with packets.
 *
 * Messages of a channel go one after the other, no faster than the slowest link of their path, nor
 * than the most that the channel carries.
 * Apart from that, links between switches have room for everything: nothing is lost, marked, paused
 * or rerouted, no NIC slows down, and a sender whose receiver is shared does not give its other
 * messages what that one cannot take. Acknowledgements take no bandwidth; the last one is as late
 * as on an idle way back.
 *
 * Five events a message; a NIC's server is touched by its own host's events only.
 */
class AnalyticTransport : public PacketlessTransport
{
  public:
    explicit AnalyticTransport(const NetworkParts& parts);

    using Transport::Open;
    ChannelId Open(const ChannelName& name,
                   TransportUser& user,
                   uint64_t cookie,
                   uint64_t mostBps) override;
    void Post(ChannelId channel, const TransportPost& post) override;
    void Close(ChannelId channel) override;
    std::string Describe(ChannelId channel) const override;

  private:
    static constexpr uint32_t NONE = UINT32_MAX;

    /// How long a message of one kind takes on one path, ps.
    struct Times
    {
        uint64_t bytes = UINT64_MAX;
        ns3::RdmaOperation operation = ns3::RdmaOperation::WRITE;
        bool hasImmediate = false;
        int64_t lead = 0;    ///< of a READ: until the other end sends
        int64_t out = 0;     ///< W_out
        int64_t slowest = 0; ///< the same on the path's slowest link
        int64_t in = 0;      ///< W_in
        int64_t ideal = 0;   ///< from the first byte on
        int64_t back = 0;    ///< of its last acknowledgement
        int64_t shown = 0;   ///< the ideal that slowdown is a multiple of
    };

    struct Channel
    {
        ChannelName name;
        TransportUser* user;
        uint64_t cookie;
        uint32_t from; ///< endpoints: of the bytes, so of a READ name.to
        uint32_t to;
        uint32_t head; ///< messages; the first is being sent
        uint32_t tail;
        uint64_t mostBps; ///< 0: none
        bool busy;
        bool reversed; ///< it carries READs
        Times times;   ///< of the last message
        std::vector<rdma::PathLink> path;
    };

    struct Message
    {
        TransportPost post;
        PendingMessages::Message noted;
        Times times;
        uint32_t channel;
        uint32_t next;
        int64_t begun;
        bool served;  ///< by the receiver's NIC
        bool arrived; ///< its last byte
    };

    /// One of a NIC's two directions, and its pending events, the next last.
    struct Side
    {
        topo::NicServer server;
        std::vector<int64_t> wakes;
    };

    enum class EventKind : uint8_t
    {
        BEGIN,   ///< a channel's first message may be sent
        OUT,     ///< a sender's NIC has something to tell
        REACH,   ///< a message comes to the receiver's NIC
        IN,      ///< a receiver's NIC has something to tell
        ARRIVE,  ///< the last byte is there
        COMPLETE ///< the last acknowledgement is back
    };

    struct Event
    {
        EventKind kind;
        uint32_t which; ///< channel, message or endpoint
    };

    friend class EventPool<AnalyticTransport, Event>;
    void OnEvent(const Event& event, int64_t now);

    const Times& TimesOf(Channel& channel, const TransportPost& post);
    /// The bytes of a channel go from `to` to `from`.
    void Reverse(Channel& channel);
    void Begin(uint32_t channel, int64_t now);
    void Wake(std::vector<Side>& sides, EventKind kind, uint32_t endpoint);
    /// The sender's NIC is done with a message.
    void OnOut(uint32_t message, int64_t now);
    void OnIn(uint32_t message, int64_t now);
    void DeliverIfThere(uint32_t message, int64_t now);
    void OnComplete(uint32_t message, int64_t now);
    /// \return a message's flows.csv row, ended now
    void Record(const Message& message, int64_t now);

    uint32_t ContextOf(uint32_t endpoint) const
    {
        return m_contexts[endpoint];
    }

    ns3::RdmaFabric& m_fabric;
    TraceCollector& m_collector;
    const Places& m_places;
    uint32_t m_mtu;
    rdma::FrameSizes m_sizes;
    std::vector<uint32_t> m_contexts; ///< by endpoint: ns-3 node id
    std::vector<Side> m_out;          ///< by endpoint
    std::vector<Side> m_in;
    Slots<Channel> m_channels;
    Slots<Message> m_messages;
    EventPool<AnalyticTransport, Event> m_events;
};

} // namespace dltrain

#endif // DLTRAIN_ANALYTIC_TRANSPORT_H
