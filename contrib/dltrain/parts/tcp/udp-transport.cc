/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "udp-transport.h"

#include "contrib/dltrain/observers/link-sampler.h"
#include "contrib/dltrain/observers/trace-collector.h"
#include "contrib/rdma/core/roce-sizes.h"
#include "contrib/rdma/core/unit-strings.h"
#include "reports/base/human-text.h"
#include "reports/stats/run-stats.h"

#include "ns3/inet-socket-address.h"
#include "ns3/node-windows.h"
#include "ns3/node.h"
#include "ns3/simulator.h"
#include "ns3/tag.h"
#include "ns3/udp-socket-factory.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace dltrain
{

using ns3::InetSocketAddress;
using ns3::NodeWindows;
using ns3::Ptr;
using ns3::Socket;

namespace
{

/// Where hosts listen, and the priorities behind it: assumed.
constexpr uint16_t FIRST_PORT = 34000;

/// Which datagram it is: no bytes of it.
class DatagramTag : public ns3::Tag
{
  public:
    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId tid = ns3::TypeId("dltrain::DatagramTag")
                                     .SetParent<ns3::Tag>()
                                     .SetGroupName("Dltrain")
                                     .AddConstructor<DatagramTag>();
        return tid;
    }

    ns3::TypeId GetInstanceTypeId() const override
    {
        return GetTypeId();
    }

    // 20 bytes, as ns-3's lists of tags have room for 20 and more at a price.
    uint32_t GetSerializedSize() const override
    {
        return 20;
    }

    void Serialize(ns3::TagBuffer to) const override
    {
        to.WriteU32(connection);
        to.WriteU64(number);
        to.WriteU64(static_cast<uint64_t>(sent));
    }

    void Deserialize(ns3::TagBuffer from) override
    {
        connection = from.ReadU32();
        number = from.ReadU64();
        sent = static_cast<int64_t>(from.ReadU64());
    }

    void Print(std::ostream& os) const override
    {
        os << connection << ":" << number;
    }

    uint32_t connection = 0;
    uint64_t number = 0; ///< number among its datagrams
    int64_t sent = 0;    ///< ps
};

} // namespace

UdpTransport::UdpTransport(const NetworkParts& parts,
                           ns3::OrdinaryStack& stack,
                           const scenario::ProtocolSpec& protocol,
                           bool repeats)
    : m_fabric(parts.fabric),
      m_collector(parts.collector),
      m_places(parts.places),
      m_protocol(protocol),
      m_stack(stack),
      m_payload(protocol.packetMtu - protocol.HeaderBytes()),
      m_frame(static_cast<uint32_t>(OrdinaryWire(protocol.packetMtu).value)),
      m_rateBps(protocol.control.empty() ? 0 : rdma::ParseBitRate(protocol.control)->bps),
      m_repeats(repeats)
{
}

UdpTransport::~UdpTransport()
{
    for (const auto& [where, socket] : m_listening) // which outlive this
    {
        socket->SetRecvCallback(ns3::Callback<void, Ptr<Socket>>());
    }
}

// Channels ---------------------------------------------------------------------------------------

void
UdpTransport::Listen(uint32_t endpoint, uint8_t priority)
{
    Ptr<Socket>& socket = m_listening[{endpoint, priority}];
    if (socket)
    {
        return;
    }
    socket = Socket::CreateSocket(m_stack.GetNode(endpoint), ns3::UdpSocketFactory::GetTypeId());
    socket->Bind(OrdinaryAddress(m_stack, endpoint, FIRST_PORT + priority, priority));
    socket->BindToNetDevice(m_stack.GetDevice(endpoint));
    socket->SetRecvCallback([this](Ptr<Socket> readable) { OnReadable(readable); });
}

UdpTransport::Connection&
UdpTransport::Connect(uint32_t from, uint32_t to, uint8_t priority)
{
    Listen(to, priority);
    m_stack.Introduce(from, to);
    Connection& connection = m_connections.emplace_back(*this);
    connection.number = static_cast<uint32_t>(m_connections.size() - 1);
    connection.from = from;
    connection.to = to;
    connection.priority = priority;
    connection.context = m_stack.GetNode(from)->GetId();
    // The rate for messages on a port that sends nothing else.
    connection.rateBps =
        m_rateBps
            ? m_rateBps
            : std::max<uint64_t>(1,
                                 m_fabric.GetNic(from)->GetPort()->GetRate() / m_frame * m_payload);
    connection.socket =
        Socket::CreateSocket(m_stack.GetNode(from), ns3::UdpSocketFactory::GetTypeId());
    if (connection.socket->Bind(OrdinaryAddress(m_stack, from, 0, priority)) != 0)
    {
        connection.failed = true; // no port is free
        return connection;
    }
    connection.socket->BindToNetDevice(m_stack.GetDevice(from));
    connection.socket->Connect(OrdinaryAddress(m_stack, to, FIRST_PORT + priority, priority));
    return connection;
}

ChannelId
UdpTransport::Open(const ChannelName& name, TransportUser& user, uint64_t cookie, uint64_t)
{
    return m_channels.Open(
        name,
        user,
        cookie,
        m_places,
        [](const Connection&) { return false; },
        [this](uint32_t from, uint32_t to, uint8_t priority) -> Connection& {
            return Connect(from, to, priority);
        });
}

void
UdpTransport::Close(ChannelId channel)
{
    m_channels.Close(channel);
}

std::string
UdpTransport::Describe(ChannelId channel) const
{
    return m_channels.Describe(channel, m_collector.GetEndpointNames()) + " by UDP";
}

// Sending ----------------------------------------------------------------------------------------

std::optional<int64_t>
UdpTransport::IdealOf(uint32_t from, uint32_t to, uint64_t bytes)
{
    return m_fabric.GetIdealCompletion(from, to, OrdinaryRuns(m_protocol, bytes, false), false);
}

void
UdpTransport::Post(ChannelId channel, const TransportPost& post)
{
    Connection& connection = *m_channels[channel].connection;
    const uint32_t number = m_messages.Take();
    Message& message = m_messages[number];
    message = {};
    message.post = post;
    message.channel = channel;
    message.number = number;
    message.posted = ns3::RdmaClock::Now();
    message.first = connection.posted;
    message.datagrams = std::max<uint64_t>(1, (post.bytes + m_payload - 1) / m_payload);
    connection.posted += message.datagrams;
    m_collector.GetLinkSampler().Arm();
    connection.waiting.push_back(&message);
    connection.flying.push_back(&message);
    if (connection.waiting.size() == 1)
    {
        Begin(connection);
    }
}

void
UdpTransport::Begin(Connection& connection)
{
    // In an event: the poster knows the channel by then.
    Message& message = *connection.waiting.front();
    message.began = ns3::RdmaClock::Now();
    connection.timer.ScheduleAt(message.began, connection.context);
}

void
UdpTransport::SendNext(Connection& connection)
{
    Message& message = *connection.waiting.front();
    const int64_t now = ns3::RdmaClock::Now();
    const uint64_t before = std::min(message.sent * m_payload, message.post.bytes);
    if (message.sent < message.datagrams && !connection.failed)
    {
        const uint64_t bytes = std::min<uint64_t>(m_payload, message.post.bytes - before);
        DatagramTag tag;
        tag.connection = connection.number;
        tag.number = message.first + message.sent;
        tag.sent = now;
        const Ptr<ns3::Packet> packet = ns3::Create<ns3::Packet>(static_cast<uint32_t>(bytes));
        packet->AddPacketTag(tag);
        ++message.sent;
        ++m_counts.sent;
        m_collector.GetLinkSampler().Arm(); // it may have been silent for long
        connection.socket->Send(packet);
        // When the next one is due: from the first, so that nothing adds up.
        const auto after = static_cast<int64_t>(static_cast<unsigned __int128>(before + bytes) *
                                                8000000000000ULL / connection.rateBps);
        connection.timer.ScheduleAt(message.began + after, connection.context);
        return;
    }
    connection.waiting.pop_front();
    if (!connection.waiting.empty())
    {
        Begin(connection);
    }
    EndSending(connection, message);
}

void
UdpTransport::EndSending(Connection& connection, Message& message)
{
    const int64_t now = ns3::RdmaClock::Now();
    message.over = now + LINGER;
    const ChannelId number = message.channel;
    const auto& channel = m_channels[number];
    const uint64_t id = message.post.id;
    if (connection.failed)
    {
        NodeWindows::NoteCall([this, id, now] {
            m_collector.CountMessage(id, now, ns3::RdmaOperation::WRITE);
            m_collector.FailMessage();
        });
    }
    else
    {
        NodeWindows::NoteCall([this, began = message.began, now, bytes = message.post.bytes] {
            m_collector.NoteSending(began, now, bytes);
        });
    }
    if (m_repeats && !connection.failed)
    {
        // Small ones follow one another faster than they are over.
        while (connection.flying.front()->over != NEVER &&
               connection.flying.front()->came == connection.flying.front()->datagrams)
        {
            Forget(connection, *connection.flying.front());
            if (connection.flying.empty())
            {
                break;
            }
        }
    }
    WatchFirst(connection);
    if (m_repeats || connection.failed)
    {
        channel.user->OnSent(number, channel.cookie, id, connection.failed, now);
    }
}

void
UdpTransport::WatchFirst(Connection& connection)
{
    if (!connection.isLate && !connection.flying.empty() &&
        connection.flying.front()->over != NEVER)
    {
        connection.isLate = true;
        connection.late.ScheduleAt(connection.flying.front()->over, connection.context);
    }
}

void
UdpTransport::GiveUp(Connection& connection)
{
    connection.isLate = false;
    const int64_t now = ns3::RdmaClock::Now();
    while (!connection.flying.empty() && connection.flying.front()->over <= now)
    {
        Message& message = *connection.flying.front();
        if (message.sent > 0)
        {
            See(connection, message.first + message.datagrams);
        }
        const ChannelId number = message.channel;
        const uint64_t id = message.post.id;
        Forget(connection, message);
        if (!m_repeats && !connection.failed)
        {
            const auto& channel = m_channels[number];
            channel.user->OnSent(number, channel.cookie, id, false, now);
        }
    }
    WatchFirst(connection);
}

void
UdpTransport::Forget(Connection& connection, Message& message)
{
    connection.flying.pop_front();
    m_messages.Give(message.number);
}

void
UdpTransport::See(Connection& connection, uint64_t datagram)
{
    if (datagram > connection.seen)
    {
        m_counts.seen += datagram - connection.seen;
        connection.seen = datagram;
    }
}

// Receiving --------------------------------------------------------------------------------------

void
UdpTransport::OnReadable(Ptr<Socket> socket)
{
    const int64_t now = ns3::RdmaClock::Now();
    while (const Ptr<ns3::Packet> packet = socket->Recv())
    {
        DatagramTag tag;
        if (!packet->PeekPacketTag(tag))
        {
            continue; // another program's, of ns-3
        }
        Connection& connection = m_connections[tag.connection];
        ++m_counts.received;
        m_counts.delay.Add(static_cast<double>(now - tag.sent));
        See(connection, tag.number + 1);
        CountArrived(packet->GetSize());
        const auto after = std::upper_bound(
            connection.flying.begin(),
            connection.flying.end(),
            tag.number,
            [](uint64_t number, const Message* message) { return number < message->first; });
        if (after == connection.flying.begin())
        {
            continue; // its message has been given up
        }
        Message& message = **(after - 1);
        if (++message.came == message.datagrams)
        {
            Deliver(message, now);
        }
    }
}

void
UdpTransport::Deliver(const Message& message, int64_t now)
{
    const auto& channel = m_channels[message.channel];
    const reports::FlowRecord record = OrdinaryRecord(m_fabric,
                                                      m_protocol,
                                                      m_places,
                                                      channel.name,
                                                      message.post.bytes,
                                                      false,
                                                      now);
    NodeWindows::NoteCall([this, id = message.post.id, posted = message.posted, record] {
        m_collector.AddMessage(id, posted, record);
    });
    channel.user->OnDelivered(
        {channel.name, message.channel, channel.cookie, message.post.immediate, message.post.cause},
        now);
}

void
UdpTransport::AddLosses(nlohmann::ordered_json& json) const
{
    reports::AddTo(json, m_counts);
}

reports::SegmentCounts
UdpTransport::GetSent() const
{
    reports::SegmentCounts counts;
    counts.sent = m_counts.sent;
    return counts;
}

std::string
UdpTransport::LossesText() const
{
    return "; " + reports::HumanCount(m_counts.GetLost()) + " of " +
           reports::HumanCount(m_counts.sent) + " datagrams lost";
}

} // namespace dltrain
