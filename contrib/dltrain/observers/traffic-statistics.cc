/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "traffic-statistics.h"

#include "contrib/dltrain/ranks/ranks.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <utility>

namespace dltrain
{

using reports::PortUse;

namespace
{

/// The time without a send after which messages in flight count as stuck. More looks would keep the
/// simulation from running out of events, by which RunControl detects that. Longer than a local ACK
/// time-out.
constexpr int64_t QUIET_PS = 300000000000;

std::vector<PortUse::Port>
PortsOf(const ns3::RdmaFabric& fabric,
        const topo::Topology& topology,
        const std::vector<std::string>& portNames)
{
    const auto isHost = [&](uint32_t end) {
        return topology.Nodes()[fabric.GetNodeOfEnd(end)].kind == topo::NodeKind::kHost;
    };
    // For all ranks, by end.
    std::vector<PortUse::Port> ports;
    for (uint32_t end = 0; end < fabric.GetNEnds(); ++end)
    {
        const PortUse::Kind kind =
            isHost(end)       ? (isHost(end ^ 1) ? PortUse::HOST_TO_HOST : PortUse::HOST_TO_SWITCH)
            : isHost(end ^ 1) ? PortUse::SWITCH_TO_HOST
                              : PortUse::SWITCH_TO_SWITCH;
        ports.push_back({portNames[end], topology.Links()[end / 2].rate.bps, kind});
    }
    return ports;
}

} // namespace

TrafficStatistics::TrafficStatistics(ns3::RdmaFabric& fabric,
                                     const topo::Topology& topology,
                                     const scenario::Measuring& measuring,
                                     const std::vector<scenario::Flow>& flows,
                                     const std::vector<std::string>& endpointNames,
                                     const std::vector<std::string>& portNames,
                                     const std::string& out)
    : m_fabric(fabric),
      m_measuring(measuring),
      m_flows(flows),
      m_out(out),
      m_slowdowns(measuring, flows),
      m_fromTimer(this),
      m_untilTimer(this)
{
    if (measuring.queueInterval.ps > 0)
    {
        m_ports =
            std::make_unique<PortUse>(measuring, PortsOf(fabric, topology, portNames), Look());
        const std::vector<uint32_t>& ends = m_ports->GetSwitchPorts();
        for (uint32_t i = 0; i < ends.size(); ++i)
        {
            if (const ns3::RdmaPort* port = fabric.GetPortOfEnd(ends[i]))
            {
                m_queues.emplace_back(i, port);
            }
        }
        m_queueTimer =
            std::make_unique<ns3::RdmaGridTimer>(measuring.queueInterval.ps,
                                                 [this](int64_t now) { OnQueueTimer(now); });
        m_queueTimer->LookTogether(2); // LinkSampler's is 1
        if (measuring.begin.ps > 0)
        {
            m_fromTimer.ScheduleAt(measuring.begin.ps, ns3::RdmaEventOrder::BEFORE);
        }
        if (measuring.until.ps > 0)
        {
            m_untilTimer.ScheduleAt(measuring.until.ps, ns3::Simulator::NO_CONTEXT);
        }
    }
    if (measuring.rateInterval.ps > 0 && Ranks::HasHosts())
    {
        m_rates = std::make_unique<reports::FlowRates>(measuring, flows, endpointNames, out);
        m_rateTimer =
            std::make_unique<ns3::RdmaGridTimer>(measuring.rateInterval.ps,
                                                 [this](int64_t now) { OnRateTimer(now); });
    }
}

// Flows ------------------------------------------------------------------------------------------

void
TrafficStatistics::OnPosted(uint32_t flow, std::function<uint64_t()> received, int64_t now)
{
    if (m_rates)
    {
        m_rates->Begin(flow, std::move(received), now);
    }
    ArmTimers(now);
}

void
TrafficStatistics::OnGone(uint32_t flow, bool failed)
{
    if (m_rates)
    {
        m_rates->End(flow, failed);
    }
}

void
TrafficStatistics::OnComplete(uint32_t flow, int64_t fct, int64_t ideal)
{
    m_slowdowns.Add(flow, fct, ideal);
}

// Looking ----------------------------------------------------------------------------------------

void
TrafficStatistics::OnFramesCome(int64_t now)
{
    if (m_ports && !m_queueTimer->IsArmed())
    {
        m_quietSince = now;
        m_queueTimer->Arm();
    }
}

void
TrafficStatistics::ArmTimers(int64_t now)
{
    OnFramesCome(now);
    if (m_rates && !m_rateTimer->IsArmed())
    {
        const int64_t interval = m_measuring.rateInterval.ps;
        m_idleIntervals = 0;
        m_rates->Start(now / interval * interval);
        m_rateTimer->Arm();
    }
}

PortUse::Counters
TrafficStatistics::Look() const
{
    PortUse::Counters counters;
    counters.time = ns3::RdmaClock::Now();
    counters.wireBytes.resize(m_fabric.GetNEnds());
    counters.pausedPs.resize(m_fabric.GetNEnds());
    for (uint32_t p = 0; p < m_fabric.GetPorts().size(); ++p)
    {
        const ns3::RdmaPort& port = *m_fabric.GetPorts()[p];
        counters.wireBytes[m_fabric.GetEnd(p)] = port.GetTxWireBytes();
        counters.pausedPs[m_fabric.GetEnd(p)] = port.GetPausedPs(counters.time);
    }
    return counters;
}

void
TrafficStatistics::OnFrom()
{
    m_ports->SetFrom(Look());
}

void
TrafficStatistics::OnUntil()
{
    m_ports->SetUntil(Look());
}

void
TrafficStatistics::OnQueueTimer(int64_t now)
{
    const int64_t interval = m_measuring.queueInterval.ps;
    uint64_t frames = 0;
    m_ports->BeginLook(now);
    for (const auto& [i, port] : m_queues)
    {
        m_ports->Add(i, port->GetQueuedBytes());
        frames += port->GetCounters().txFrames;
    }
    m_ports->EndLook();
    if (frames != m_lastFrames)
    {
        m_lastFrames = frames;
        m_quietSince = now;
    }
    if (now - m_quietSince < std::max(QUIET_PS, 2 * interval))
    {
        m_queueTimer->Arm();
    }
}

void
TrafficStatistics::OnRateTimer(int64_t now)
{
    const int64_t interval = m_measuring.rateInterval.ps;
    m_idleIntervals = m_rates->EndInterval(now) ? 0 : m_idleIntervals + 1;
    if (!m_rates->IsEmpty() && m_idleIntervals * interval < std::max(QUIET_PS, 2 * interval))
    {
        m_rateTimer->Arm();
    }
}

// Afterwards -------------------------------------------------------------------------------------

void
TrafficStatistics::Finish(int64_t now)
{
    const Ranks& ranks = Ranks::OfHosts();
    m_ended = now;
    m_slowdowns.Finish([&ranks](auto completed) { return ranks.GatherAll(std::move(completed)); });
    if (m_ports)
    {
        PortUse::Counters end = Look();
        end.time = now;
        const Ranks& all = Ranks::Get();
        if (all.Several())
        {
            m_ports->MergeRanks(
                end,
                [&all](int64_t number) { return all.Max(number); },
                [&all](const std::string& text) { return all.Gather(text); });
        }
        m_ports->Finish(std::move(end), [this](uint32_t p, int64_t from, int64_t until) {
            // With several ranks no port changes its rate: there are no faults then.
            const ns3::RdmaPort* port = m_fabric.GetPortOfEnd(p);
            return port ? port->GetMeanRate(from, until)
                        : static_cast<double>(m_fabric.GetLink(p).rateBps);
        });
    }
    if (m_rates)
    {
        m_rates->Close();
    }
    if (!m_out.empty() && ranks.IsFirst())
    {
        m_slowdowns.Write(m_out + "/slowdown.csv");
        if (m_ports)
        {
            m_ports->Write(m_out + "/queues.csv");
        }
    }
}

std::optional<double>
TrafficStatistics::GetSentShare() const
{
    const double share = m_ports ? m_ports->GetUtilization(PortUse::HOST_TO_SWITCH) : 0;
    return IsMeasured() && share > 0 ? std::optional<double>(share) : std::nullopt;
}

void
TrafficStatistics::AddTo(nlohmann::ordered_json& stats) const
{
    // Null, as all of the measured part (AddRunStats), where there is none.
    const bool measured = IsMeasured();
    m_slowdowns.AddTo(stats, measured);
    if (m_ports)
    {
        m_ports->AddTo(stats, measured);
    }
    if (m_rates)
    {
        m_rates->AddTo(stats, measured);
    }
}

void
TrafficStatistics::Print(std::ostream& os) const
{
    if (!IsMeasured())
    {
        return;
    }
    m_slowdowns.Print(os);
    if (m_ports)
    {
        m_ports->Print(os);
    }
    if (m_rates)
    {
        m_rates->Print(os);
    }
}

} // namespace dltrain
