/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "timely-congestion-ops.h"

#include "rdma-congestion-change.h"

#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/enum.h"
#include "ns3/log.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("TimelyCongestionOps");

NS_OBJECT_ENSURE_REGISTERED(RdmaTimelyCongestionOps);

TypeId
RdmaTimelyCongestionOps::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::TimelyCongestionOps")
            .SetParent<RdmaCongestionOps>()
            .SetGroupName("Rdma")
            .AddConstructor<RdmaTimelyCongestionOps>()
            .AddAttribute(
                "Preset",
                "The law of the authors' code, the patched one, or that of HPCC's ns-3 code, to "
                "replay its results",
                EnumValue(rdma::kTimely15),
                MakeEnumMemberAccessor(&RdmaTimelyCongestionOps::m_preset),
                MakePresetChecker<rdma::TimelyPreset>(rdma::kTimely))
            .AddAttribute("Additions",
                          "timely15: what the authors' code adds to algorithm 1 of the paper (see "
                          "core/timely-rate.h); false: algorithm 1 alone",
                          BooleanValue(true),
                          MakeBooleanAccessor(&RdmaTimelyCongestionOps::m_additions),
                          MakeBooleanChecker())
            .AddAttribute("Alpha",
                          "Weight of the newest difference of round-trip times (0 to 1); 0: from "
                          "the preset, 0.02, of the others 0.875",
                          DoubleValue(0),
                          MakeDoubleAccessor(&RdmaTimelyCongestionOps::m_alpha),
                          MakeDoubleChecker<double>(0, 1))
            .AddAttribute(
                "Beta",
                "Multiplicative decrease (0 to 1); 0: from the preset, 0.8, patched 0.008",
                DoubleValue(0),
                MakeDoubleAccessor(&RdmaTimelyCongestionOps::m_beta),
                MakeDoubleChecker<double>(0, 1))
            .AddAttribute(
                "Delta",
                "Additive increase (bit/s); 0: the line rate / 1000, as the paper's 10 Mb/s "
                "at 10 Gb/s; hpcc-code: RATE_AI",
                UintegerValue(0),
                MakeUintegerAccessor(&RdmaTimelyCongestionOps::m_delta),
                MakeUintegerChecker<uint64_t>(0, MAX_BPS))
            .AddAttribute("TLow",
                          "Below this round-trip time the rate always grows; the authors recommend "
                          "50 us for messages of 64 KB, 0 with packet pacing",
                          TimeValue(MicroSeconds(50)),
                          MakeTimeAccessor(&RdmaTimelyCongestionOps::m_tLow),
                          MakeTimeChecker(Time(0), MaxTime()))
            .AddAttribute("THigh",
                          "Above this round-trip time the rate is always cut; 0: from the preset, "
                          "1 ms, of the others 500 us",
                          TimeValue(Time(0)),
                          MakeTimeAccessor(&RdmaTimelyCongestionOps::m_tHigh),
                          MakeTimeChecker(Time(0), MaxTime()))
            .AddAttribute("MinRtt",
                          "What differences are divided by for the gradient; timely15: and times "
                          "between samples. HPCC's code; the others' is assumed to be that",
                          TimeValue(MicroSeconds(20)),
                          MakeTimeAccessor(&RdmaTimelyCongestionOps::m_minRtt),
                          MakeTimeChecker(NanoSeconds(1), MaxTime()))
            .AddAttribute("RttReference",
                          "Patched: where the queue is to rest; 0: TLow",
                          TimeValue(Time(0)),
                          MakeTimeAccessor(&RdmaTimelyCongestionOps::m_rttReference),
                          MakeTimeChecker(Time(0), MaxTime()))
            .AddAttribute("Segment",
                          "One round-trip time counts for each so many (bytes); the paper's "
                          "segments have 16 to 64 KB",
                          UintegerValue(16384),
                          MakeUintegerAccessor(&RdmaTimelyCongestionOps::m_segment),
                          MakeUintegerChecker<uint64_t>(1))
            .AddAttribute("MinimumRate",
                          "The rate is never less (bit/s), but at most the line's; 0: Delta "
                          "(assumed); hpcc-code: MIN_RATE",
                          UintegerValue(0),
                          MakeUintegerAccessor(&RdmaTimelyCongestionOps::m_minimumRate),
                          MakeUintegerChecker<uint64_t>(0, MAX_BPS))
            .AddAttribute("HyperIncrease",
                          "hpcc-code: RATE_HAI (bit/s)",
                          UintegerValue(50000000),
                          MakeUintegerAccessor(&RdmaTimelyCongestionOps::m_hyperIncrease),
                          MakeUintegerChecker<uint64_t>(1, MAX_BPS));
    return tid;
}

RdmaHeaderBytes
RdmaTimelyCongestionOps::GetHeaderBytes() const
{
    // The NIC remembers when a packet left: nothing on the wire. That code's packets carry 8 B; its
    // ACKs have room for them in their padding.
    return {m_preset == rdma::kTimelyHpccCode ? rdma::kTimelyStampBytes : 0U, 0};
}

rdma::TimelyParameters
RdmaTimelyCongestionOps::GetParameters(const RdmaCongestionState& state) const
{
    rdma::TimelyParameters p = rdma::TimelyOf(m_preset);
    p.additions = m_additions;
    p.alpha = m_alpha > 0 ? m_alpha : p.alpha;
    p.beta = m_beta > 0 ? m_beta : p.beta;
    p.delta = rdma::BitRate(m_delta ? m_delta : std::max<uint64_t>(1, state.line.bps / 1000));
    p.tLow = rdma::Duration(m_tLow.GetPicoSeconds());
    p.tHigh = m_tHigh.IsZero() ? p.tHigh : rdma::Duration(m_tHigh.GetPicoSeconds());
    p.minRtt = rdma::Duration(m_minRtt.GetPicoSeconds());
    p.rttReference = rdma::Duration(m_rttReference.GetPicoSeconds());
    p.minimumRate = m_minimumRate ? rdma::BitRate(m_minimumRate) : p.delta;
    return p;
}

void
RdmaTimelyCongestionOps::Init(RdmaCongestionState& state)
{
    AbortIfRefused(state);
    const rdma::TimelyParameters p = GetParameters(state);
    if (m_preset == rdma::kTimelyHpccCode)
    {
        const auto ns = [](rdma::Duration d) { return static_cast<uint64_t>(d.ps / 1000); };
        m_code = std::make_unique<rdma::TimelyCodeRate>(
            rdma::TimelyCodeRate::Parameters{p.alpha,
                                             p.beta,
                                             ns(p.tLow),
                                             ns(p.tHigh),
                                             ns(p.minRtt),
                                             p.delta.bps,
                                             m_hyperIncrease},
            rdma::HpccCodeLimits{state.port.bps,
                                 state.line.bps,
                                 std::min(p.minimumRate.bps, state.line.bps)});
        state.repace = RdmaCongestionState::Repace::KEEP;
    }
    else
    {
        m_rate = std::make_unique<rdma::TimelyRate>(p, state.line);
    }
    Publish(state);
}

void
RdmaTimelyCongestionOps::Publish(RdmaCongestionState& state) const
{
    state.rateBps = m_code ? m_code->Rate() : static_cast<uint64_t>(m_rate->Rate() + 0.5);
}

void
RdmaTimelyCongestionOps::OnAck(RdmaCongestionState& state,
                               const RdmaAckInfo& ack,
                               rdma::TimePoint now)
{
    if (ack.rtt < 0)
    {
        return;
    }
    const RdmaCongestionChange change(state);
    if (m_code)
    {
        m_code->OnAck(static_cast<uint64_t>(ack.rtt) / 1000,
                      state.ackedPosition,
                      state.sentPosition);
        Publish(state);
        NS_LOG_LOGIC(change << ", because of an RTT of " << ack.rtt << " ps");
        return;
    }
    m_acked += ack.bytesAcked;
    if (m_acked >= m_segment)
    {
        m_acked = 0;
        m_rate->OnRtt(rdma::Duration(ack.rtt), now);
        Publish(state);
        NS_LOG_LOGIC(change << ", because of an RTT of " << ack.rtt << " ps");
    }
}

} // namespace ns3
