/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "powertcp-congestion-ops.h"

#include "ns3/double.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(PowertcpCongestionOps);

TypeId
PowertcpCongestionOps::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::PowertcpCongestionOps")
            .SetParent<RdmaCongestionOps>()
            .SetGroupName("Rdma")
            .AddConstructor<PowertcpCongestionOps>()
            .AddAttribute("Gamma",
                          "gamma, weight of the new window (0 to 1)",
                          DoubleValue(0.9),
                          MakeDoubleAccessor(&PowertcpCongestionOps::m_gamma),
                          MakeDoubleChecker<double>(1e-6, 1))
            .AddAttribute("Flows",
                          "N, flows of a host that beta = line rate x base round-trip time / N is "
                          "for; assumed",
                          UintegerValue(10),
                          MakeUintegerAccessor(&PowertcpCongestionOps::m_flows),
                          MakeUintegerChecker<uint32_t>(1));
    return tid;
}

PowertcpCongestionOps::PowertcpCongestionOps() = default;
PowertcpCongestionOps::~PowertcpCongestionOps() = default;

PowertcpCongestionOps::PowertcpCongestionOps(const PowertcpCongestionOps& other)
    : RdmaCongestionOps(other),
      m_gamma(other.m_gamma),
      m_flows(other.m_flows)
{
}

std::string
PowertcpCongestionOps::GetName() const
{
    return "powertcp";
}

uint16_t
PowertcpCongestionOps::GetNeeds() const
{
    return ACK_PER_PACKET | TELEMETRY | BASE_RTT;
}

RdmaHeaderBytes
PowertcpCongestionOps::GetHeaderBytes() const
{
    return {rdma::kHpccTelemetryBytes, rdma::kHpccTelemetryBytes};
}

Ptr<RdmaCongestionOps>
PowertcpCongestionOps::Fork() const
{
    return CopyObject<PowertcpCongestionOps>(Ptr<const PowertcpCongestionOps>(this));
}

void
PowertcpCongestionOps::Init(RdmaCongestionState& state)
{
    rdma::PowertcpParameters p;
    p.baseRtt = rdma::Duration(state.baseRtt);
    p.gamma = m_gamma;
    p.flows = m_flows;
    m_window = std::make_unique<rdma::PowertcpWindow>(p, state.line);
    Publish(state);
}

void
PowertcpCongestionOps::Publish(RdmaCongestionState& state) const
{
    state.rateBps =
        std::clamp<uint64_t>(static_cast<uint64_t>(m_window->Rate() + 0.5), 1, state.line.bps);
    state.windowBytes = std::max<uint64_t>(1, static_cast<uint64_t>(m_window->Window()));
}

void
PowertcpCongestionOps::OnAck(RdmaCongestionState& state, const RdmaAckInfo& ack, int64_t)
{
    if (!ack.telemetry)
    {
        return;
    }
    const RdmaTelemetry& t = *ack.telemetry;
    m_window->OnAck(state.ackedPosition, state.sentPosition, t.hop.data(), t.hops);
    Publish(state);
}

} // namespace ns3
