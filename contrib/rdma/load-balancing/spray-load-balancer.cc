/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "spray-load-balancer.h"

#include "contrib/rdma/core/flow-hash.h"

#include "ns3/enum.h"
#include "ns3/ns3-compat.h"

#include <algorithm>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(RdmaSprayLoadBalancer);

TypeId
RdmaSprayLoadBalancer::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::SprayLoadBalancer")
            .SetParent<RdmaLoadBalancer>()
            .SetGroupName("Rdma")
            .AddConstructor<RdmaSprayLoadBalancer>()
            .AddAttribute("Order",
                          "Port of the next packet: random, round-robin, least-queue (the shortest "
                          "of those in turn) or permuted (each flow over all paths in turn)",
                          EnumValue(RANDOM),
                          MakeEnumMemberAccessor(&RdmaSprayLoadBalancer::m_order),
                          MakeEnumChecker(RANDOM,
                                          "random",
                                          ROUND_ROBIN,
                                          "round-robin",
                                          LEAST_QUEUE,
                                          "least-queue",
                                          PERMUTED,
                                          "permuted"));
    return tid;
}

RdmaSprayLoadBalancer::RdmaSprayLoadBalancer()
    : m_random(CreateObject<UniformRandomVariable>())
{
}

bool
RdmaSprayLoadBalancer::NeedsFrames() const
{
    return m_order == PERMUTED;
}

void
RdmaSprayLoadBalancer::OnPlace(RdmaPlace place)
{
    m_edges = std::move(place.edges);
    m_own = place.own;
}

uint16_t
RdmaSprayLoadBalancer::InFlowsTurn(const Candidates& candidates, const RdmaFrame& frame) const
{
    const bool edge = m_own != RdmaEdges::NONE && m_edges->edgeOf[frame.src] == m_own;
    const uint32_t turn = edge ? frame.psn : frame.psn / candidates.size;
    const uint32_t round = turn / candidates.size;
    const uint64_t chance = rdma::Mix64(uint64_t{frame.route.GetKey()} << 32 ^ round ^
                                        uint64_t{GetSeed()} * 0x9e3779b97f4a7c15ULL);
    return candidates.ports[(turn + static_cast<uint32_t>(chance >> 40)) % candidates.size];
}

uint16_t
RdmaSprayLoadBalancer::Choose(const Candidates& candidates,
                              const RdmaFrame& frame,
                              const RdmaQueues& queues,
                              rdma::TimePoint)
{
    if (m_order == PERMUTED && IsRequest(frame.opcode) && m_edges &&
        !(frame.flags & RdmaFrame::RETRANSMITTED))
    {
        return InFlowsTurn(candidates, frame);
    }
    if (m_order == LEAST_QUEUE)
    {
        return LeastQueue(candidates, queues);
    }
    if (m_order == RANDOM || m_order == PERMUTED)
    {
        return candidates.ports[m_random->GetInteger(0, candidates.size - 1)];
    }
    return candidates.ports[m_next[candidates.set]++ % candidates.size];
}

uint16_t
RdmaSprayLoadBalancer::LeastQueue(const Candidates& candidates, const RdmaQueues& queues)
{
    uint64_t least = UINT64_MAX;
    uint32_t equal = 0;
    for (const uint16_t port : candidates)
    {
        const uint64_t bytes = queues.GetBytes(port);
        equal = bytes < least ? 1 : equal + (bytes == least);
        least = std::min(least, bytes);
    }
    uint32_t skip = equal > 1 ? m_random->GetInteger(0, equal - 1) : 0;
    for (const uint16_t port : candidates)
    {
        if (queues.GetBytes(port) == least && skip-- == 0)
        {
            return port;
        }
    }
    return candidates.ports[0]; // not reached
}

void
RdmaSprayLoadBalancer::OnRoutes(uint32_t sets)
{
    // Not all switches begin with their first port, or all would meet at the next tier.
    m_next.resize(sets);
    for (uint32_t set = 0; set < sets; ++set)
    {
        m_next[set] = rdma::Mix32(GetSeed() + set) >> 1;
    }
}

int64_t
RdmaSprayLoadBalancer::AssignStreams(int64_t stream)
{
    m_random->SetStream(stream);
    return 1;
}

} // namespace ns3
