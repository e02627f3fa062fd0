/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "dcqcn-congestion-ops.h"

#include "rdma-congestion-change.h"

#include "ns3/double.h"
#include "ns3/enum.h"
#include "ns3/log.h"
#include "ns3/uinteger.h"

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("DcqcnCongestionOps");

NS_OBJECT_ENSURE_REGISTERED(RdmaDcqcnCongestionOps);

TypeId
RdmaDcqcnCongestionOps::AddConstants(TypeId tid,
                                     rdma::DcqcnPreset preset,
                                     Ptr<const AttributeChecker> presets)
{
    return tid
        .AddAttribute("Preset",
                      "Where the constants below come from unless they are set",
                      EnumValue(preset),
                      MakeEnumMemberAccessor(&RdmaDcqcnCongestionOps::m_preset),
                      presets)
        .AddAttribute("G",
                      "Gain of the congestion estimate alpha; 0: from the preset",
                      DoubleValue(0),
                      MakeDoubleAccessor(&RdmaDcqcnCongestionOps::m_g),
                      MakeDoubleChecker<double>(0, 1))
        .AddAttribute("AlphaPeriod",
                      "Time between updates of alpha; 0: from the preset",
                      TimeValue(Time(0)),
                      MakeTimeAccessor(&RdmaDcqcnCongestionOps::m_alphaPeriod),
                      MakeTimeChecker(Time(0), MaxTime()))
        .AddAttribute("RateDecreaseInterval",
                      "At most one cut in this time; 0: from the preset",
                      TimeValue(Time(0)),
                      MakeTimeAccessor(&RdmaDcqcnCongestionOps::m_rateDecreaseInterval),
                      MakeTimeChecker(Time(0), MaxTime()))
        .AddAttribute("IncreaseTimer",
                      "Time between rate increases; 0: from the preset",
                      TimeValue(Time(0)),
                      MakeTimeAccessor(&RdmaDcqcnCongestionOps::m_increaseTimer),
                      MakeTimeChecker(Time(0), MaxTime()))
        .AddAttribute("ByteCounter",
                      "Payload between rate increases (bytes); 0: from the preset",
                      UintegerValue(0),
                      MakeUintegerAccessor(&RdmaDcqcnCongestionOps::m_byteCounter),
                      MakeUintegerChecker<uint64_t>(0, MAX_BYTES))
        .AddAttribute("FastRecovery",
                      "F, increases before the target rate moves; 0: from the preset",
                      UintegerValue(0),
                      MakeUintegerAccessor(&RdmaDcqcnCongestionOps::m_fastRecovery),
                      MakeUintegerChecker<uint32_t>())
        .AddAttribute("AdditiveIncrease",
                      "R_AI (bit/s); 0: from the preset, scaled with the port rate",
                      UintegerValue(0),
                      MakeUintegerAccessor(&RdmaDcqcnCongestionOps::m_additiveIncrease),
                      MakeUintegerChecker<uint64_t>(0, MAX_BPS))
        .AddAttribute("HyperIncrease",
                      "R_HAI (bit/s); 0: from the preset, scaled with the port rate",
                      UintegerValue(0),
                      MakeUintegerAccessor(&RdmaDcqcnCongestionOps::m_hyperIncrease),
                      MakeUintegerChecker<uint64_t>(0, MAX_BPS))
        .AddAttribute("MinimumRate",
                      "The rate is never cut below (bit/s); 0: from the preset",
                      UintegerValue(0),
                      MakeUintegerAccessor(&RdmaDcqcnCongestionOps::m_minimumRate),
                      MakeUintegerChecker<uint64_t>(0, MAX_BPS))
        .AddAttribute("CnpInterval",
                      "Least time between two CNPs of a queue pair; 0: from the preset",
                      TimeValue(Time(0)),
                      MakeTimeAccessor(&RdmaDcqcnCongestionOps::m_cnpInterval),
                      MakeTimeChecker(Time(0), MaxTime()));
}

TypeId
RdmaDcqcnCongestionOps::GetTypeId()
{
    static TypeId tid = AddConstants(TypeId("ns3::DcqcnCongestionOps")
                                         .SetParent<RdmaCongestionOps>()
                                         .SetGroupName("Rdma")
                                         .AddConstructor<RdmaDcqcnCongestionOps>(),
                                     rdma::kDcqcnHpcc19Vendor,
                                     MakePresetChecker<rdma::DcqcnPreset>(rdma::kDcqcn));
    return tid;
}

uint16_t
RdmaDcqcnCongestionOps::GetNeeds() const
{
    return m_preset == rdma::kDcqcnHpccCode ? QUIET | ACK_PER_PACKET | ECN_ECHO : QUIET;
}

rdma::DcqcnParameters
RdmaDcqcnCongestionOps::GetParameters(const RdmaCongestionState& state) const
{
    rdma::DcqcnParameters p = rdma::DcqcnOf(m_preset, state.line);
    const auto override = [](rdma::Duration& field, const Time& value) {
        if (!value.IsZero())
        {
            field = rdma::Duration(value.GetPicoSeconds());
        }
    };
    override(p.alphaPeriod, m_alphaPeriod);
    override(p.rateDecreaseInterval, m_rateDecreaseInterval);
    override(p.increaseTimer, m_increaseTimer);
    override(p.cnpInterval, m_cnpInterval);
    p.g = m_g > 0 ? m_g : p.g;
    p.byteCounter = m_byteCounter ? rdma::Bytes(m_byteCounter) : p.byteCounter;
    p.fastRecoveryThreshold = m_fastRecovery ? m_fastRecovery : p.fastRecoveryThreshold;
    p.additiveIncrease =
        m_additiveIncrease ? rdma::BitRate(m_additiveIncrease) : p.additiveIncrease;
    p.hyperIncrease = m_hyperIncrease ? rdma::BitRate(m_hyperIncrease) : p.hyperIncrease;
    p.minimumRate = m_minimumRate ? rdma::BitRate(m_minimumRate) : p.minimumRate;
    return p;
}

void
RdmaDcqcnCongestionOps::Init(RdmaCongestionState& state)
{
    AbortIfRefused(state);
    RdmaCongestionOps::Init(state);
    m_cnpIntervalPs = GetParameters(state).cnpInterval.ps;
    m_lastCnp = -1;
    if (m_preset == rdma::kDcqcnHpccCode)
    {
        state.repace = RdmaCongestionState::Repace::KEEP;
    }
}

void
RdmaDcqcnCongestionOps::Publish(RdmaCongestionState& state) const
{
    state.rateBps = m_rate->Current().bps;
    state.nextUpdate = m_rate->NextChange().ps;
    state.nextUpdateBytes = m_rate->NextChangeBytes().value;
}

void
RdmaDcqcnCongestionOps::OnUpdate(RdmaCongestionState& state, rdma::TimePoint now)
{
    const RdmaCongestionChange change(state);
    m_rate->At(now, rdma::Bytes(state.bytesSent));
    Publish(state);
    NS_LOG_LOGIC(change << ", because a cut or an increase is due at " << now.ps << " ps");
}

void
RdmaDcqcnCongestionOps::OnAck(RdmaCongestionState& state,
                              const RdmaAckInfo& ack,
                              rdma::TimePoint now)
{
    if (ack.ecnEcho)
    {
        OnCnp(state, now);
    }
}

void
RdmaDcqcnCongestionOps::OnCnp(RdmaCongestionState& state, rdma::TimePoint now)
{
    if (!m_rate)
    {
        // That code begins at MAX_RATE but lets increases go on to the port's rate.
        const rdma::BitRate most = m_preset == rdma::kDcqcnHpccCode ? state.port : state.line;
        m_rate = std::make_unique<rdma::DcqcnRate>(GetParameters(state), most, state.line);
    }
    const RdmaCongestionChange change(state);
    m_rate->OnCnp(now, rdma::Bytes(state.bytesSent));
    Publish(state);
    NS_LOG_LOGIC(change << ", because of a CNP at " << now.ps << " ps");
}

bool
RdmaDcqcnCongestionOps::OnDataReceived(const RdmaFrame& frame, rdma::TimePoint now)
{
    if (m_preset == rdma::kDcqcnHpccCode || !(frame.flags & RdmaFrame::CE) ||
        (m_lastCnp >= 0 && now.ps - m_lastCnp < m_cnpIntervalPs))
    {
        return false;
    }
    m_lastCnp = now.ps;
    NS_LOG_LOGIC("CNP, because a packet came with CE at " << now.ps << " ps");
    return true;
}

} // namespace ns3
