/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ordinary-setup.h"

#include "reports/base/human-text.h"
#include "reports/schema/object.h"

#include "ns3/boolean.h"
#include "ns3/config.h"
#include "ns3/nstime.h"
#include "ns3/rdma-packet-helper.h"
#include "ns3/string.h"
#include "ns3/type-id.h"
#include "ns3/uinteger.h"

namespace dltrain
{

namespace
{

/// Random streams behind those of any fabric.
constexpr int64_t STREAM = int64_t{1} << 40;

} // namespace

void
SetOrdinaryDefaults(const scenario::ProtocolSpec& spec)
{
    const auto set = [](const std::string& name, const ns3::AttributeValue& value) {
        ns3::Config::SetDefault(name, value);
    };
    set("ns3::RdmaPackets::Mtu", ns3::UintegerValue(spec.packetMtu));
    // Class selectors (RFC 2474, 4.2.2), of which transports take that of a flow's priority.
    set("ns3::RdmaPackets::DscpPriorities",
        ns3::StringValue("0:0,8:1,16:2,24:3,32:4,40:5,48:6,56:7"));
    if (!spec.IsTcp() || !Part<SocketPart>::IsLoaded()) // a dry run builds no part
    {
        return;
    }
    set("ns3::TcpL4Protocol::SocketType",
        ns3::TypeIdValue(ns3::TypeId::LookupByName(spec.controlType)));
    set("ns3::TcpSocket::SegmentSize", ns3::UintegerValue(spec.packetMtu - spec.HeaderBytes()));
    // Room for 400 Gb/s and 80 us: assumed.
    set("ns3::TcpSocket::SndBufSize", ns3::UintegerValue(4000000));
    set("ns3::TcpSocket::RcvBufSize", ns3::UintegerValue(4000000));
    // The end of a message waits neither for the one before (Nagle) nor for a delayed
    // acknowledgement: assumed, as RPCs have it.
    set("ns3::TcpSocket::TcpNoDelay", ns3::BooleanValue(true));
    set("ns3::TcpSocket::DelAckCount", ns3::UintegerValue(1));
    // Linux, include/net/tcp.h: TCP_RTO_MIN is HZ / 5, TCP_TIMEOUT_INIT 1 HZ.
    set("ns3::TcpSocketBase::MinRto", ns3::TimeValue(ns3::MilliSeconds(200)));
    set("ns3::TcpSocket::ConnTimeout", ns3::TimeValue(ns3::Seconds(1)));
}

uint32_t
LargestFrameOf(const scenario::ProtocolSpec& spec)
{
    return spec.packetMtu + rdma::kEthernetHeaderBytes + rdma::kFcsBytes;
}

std::unique_ptr<SocketStack>
InstallStack(ns3::RdmaFabric& fabric, std::string& error)
{
    return Part<SocketPart>::Get().Install(fabric, STREAM, error);
}

OrdinaryLosses
CountLosses(const ns3::RdmaFabric& fabric, const SocketStack& stack)
{
    const ns3::RdmaPacketCounters totals = ns3::RdmaPacketHelper::GetTotals(fabric);
    return {stack.GetSent(), totals.refused + stack.GetRefused(), totals.lostWithLink};
}

void
AddLosses(reports::RunStats& run, const OrdinaryLosses& losses, const OrdinaryLosses& before)
{
    const reports::SegmentCounts& sent = losses.sent;
    run.ordinaryPackets = sent.sent - before.sent.sent;
    run.retransmittedPackets += sent.retransmitted - before.sent.retransmitted;
    run.timeouts += sent.timeouts - before.sent.timeouts;
    run.timeoutUs += static_cast<double>(sent.timeoutPs - before.sent.timeoutPs) / 1e6;
    run.drops.emplace_back("nic_queue_full", losses.refused - before.refused);
    for (auto& [reason, count] : run.drops)
    {
        count += reason == "lost_with_link" ? losses.lostWithLink - before.lostWithLink : 0;
    }
}

namespace
{

/// Packets of TCP and UDP.
struct Ordinary
{
    const scenario::ProtocolSpec& spec;
    ns3::RdmaPacketCounters totals;
    uint64_t refused;
    uint64_t lostWithLink;
};

using reports::Key;
using reports::Object;

const Object<Ordinary>&
PacketKeys()
{
    static const Object<Ordinary> keys{
        {"protocol: tcp or udp", [](const Ordinary& o) { return o.spec.Name(); }},
        Key<Ordinary>("control: TCP's congestion control",
                      [](const Ordinary& o) { return o.spec.control; })
            .Only([](const Ordinary& o) { return o.spec.IsTcp(); }),
        {"packets_sent (packets): Sent by NICs, acknowledgements included",
         [](const Ordinary& o) { return o.totals.sent; }},
        {"bytes_sent (B): Of these, with IP headers, without Ethernet's",
         [](const Ordinary& o) { return o.totals.sentBytes; }},
        {"packets_received (packets): Arrived at the NIC of their destination",
         [](const Ordinary& o) { return o.totals.received; }},
        {"bytes_received (B): Of these, as bytes_sent",
         [](const Ordinary& o) { return o.totals.receivedBytes; }},
        {"packets_marked (packets): Received with CE",
         [](const Ordinary& o) { return o.totals.marked; }},
        {"packets_refused (packets): Refused by a NIC: queue full, or link down",
         &Ordinary::refused},
        {"packets_lost_with_link (packets): In a NIC whose link went down; on a cut cable, or sent "
         "into one",
         &Ordinary::lostWithLink}};
    return keys;
}

const Object<Ordinary> ORDINARY{{"ordinary: With flows by TCP or UDP: their packets; whole run",
                                 [](const Ordinary& o) -> const Ordinary& { return o; },
                                 PacketKeys()}};
const reports::RegisteredKeys g_ordinary(reports::Section::kOthers, ORDINARY);

} // namespace

void
AddOrdinary(nlohmann::ordered_json& stats,
            const scenario::ProtocolSpec& spec,
            const ns3::RdmaFabric& fabric,
            const SocketStack& stack)
{
    const ns3::RdmaPacketCounters totals = ns3::RdmaPacketHelper::GetTotals(fabric);
    ORDINARY.AddTo(stats,
                   {spec,
                    totals,
                    totals.refused + stack.GetRefused(),
                    totals.lostWithLink + fabric.GetPortTotals().ordinaryLost});
}

void
PrintOrdinary(std::ostream& os,
              const scenario::ProtocolSpec& spec,
              const ns3::RdmaFabric& fabric,
              const SocketStack& stack)
{
    const ns3::RdmaPacketCounters totals = ns3::RdmaPacketHelper::GetTotals(fabric);
    os << spec.Text() << "              " << (spec.IsTcp() ? spec.control + ": " : "")
       << reports::HumanCount(totals.sent) << " packets sent, "
       << reports::HumanCount(totals.received) << " received, "
       << reports::HumanCount(totals.marked) << " of them marked CE; "
       << reports::HumanCount(totals.refused + stack.GetRefused()) << " refused by full NICs\n";
}

} // namespace dltrain
