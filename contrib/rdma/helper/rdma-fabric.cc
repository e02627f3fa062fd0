/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-fabric.h"

#include "contrib/rdma/core/counters.h"
#include "rdma-connections.h"

#include "ns3/log.h"
#include "ns3/rdma-bond.h"

#include <algorithm>
#include <functional>
#include <stdexcept>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("RdmaFabric");

RdmaFabric::RdmaFabric() = default;

RdmaFabric::~RdmaFabric() = default;

const RdmaSwitchBase&
RdmaFabric::GetSwitchAttributes(uint32_t node) const
{
    const RdmaSwitchBase* here = m_switchOfNode[node];
    const RdmaPlaceSettings* settings = m_isSwitch[node] ? m_settings[node].get() : nullptr;
    return here ? *here : *m_standIns.at(settings);
}

std::string
RdmaFabric::GetLinkName(uint32_t end) const
{
    return m_names[GetNodeOfEnd(end)] + "->" + m_names[GetNodeOfEnd(end ^ 1)];
}

std::string
RdmaFabric::GetLinkName(const RdmaPort* port) const
{
    return GetLinkName(port->GetEnd());
}

std::string
RdmaFabric::GetEndpointName(uint32_t endpoint) const
{
    const rdma::RouteEndpoint& at = m_endpoints[endpoint];
    const bool several = m_endsOfNode[at.host].size() > 1;
    return m_names[at.host] + (several ? ":" + std::to_string(at.port) : "");
}

std::string
RdmaFabric::SetLinkDown(uint32_t link, bool down)
{
    NS_LOG_FUNCTION(this << link << down);
    if (link >= m_links.size())
    {
        return "link " + std::to_string(link) + "; allowed: 0 to " +
               std::to_string(m_links.size() - 1) + ", as the fabric has " +
               std::to_string(m_links.size()) + " links";
    }
    if (m_partition.ranks > 1)
    {
        return "links of a fabric that several ranks simulate do not go down; allowed: one rank";
    }
    if (m_linkDown[link] == down)
    {
        return {};
    }
    m_linkDown[link] = down;
    std::string error = ComputeRoutes();
    if (error.empty())
    {
        error = m_linkLayer->SetLinkDown(*this, link, down);
    }
    if (!error.empty())
    {
        m_linkDown[link] = !down;
        ComputeRoutes();
        return error;
    }
    m_classOfPair.clear();
    m_roundTrips.clear();
    UpdateBroadcast();
    return {};
}

std::string
RdmaFabric::SetLinksDown(std::vector<bool> down)
{
    NS_LOG_FUNCTION(this);
    if (m_partition.ranks > 1)
    {
        return "links of a fabric that several ranks simulate do not go down; allowed: one rank";
    }
    if (!m_wholeRoutes)
    {
        m_wholeRoutes = std::make_unique<const rdma::EcmpRoutes>(m_routes);
    }
    std::swap(m_linkDown, down);
    std::string error = ComputeRoutes();
    if (error.empty())
    {
        error = m_linkLayer->Reroute(*this);
    }
    if (!error.empty())
    {
        m_linkDown = std::move(down);
        ComputeRoutes();
        return error;
    }
    UpdateBroadcast();
    return {};
}

void
RdmaFabric::SetEndDead(uint32_t end, bool dead)
{
    NS_LOG_FUNCTION(this << end << dead);
    m_endDead.resize(GetNEnds());
    m_endDead[end] = dead;
    const uint32_t node = GetNodeOfEnd(end);
    if (GetSwitch(node))
    {
        m_linkLayer->Configure(*this, node);
    }
    UpdateBroadcast();
}

bool
RdmaFabric::SetBondDead(uint32_t end, bool dead)
{
    NS_LOG_FUNCTION(this << end << dead);
    const uint32_t node = GetNodeOfEnd(end);
    if (m_bonds.empty() || m_isSwitch[node])
    {
        return false;
    }
    const auto endpoint = std::find_if(m_endpoints.begin(), m_endpoints.end(), [&](const auto& e) {
        return e.host == node && e.port == GetPortNumber(end);
    });
    const auto number = static_cast<uint32_t>(endpoint - m_endpoints.begin());
    m_bonds[number / m_bond]->SetDead(number % m_bond, dead, RdmaClock::Now());
    return true;
}

void
RdmaFabric::EnableBroadcast()
{
    NS_LOG_FUNCTION(this);
    m_hasBroadcast = true;
    UpdateBroadcast();
}

void
RdmaFabric::UpdateBroadcast()
{
    if (!m_hasBroadcast)
    {
        return;
    }
    std::vector<std::vector<uint16_t>> ports(GetNNodes());
    std::vector<bool> reached(GetNNodes());
    std::vector<uint32_t> queue;
    for (uint32_t root = 0; root < GetNNodes(); ++root)
    {
        if (!m_isSwitch[root] || reached[root])
        {
            continue;
        }
        reached[root] = true;
        queue.assign(1, root);
        for (std::size_t i = 0; i < queue.size(); ++i) // by hops from the first of these switches
        {
            const uint32_t node = queue[i];
            for (uint16_t port = 0; port < m_endsOfNode[node].size(); ++port)
            {
                const uint32_t end = m_endsOfNode[node][port];
                const uint32_t other = GetNodeOfEnd(end ^ 1);
                const uint16_t otherPort = GetPortNumber(end ^ 1);
                if (m_linkDown[end / 2] || IsPortDead(node, port) || IsPortDead(other, otherPort) ||
                    m_isUnit[other])
                {
                    continue;
                }
                if (!m_isSwitch[other])
                {
                    ports[node].push_back(port);
                }
                else if (!reached[other])
                {
                    reached[other] = true;
                    queue.push_back(other);
                    ports[node].push_back(port);
                    ports[other].push_back(otherPort);
                }
            }
        }
    }
    for (uint32_t node = 0; node < GetNNodes(); ++node)
    {
        if (GetSwitch(node))
        {
            GetSwitch(node)->SetBroadcastPorts(std::move(ports[node]));
        }
    }
}

std::string
RdmaFabric::ComputeRoutes()
{
    std::vector<bool> isHost(m_isSwitch.size());
    std::transform(m_isSwitch.begin(), m_isSwitch.end(), isHost.begin(), std::logical_not<>());
    std::vector<rdma::RouteLink> live;
    for (std::size_t i = 0; i < m_routeLinks.size(); ++i)
    {
        if (!m_linkDown[i])
        {
            live.push_back(m_routeLinks[i]);
        }
    }
    try
    {
        rdma::EcmpRoutes routes = rdma::EcmpRoutes::Compute(isHost, live, m_endpoints);
        if (!m_nextOfBond.empty())
        {
            routes.StandIn(m_nextOfBond);
        }
        std::vector<rdma::StaticRoute> own = m_staticRoutes;
        for (rdma::StaticRoute& route : own)
        {
            route.ports.erase(
                std::remove_if(
                    route.ports.begin(),
                    route.ports.end(),
                    [&](uint16_t port) { return m_linkDown[m_endsOfNode[route.node][port] / 2]; }),
                route.ports.end());
        }
        routes.Apply(own);
        m_routes = std::move(routes);
    }
    catch (const std::exception& e)
    {
        return e.what();
    }
    return {};
}

RdmaNicCounters
RdmaFabric::GetNicTotals() const
{
    RdmaNicCounters sum;
    for (const auto& nic : m_nics)
    {
        if (nic)
        {
            const RdmaNicCounters& counters = nic->GetCounters();
            const uint64_t reorder = std::max(sum.largestReorder, counters.largestReorder);
            const uint64_t held = std::max(sum.largestHeldBytes, counters.largestHeldBytes);
            sum = rdma::SumOf(sum, counters);
            sum.largestReorder = reorder;
            sum.largestHeldBytes = held;
        }
    }
    for (const auto& device : m_switches)
    {
        const Ptr<RdmaLoadBalancer> balancer = device->GetLoadBalancer();
        sum.pathChanges += balancer ? balancer->GetPathChanges() : 0;
    }
    return sum;
}

RdmaPortCounters
RdmaFabric::GetPortTotals() const
{
    RdmaPortCounters sum;
    const int64_t now = RdmaClock::Now();
    for (const auto& port : m_ports)
    {
        RdmaPortCounters counters = port->GetCounters();
        counters.pausedPs = port->GetPausedPs(now);
        const uint64_t largest = std::max(sum.maxQueueBytes, counters.maxQueueBytes);
        sum = rdma::SumOf(sum, counters);
        sum.maxQueueBytes = largest;
    }
    return sum;
}

uint64_t
RdmaFabric::GetRerouted() const
{
    uint64_t sum = 0;
    for (const auto& device : m_switches)
    {
        sum += device->GetRerouted();
    }
    return sum;
}

bool
RdmaFabric::Trims() const
{
    NS_LOG_FUNCTION(this);
    for (const auto& device : m_switches)
    {
        if (device->Trims())
        {
            return true;
        }
    }
    return false;
}

RdmaTrimCounters
RdmaFabric::GetTrimTotals() const
{
    RdmaTrimCounters sum;
    for (const auto& device : m_switches)
    {
        sum.trimmed += device->GetTrimmed();
        sum.trimmedBytes += device->GetTrimmedBytes();
        sum.returned += device->GetReturned();
    }
    return sum;
}

uint64_t
RdmaFabric::GetDrops(RdmaSwitchBase::DropReason reason) const
{
    uint64_t sum = 0;
    for (const auto& device : m_switches)
    {
        sum += device->GetDrops(reason);
    }
    return sum;
}

int64_t
RdmaFabric::GetShortestDelay() const
{
    int64_t shortest = 0;
    for (const RdmaLinkSpec& link : m_links)
    {
        if (link.delayPs > 0 && (shortest == 0 || link.delayPs < shortest))
        {
            shortest = link.delayPs;
        }
    }
    return shortest;
}

void
RdmaFabric::BeginAnew(int64_t now)
{
    for (const Ptr<RdmaSwitchBase>& device : m_switches)
    {
        device->RestartDraws();
    }
    for (const Ptr<RdmaNic>& nic : m_nics)
    {
        for (uint32_t i = 0; nic && i < nic->GetNQueuePairs(); ++i)
        {
            nic->GetQueuePair(i)->RestartCongestionControl(now);
        }
    }
}

std::vector<std::vector<uint16_t>>
RdmaFabric::GetPortSets(uint32_t node) const
{
    std::vector<std::vector<uint16_t>> sets;
    for (uint32_t g = 0; g < m_routes.GroupCount(node); ++g)
    {
        sets.emplace_back();
        for (const uint16_t port : m_routes.Group(node, static_cast<uint16_t>(g)))
        {
            if (!IsPortDead(node, port))
            {
                sets.back().push_back(port);
            }
        }
    }
    return sets;
}

} // namespace ns3
