/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "valiant-load-balancer.h"

#include <algorithm>
#include <utility>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(RdmaValiantLoadBalancer);

namespace
{

// Where a detour leads is an endpoint, in the two halves of the tag that CONGA has its ports in.
// NONE: the detour is over.

void
SetVia(RdmaFrameTag& tag, uint32_t via)
{
    tag.port = static_cast<uint16_t>(via);
    tag.told = static_cast<uint16_t>(via >> 16);
}

uint32_t
GetVia(const RdmaFrameTag& tag)
{
    return tag.port | uint32_t{tag.told} << 16;
}

} // namespace

TypeId
RdmaValiantLoadBalancer::GetTypeId()
{
    static TypeId tid = TypeId("ns3::ValiantLoadBalancer")
                            .SetParent<RdmaLoadBalancer>()
                            .SetGroupName("Rdma")
                            .AddConstructor<RdmaValiantLoadBalancer>();
    return tid;
}

RdmaValiantLoadBalancer::RdmaValiantLoadBalancer()
    : m_random(CreateObject<UniformRandomVariable>())
{
}

bool
RdmaValiantLoadBalancer::MakesDetours() const
{
    return true;
}

void
RdmaValiantLoadBalancer::OnPlace(RdmaPlace place)
{
    m_edges = std::move(place.edges);
    m_own = place.own;
    m_group = place.group;
}

int64_t
RdmaValiantLoadBalancer::AssignStreams(int64_t stream)
{
    m_random->SetStream(stream);
    return 1;
}

uint32_t
RdmaValiantLoadBalancer::EdgeOf(uint32_t endpoint) const
{
    return m_edges && endpoint < m_edges->edgeOf.size() ? m_edges->edgeOf[endpoint]
                                                        : RdmaEdges::NONE;
}

uint32_t
RdmaValiantLoadBalancer::GetHops(uint32_t from, uint32_t to) const
{
    // Without the links of the two hosts; 0 of endpoints that cannot reach each other.
    return std::max(m_edges->routes->Hops(from, to), 2U) - 2;
}

uint16_t
RdmaValiantLoadBalancer::PickPort(const Candidates& candidates)
{
    return candidates.size == 1 ? candidates.ports[0]
                                : candidates.ports[m_random->GetInteger(0, candidates.size - 1)];
}

uint32_t
RdmaValiantLoadBalancer::PickVia(uint32_t group, uint32_t other)
{
    const auto& groups = m_edges->edgesOfGroup;
    if (groups.size() < 3)
    {
        return RdmaEdges::NONE;
    }
    uint32_t chosen = m_random->GetInteger(0, static_cast<uint32_t>(groups.size()) - 3);
    chosen += chosen >= std::min(group, other);
    chosen += chosen >= std::max(group, other);
    const auto& edges = groups[chosen];
    const uint32_t size = static_cast<uint32_t>(edges.size());
    return m_edges->endpointOf[edges[size == 1 ? 0 : m_random->GetInteger(0, size - 1)]];
}

uint32_t
RdmaValiantLoadBalancer::GetTarget(RdmaFrame& frame,
                                   const RdmaWays& ways,
                                   const RdmaQueues& queues,
                                   rdma::TimePoint)
{
    m_port = NO_PORT;
    const uint32_t to = EdgeOf(frame.dst);
    if (frame.extra && frame.extra->hasTag)
    {
        const uint32_t via = GetVia(frame.extra->tag);
        if (to == m_own) // which may lie on the detour
        {
            frame.extra->hasTag = false;
            return frame.dst;
        }
        if (via == RdmaEdges::NONE)
        {
            return frame.dst;
        }
        // A link on the way may have failed: then it goes on from here.
        if (m_group == m_edges->groupOf[EdgeOf(via)] || ways.Find(via).size == 0)
        {
            SetVia(frame.extra->tag, RdmaEdges::NONE);
            return frame.dst;
        }
        return via;
    }
    if (m_own == RdmaEdges::NONE || EdgeOf(frame.src) != m_own || to == RdmaEdges::NONE ||
        m_edges->groupOf[to] == m_group)
    {
        return frame.dst;
    }
    const uint32_t via = PickVia(m_group, m_edges->groupOf[to]);
    if (via == RdmaEdges::NONE || ways.Find(via).size == 0 || !Decide(frame, via, ways, queues))
    {
        return frame.dst;
    }
    if (!frame.extra)
    {
        frame.extra = RdmaFramePool::Get().AllocateExtra();
    }
    frame.extra->hasTag = true;
    SetVia(frame.extra->tag, via);
    return via;
}

bool
RdmaValiantLoadBalancer::Decide(const RdmaFrame&, uint32_t, const RdmaWays&, const RdmaQueues&)
{
    return true;
}

uint16_t
RdmaValiantLoadBalancer::Choose(const Candidates& candidates,
                                const RdmaFrame&,
                                const RdmaQueues&,
                                rdma::TimePoint)
{
    return m_port == NO_PORT ? PickPort(candidates) : m_port;
}

} // namespace ns3
