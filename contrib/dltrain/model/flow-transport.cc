/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "flow-transport.h"

#include "results/human-text.h"
#include "results/run-stats.h"
#include "tcp-transport.h"
#include "topologies/names.h"
#include "udp-transport.h"

namespace dltrain
{

std::unique_ptr<Transport>
MakeFlowTransport(const std::string& network,
                  const scenario::ProtocolSpec& protocol,
                  ns3::OrdinaryStack* stack,
                  const NetworkParts& parts,
                  bool repeats)
{
    if (protocol.IsTcp())
    {
        return std::make_unique<TcpTransport>(parts, *stack);
    }
    if (protocol.IsUdp())
    {
        return std::make_unique<UdpTransport>(parts, *stack, protocol, repeats);
    }
    return NetworkKind::Make(network, parts);
}

void
AddLosses(const Transport& transport, nlohmann::ordered_json& json)
{
    if (const auto* tcp = dynamic_cast<const TcpTransport*>(&transport))
    {
        const SegmentCounts& counts = tcp->GetCounts();
        json["segments_sent"] = counts.sent;
        json["segments_retransmitted"] = counts.retransmitted;
        json["time_outs"] = counts.timeouts;
    }
    if (const auto* udp = dynamic_cast<const UdpTransport*>(&transport))
    {
        const DatagramCounts& counts = udp->GetCounts();
        json["datagrams_sent"] = counts.sent;
        json["datagrams_received"] = counts.received;
        json["datagrams_lost"] = counts.GetLost();
        json["datagrams_under_way"] = counts.GetUnderWay();
        json["datagram_delay_us"] = results::ToJson(results::QuantilesOf(counts.delay, 1e6));
    }
}

std::string
LossesText(const Transport& transport)
{
    using results::HumanCount;
    if (const auto* tcp = dynamic_cast<const TcpTransport*>(&transport))
    {
        const SegmentCounts& counts = tcp->GetCounts();
        return "; " + HumanCount(counts.retransmitted) + " of " + HumanCount(counts.sent) +
               " segments sent again, " + topo::Counted(counts.timeouts, "time-out");
    }
    if (const auto* udp = dynamic_cast<const UdpTransport*>(&transport))
    {
        const DatagramCounts& counts = udp->GetCounts();
        return "; " + HumanCount(counts.GetLost()) + " of " + HumanCount(counts.sent) +
               " datagrams lost";
    }
    return "";
}

} // namespace dltrain
