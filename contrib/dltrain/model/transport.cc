/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "transport.h"

#include "scenarios/spec/aggregators.h"

#include "ns3/node.h"
#include "ns3/simulator.h"

#include <map>
#include <stdexcept>

namespace dltrain
{

Places::Places(const ns3::RdmaFabric& fabric)
    : m_areGpus(false)
{
    for (uint32_t e = 0; e < fabric.GetNEndpoints(); ++e)
    {
        m_firstEndpoint.push_back(e);
        m_contextOfServer.push_back(fabric.IsLocal(e)
                                        ? fabric.GetNic(e)->GetPort()->GetNode()->GetId()
                                        : ns3::Simulator::NO_CONTEXT);
        m_isServerHere.push_back(fabric.IsLocal(e));
    }
    m_servers = fabric.GetNEndpoints();
}

Places::Places(const scenario::ClusterSpec& cluster, const ns3::RdmaFabric& fabric)
    : m_areGpus(true),
      m_gpus(cluster.server.gpus),
      m_nics(cluster.server.nics),
      m_servers(cluster.servers),
      m_firstSwitch(cluster.servers * cluster.server.gpus),
      m_aggregators(cluster.aggregators.get())
{
    std::vector<uint32_t> hosts;
    for (uint32_t server = 0; server < cluster.servers; ++server)
    {
        hosts.push_back(cluster.hostOfServer[server]);
    }
    if (m_aggregators)
    {
        for (const scenario::Aggregator& unit : m_aggregators->Units())
        {
            hosts.push_back(unit.host);
        }
    }
    for (const uint32_t host : hosts)
    {
        m_firstEndpoint.push_back(cluster.topology.EndpointOf(host, 0));
        m_contextOfServer.push_back(fabric.GetNodes().Get(cluster.topology.Hosts()[host])->GetId());
        m_isServerHere.push_back(fabric.IsLocal(m_firstEndpoint.back()));
    }
}

uint32_t
Places::PortOfUnit(uint32_t server, uint32_t nic, uint32_t towards) const
{
    return m_aggregators->PortTo(nic, server - m_servers, ServerOf(towards));
}

namespace
{

std::map<std::string, NetworkKind::Maker>&
Kinds()
{
    static std::map<std::string, NetworkKind::Maker> kinds;
    return kinds;
}

} // namespace

void
Transport::Expect(const ChannelName&, TransportUser&, uint64_t, const TransportPost&, int64_t)
{
}

NetworkKind::NetworkKind(const std::string& name, Maker maker)
{
    Kinds()[name] = maker;
}

std::unique_ptr<Transport>
NetworkKind::Make(const std::string& name, const NetworkParts& parts)
{
    const auto kind = Kinds().find(name);
    if (kind == Kinds().end())
    {
        throw std::logic_error("no transport is named " + name);
    }
    return kind->second(parts);
}

} // namespace dltrain
