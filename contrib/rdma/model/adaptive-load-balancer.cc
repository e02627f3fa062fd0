/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "adaptive-load-balancer.h"

#include "ns3/uinteger.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(AdaptiveLoadBalancer);

TypeId
AdaptiveLoadBalancer::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::AdaptiveLoadBalancer")
            .SetParent<EcmpLoadBalancer>()
            .SetGroupName("Rdma")
            .AddConstructor<AdaptiveLoadBalancer>()
            .AddAttribute("Threshold",
                          "Queue of the port that a frame always takes above which it takes the "
                          "port with the shortest queue (bytes); assumed",
                          UintegerValue(4096),
                          MakeUintegerAccessor(&AdaptiveLoadBalancer::m_threshold),
                          MakeUintegerChecker<uint64_t>());
    return tid;
}

uint16_t
AdaptiveLoadBalancer::Choose(const Candidates& candidates,
                             const RdmaFrame& frame,
                             const RdmaQueues& queues,
                             int64_t)
{
    uint16_t chosen =
        candidates.table != NO_PORT ? candidates.table : PortOfFlow(candidates, frame);
    uint64_t least = queues.GetBytes(chosen);
    if (least <= m_threshold)
    {
        return chosen;
    }
    for (const uint16_t port : candidates)
    {
        const uint64_t bytes = queues.GetBytes(port);
        if (bytes < least)
        {
            least = bytes;
            chosen = port;
        }
    }
    return chosen;
}

} // namespace ns3
