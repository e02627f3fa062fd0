/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ecmp-load-balancer.h"

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(EcmpLoadBalancer);

TypeId
EcmpLoadBalancer::GetTypeId()
{
    static TypeId tid = TypeId("ns3::EcmpLoadBalancer")
                            .SetParent<RdmaLoadBalancer>()
                            .SetGroupName("Rdma")
                            .AddConstructor<EcmpLoadBalancer>();
    return tid;
}

uint16_t
EcmpLoadBalancer::Choose(const Candidates& candidates,
                         const RdmaFrame& frame,
                         const RdmaQueues&,
                         int64_t)
{
    return PortOfFlow(candidates, frame);
}

} // namespace ns3
