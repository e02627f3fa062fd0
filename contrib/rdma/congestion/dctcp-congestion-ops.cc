/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "dctcp-congestion-ops.h"

#include "rdma-congestion-change.h"

#include "ns3/double.h"
#include "ns3/enum.h"
#include "ns3/log.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("DctcpCongestionOps");

NS_OBJECT_ENSURE_REGISTERED(RdmaDctcpCongestionOps);

TypeId
RdmaDctcpCongestionOps::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::DctcpCongestionOps")
            .SetParent<RdmaCongestionOps>()
            .SetGroupName("Rdma")
            .AddConstructor<RdmaDctcpCongestionOps>()
            .AddAttribute(
                "Preset",
                "The paper's law with the marking of HPCC's published run script (K 30 KB "
                "at 10 Gb/s) or with the paper's (97.5 KB); or the law of HPCC's ns-3 code, "
                "to replay its results",
                EnumValue(rdma::kDctcpHpcc19),
                MakeEnumMemberAccessor(&RdmaDctcpCongestionOps::m_preset),
                MakePresetChecker<rdma::DctcpPreset>(rdma::kDctcp))
            .AddAttribute("G",
                          "Weight of the last window of data in alpha (0 to 1)",
                          DoubleValue(1 / 16.),
                          MakeDoubleAccessor(&RdmaDctcpCongestionOps::m_g),
                          MakeDoubleChecker<double>(1e-6, 1))
            .AddAttribute("InitialWindow",
                          "Initial and largest window (bytes); 0: line rate x base round-trip "
                          "time, plus the queue that switches allow before they mark every packet "
                          "(the preset's, if they mark none)",
                          UintegerValue(0),
                          MakeUintegerAccessor(&RdmaDctcpCongestionOps::m_initialWindow),
                          MakeUintegerChecker<uint64_t>(0, MAX_BYTES))
            .AddAttribute("AdditiveIncrease",
                          "hpcc-code: DCTCP_RATE_AI (bit/s)",
                          UintegerValue(615000000),
                          MakeUintegerAccessor(&RdmaDctcpCongestionOps::m_additiveIncrease),
                          MakeUintegerChecker<uint64_t>(0, MAX_BPS))
            .AddAttribute("MinimumRate",
                          "hpcc-code: MIN_RATE (bit/s), at most the line's",
                          UintegerValue(100000000),
                          MakeUintegerAccessor(&RdmaDctcpCongestionOps::m_minimumRate),
                          MakeUintegerChecker<uint64_t>(1, MAX_BPS));
    return tid;
}

rdma::DctcpParameters
RdmaDctcpCongestionOps::GetParameters(const RdmaCongestionState&) const
{
    rdma::DctcpParameters p;
    p.g = m_g;
    return p;
}

void
RdmaDctcpCongestionOps::Init(RdmaCongestionState& state)
{
    AbortIfRefused(state);
    state.rateBps = state.line.bps;
    if (m_preset == rdma::kDctcpHpccCode)
    {
        m_code = std::make_unique<rdma::DctcpCodeRate>(
            rdma::DctcpCodeRate::Parameters{m_g, m_additiveIncrease, state.mtu},
            rdma::HpccCodeLimits{state.port.bps,
                                 state.line.bps,
                                 std::min(m_minimumRate, state.line.bps)});
        state.repace = RdmaCongestionState::Repace::KEEP;
    }
    else
    {
        const double product =
            static_cast<double>(state.line.bps) * static_cast<double>(state.baseRtt) / 8e12 *
            static_cast<double>(state.mtu) / static_cast<double>(state.fullWireBytes);
        uint64_t k = state.markedFrom;
        rdma::EcnParameters ecn;
        if (k == 0 && GetEcn(state.line, ecn))
        {
            k = ecn.kmax.value;
        }
        rdma::DctcpParameters p = GetParameters(state);
        p.packet = state.mtu;
        p.initialWindow = m_initialWindow ? static_cast<double>(m_initialWindow)
                                          : product + static_cast<double>(k);
        m_window = std::make_unique<rdma::DctcpWindow>(p);
    }
    Publish(state);
}

void
RdmaDctcpCongestionOps::Publish(RdmaCongestionState& state) const
{
    if (m_code)
    {
        state.rateBps = m_code->Rate();
        return;
    }
    state.windowBytes = std::max<uint64_t>(1, static_cast<uint64_t>(m_window->Window()));
}

void
RdmaDctcpCongestionOps::OnAck(RdmaCongestionState& state, const RdmaAckInfo& ack, rdma::TimePoint)
{
    const RdmaCongestionChange change(state);
    if (m_code)
    {
        m_code->OnAck(ack.ecnEcho, state.ackedPosition, state.sentPosition);
    }
    else
    {
        m_window->OnAck(ack.bytesAcked, ack.ecnEcho, state.ackedPosition, state.sentPosition);
    }
    Publish(state);
    NS_LOG_LOGIC(change << ", because of an ACK " << (ack.ecnEcho ? "with" : "without")
                        << " ECN echo");
}

} // namespace ns3
