/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ecmp-load-balancer.h"

#include "ns3/boolean.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(RdmaEcmpLoadBalancer);

TypeId
RdmaEcmpLoadBalancer::GetTypeId()
{
    static TypeId tid = TypeId("ns3::EcmpLoadBalancer")
                            .SetParent<RdmaLoadBalancer>()
                            .SetGroupName("Rdma")
                            .AddConstructor<RdmaEcmpLoadBalancer>()
                            .AddAttribute("Resilient",
                                          "A port that goes, or comes, moves only the flows that "
                                          "it has",
                                          BooleanValue(false),
                                          MakeBooleanAccessor(&RdmaEcmpLoadBalancer::m_resilient),
                                          MakeBooleanChecker());
    return tid;
}

uint16_t
RdmaEcmpLoadBalancer::Choose(const Candidates& candidates,
                             const RdmaFrame& frame,
                             const RdmaQueues&,
                             rdma::TimePoint)
{
    return PortOfFlow(candidates, frame);
}

} // namespace ns3
