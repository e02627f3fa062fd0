/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "hpcc-pint-congestion-ops.h"

#include "contrib/rdma/core/flow-hash.h"
#include "contrib/rdma/core/pint.h"
#include "rdma-congestion-change.h"

#include "ns3/double.h"
#include "ns3/enum.h"
#include "ns3/log.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("HpccPintCongestionOps");

NS_OBJECT_ENSURE_REGISTERED(RdmaHpccPintCongestionOps);

TypeId
RdmaHpccPintCongestionOps::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::HpccPintCongestionOps")
            .SetParent<RdmaCongestionOps>()
            .SetGroupName("Rdma")
            .AddConstructor<RdmaHpccPintCongestionOps>()
            .AddAttribute("Preset",
                          "HPCC's law with PINT's telemetry",
                          EnumValue(rdma::kHpccPintCode),
                          MakeEnumMemberAccessor(&RdmaHpccPintCongestionOps::m_preset),
                          MakePresetChecker<rdma::HpccPintPreset>(rdma::kHpccPint))
            .AddAttribute("Eta",
                          "Target utilisation (0 to 1)",
                          DoubleValue(0.95),
                          MakeDoubleAccessor(&RdmaHpccPintCongestionOps::m_eta),
                          MakeDoubleChecker<double>(0.01, 1))
            .AddAttribute("MaxStage",
                          "Additive steps before a multiplicative one (round trips)",
                          UintegerValue(5),
                          MakeUintegerAccessor(&RdmaHpccPintCongestionOps::m_maxStage),
                          MakeUintegerChecker<uint32_t>())
            .AddAttribute("Flows",
                          "N, flows that W_AI = W_init (1 - eta) / N is to leave room for",
                          UintegerValue(100),
                          MakeUintegerAccessor(&RdmaHpccPintCongestionOps::m_flows),
                          MakeUintegerChecker<uint32_t>(1))
            .AddAttribute("MinimumRate",
                          "The rate is never less (bit/s), but at most the line's; the authors' "
                          "code: 100 Mb/s",
                          UintegerValue(100000000),
                          MakeUintegerAccessor(&RdmaHpccPintCongestionOps::m_minimumRate),
                          MakeUintegerChecker<uint64_t>(1, MAX_BPS))
            .AddAttribute("SampleProbability",
                          "Part of the ACKs that is looked at (0 to 1); the authors' code: "
                          "PINT_PROB 1.0",
                          DoubleValue(1),
                          MakeDoubleAccessor(&RdmaHpccPintCongestionOps::m_sampleProbability),
                          MakeDoubleChecker<double>(0.0001, 1));
    return tid;
}

RdmaHeaderBytes
RdmaHpccPintCongestionOps::GetHeaderBytes() const
{
    return {rdma::kPintBytes, rdma::kPintBytes};
}

rdma::HpccParameters
RdmaHpccPintCongestionOps::GetParameters(const RdmaCongestionState& state) const
{
    rdma::HpccParameters p;
    p.baseRtt = rdma::Duration(state.baseRtt);
    p.eta = m_eta;
    p.maxStage = m_maxStage;
    p.flows = m_flows;
    p.minimumRate = rdma::BitRate(m_minimumRate);
    return p;
}

void
RdmaHpccPintCongestionOps::Init(RdmaCongestionState& state)
{
    AbortIfRefused(state);
    m_window = std::make_unique<rdma::HpccWindow>(GetParameters(state), state.line);
    Publish(state);
}

void
RdmaHpccPintCongestionOps::Publish(RdmaCongestionState& state) const
{
    state.rateBps = std::min(state.line.bps, static_cast<uint64_t>(m_window->Rate() + 0.5));
    state.windowBytes = std::max<uint64_t>(1, static_cast<uint64_t>(m_window->Window()));
}

void
RdmaHpccPintCongestionOps::OnAck(RdmaCongestionState& state,
                                 const RdmaAckInfo& ack,
                                 rdma::TimePoint now)
{
    if (!ack.telemetry || ack.telemetry->pintPeriod == 0)
    {
        return;
    }
    const uint64_t chance = rdma::Mix64(++m_acks ^ static_cast<uint64_t>(now.ps) << 16) >> 32;
    if (static_cast<double>(chance) >= m_sampleProbability * 4294967296.0)
    {
        return;
    }
    const RdmaCongestionChange change(state);
    m_window->OnAck(state.ackedPosition, state.sentPosition, rdma::PintDecode(ack.telemetry->pint));
    Publish(state);
    NS_LOG_LOGIC(change << ", because of a utilisation of "
                        << rdma::PintDecode(ack.telemetry->pint));
}

} // namespace ns3
