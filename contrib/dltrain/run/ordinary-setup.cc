/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ordinary-setup.h"

#include "results/human-text.h"

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

nlohmann::ordered_json
OrdinaryToJson(const scenario::ProtocolSpec& spec,
               const ns3::RdmaFabric& fabric,
               const SocketStack& stack)
{
    const ns3::RdmaPacketCounters totals = ns3::RdmaPacketHelper::GetTotals(fabric);
    nlohmann::ordered_json json;
    json["protocol"] = spec.Name();
    if (spec.IsTcp())
    {
        json["control"] = spec.control;
    }
    json["packets_sent"] = totals.sent;
    json["bytes_sent"] = totals.sentBytes;
    json["packets_received"] = totals.received;
    json["bytes_received"] = totals.receivedBytes;
    json["packets_marked"] = totals.marked;
    json["packets_refused"] = totals.refused + stack.GetRefused();
    json["packets_lost_with_link"] = totals.lostWithLink + fabric.GetPortTotals().ordinaryLost;
    return json;
}

void
PrintOrdinary(std::ostream& os,
              const scenario::ProtocolSpec& spec,
              const ns3::RdmaFabric& fabric,
              const SocketStack& stack)
{
    const ns3::RdmaPacketCounters totals = ns3::RdmaPacketHelper::GetTotals(fabric);
    os << spec.Text() << "              " << (spec.IsTcp() ? spec.control + ": " : "")
       << results::HumanCount(totals.sent) << " packets sent, "
       << results::HumanCount(totals.received) << " received, "
       << results::HumanCount(totals.marked) << " of them marked CE; "
       << results::HumanCount(totals.refused + stack.GetRefused()) << " refused by full NICs\n";
}

} // namespace dltrain
