/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "powertcp-congestion-ops.h"

#include "rdma-congestion-change.h"

#include "ns3/log.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("PowertcpCongestionOps");

NS_OBJECT_ENSURE_REGISTERED(RdmaPowertcpCongestionOps);

TypeId
RdmaPowertcpCongestionOps::GetTypeId()
{
    static TypeId tid =
        AddAttributes(TypeId("ns3::PowertcpCongestionOps")
                          .SetParent<RdmaCongestionOps>()
                          .SetGroupName("Rdma")
                          .AddConstructor<RdmaPowertcpCongestionOps>(),
                      rdma::kPowertcp,
                      "0.9")
            .AddAttribute("Target",
                          "nsdi22-ns3: utilisation that power is divided by (U_TARGET; 0 to 1)",
                          DoubleValue(0.95),
                          MakeDoubleAccessor(&RdmaPowertcpCongestionOps::m_target),
                          MakeDoubleChecker<double>(0.01, 1));
    return tid;
}

RdmaHeaderBytes
RdmaPowertcpCongestionOps::GetHeaderBytes() const
{
    return {rdma::kHpccTelemetryBytes, rdma::kHpccTelemetryBytes};
}

double
RdmaPowertcpCongestionOps::GetNs3Gamma() const
{
    return 0.9;
}

void
RdmaPowertcpCongestionOps::OnAck(RdmaCongestionState& state,
                                 const RdmaAckInfo& ack,
                                 rdma::TimePoint)
{
    if (ack.telemetry)
    {
        const RdmaCongestionChange change(state);
        Take(state, ack.telemetry->hop.data(), std::size_t{ack.telemetry->hops});
        NS_LOG_LOGIC(change << ", because of the telemetry of " << +ack.telemetry->hops << " hops");
    }
}

} // namespace ns3
