/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "transport.h"

#include "collectives/aggregation/aggregators.h"
#include "contrib/rdma/core/flow-hash.h"

#include "ns3/node.h"
#include "ns3/rdma-event-order.h"
#include "ns3/simulator.h"

#include <map>
#include <stdexcept>
#include <utility>

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

Places::Places(const scenario::ClusterSpec& cluster,
               const ns3::RdmaFabric& fabric,
               NicsInUse nicsInUse)
    : m_areGpus(true),
      m_gpus(cluster.server.gpus),
      m_nics(cluster.server.nics),
      m_planes(cluster.topology.About().planes),
      m_nicsInUse(std::move(nicsInUse)),
      m_servers(cluster.servers),
      m_firstSwitch(cluster.servers * cluster.server.gpus),
      m_aggregators(cluster.aggregators.get())
{
    std::vector<uint32_t> hosts;
    for (uint32_t server = 0; server < cluster.servers; ++server)
    {
        hosts.push_back(cluster.hostOfServer[server]);
    }
    if (!cluster.topology.About().dimensions.empty())
    {
        m_grid.emplace(cluster.topology.About().dimensions);
    }
    m_pairNics = cluster.topology.About().nics;
    if (m_grid || m_pairNics)
    {
        m_hostOf = hosts;
    }
    if (m_aggregators)
    {
        for (const coll::Aggregator& unit : m_aggregators->Units())
        {
            hosts.push_back(unit.host);
        }
    }
    for (const uint32_t host : hosts)
    {
        m_firstEndpoint.push_back(cluster.topology.EndpointOf(host, 0));
        m_contextOfServer.push_back(fabric.GetNodes().Get(cluster.topology.Hosts()[host])->GetId());
        m_isServerHere.push_back(fabric.IsLocal(m_firstEndpoint.back()));
        if (m_isServerHere.back())
        {
            m_hasTurns = fabric.GetNic(m_firstEndpoint.back())->GetPort()->HasArrivalOrder();
        }
    }
}

uint32_t
Places::ContextOfTurn(uint32_t server, Turn turn) const
{
    // As frames of its last ports, which no host has.
    constexpr uint32_t TURNS = 4;
    const uint32_t node = m_contextOfServer[server];
    return m_hasTurns ? ns3::RdmaEventOrder::ArrivalContext(node,
                                                            ns3::RdmaEventOrder::MAX_PORTS - TURNS +
                                                                static_cast<uint32_t>(turn))
                      : node;
}

uint32_t
Places::PlaneOf(const ChannelName& name) const
{
    if (m_planes == 1)
    {
        return 0;
    }
    const uint64_t pair = rdma::Mix64(uint64_t{name.from} << 32 | name.to);
    const uint64_t hash = rdma::Mix64(
        pair ^ (uint64_t{name.job} << 48 | uint64_t{name.communicator} << 16 | name.rail));
    return static_cast<uint32_t>((hash + name.turn) % m_planes);
}

std::optional<uint32_t>
Places::EndTowards(uint32_t place, uint32_t other, bool sends) const
{
    if (m_hostOf.empty() || IsUnit(place) || IsUnit(other) || ServerOf(place) == ServerOf(other))
    {
        return std::nullopt;
    }
    const uint32_t server = ServerOf(place);
    const uint32_t here = m_hostOf[server];
    const uint32_t there = m_hostOf[ServerOf(other)];
    if (m_pairNics)
    {
        return m_firstEndpoint[server] +
               (sends ? m_pairNics->At(here, there).from : m_pairNics->At(there, here).to);
    }
    const uint32_t nic =
        sends ? m_grid->FirstHop(here, there).nic : m_grid->Ends(there, here).there;
    return m_firstEndpoint[server] + nic;
}

uint32_t
Places::FromOf(const ChannelName& name) const
{
    const auto end = EndTowards(name.from, name.to, true);
    return end ? *end : EndpointOf(name.from, name.rail, name.to, PlaneOf(name));
}

uint32_t
Places::ToOf(const ChannelName& name) const
{
    const uint16_t rail = name.railThere == ChannelName::SAME_RAIL ? name.rail : name.railThere;
    const auto end = EndTowards(name.to, name.from, false);
    return end ? *end : EndpointOf(name.to, rail, name.from, PlaneOf(name));
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

uint64_t
HashOf(const ChannelName& name)
{
    uint64_t hash = 0;
    for (const uint64_t part : {uint64_t{name.job} << 32 | name.communicator,
                                uint64_t{name.from} << 32 | name.to,
                                uint64_t{name.lane} << 32 | name.priority})
    {
        hash = rdma::Mix64(hash ^ (part + 0x9e3779b97f4a7c15ULL));
    }
    return hash;
}

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
