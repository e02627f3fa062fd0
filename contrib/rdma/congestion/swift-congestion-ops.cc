/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "swift-congestion-ops.h"

#include "rdma-congestion-change.h"

#include "ns3/double.h"
#include "ns3/enum.h"
#include "ns3/log.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("SwiftCongestionOps");

NS_OBJECT_ENSURE_REGISTERED(RdmaSwiftCongestionOps);

TypeId
RdmaSwiftCongestionOps::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::SwiftCongestionOps")
            .SetParent<RdmaCongestionOps>()
            .SetGroupName("Rdma")
            .AddConstructor<RdmaSwiftCongestionOps>()
            .AddAttribute("Preset",
                          "Where BaseTarget, PerHop, FsRange and MaxCwnd come from unless they are "
                          "set: assumed here, or csg-htsim's",
                          EnumValue(rdma::kSwiftSigcomm20),
                          MakeEnumMemberAccessor(&RdmaSwiftCongestionOps::m_preset),
                          MakePresetChecker<rdma::SwiftPreset>(rdma::kSwift))
            .AddAttribute("Ai",
                          "ai, additive increase (packets a round trip); assumed",
                          DoubleValue(1),
                          MakeDoubleAccessor(&RdmaSwiftCongestionOps::m_ai),
                          MakeDoubleChecker<double>(1e-6, MAX_PACKETS))
            .AddAttribute("Beta",
                          "beta, multiplicative decrease (0 to 1); assumed",
                          DoubleValue(0.8),
                          MakeDoubleAccessor(&RdmaSwiftCongestionOps::m_beta),
                          MakeDoubleChecker<double>(1e-6, 1))
            .AddAttribute("MaxMdf",
                          "max_mdf, the most that a decrease takes of the window (0 to 1); assumed",
                          DoubleValue(0.5),
                          MakeDoubleAccessor(&RdmaSwiftCongestionOps::m_maxMdf),
                          MakeDoubleChecker<double>(1e-6, 0.999999))
            .AddAttribute("BaseTarget",
                          "base_target, delay of the fabric to aim at, before what hops and flows "
                          "add; 0: from the preset, 25 or 20 us",
                          TimeValue(Time(0)),
                          MakeTimeAccessor(&RdmaSwiftCongestionOps::m_baseTarget),
                          MakeTimeChecker(Time(0), MaxTime()))
            .AddAttribute("PerHop",
                          "What each switch on the way adds to the target; -1ns: from the preset, "
                          "1 or 3.05 us",
                          TimeValue(NanoSeconds(-1)),
                          MakeTimeAccessor(&RdmaSwiftCongestionOps::m_perHop),
                          MakeTimeChecker(NanoSeconds(-1), MaxTime()))
            .AddAttribute("FsRange",
                          "fs_range, the most that flow scaling adds to the target; -1ns: from the "
                          "preset, 25 or 100 us",
                          TimeValue(NanoSeconds(-1)),
                          MakeTimeAccessor(&RdmaSwiftCongestionOps::m_fsRange),
                          MakeTimeChecker(NanoSeconds(-1), MaxTime()))
            .AddAttribute(
                "FsMinCwnd",
                "fs_min_cwnd, flow scaling adds FsRange at this window and below (packets)",
                DoubleValue(0.1),
                MakeDoubleAccessor(&RdmaSwiftCongestionOps::m_fsMinCwnd),
                MakeDoubleChecker<double>(1e-9, 1))
            .AddAttribute("FsMaxCwnd",
                          "fs_max_cwnd, flow scaling adds nothing from this window on (packets)",
                          DoubleValue(100),
                          MakeDoubleAccessor(&RdmaSwiftCongestionOps::m_fsMaxCwnd),
                          MakeDoubleChecker<double>(1.001, MAX_PACKETS))
            .AddAttribute("EndpointTarget",
                          "Delay in the receiving host to aim at, which only a NIC with limits "
                          "has; assumed: BaseTarget's default",
                          TimeValue(MicroSeconds(25)),
                          MakeTimeAccessor(&RdmaSwiftCongestionOps::m_endpointTarget),
                          MakeTimeChecker(NanoSeconds(1), MaxTime()))
            .AddAttribute("EndpointWeight",
                          "Weight of the newest delay in the host in its average (0 to 1); assumed",
                          DoubleValue(0.125),
                          MakeDoubleAccessor(&RdmaSwiftCongestionOps::m_endpointWeight),
                          MakeDoubleChecker<double>(1e-6, 1))
            .AddAttribute(
                "InitialCwnd",
                "First window (packets); 0: line rate times base round-trip time; assumed",
                DoubleValue(0),
                MakeDoubleAccessor(&RdmaSwiftCongestionOps::m_initialCwnd),
                MakeDoubleChecker<double>(0, MAX_PACKETS))
            .AddAttribute("MinCwnd",
                          "min_cwnd (packets)",
                          DoubleValue(0.001),
                          MakeDoubleAccessor(&RdmaSwiftCongestionOps::m_minCwnd),
                          MakeDoubleChecker<double>(1e-9, 1))
            .AddAttribute("MaxCwnd",
                          "max_cwnd (packets); 0: from the preset, line rate times base target or "
                          "base round-trip time, whichever is longer (assumed), or 1,000",
                          DoubleValue(0),
                          MakeDoubleAccessor(&RdmaSwiftCongestionOps::m_maxCwnd),
                          MakeDoubleChecker<double>(0, MAX_PACKETS))
            .AddAttribute("RetxResetThreshold",
                          "RETX_RESET_THRESHOLD, time-outs in a row that take the window to "
                          "MinCwnd; assumed",
                          UintegerValue(5),
                          MakeUintegerAccessor(&RdmaSwiftCongestionOps::m_retxResetThreshold),
                          MakeUintegerChecker<uint32_t>(1));
    return tid;
}

RdmaHeaderBytes
RdmaSwiftCongestionOps::GetHeaderBytes() const
{
    // When a packet left the NIC remembers, and its TTL tells the switches; the ACK says those and
    // the time in the host: 1 and 4 B, to a multiple of 4 (assumed).
    return {0, 8};
}

rdma::SwiftParameters
RdmaSwiftCongestionOps::GetParameters(const RdmaCongestionState& state) const
{
    const auto duration = [](const Time& t) { return rdma::Duration(t.GetPicoSeconds()); };
    // Packets that the line carries in a time.
    const auto packets = [&state](int64_t ps) {
        return static_cast<double>(state.line.bps) * static_cast<double>(ps) / 8e12 /
               state.fullWireBytes;
    };
    rdma::SwiftParameters p =
        m_preset == rdma::kSwiftHtsim ? rdma::SwiftHtsim() : rdma::SwiftParameters();
    p.ai = m_ai;
    p.beta = m_beta;
    p.maxMdf = m_maxMdf;
    p.baseTarget = m_baseTarget.IsZero() ? p.baseTarget : duration(m_baseTarget);
    p.perHop = m_perHop.IsNegative() ? p.perHop : duration(m_perHop);
    p.fsRange = m_fsRange.IsNegative() ? p.fsRange : duration(m_fsRange);
    p.fsMinCwnd = m_fsMinCwnd;
    p.fsMaxCwnd = m_fsMaxCwnd;
    p.endpointTarget = duration(m_endpointTarget);
    p.endpointWeight = m_endpointWeight;
    p.minCwnd = m_minCwnd;
    if (m_maxCwnd > 0)
    {
        p.maxCwnd = m_maxCwnd;
    }
    else if (m_preset == rdma::kSwiftSigcomm20)
    {
        p.maxCwnd = std::max(m_minCwnd, packets(std::max(p.baseTarget.ps, state.baseRtt)));
    }
    p.initialCwnd = m_initialCwnd > 0 ? m_initialCwnd : packets(state.baseRtt);
    p.retxResetThreshold = m_retxResetThreshold;
    return p;
}

void
RdmaSwiftCongestionOps::Init(RdmaCongestionState& state)
{
    AbortIfRefused(state);
    const rdma::SwiftParameters p = GetParameters(state);
    m_window = std::make_unique<rdma::SwiftWindow>(p);
    m_perByte = 1.0 / state.mtu;
    // A paced packet goes rtt / cwnd after the one before, by the newest of both.
    state.repace = RdmaCongestionState::Repace::SHIFT;
    Publish(state);
}

void
RdmaSwiftCongestionOps::Publish(RdmaCongestionState& state) const
{
    const double cwnd = m_window->Window();
    if (cwnd >= 1)
    {
        state.rateBps = state.line.bps;
        state.windowBytes = static_cast<uint64_t>(cwnd) * state.mtu;
        return;
    }
    const double delay = m_window->PacingDelay(); // 0: no round-trip time is known yet
    const double bps = delay > 0 ? 8e12 * state.fullWireBytes / delay : state.line.bps;
    state.rateBps = std::clamp<uint64_t>(static_cast<uint64_t>(bps), 1, state.line.bps);
    state.windowBytes = 1;
}

void
RdmaSwiftCongestionOps::OnAck(RdmaCongestionState& state,
                              const RdmaAckInfo& ack,
                              rdma::TimePoint now)
{
    if (ack.rtt < 0)
    {
        return;
    }
    const RdmaCongestionChange change(state);
    m_window->OnAck(now.ps,
                    ack.rtt,
                    ack.telemetry->held,
                    ack.telemetry->switches,
                    static_cast<double>(ack.bytesAcked) * m_perByte);
    Publish(state);
    NS_LOG_LOGIC(change << ", because of an RTT of " << ack.rtt << " ps");
}

void
RdmaSwiftCongestionOps::OnNack(RdmaCongestionState& state, rdma::TimePoint now)
{
    const RdmaCongestionChange change(state);
    m_window->OnFastRecovery(now.ps);
    Publish(state);
    NS_LOG_LOGIC(change << ", because of a NAK at " << now.ps << " ps");
}

void
RdmaSwiftCongestionOps::OnTimeout(RdmaCongestionState& state, rdma::TimePoint now)
{
    const RdmaCongestionChange change(state);
    m_window->OnTimeout(now.ps);
    Publish(state);
    NS_LOG_LOGIC(change << ", because of a time-out at " << now.ps << " ps");
}

} // namespace ns3
