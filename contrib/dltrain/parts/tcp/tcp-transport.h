/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_TCP_TRANSPORT_H
#define DLTRAIN_TCP_TRANSPORT_H

#include "contrib/dltrain/base/slots.h"
#include "contrib/dltrain/base/transport.h"
#include "contrib/dltrain/observers/pending-messages.h"
#include "contrib/dltrain/ranks/socket-part.h"
#include "ordinary-channels.h"
#include "reports/stats/loss-counts.h"

#include "ns3/address.h"
#include "ns3/ordinary-stack.h"
#include "ns3/sequence-number.h"
#include "ns3/socket.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace dltrain
{

/**
 * Moves messages as bytes of ns-3's TCP connections, over the ports and switches that RDMA has
 * (ns3::OrdinaryStack). A channel is a connection. Connections of closed channels stay open, and
 * serve the next channel between the same two NICs with the same priority. They keep their window.
 *
 *     Post -> send buffer -> TCP ... TCP -> bytes here -> OnDelivered, message by message
 *       OnSent <- all bytes of it are acknowledged
 *
 * A connection is opened by its first message, which waits for the handshake. If a connection gives
 * up, all its unacknowledged messages fail, and so do later posts.
 *
 * One thread and one process: both ends of a connection are in one memory, but each is touched by
 * its own host's events. Their shared data are written before the first packet leaves.
 */
class TcpTransport : public PacketlessTransport, public LossCounts
{
  public:
    /// \param stack of the fabric, outlives this
    TcpTransport(const NetworkParts& parts,
                 ns3::OrdinaryStack& stack,
                 const scenario::ProtocolSpec& protocol);
    ~TcpTransport() override;

    using Transport::Open;
    /// \param mostBps has no meaning: TCP has a rate of its own
    ChannelId Open(const ChannelName& name,
                   TransportUser& user,
                   uint64_t cookie,
                   uint64_t mostBps) override;
    void Post(ChannelId channel, const TransportPost& post) override;
    std::optional<int64_t> IdealOf(uint32_t from, uint32_t to, uint64_t bytes) override;
    void Close(ChannelId channel) override;
    std::string Describe(ChannelId channel) const override;

    /// \return connections opened so far
    uint64_t GetConnections() const
    {
        return m_connections.size();
    }

    void AddLosses(nlohmann::ordered_json& json) const override;
    std::string LossesText() const override;
    reports::SegmentCounts GetSent() const override;

  private:
    /// A message under way.
    struct Message
    {
        TransportPost post;
        ChannelId channel = 0;
        PendingMessages::Message noted; ///< record in the collector
        uint32_t number = 0;            ///< number in m_messages
        bool isHalfDone = false;        ///< it has left one of the two lists
    };

    /// Touched by the sender's events; `received` and `arriving` by the receiver's. A message is in
    /// both lists.
    struct Connection
    {
        ns3::Ptr<ns3::Socket> socket; ///< the sender's
        uint32_t from = 0;            ///< endpoints
        uint32_t to = 0;
        uint8_t priority = 0;
        bool open = false;
        bool failed = false;
        uint32_t buffer = 0; ///< bytes that the socket's send buffer has room for
        uint64_t queued = 0; ///< bytes given to the socket
        uint64_t posted = 0; ///< bytes of all messages
        uint64_t acked = 0;  ///< bytes of messages that have been acknowledged whole
        std::deque<Message*> sending;
        std::deque<Message*> arriving;
        uint64_t received = 0; ///< bytes that are here and of no message that is
        ns3::SequenceNumber32 sentUpTo;
    };

    void Listen(uint32_t endpoint, uint8_t priority);
    Connection& Connect(uint32_t from, uint32_t to, uint8_t priority);
    void Fill(Connection& connection);
    void OnSpace(Connection& connection);
    void OnFailed(Connection& connection);
    /// Counts the segments that the connection sends, and its failures.
    void Watch(Connection& connection);
    void OnAccepted(ns3::Ptr<ns3::Socket> socket, const ns3::Address& from);
    void OnReadable(Connection& connection, ns3::Ptr<ns3::Socket> socket);
    /// It is complete, as far as the statistics go.
    void Record(const Message& message, int64_t now);
    /// It has left one of the lists.
    void Leave(Message* message);

    ns3::RdmaFabric& m_fabric;
    TraceCollector& m_collector;
    const Places& m_places;
    const scenario::ProtocolSpec m_protocol;
    reports::SegmentCounts m_counts;
    ns3::OrdinaryStack& m_stack;
    OrdinaryChannels<Connection> m_channels;
    Slots<Message, std::deque<Message>> m_messages;
    std::deque<Connection> m_connections;
    std::map<std::tuple<uint32_t, uint16_t>, Connection*> m_byPort; ///< sender's endpoint, port
    std::map<std::pair<uint32_t, uint8_t>, ns3::Ptr<ns3::Socket>> m_listening;
};

} // namespace dltrain

#endif // DLTRAIN_TCP_TRANSPORT_H
