/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_UDP_TRANSPORT_H
#define DLTRAIN_UDP_TRANSPORT_H

#include "contrib/dltrain/base/slots.h"
#include "contrib/dltrain/base/transport.h"
#include "contrib/dltrain/ranks/socket-part.h"
#include "ordinary-channels.h"
#include "reports/stats/loss-counts.h"

#include "ns3/ordinary-stack.h"
#include "ns3/rdma-event.h"
#include "ns3/socket.h"

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace dltrain
{

/**
 * Moves messages as datagrams of ns-3's UDP sockets at a constant rate, over the ports and switches
 * that RDMA has (ns3::OrdinaryStack): there are no retransmissions, no acknowledgements, and no
 * rate control.
 *
 *     Post -> datagram - datagram - datagram - ...   rateBps bytes of messages a second
 *       OnSent <- its time is over, and has been for LINGER if it is no message that repeats
 *                  here -> OnDelivered, of a message whose datagrams have all come
 *
 * A channel is a socket of the sender. Sockets of closed channels serve the next channel between
 * the same two NICs with the same priority. Messages of a channel are sent one after the other. A
 * message with a lost datagram is not delivered.
 *
 * One thread and one process, as in TcpTransport.
 */
class UdpTransport : public PacketlessTransport, public LossCounts
{
  public:
    /// When what a sender has sent last has come or is lost: more than the buffers of a path hold
    /// (32 MB at 25 Gb/s). Assumed.
    static constexpr int64_t LINGER = 10000000000;

    /// \param stack of the fabric, outlives this \param rateBps of the messages of a connection;
    /// 0: what its NIC's port carries \param repeats messages follow one another without a gap:
    /// OnSent comes when the next one is due
    UdpTransport(const NetworkParts& parts,
                 ns3::OrdinaryStack& stack,
                 const scenario::ProtocolSpec& protocol,
                 bool repeats);
    ~UdpTransport() override;

    using Transport::Open;
    ChannelId Open(const ChannelName& name,
                   TransportUser& user,
                   uint64_t cookie,
                   uint64_t mostBps) override;
    void Post(ChannelId channel, const TransportPost& post) override;
    std::optional<int64_t> IdealOf(uint32_t from, uint32_t to, uint64_t bytes) override;
    void Close(ChannelId channel) override;
    std::string Describe(ChannelId channel) const override;

    void AddLosses(nlohmann::ordered_json& json) const override;
    std::string LossesText() const override;
    reports::SegmentCounts GetSent() const override;

  private:
    static constexpr int64_t NEVER = INT64_MAX;

    struct Message
    {
        TransportPost post;
        ChannelId channel = 0;
        uint32_t number = 0; ///< number in m_messages
        int64_t posted = 0;  ///< ps
        int64_t began = 0;   ///< ps: its first datagram
        uint64_t first = 0;  ///< its first datagram, in the count of its connection
        uint64_t datagrams = 0;
        uint64_t sent = 0;    ///< datagrams of it that were sent
        uint64_t came = 0;    ///< datagrams of it that the receiver has
        int64_t over = NEVER; ///< ps: datagrams that have not come by then are lost
    };

    /// Touched by the sender's events; the messages' `came` by the receiver's.
    class Connection
    {
      public:
        explicit Connection(UdpTransport& all)
            : timer(this),
              late(this),
              m_all(all)
        {
        }

        void OnTimer()
        {
            m_all.SendNext(*this);
        }

        void OnLate()
        {
            m_all.GiveUp(*this);
        }

        ns3::Ptr<ns3::Socket> socket;
        uint32_t number = 0; ///< number in m_connections
        uint32_t from = 0;   ///< endpoints
        uint32_t to = 0;
        uint8_t priority = 0;
        uint32_t context = 0; ///< context of the sender
        uint64_t rateBps = 0;
        bool failed = false;          ///< no port is free
        uint64_t posted = 0;          ///< datagrams of all messages
        uint64_t seen = 0;            ///< datagrams up to the last one that has come
        std::deque<Message*> waiting; ///< to be sent, the first one is
        std::deque<Message*> flying;  ///< messages that are not over; in order
        bool isLate = false;          ///< `late` is pending
        ns3::RdmaTimer<Connection, &Connection::OnTimer> timer;
        ns3::RdmaTimer<Connection, &Connection::OnLate> late; ///< the first of `flying` is over

      private:
        UdpTransport& m_all;
    };

    Connection& Connect(uint32_t from, uint32_t to, uint8_t priority);
    void Listen(uint32_t endpoint, uint8_t priority);
    /// The first message that waits.
    void Begin(Connection& connection);
    /// Sends the next datagram of a message, or ends it.
    void SendNext(Connection& connection);
    /// The message has been sent, as far as possible.
    void EndSending(Connection& connection, Message& message);
    /// Ends messages that are over: datagrams that have not come are lost.
    void GiveUp(Connection& connection);
    void WatchFirst(Connection& connection);
    void Forget(Connection& connection, Message& message);
    void OnReadable(ns3::Ptr<ns3::Socket> socket);
    void Deliver(const Message& message, int64_t now);
    /// All datagrams of the connection before `datagram` have come or are lost.
    void See(Connection& connection, uint64_t datagram);

    ns3::RdmaFabric& m_fabric;
    TraceCollector& m_collector;
    const Places& m_places;
    const scenario::ProtocolSpec m_protocol;
    ns3::OrdinaryStack& m_stack;
    uint32_t m_payload; ///< bytes of a full datagram
    uint32_t m_frame;   ///< bytes that it takes on the wire
    uint64_t m_rateBps;
    bool m_repeats;
    reports::DatagramCounts m_counts;
    OrdinaryChannels<Connection> m_channels;
    Slots<Message, std::deque<Message>> m_messages;
    std::deque<Connection> m_connections;
    std::map<std::pair<uint32_t, uint8_t>, ns3::Ptr<ns3::Socket>> m_listening;
};

} // namespace dltrain

#endif // DLTRAIN_UDP_TRANSPORT_H
