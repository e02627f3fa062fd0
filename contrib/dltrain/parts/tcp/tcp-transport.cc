/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "tcp-transport.h"

#include "contrib/dltrain/observers/link-sampler.h"
#include "contrib/dltrain/observers/trace-collector.h"
#include "reports/base/human-text.h"
#include "topologies/names.h"

#include "ns3/inet-socket-address.h"
#include "ns3/node-windows.h"
#include "ns3/node.h"
#include "ns3/rdma-event.h"
#include "ns3/rdma-port.h"
#include "ns3/tcp-header.h"
#include "ns3/tcp-socket-base.h"
#include "ns3/tcp-socket-factory.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace dltrain
{

using ns3::InetSocketAddress;
using ns3::NodeWindows;
using ns3::Ptr;
using ns3::Socket;

namespace
{

/// Where hosts listen, and the priorities behind it: assumed.
constexpr uint16_t FIRST_PORT = 33000;
/// Bytes that a socket gets at a time. The data in flight do not depend on it.
constexpr uint64_t PIECE = 65536;

} // namespace

TcpTransport::TcpTransport(const NetworkParts& parts,
                           ns3::OrdinaryStack& stack,
                           const scenario::ProtocolSpec& protocol)
    : m_fabric(parts.fabric),
      m_collector(parts.collector),
      m_places(parts.places),
      m_protocol(protocol),
      m_stack(stack)
{
    for (uint8_t priority = 0; priority < ns3::RdmaPort::PRIORITIES; ++priority)
    {
        m_stack.SetDscpOfPort(FIRST_PORT + priority, OrdinaryDscp(priority));
    }
}

TcpTransport::~TcpTransport()
{
    // Sockets outlive this.
    for (Connection& connection : m_connections)
    {
        if (connection.socket)
        {
            connection.socket->SetSendCallback(ns3::Callback<void, Ptr<Socket>, uint32_t>());
            connection.socket->SetConnectCallback(ns3::Callback<void, Ptr<Socket>>(),
                                                  ns3::Callback<void, Ptr<Socket>>());
            connection.socket->SetCloseCallbacks(ns3::Callback<void, Ptr<Socket>>(),
                                                 ns3::Callback<void, Ptr<Socket>>());
        }
    }
}

// Connections ------------------------------------------------------------------------------------

void
TcpTransport::Listen(uint32_t endpoint, uint8_t priority)
{
    Ptr<Socket>& socket = m_listening[{endpoint, priority}];
    if (socket)
    {
        return;
    }
    socket = Socket::CreateSocket(m_stack.GetNode(endpoint), ns3::TcpSocketFactory::GetTypeId());
    socket->Bind(InetSocketAddress(m_stack.GetAddress(endpoint), FIRST_PORT + priority));
    socket->BindToNetDevice(m_stack.GetDevice(endpoint));
    socket->Listen();
    socket->SetAcceptCallback(
        ns3::MakeNullCallback<bool, Ptr<Socket>, const ns3::Address&>(),
        [this](Ptr<Socket> accepted, const ns3::Address& from) { OnAccepted(accepted, from); });
}

TcpTransport::Connection&
TcpTransport::Connect(uint32_t from, uint32_t to, uint8_t priority)
{
    Listen(to, priority);
    m_stack.Introduce(from, to);
    Connection& connection = m_connections.emplace_back();
    connection.from = from;
    connection.to = to;
    connection.priority = priority;
    const Ptr<Socket> socket =
        Socket::CreateSocket(m_stack.GetNode(from), ns3::TcpSocketFactory::GetTypeId());
    connection.socket = socket;
    Watch(connection);
    if (socket->Bind(InetSocketAddress(m_stack.GetAddress(from), 0)) != 0)
    {
        connection.failed = true; // no port is free
        return connection;
    }
    socket->BindToNetDevice(m_stack.GetDevice(from));
    connection.buffer = socket->GetTxAvailable();
    ns3::Address own;
    socket->GetSockName(own);
    m_byPort[{from, InetSocketAddress::ConvertFrom(own).GetPort()}] = &connection;
    socket->SetConnectCallback(
        [this, &connection](Ptr<Socket>) {
            connection.open = true;
            Fill(connection);
        },
        [this, &connection](Ptr<Socket>) { OnFailed(connection); });
    socket->SetCloseCallbacks([this, &connection](Ptr<Socket>) { OnFailed(connection); },
                              [this, &connection](Ptr<Socket>) { OnFailed(connection); });
    socket->SetSendCallback([this, &connection](Ptr<Socket>, uint32_t) { OnSpace(connection); });
    socket->Connect(InetSocketAddress(m_stack.GetAddress(to), FIRST_PORT + priority));
    return connection;
}

void
TcpTransport::Watch(Connection& connection)
{
    using ns3::TcpHeader;
    using ns3::TcpSocketBase;
    connection.socket->TraceConnectWithoutContext(
        "Tx",
        ns3::Callback<void, Ptr<const ns3::Packet>, const TcpHeader&, Ptr<const TcpSocketBase>>(
            [this, &connection](Ptr<const ns3::Packet> packet,
                                const TcpHeader& header,
                                Ptr<const TcpSocketBase>) {
                if (packet->GetSize() == 0)
                {
                    return;
                }
                const bool first = connection.sentUpTo.GetValue() == 0; // data begin at 1
                ++m_counts.sent;
                m_counts.retransmitted +=
                    !first && header.GetSequenceNumber() < connection.sentUpTo;
                const ns3::SequenceNumber32 end = header.GetSequenceNumber() + packet->GetSize();
                connection.sentUpTo =
                    first || end > connection.sentUpTo ? end : connection.sentUpTo;
            }));
    // A time-out doubles the next one, up to 60 s (TcpSocketBase::ReTxTimeout); an answer shortens
    // it.
    connection.socket->TraceConnectWithoutContext(
        "RTO",
        ns3::Callback<void, ns3::Time, ns3::Time>([this](ns3::Time before, ns3::Time now) {
            const ns3::Time most = ns3::Seconds(60);
            if (now > before && (now == before + before || now == most))
            {
                ++m_counts.timeouts;
                m_counts.timeoutPs += static_cast<uint64_t>(before.GetPicoSeconds());
            }
        }));
}

void
TcpTransport::OnAccepted(Ptr<Socket> socket, const ns3::Address& from)
{
    const InetSocketAddress address = InetSocketAddress::ConvertFrom(from);
    const uint32_t endpoint = m_stack.GetEndpoint(address.GetIpv4());
    Connection& connection = *m_byPort.at({endpoint, address.GetPort()});
    socket->SetRecvCallback(
        [this, &connection](Ptr<Socket> readable) { OnReadable(connection, readable); });
}

// Channels ---------------------------------------------------------------------------------------

ChannelId
TcpTransport::Open(const ChannelName& name, TransportUser& user, uint64_t cookie, uint64_t)
{
    return m_channels.Open(
        name,
        user,
        cookie,
        m_places,
        [](const Connection& of) { return of.failed; },
        [this](uint32_t from, uint32_t to, uint8_t priority) -> Connection& {
            return Connect(from, to, priority);
        });
}

void
TcpTransport::Close(ChannelId channel)
{
    m_channels.Close(channel);
}

std::string
TcpTransport::Describe(ChannelId channel) const
{
    return m_channels.Describe(channel, m_collector.GetEndpointNames()) + " by TCP";
}

// Sending ----------------------------------------------------------------------------------------

std::optional<int64_t>
TcpTransport::IdealOf(uint32_t from, uint32_t to, uint64_t bytes)
{
    return m_fabric.GetIdealCompletion(
        from,
        to,
        OrdinaryRuns(m_protocol, bytes, m_collector.IsCompleteAtSender()),
        m_collector.IsCompleteAtSender());
}

void
TcpTransport::Post(ChannelId channel, const TransportPost& post)
{
    Connection& connection = *m_channels[channel].connection;
    const uint32_t number = m_messages.Take();
    Message* message = &m_messages[number];
    *message = {};
    message->post = post;
    message->channel = channel;
    message->number = number;
    m_collector.GetLinkSampler().Arm();
    NodeWindows::NoteCall([this, message, now = ns3::RdmaClock::Now()] {
        message->noted = m_collector.CountMessage(message->post.id, now, ns3::RdmaOperation::WRITE);
    });
    connection.sending.push_back(message);
    connection.arriving.push_back(message);
    connection.posted += post.bytes;
    if (connection.failed)
    {
        // Not before the poster knows the channel.
        ns3::Simulator::ScheduleNow([this, &connection] { OnFailed(connection); });
        return;
    }
    Fill(connection);
}

void
TcpTransport::Fill(Connection& connection)
{
    while (connection.open && !connection.failed && connection.queued < connection.posted)
    {
        const uint64_t piece = std::min({connection.posted - connection.queued,
                                         uint64_t{connection.socket->GetTxAvailable()},
                                         PIECE});
        if (piece == 0)
        {
            return; // OnSpace
        }
        connection.queued += piece;
        connection.socket->Send(ns3::Create<ns3::Packet>(static_cast<uint32_t>(piece)));
    }
}

void
TcpTransport::OnSpace(Connection& connection)
{
    m_collector.GetLinkSampler().Arm(); // it may have been silent for long
    const uint64_t acked =
        connection.queued - (connection.buffer - connection.socket->GetTxAvailable());
    while (!connection.sending.empty() &&
           connection.acked + connection.sending.front()->post.bytes <= acked)
    {
        Message* message = connection.sending.front();
        connection.sending.pop_front();
        connection.acked += message->post.bytes;
        const int64_t now = ns3::RdmaClock::Now();
        if (m_collector.IsCompleteAtSender())
        {
            Record(*message, now);
        }
        const auto& channel = m_channels[message->channel];
        const TransportPost post = message->post;
        const ChannelId number = message->channel;
        Leave(message);
        channel.user->OnSent(number, channel.cookie, post.id, false, now);
    }
    Fill(connection);
}

void
TcpTransport::OnFailed(Connection& connection)
{
    connection.failed = true;
    // Users may post anew, and that fails in its turn.
    std::deque<Message*> failed;
    failed.swap(connection.sending);
    const int64_t now = ns3::RdmaClock::Now();
    for (Message* message : failed)
    {
        const auto& channel = m_channels[message->channel];
        const uint64_t id = message->post.id;
        NodeWindows::NoteCall([this] { m_collector.FailMessage(); });
        channel.user->OnSent(message->channel, channel.cookie, id, true, now);
    }
}

// Receiving --------------------------------------------------------------------------------------

void
TcpTransport::OnReadable(Connection& connection, Ptr<Socket> socket)
{
    while (const Ptr<ns3::Packet> packet = socket->Recv())
    {
        if (packet->GetSize() == 0)
        {
            break; // the end
        }
        connection.received += packet->GetSize();
    }
    const int64_t now = ns3::RdmaClock::Now();
    while (!connection.arriving.empty() &&
           connection.arriving.front()->post.bytes <= connection.received)
    {
        Message* message = connection.arriving.front();
        connection.arriving.pop_front();
        connection.received -= message->post.bytes;
        CountArrived(message->post.bytes);
        if (!m_collector.IsCompleteAtSender())
        {
            Record(*message, now);
        }
        const auto& channel = m_channels[message->channel];
        const TransportPost post = message->post;
        const ChannelId number = message->channel;
        Leave(message);
        channel.user->OnDelivered(
            {channel.name, number, channel.cookie, post.immediate, post.cause},
            now);
    }
}

void
TcpTransport::Record(const Message& message, int64_t now)
{
    const reports::FlowRecord record = OrdinaryRecord(m_fabric,
                                                      m_protocol,
                                                      m_places,
                                                      m_channels[message.channel].name,
                                                      message.post.bytes,
                                                      m_collector.IsCompleteAtSender(),
                                                      now);
    NodeWindows::NoteCall(
        [this, &message, record] { m_collector.EndMessage(message.noted, record); });
}

void
TcpTransport::Leave(Message* message)
{
    if (!std::exchange(message->isHalfDone, true))
    {
        return;
    }
    // After the notes about it.
    NodeWindows::NoteCall([this, message] { m_messages.Give(message->number); });
}

void
TcpTransport::AddLosses(nlohmann::ordered_json& json) const
{
    reports::AddTo(json, m_counts);
}

reports::SegmentCounts
TcpTransport::GetSent() const
{
    return m_counts;
}

std::string
TcpTransport::LossesText() const
{
    return "; " + reports::HumanCount(m_counts.retransmitted) + " of " +
           reports::HumanCount(m_counts.sent) + " segments sent again, " +
           topo::Counted(m_counts.timeouts, "time-out");
}

} // namespace dltrain
