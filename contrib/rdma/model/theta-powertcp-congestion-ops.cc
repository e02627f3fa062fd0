/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "theta-powertcp-congestion-ops.h"

#include "ns3/double.h"
#include "ns3/enum.h"
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
            .AddAttribute("Preset",
                          "What the paper leaves open as in the authors' kernel module, or the law "
                          "of their ns-3 code",
                          EnumValue(NSDI22),
                          MakeEnumAccessor(&ThetaPowertcpCongestionOps::m_preset),
                          MakeEnumChecker(NSDI22, "nsdi22", NSDI22_NS3, "nsdi22-ns3"))
            .AddAttribute("Gamma",
                          "gamma, weight of the new window (0 to 1); 0: from the preset, 0.9, "
                          "nsdi22-ns3 0.7",
                          DoubleValue(0),
                          MakeDoubleAccessor(&ThetaPowertcpCongestionOps::m_gamma),
                          MakeDoubleChecker<double>(0, 1))
            .AddAttribute("Flows",
                          "nsdi22: N, flows of a host that beta = line rate x base round-trip time "
                          "/ N is for",
                          UintegerValue(10),
                          MakeUintegerAccessor(&ThetaPowertcpCongestionOps::m_flows),
                          MakeUintegerChecker<uint32_t>(1))
            .AddAttribute("AdditiveIncrease",
                          "nsdi22-ns3: added to the rate (bit/s)",
                          UintegerValue(150000000),
                          MakeUintegerAccessor(&ThetaPowertcpCongestionOps::m_additiveIncrease),
                          MakeUintegerChecker<uint64_t>(0, MAX_BPS))
            .AddAttribute("MinimumRate",
                          "nsdi22-ns3: the rate is never less (MIN_RATE, bit/s), but at most the "
                          "line's",
                          UintegerValue(100000000),
                          MakeUintegerAccessor(&ThetaPowertcpCongestionOps::m_minimumRate),
                          MakeUintegerChecker<uint64_t>(1, MAX_BPS));
    return tid;
}

ThetaPowertcpCongestionOps::ThetaPowertcpCongestionOps() = default;
ThetaPowertcpCongestionOps::~ThetaPowertcpCongestionOps() = default;

ThetaPowertcpCongestionOps::ThetaPowertcpCongestionOps(const ThetaPowertcpCongestionOps& other)
    : RdmaCongestionOps(other),
      m_preset(other.m_preset),
      m_gamma(other.m_gamma),
      m_flows(other.m_flows),
      m_additiveIncrease(other.m_additiveIncrease),
      m_minimumRate(other.m_minimumRate)
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

rdma::PowertcpParameters
ThetaPowertcpCongestionOps::GetParameters(const RdmaCongestionState& state) const
{
    rdma::PowertcpParameters p;
    p.baseRtt = rdma::Duration(state.baseRtt);
    p.gamma = m_gamma > 0 ? m_gamma : p.gamma;
    p.flows = m_flows;
    return p;
}

rdma::PowertcpNs3Parameters
ThetaPowertcpCongestionOps::GetNs3Parameters(const RdmaCongestionState& state) const
{
    rdma::PowertcpNs3Parameters p;
    p.baseRtt = rdma::Duration(state.baseRtt);
    p.gamma = m_gamma > 0 ? m_gamma : 0.7;
    p.additiveIncrease = rdma::BitRate(m_additiveIncrease);
    p.minimumRate = rdma::BitRate(m_minimumRate);
    return p;
}

std::string
ThetaPowertcpCongestionOps::Check(const RdmaCongestionState& state) const
{
    return Explain(m_preset == NSDI22_NS3 ? rdma::PowertcpNs3Law::Error(GetNs3Parameters(state))
                                          : rdma::PowerLaw::Error(GetParameters(state)));
}

void
ThetaPowertcpCongestionOps::Init(RdmaCongestionState& state)
{
    AbortIfRefused(state);
    if (m_preset == NSDI22_NS3)
    {
        m_rate = std::make_unique<rdma::ThetaPowertcpNs3Rate>(GetNs3Parameters(state), state.line);
    }
    else
    {
        m_window = std::make_unique<rdma::ThetaPowertcpWindow>(GetParameters(state), state.line);
    }
    Publish(state);
}

void
ThetaPowertcpCongestionOps::Publish(RdmaCongestionState& state) const
{
    const double rate = m_rate ? m_rate->Rate() : m_window->Rate();
    const double window = m_rate ? m_rate->Window() : m_window->Window();
    state.rateBps = std::clamp<uint64_t>(static_cast<uint64_t>(rate + 0.5), 1, state.line.bps);
    state.windowBytes = std::max<uint64_t>(1, static_cast<uint64_t>(window));
}

void
ThetaPowertcpCongestionOps::OnAck(RdmaCongestionState& state, const RdmaAckInfo& ack, int64_t now)
{
    if (ack.rtt < 0)
    {
        return;
    }
    if (m_rate)
    {
        m_rate->OnAck(state.ackedPosition, state.sentPosition, ack.rtt, now);
    }
    else
    {
        m_window->OnAck(state.ackedPosition, state.sentPosition, ack.rtt, now);
    }
    Publish(state);
}

} // namespace ns3
