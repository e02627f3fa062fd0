/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "wcmp-load-balancer.h"

#include "ns3/double.h"
#include "ns3/log.h"

#include <map>
#include <utility>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("WcmpLoadBalancer");

NS_OBJECT_ENSURE_REGISTERED(RdmaWcmpLoadBalancer);

TypeId
RdmaWcmpLoadBalancer::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::WcmpLoadBalancer")
            .SetParent<RdmaEcmpLoadBalancer>()
            .SetGroupName("Rdma")
            .AddConstructor<RdmaWcmpLoadBalancer>()
            .AddAttribute("MaxOversubscription",
                          "Most that a port gets over its share, for fewer entries in the table of "
                          "ports; 1: exact weights",
                          DoubleValue(1),
                          MakeDoubleAccessor(&RdmaWcmpLoadBalancer::m_mostOversubscription),
                          MakeDoubleChecker<double>(1, 1000));
    return tid;
}

bool
RdmaWcmpLoadBalancer::NeedsCapacity() const
{
    return true;
}

void
RdmaWcmpLoadBalancer::OnPlace(RdmaPlace place)
{
    m_edges = std::move(place.edges);
}

void
RdmaWcmpLoadBalancer::OnCapacity(const std::vector<std::vector<rdma::PathCapacity::Way>>& ways)
{
    m_groupOfEdge.clear();
    m_entries.clear();
    // Most edges lie behind the same ports with the same capacities.
    std::map<std::vector<std::pair<uint16_t, uint64_t>>, Group> known;
    for (const auto& edge : ways)
    {
        std::vector<std::pair<uint16_t, uint64_t>> key;
        std::vector<uint64_t> capacity;
        for (const rdma::PathCapacity::Way& way : edge)
        {
            key.emplace_back(way.port, way.bps);
            capacity.push_back(way.bps);
        }
        const auto [group, isNew] = known.emplace(std::move(key), Group());
        if (isNew)
        {
            group->second.first = static_cast<uint32_t>(m_entries.size());
            const auto weights = rdma::WcmpWeights(capacity, m_mostOversubscription);
            for (std::size_t i = 0; i < edge.size(); ++i)
            {
                group->second.total += weights[i];
                m_entries.push_back({group->second.total, edge[i].port});
                NS_LOG_LOGIC("switch " << GetNode() << ": port " << edge[i].port << " weighs "
                                       << weights[i]);
            }
        }
        m_groupOfEdge.push_back(group->second);
    }
}

uint16_t
RdmaWcmpLoadBalancer::Choose(const Candidates& candidates,
                             const RdmaFrame& frame,
                             const RdmaQueues&,
                             rdma::TimePoint)
{
    const uint32_t key = frame.route.GetKey();
    const uint32_t edge = m_edges && frame.dst < m_edges->edgeOf.size() ? m_edges->edgeOf[frame.dst]
                                                                        : RdmaEdges::NONE;
    if (edge == RdmaEdges::NONE || m_groupOfEdge[edge].total == 0)
    {
        return candidates.ports[PickEntry(key, candidates.size)];
    }
    const Group group = m_groupOfEdge[edge];
    const uint32_t place = PickEntry(key, group.total);
    const Entry* entry = &m_entries[group.first];
    while (entry->end <= place)
    {
        ++entry;
    }
    return entry->port;
}

} // namespace ns3
