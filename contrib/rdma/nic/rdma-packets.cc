/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-packets.h"

#include "contrib/rdma/core/ip-packet.h"
#include "rdma-nic.h"

#include "ns3/header.h"
#include "ns3/log.h"
#include "ns3/rdma-fixed-attribute.h"
#include "ns3/rdma-port.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cstring>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaPackets");

NS_OBJECT_ENSURE_REGISTERED(RdmaPackets);

namespace
{

/// An IP header as it stands in a packet: ns-3's own are of its module internet.
class IpBytes : public Header
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::RdmaIpBytes")
                                .SetParent<Header>()
                                .SetGroupName("Rdma")
                                .AddConstructor<IpBytes>();
        return tid;
    }

    IpBytes() = default;

    IpBytes(const uint8_t* bytes, uint32_t size)
        : m_size(size)
    {
        std::memcpy(m_bytes.data(), bytes, size);
    }

    TypeId GetInstanceTypeId() const override
    {
        return GetTypeId();
    }

    uint32_t GetSerializedSize() const override
    {
        return m_size;
    }

    void Serialize(Buffer::Iterator at) const override
    {
        at.Write(m_bytes.data(), m_size);
    }

    uint32_t Deserialize(Buffer::Iterator at) override
    {
        at.Read(m_bytes.data(), m_size);
        return m_size;
    }

    void Print(std::ostream& os) const override
    {
        os << "an IP header of " << m_size << " B";
    }

  private:
    std::array<uint8_t, rdma::kIpReadBytes> m_bytes{};
    uint32_t m_size{0};
};

NS_OBJECT_ENSURE_REGISTERED(IpBytes);

/// \return the packet with CE in its IP header; the one that was given stays as it is
Ptr<Packet>
MarkedCopy(Ptr<const Packet> packet, uint16_t protocol)
{
    uint8_t bytes[rdma::kIpReadBytes];
    const uint32_t read = packet->CopyData(bytes, sizeof bytes);
    const uint32_t header = static_cast<uint32_t>(rdma::MarkIpCe(protocol, bytes, read));
    Ptr<Packet> copy = packet->Copy();
    copy->RemoveAtStart(header);
    copy->AddHeader(IpBytes(bytes, header));
    return copy;
}

} // namespace

// Set-up -----------------------------------------------------------------------------------------

TypeId
RdmaPackets::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::RdmaPackets")
            .SetParent<Object>()
            .SetGroupName("Rdma")
            .AddConstructor<RdmaPackets>()
            .AddAttribute("Priority",
                          "Priority (0 to 7) of ordinary packets whose DSCP has no other. It is "
                          "lossy unless RdmaSwitch::LosslessPriorities has it",
                          UintegerValue(0),
                          RdmaFixed<RdmaPackets>(MakeUintegerAccessor(&RdmaPackets::m_priority)),
                          MakeUintegerChecker<uint8_t>(0, PRIORITIES - 1))
            .AddAttribute("DscpPriorities",
                          "Priorities of some DSCPs (0 to 63) instead of Priority: 46:5,8:1",
                          StringValue(""),
                          RdmaFixed<RdmaPackets>(MakeStringAccessor(&RdmaPackets::m_dscps)),
                          MakeStringChecker())
            .AddAttribute("QueuePackets",
                          "Ordinary packets that wait in the NIC, at most (assumed: 1,000)",
                          UintegerValue(1000),
                          MakeUintegerAccessor(&RdmaPackets::m_mostPackets),
                          MakeUintegerChecker<uint32_t>(1))
            .AddAttribute("Mtu",
                          "Largest ordinary packet, IP header included (bytes). With more than "
                          "4,160 the fabric must be built for such frames "
                          "(RdmaFabricHelper::SetLargestFrame)",
                          UintegerValue(1500),
                          RdmaFixed<RdmaPackets>(MakeUintegerAccessor(&RdmaPackets::m_mtu)),
                          MakeUintegerChecker<uint16_t>(68))
            .AddTraceSource("MacTx",
                            "A packet has been accepted from above",
                            MakeTraceSourceAccessor(&RdmaPackets::m_txTrace),
                            "ns3::Packet::TracedCallback")
            .AddTraceSource("MacTxDrop",
                            "A packet from above is refused, or lost with its link in the queue",
                            MakeTraceSourceAccessor(&RdmaPackets::m_txDropTrace),
                            "ns3::Packet::TracedCallback")
            .AddTraceSource("MacRx",
                            "A packet for this NIC or for all goes up",
                            MakeTraceSourceAccessor(&RdmaPackets::m_rxTrace),
                            "ns3::Packet::TracedCallback");
    return tid;
}

RdmaPackets::RdmaPackets() = default;

RdmaPackets::~RdmaPackets() = default;

void
RdmaPackets::DoDispose()
{
    for (RdmaFrameList& queue : m_queues)
    {
        queue.Clear();
    }
    m_waiting = 0;
    m_packets = 0;
    m_nic = nullptr;
    m_port = nullptr;
    m_above = nullptr;
    m_addresses = nullptr;
    Object::DoDispose();
}

std::string
RdmaPackets::ReadDscps()
{
    m_priorityOfDscp.fill(m_priority);
    return RdmaNic::ParseMap(m_dscps,
                             "ns3::RdmaPackets::DscpPriorities",
                             m_priorityOfDscp.data(),
                             m_priorityOfDscp.size(),
                             PRIORITIES);
}

std::string
RdmaPackets::Attach(Ptr<RdmaNic> nic, Ptr<RdmaPacketAddresses> addresses, uint32_t largestFrame)
{
    NS_LOG_FUNCTION(this << nic << addresses << largestFrame);
    std::string error = ReadDscps();
    m_largestFrame = largestFrame;
    if (error.empty() && !SetMtu(m_mtu))
    {
        error = "ns3::RdmaPackets::Mtu: " + std::to_string(m_mtu) + " B; allowed: 68 to " +
                std::to_string(largestFrame - rdma::kEthernetHeaderBytes - rdma::kFcsBytes) +
                ", as buffers are prepared for frames of " + std::to_string(largestFrame) +
                " B (RdmaFabricHelper::SetLargestFrame)";
    }
    if (error.empty())
    {
        error = nic->SetPackets(this);
    }
    if (!error.empty())
    {
        return error;
    }
    m_nic = PeekPointer(nic);
    m_port = PeekPointer(nic->GetPort());
    m_addresses = addresses;
    m_addresses->Add(Mac48Address::ConvertFrom(m_port->GetAddress()), nic->GetEndpoint());
    m_port->AggregateObject(Ptr<RdmaPackets>(this));
    if (!m_port->GetObject<NetDeviceQueueInterface>())
    {
        m_port->AggregateObject(CreateObject<NetDeviceQueueInterface>());
    }
    m_above = m_port->GetObject<NetDeviceQueueInterface>();
    m_port->SetPackets(this);
    m_port->AddLinkChangeCallback(MakeCallback(&RdmaPackets::OnLinkChange, this));
    return {};
}

bool
RdmaPackets::SetMtu(uint16_t mtu)
{
    NS_LOG_FUNCTION(this << mtu);
    if (mtu + rdma::kEthernetHeaderBytes + rdma::kFcsBytes > m_largestFrame)
    {
        return false;
    }
    m_mtu = mtu;
    return true;
}

void
RdmaPackets::OnAddress(Mac48Address before)
{
    NS_LOG_FUNCTION(this << before);
    m_addresses->Remove(before);
    m_addresses->Add(Mac48Address::ConvertFrom(m_port->GetAddress()), m_nic->GetEndpoint());
}

// Sending ----------------------------------------------------------------------------------------

void
RdmaPackets::UpdateMask()
{
    m_nic->SetPacketMask(m_waiting);
}

bool
RdmaPackets::Refuse(Ptr<const Packet> packet)
{
    ++m_counters.refused;
    m_txDropTrace(packet);
    return false;
}

bool
RdmaPackets::Send(Ptr<Packet> packet,
                  Mac48Address source,
                  Mac48Address destination,
                  uint16_t protocol)
{
    NS_LOG_FUNCTION(this << packet << source << destination << protocol);
    const NodeWindows* windows = NodeWindows::Active();
    NS_ABORT_MSG_IF(windows && windows->GetThreads() > 1,
                    "ordinary packets (TCP, UDP) with " << windows->GetThreads()
                                                        << " threads; allowed: 1");
    if (!m_port->IsLinkUp() || packet->GetSize() > m_mtu || m_packets >= m_mostPackets)
    {
        return Refuse(packet);
    }
    uint8_t bytes[rdma::kIpReadBytes];
    const uint32_t read = packet->CopyData(bytes, sizeof bytes);
    const rdma::IpFields ip = rdma::ReadIp(protocol, bytes, read);
    const auto low = [](Mac48Address address) {
        return static_cast<uint32_t>(RdmaPacketAddresses::NumberOf(address));
    };
    RdmaFrame* frame = RdmaFramePool::Get().Allocate();
    frame->wireBytes =
        std::max<uint32_t>(packet->GetSize() + rdma::kEthernetHeaderBytes + rdma::kFcsBytes,
                           rdma::kMinimumFrameBytes) +
        m_port->GetLineOverhead();
    frame->src = m_nic->GetEndpoint();
    frame->dst = m_addresses->Find(destination);
    frame->route = RdmaRoute::OfFlow(
        ip.isIp ? ip.hash : rdma::FlowHash({low(source), low(destination), protocol, 0, 0}));
    frame->destQp = frame->psn = frame->aux = frame->dmaLength = 0;
    frame->SetLabel(RdmaFrame::NO_LABEL);
    frame->payload = static_cast<uint16_t>(packet->GetSize());
    frame->inPort = 0;
    frame->opcode = RdmaOpcode::ETHERNET;
    frame->priority = m_priorityOfDscp[ip.dscp];
    frame->flags = ip.ecn ? RdmaFrame::ECT : 0;
    frame->dscp = ip.dscp;
    frame->extra = RdmaFramePool::Get().AllocateExtra();
    frame->extra->packet = packet->Copy();
    frame->extra->protocol = protocol;
    frame->extra->source = source;
    frame->extra->destination = destination;
    ++m_counters.accepted;
    m_txTrace(packet);
    m_queues[frame->priority].PushBack(frame);
    m_waiting |= 1U << frame->priority;
    ++m_packets;
    if (m_packets == m_mostPackets)
    {
        m_above->GetTxQueue(0)->Stop();
    }
    UpdateMask();
    m_port->Kick(RdmaClock::Now());
    return true;
}

RdmaFrame*
RdmaPackets::Take(uint8_t priority)
{
    RdmaFrame* frame = m_queues[priority].PopFront();
    if (m_queues[priority].IsEmpty())
    {
        m_waiting &= ~(1U << priority);
        UpdateMask();
    }
    ++m_counters.sent;
    m_counters.sentBytes += frame->payload;
    m_port->Count().ordinaryBytes += frame->payload;
    if (m_packets-- == m_mostPackets)
    {
        m_above->GetTxQueue(0)->Wake(); // by an event of its own, of this time
    }
    return frame;
}

uint32_t
RdmaPackets::GetWeight(uint32_t turn, uint8_t priorityOfPairs) const
{
    return m_port->GetWeight(turn == PAIRS ? priorityOfPairs : static_cast<uint8_t>(turn));
}

uint32_t
RdmaPackets::PickTurn(uint32_t eligible, uint8_t priorityOfPairs)
{
    // The highest strict priority, or all others.
    uint32_t strict = eligible & m_port->GetStrictMask();
    const bool strictPairs =
        (eligible >> PAIRS & 1) && (m_port->GetStrictMask() >> priorityOfPairs & 1);
    if (strict || strictPairs)
    {
        const int packets = strict ? 31 - __builtin_clz(strict) : -1;
        const int pairs = strictPairs ? priorityOfPairs : -1;
        eligible = (packets >= pairs ? 1U << packets : 0) | (pairs >= packets ? 1U << PAIRS : 0);
    }
    if ((eligible & (eligible - 1)) == 0)
    {
        return static_cast<uint32_t>(__builtin_ctz(eligible));
    }
    for (;;)
    {
        if ((eligible >> m_turn & 1) && m_deficits[m_turn] > 0)
        {
            return m_turn;
        }
        m_turn = (m_turn + 1) % TURNS;
        if (eligible >> m_turn & 1)
        {
            m_deficits[m_turn] += GetWeight(m_turn, priorityOfPairs);
        }
        else
        {
            m_deficits[m_turn] = 0; // who has nothing to send keeps nothing
        }
    }
}

RdmaFrame*
RdmaPackets::Pull(uint8_t pausedMask, int64_t now)
{
    NS_LOG_FUNCTION(this << pausedMask << now);
    const uint32_t packets = m_waiting & ~pausedMask;
    const uint8_t pairs = m_nic->GetReadyPairs(now) & ~pausedMask;
    const uint8_t priorityOfPairs = pairs ? 31 - __builtin_clz(pairs) : 0;
    uint32_t eligible = packets | (pairs ? 1U << PAIRS : 0);
    while (eligible & ~(1U << PAIRS))
    {
        const bool contended = eligible & (eligible - 1);
        const uint32_t turn = PickTurn(eligible, priorityOfPairs);
        RdmaFrame* frame =
            turn == PAIRS ? m_nic->PullPairs(pausedMask, now) : Take(static_cast<uint8_t>(turn));
        if (!frame)
        {
            eligible &= ~(1U << PAIRS); // they are throttled after all
            continue;
        }
        if (contended)
        {
            m_deficits[turn] -= m_port->GetFrameBytes(frame);
        }
        if (turn != PAIRS)
        {
            m_nic->WakePairs(now); // nobody else asks them when their time has come
        }
        return frame;
    }
    return m_nic->PullPairs(pausedMask, now);
}

void
RdmaPackets::OnLinkChange()
{
    if (m_port->IsLinkUp() || m_packets == 0)
    {
        return;
    }
    const bool wasFull = m_packets >= m_mostPackets;
    for (RdmaFrameList& queue : m_queues)
    {
        while (!queue.IsEmpty())
        {
            RdmaFrame* frame = queue.PopFront();
            ++m_counters.lostWithLink;
            m_txDropTrace(frame->extra->packet);
            RdmaFramePool::Get().Free(frame);
        }
    }
    m_waiting = 0;
    m_packets = 0;
    UpdateMask();
    if (wasFull)
    {
        // A link changes by an event without context; queue discs belong to the node.
        Simulator::ScheduleWithContext(m_port->GetContext(), Time(0), [above = m_above] {
            above->GetTxQueue(0)->Wake();
        });
    }
}

// Receiving --------------------------------------------------------------------------------------

void
RdmaPackets::Receive(RdmaFrame* frame)
{
    NS_LOG_FUNCTION(this << frame);
    const RdmaFrameExtra& extra = *frame->extra;
    Ptr<Packet> packet = extra.packet;
    const uint16_t protocol = extra.protocol;
    const Mac48Address source = extra.source;
    const Mac48Address destination = extra.destination;
    const bool marked = frame->flags & RdmaFrame::CE;
    RdmaFramePool::Get().Free(frame);
    NetDevice::PacketType type = NetDevice::PACKET_OTHERHOST;
    if (destination == Mac48Address::ConvertFrom(m_port->GetAddress()))
    {
        type = NetDevice::PACKET_HOST;
    }
    else if (destination.IsBroadcast())
    {
        type = NetDevice::PACKET_BROADCAST;
    }
    else if (destination.IsGroup())
    {
        type = NetDevice::PACKET_MULTICAST;
    }
    if (marked)
    {
        packet = MarkedCopy(packet, protocol);
    }
    if (type == NetDevice::PACKET_OTHERHOST)
    {
        ++m_counters.foreign;
    }
    else
    {
        ++m_counters.received;
        m_counters.receivedBytes += packet->GetSize();
        m_counters.marked += marked;
        m_rxTrace(packet);
    }
    m_port->PassUp(packet, protocol, source, destination, type);
}

} // namespace ns3
