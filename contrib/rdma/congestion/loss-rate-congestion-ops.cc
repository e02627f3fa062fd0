/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "loss-rate-congestion-ops.h"

#include "ns3/log.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("LossRateCongestionOps");

NS_OBJECT_ENSURE_REGISTERED(RdmaLossRateCongestionOps);

TypeId
RdmaLossRateCongestionOps::GetTypeId()
{
    static TypeId tid = AddConstants(TypeId("ns3::LossRateCongestionOps")
                                         .SetParent<RdmaCongestionOps>()
                                         .SetGroupName("Rdma")
                                         .AddConstructor<RdmaLossRateCongestionOps>(),
                                     rdma::kDcqcnNvidiaNic,
                                     MakePresetChecker<rdma::DcqcnPreset>(rdma::kLossRate));
    return tid;
}

void
RdmaLossRateCongestionOps::OnNack(RdmaCongestionState& state, rdma::TimePoint now)
{
    NS_LOG_LOGIC("a NAK at " << now.ps << " ps counts as a CNP");
    OnCnp(state, now);
}

void
RdmaLossRateCongestionOps::OnTimeout(RdmaCongestionState& state, rdma::TimePoint now)
{
    NS_LOG_LOGIC("a time-out at " << now.ps << " ps counts as a CNP");
    OnCnp(state, now);
}

} // namespace ns3
