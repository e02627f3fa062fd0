/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "spray-load-balancer.h"

#include "contrib/rdma/core/flow-hash.h"

#include "ns3/enum.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(SprayLoadBalancer);

TypeId
SprayLoadBalancer::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::SprayLoadBalancer")
            .SetParent<RdmaLoadBalancer>()
            .SetGroupName("Rdma")
            .AddConstructor<SprayLoadBalancer>()
            .AddAttribute("Order",
                          "Which port the next packet takes: random, or round-robin over the "
                          "ports that lead to where it goes",
                          EnumValue(RANDOM),
                          MakeEnumAccessor(&SprayLoadBalancer::m_order),
                          MakeEnumChecker(RANDOM, "random", ROUND_ROBIN, "round-robin"));
    return tid;
}

SprayLoadBalancer::SprayLoadBalancer()
    : m_random(CreateObject<UniformRandomVariable>())
{
}

uint16_t
SprayLoadBalancer::Choose(const Candidates& candidates,
                          const RdmaFrame&,
                          const RdmaQueues&,
                          int64_t)
{
    if (m_order == RANDOM)
    {
        return candidates.ports[m_random->GetInteger(0, candidates.size - 1)];
    }
    return candidates.ports[m_next[candidates.set]++ % candidates.size];
}

void
SprayLoadBalancer::OnRoutes(uint32_t sets)
{
    // Not all switches begin with their first port, or all would meet at the next tier.
    m_next.resize(sets);
    for (uint32_t set = 0; set < sets; ++set)
    {
        m_next[set] = rdma::Mix32(GetSeed() + set) >> 1;
    }
}

int64_t
SprayLoadBalancer::AssignStreams(int64_t stream)
{
    m_random->SetStream(stream);
    return 1;
}

} // namespace ns3
