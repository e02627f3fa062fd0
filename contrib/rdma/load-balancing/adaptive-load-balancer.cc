/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "adaptive-load-balancer.h"

#include "ns3/boolean.h"
#include "ns3/log.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("AdaptiveLoadBalancer");

namespace
{

constexpr uint32_t ENTRIES = 65536; //!< of the table of flows with Sticky; assumed

} // namespace

NS_OBJECT_ENSURE_REGISTERED(RdmaAdaptiveLoadBalancer);

TypeId
RdmaAdaptiveLoadBalancer::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::AdaptiveLoadBalancer")
            .SetParent<RdmaEcmpLoadBalancer>()
            .SetGroupName("Rdma")
            .AddConstructor<RdmaAdaptiveLoadBalancer>()
            .AddAttribute("Threshold",
                          "Queue of the port that a frame always takes above which it takes the "
                          "port with the shortest queue (bytes); assumed",
                          UintegerValue(4096),
                          MakeUintegerAccessor(&RdmaAdaptiveLoadBalancer::m_threshold),
                          MakeUintegerChecker<uint64_t>())
            .AddAttribute("Sticky",
                          "A flow stays where it went, until the threshold is reached there too",
                          BooleanValue(false),
                          MakeBooleanAccessor(&RdmaAdaptiveLoadBalancer::m_sticky),
                          MakeBooleanChecker());
    return tid;
}

uint16_t
RdmaAdaptiveLoadBalancer::Choose(const Candidates& candidates,
                                 const RdmaFrame& frame,
                                 const RdmaQueues& queues,
                                 rdma::TimePoint)
{
    uint16_t chosen =
        candidates.table != NO_PORT ? candidates.table : PortOfFlow(candidates, frame);
    const uint32_t key = frame.route.GetKey();
    if (m_sticky)
    {
        const uint16_t before = m_table->Last(key);
        chosen = std::find(candidates.begin(), candidates.end(), before) != candidates.end()
                     ? before
                     : chosen;
    }
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
    NS_LOG_LOGIC("queue above " << m_threshold << " B: port " << chosen << " with " << least
                                << " B instead");
    if (m_sticky)
    {
        m_table->Remember(key, chosen);
    }
    return chosen;
}

void
RdmaAdaptiveLoadBalancer::OnRoutes(uint32_t)
{
    if (m_sticky && !m_table)
    {
        m_table = std::make_unique<rdma::FlowletTable>(ENTRIES);
    }
}

} // namespace ns3
