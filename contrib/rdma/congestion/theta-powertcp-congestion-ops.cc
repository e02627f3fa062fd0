/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "theta-powertcp-congestion-ops.h"

#include "rdma-congestion-change.h"

#include "ns3/log.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("ThetaPowertcpCongestionOps");

NS_OBJECT_ENSURE_REGISTERED(RdmaThetaPowertcpCongestionOps);

TypeId
RdmaThetaPowertcpCongestionOps::GetTypeId()
{
    static TypeId tid = AddAttributes(TypeId("ns3::ThetaPowertcpCongestionOps")
                                          .SetParent<RdmaCongestionOps>()
                                          .SetGroupName("Rdma")
                                          .AddConstructor<RdmaThetaPowertcpCongestionOps>(),
                                      rdma::kThetaPowertcp,
                                      "0.7");
    return tid;
}

double
RdmaThetaPowertcpCongestionOps::GetNs3Gamma() const
{
    return 0.7;
}

void
RdmaThetaPowertcpCongestionOps::OnAck(RdmaCongestionState& state,
                                      const RdmaAckInfo& ack,
                                      rdma::TimePoint now)
{
    if (ack.rtt >= 0)
    {
        const RdmaCongestionChange change(state);
        Take(state, ack.rtt, now.ps);
        NS_LOG_LOGIC(change << ", because of an RTT of " << ack.rtt << " ps");
    }
}

} // namespace ns3
