/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "theta-powertcp-congestion-ops.h"

#include "ns3/double.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

NS_OBJECT_ENSURE_REGISTERED(ThetaPowertcpCongestionOps);

TypeId
ThetaPowertcpCongestionOps::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::ThetaPowertcpCongestionOps")
            .SetParent<RdmaCongestionOps>()
            .SetGroupName("Rdma")
            .AddConstructor<ThetaPowertcpCongestionOps>()
            .AddAttribute("Gamma",
                          "gamma, weight of the new window (0 to 1)",
                          DoubleValue(0.9),
                          MakeDoubleAccessor(&ThetaPowertcpCongestionOps::m_gamma),
                          MakeDoubleChecker<double>(1e-6, 1))
            .AddAttribute("Flows",
                          "N, flows of a host that beta = line rate x base round-trip time / N is "
                          "for; assumed",
                          UintegerValue(10),
                          MakeUintegerAccessor(&ThetaPowertcpCongestionOps::m_flows),
                          MakeUintegerChecker<uint32_t>(1));
    return tid;
}

ThetaPowertcpCongestionOps::ThetaPowertcpCongestionOps() = default;
ThetaPowertcpCongestionOps::~ThetaPowertcpCongestionOps() = default;

ThetaPowertcpCongestionOps::ThetaPowertcpCongestionOps(const ThetaPowertcpCongestionOps& other)
    : RdmaCongestionOps(other),
      m_gamma(other.m_gamma),
      m_flows(other.m_flows)
{
}

std::string
ThetaPowertcpCongestionOps::GetName() const
{
    return "theta-powertcp";
}

uint16_t
ThetaPowertcpCongestionOps::GetNeeds() const
{
    return ACK_PER_PACKET | TIME_STAMP | BASE_RTT;
}

Ptr<RdmaCongestionOps>
ThetaPowertcpCongestionOps::Fork() const
{
    return CopyObject<ThetaPowertcpCongestionOps>(Ptr<const ThetaPowertcpCongestionOps>(this));
}

void
ThetaPowertcpCongestionOps::Init(RdmaCongestionState& state)
{
    rdma::PowertcpParameters p;
    p.baseRtt = rdma::Duration(state.baseRtt);
    p.gamma = m_gamma;
    p.flows = m_flows;
    m_window = std::make_unique<rdma::ThetaPowertcpWindow>(p, state.line);
    Publish(state);
}

void
ThetaPowertcpCongestionOps::Publish(RdmaCongestionState& state) const
{
    state.rateBps =
        std::clamp<uint64_t>(static_cast<uint64_t>(m_window->Rate() + 0.5), 1, state.line.bps);
    state.windowBytes = std::max<uint64_t>(1, static_cast<uint64_t>(m_window->Window()));
}

void
ThetaPowertcpCongestionOps::OnAck(RdmaCongestionState& state, const RdmaAckInfo& ack, int64_t now)
{
    if (ack.rtt < 0)
    {
        return;
    }
    m_window->OnAck(state.ackedPosition, state.sentPosition, ack.rtt, now);
    Publish(state);
}

} // namespace ns3
