/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ugal-load-balancer.h"

#include "ns3/log.h"
#include "ns3/uinteger.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("UgalLoadBalancer");

NS_OBJECT_ENSURE_REGISTERED(RdmaUgalLoadBalancer);

TypeId
RdmaUgalLoadBalancer::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::UgalLoadBalancer")
            .SetParent<RdmaValiantLoadBalancer>()
            .SetGroupName("Rdma")
            .AddConstructor<RdmaUgalLoadBalancer>()
            .AddAttribute("Threshold",
                          "By so much a shortest way's queue times links may be longer than the "
                          "detour's (bytes; 0: BookSim's dragonfly)",
                          UintegerValue(0),
                          MakeUintegerAccessor(&RdmaUgalLoadBalancer::m_threshold),
                          MakeUintegerChecker<uint64_t>(0, 1000000000000));
    return tid;
}

bool
RdmaUgalLoadBalancer::Decide(const RdmaFrame& frame,
                             uint32_t via,
                             const RdmaWays& ways,
                             const RdmaQueues& queues)
{
    const Candidates shortest = ways.Find(frame.dst);
    if (shortest.size == 0)
    {
        return false;
    }
    const uint16_t direct = PickPort(shortest);
    const uint16_t detour = PickPort(ways.Find(via));
    const uint64_t links = GetHops(frame.src, frame.dst);
    const uint64_t more = GetHops(frame.src, via) + GetHops(via, frame.dst);
    const bool makes =
        queues.GetBytes(direct) * links > queues.GetBytes(detour) * more + m_threshold;
    NS_LOG_LOGIC((makes ? "detour by endpoint " : "no detour by endpoint ")
                 << via << ": " << queues.GetBytes(direct) << " B x " << links << " links against "
                 << queues.GetBytes(detour) << " B x " << more);
    SetPort(makes ? detour : direct);
    return makes;
}

} // namespace ns3
