/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "hpcc-congestion-ops.h"

#include "rdma-congestion-change.h"

#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/enum.h"
#include "ns3/log.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("HpccCongestionOps");

NS_OBJECT_ENSURE_REGISTERED(RdmaHpccCongestionOps);

TypeId
RdmaHpccCongestionOps::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::HpccCongestionOps")
            .SetParent<RdmaCongestionOps>()
            .SetGroupName("Rdma")
            .AddConstructor<RdmaHpccCongestionOps>()
            .AddAttribute("Preset",
                          "The paper's law, or that of HPCC's ns-3 code, to replay its results",
                          EnumValue(rdma::kHpccSigcomm19),
                          MakeEnumMemberAccessor(&RdmaHpccCongestionOps::m_preset),
                          MakePresetChecker<rdma::HpccPreset>(rdma::kHpcc))
            .AddAttribute("Eta",
                          "Target utilisation (0 to 1)",
                          DoubleValue(0.95),
                          MakeDoubleAccessor(&RdmaHpccCongestionOps::m_eta),
                          MakeDoubleChecker<double>(0.01, 1))
            .AddAttribute("MaxStage",
                          "Additive steps before a multiplicative one (round trips); hpcc-code: "
                          "MI_THRESH",
                          UintegerValue(5),
                          MakeUintegerAccessor(&RdmaHpccCongestionOps::m_maxStage),
                          MakeUintegerChecker<uint32_t>())
            .AddAttribute("Flows",
                          "N, flows that W_AI = W_init (1 - eta) / N is to leave room for",
                          UintegerValue(100),
                          MakeUintegerAccessor(&RdmaHpccCongestionOps::m_flows),
                          MakeUintegerChecker<uint32_t>(1))
            .AddAttribute("MinimumRate",
                          "The rate is never less (bit/s), but at most the line's; the authors' "
                          "code: 100 Mb/s",
                          UintegerValue(100000000),
                          MakeUintegerAccessor(&RdmaHpccCongestionOps::m_minimumRate),
                          MakeUintegerChecker<uint64_t>(1, MAX_BPS))
            .AddAttribute("FastReact",
                          "hpcc-code: react to every ACK, not only once a round trip (FAST_REACT)",
                          BooleanValue(true),
                          MakeBooleanAccessor(&RdmaHpccCongestionOps::m_fastReact),
                          MakeBooleanChecker())
            .AddAttribute("AdditiveIncrease",
                          "hpcc-code: RATE_AI (bit/s)",
                          UintegerValue(50000000),
                          MakeUintegerAccessor(&RdmaHpccCongestionOps::m_additiveIncrease),
                          MakeUintegerChecker<uint64_t>(0, MAX_BPS))
            .AddAttribute("TelemetryMultiple",
                          "hpcc-code: INT_MULTI, units of telemetry are so many times 128 and 80 B",
                          UintegerValue(1),
                          MakeUintegerAccessor(&RdmaHpccCongestionOps::m_telemetryMultiple),
                          MakeUintegerChecker<uint32_t>(1, 1000));
    return tid;
}

RdmaHeaderBytes
RdmaHpccCongestionOps::GetHeaderBytes() const
{
    // That code's ACK has 46 B of headers and 14 of padding, which the telemetry goes over.
    const uint32_t bytes = rdma::kHpccTelemetryBytes;
    return {bytes, m_preset == rdma::kHpccCode ? bytes - 14 : bytes};
}

rdma::HpccParameters
RdmaHpccCongestionOps::GetParameters(const RdmaCongestionState& state) const
{
    rdma::HpccParameters p;
    p.baseRtt = rdma::Duration(state.baseRtt);
    p.eta = m_eta;
    p.maxStage = m_maxStage;
    p.flows = m_flows;
    p.minimumRate = rdma::BitRate(m_minimumRate);
    return p;
}

std::string
RdmaHpccCongestionOps::Check(const RdmaCongestionState& state) const
{
    if (m_preset == rdma::kHpccCode && state.windowAtLine == 0)
    {
        return "ns3::RdmaNic::Window: 0 is no window, which the preset hpcc-code of "
               "ns3::HpccCongestionOps needs; allowed: the bandwidth-delay product";
    }
    return RdmaLawOps::Check(state);
}

void
RdmaHpccCongestionOps::Init(RdmaCongestionState& state)
{
    AbortIfRefused(state);
    if (m_preset == rdma::kHpccCode)
    {
        rdma::HpccCodeRate::Parameters p;
        p.target = m_eta;
        p.miThreshold = m_maxStage;
        p.fastReact = m_fastReact;
        p.increase = m_additiveIncrease;
        p.multiple = m_telemetryMultiple;
        p.baseRttNs = std::max<uint64_t>(1, static_cast<uint64_t>(state.baseRtt) / 1000);
        p.window = state.windowAtLine;
        m_code = std::make_unique<rdma::HpccCodeRate>(
            p,
            rdma::HpccCodeLimits{state.port.bps,
                                 state.line.bps,
                                 std::min(m_minimumRate, state.line.bps)});
        state.repace = RdmaCongestionState::Repace::SHIFT;
    }
    else
    {
        m_window = std::make_unique<rdma::HpccWindow>(GetParameters(state), state.line);
    }
    Publish(state);
}

void
RdmaHpccCongestionOps::Publish(RdmaCongestionState& state) const
{
    if (m_code)
    {
        state.rateBps = m_code->Rate();
        return;
    }
    state.rateBps = std::min(state.line.bps, static_cast<uint64_t>(m_window->Rate() + 0.5));
    state.windowBytes = std::max<uint64_t>(1, static_cast<uint64_t>(m_window->Window()));
}

void
RdmaHpccCongestionOps::OnAck(RdmaCongestionState& state, const RdmaAckInfo& ack, rdma::TimePoint)
{
    if (!ack.telemetry)
    {
        return;
    }
    const RdmaTelemetry& t = *ack.telemetry;
    const RdmaCongestionChange change(state);
    if (m_code)
    {
        m_code->OnAck(state.ackedPosition, state.sentPosition, t.hop.data(), t.hops);
    }
    else
    {
        m_window->OnAck(state.ackedPosition, state.sentPosition, t.hop.data(), t.hops);
    }
    Publish(state);
    NS_LOG_LOGIC(change << ", because of the telemetry of " << +t.hops << " hops");
}

} // namespace ns3
