/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "flow-transport.h"

#include "results/human-text.h"
#include "tcp-transport.h"
#include "topologies/names.h"

namespace dltrain
{

std::unique_ptr<Transport>
MakeFlowTransport(const std::string& network,
                  const scenario::ProtocolSpec& protocol,
                  ns3::OrdinaryStack* stack,
                  const NetworkParts& parts)
{
    if (protocol.tcp)
    {
        return std::make_unique<TcpTransport>(parts, *stack);
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
    return "";
}

} // namespace dltrain
