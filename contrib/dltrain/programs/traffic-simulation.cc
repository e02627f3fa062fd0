/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "traffic-simulation.h"

#include "contrib/dltrain/ranks/ranks.h"
#include "contrib/dltrain/transports/flow-transport.h"
#include "contrib/dltrain/transports/network-transport.h"
#include "dry-run.h"
#include "reports/base/human-text.h"
#include "reports/stats/loss-counts.h"
#include "reports/stats/run-summary.h"
#include "scenarios/network/network-kinds.h"

#include "ns3/node-windows.h"

#include <algorithm>
#include <iostream>
#include <utility>

namespace dltrain
{

using ns3::NodeWindows;

namespace
{

/// "1 switch", "12,345 switches".
std::string
HumanCounted(uint64_t n, const std::string& what, const std::string& plural = "s")
{
    return reports::HumanCount(n) + " " + what + (n == 1 ? "" : plural);
}

double
LastArrivalUs(const FlowCounts& counts)
{
    return static_cast<double>(counts.lastArrival) / 1e6;
}

double
FirstStartUs(const scenario::TrafficScenario& scenario)
{
    return static_cast<double>(scenario.flows.front().start.ps) / 1e6;
}

/// \return over the time from the first flow's start to the last one's arrival
double
GoodputGbps(const scenario::TrafficScenario& scenario, const FlowCounts& counts)
{
    const double us = LastArrivalUs(counts) - FirstStartUs(scenario);
    return us > 0 ? static_cast<double>(counts.arrivedBytes) * 8e-3 / us : 0;
}

} // namespace

TrafficSimulation::TrafficSimulation(const scenario::TrafficScenario& scenario)
    : m_scenario(scenario),
      m_run("traffic",
            scenario.run,
            scenario.fabric,
            {scenario.topology, scenario.topologyName},
            {scenario.measuring.begin.ps > 0, scenario.completionAtSender}),
      m_measuringTimer(this)
{
}

TrafficSimulation::~TrafficSimulation() = default;

// Set-up -----------------------------------------------------------------------------------------

int
TrafficSimulation::Run()
{
    SetLosslessPriorities(m_scenario);
    return m_run.Run(*this);
}

bool
TrafficSimulation::TellsByNotes() const
{
    return Ranks::Get().Several() && m_scenario.run.engine != "windows";
}

void
TrafficSimulation::Listen()
{
    const scenario::Measuring& measuring = m_scenario.measuring;
    if (measuring.begin.ps > 0 && Ranks::HasHosts())
    {
        // The first event of its time: before a flow that starts then.
        m_measuringTimer.ScheduleAt(measuring.begin.ps, ns3::RdmaEventOrder::BEFORE);
    }
    m_statistics = std::make_unique<TrafficStatistics>(m_run.Fabric(),
                                                       m_scenario.topology,
                                                       measuring,
                                                       m_scenario.flows,
                                                       m_run.Collector().GetEndpointNames(),
                                                       m_run.Collector().GetPortNames(),
                                                       m_scenario.run.out);
    m_run.Collector().ListenToArrivals(
        [this] { m_statistics->OnFramesCome(ns3::RdmaClock::Now()); });
}

std::string
TrafficSimulation::Populate()
{
    MakeFlows();
    m_completions = std::make_unique<CompletionFile>(m_scenario, m_run.Fabric());
    if (m_scenario.stopAfter.ps > 0)
    {
        m_run.Control().EndAt(m_scenario.stopAfter.ps);
    }
    return {};
}

void
TrafficSimulation::MakeFlows()
{
    ns3::RdmaFabric& fabric = m_run.Fabric();
    m_places = std::make_unique<Places>(fabric);
    m_transport = MakeFlowTransport(m_scenario.fabric.network,
                                    m_scenario.run.protocol,
                                    m_run.Stack(),
                                    {fabric, m_run.Collector(), *m_places});
    m_packets = dynamic_cast<NetworkTransport*>(m_transport.get());
    uint64_t toHere = 0;
    for (const scenario::Flow& flow : m_scenario.flows)
    {
        if (m_scenario.measuring.Covers(flow.start))
        {
            ++m_measured;
            m_measuredBytes += flow.bytes;
        }
        toHere += fabric.IsLocal(flow.dst) ? flow.bytes : 0;
        m_totalBytes += std::min(flow.bytes, UINT64_MAX - m_totalBytes); // 10^15 B each, many flows
    }
    m_run.Control().SetPortion(static_cast<double>(toHere) /
                               static_cast<double>(std::max<uint64_t>(1, m_totalBytes)));
    FlowJob job{m_scenario.flows,
                m_scenario.measuring,
                m_scenario.operation,
                m_scenario.queuePairs};
    job.outstanding = m_scenario.outstanding;
    fabric.GetConnections().SetRest(m_scenario.queuePairRest.ps);
    m_began.resize(m_scenario.outstanding ? m_scenario.flows.size() : 0);
    m_runner = std::make_unique<FlowRunner>(
        job,
        *m_transport,
        *m_places,
        *this,
        [this](const std::string& tag) { return m_run.Collector().Tag(tag); });
    const bool byNotes = TellsByNotes();
    m_runner->SetDecider([this, byNotes](auto what) {
        if (byNotes)
        {
            what(); // for this rank's hosts; all ranks together decide the rest
        }
        else
        {
            m_run.Decide(std::move(what));
        }
    });
    m_runner->Start();
    if (Ranks::OfHosts().Several() && !m_runner->HasWork())
    {
        // None of the flows is this rank's.
        if (byNotes)
        {
            ns3::Simulator::ScheduleWithContext(ns3::Simulator::NO_CONTEXT, ns3::Time(0), [this] {
                OnFlowsDone();
            });
        }
        else
        {
            OnFlowsDone();
        }
    }
}

void
TrafficSimulation::OnMeasuringStarts()
{
    m_run.StartMeasuring(ns3::RdmaClock::Now());
}

// While it runs ----------------------------------------------------------------------------------

double
TrafficSimulation::GetShareDone() const
{
    // A channel that is closed counts nothing any more.
    const uint64_t received = m_scenario.queuePairs == scenario::QueuePairUse::kReused
                                  ? m_runner->GetCounts().arrivedBytes
                                  : m_transport->GetBytesArrived();
    return static_cast<double>(received) / static_cast<double>(std::max<uint64_t>(1, m_totalBytes));
}

void
TrafficSimulation::OnFlowBegin(uint32_t flow, ChannelId channel, int64_t now)
{
    if (!m_began.empty())
    {
        m_began[flow] = now;
    }
    NodeWindows::NoteCall([this, flow, arrivals = ArrivalsOf(flow, channel), now]() mutable {
        m_statistics->OnPosted(flow, std::move(arrivals), now);
    });
}

std::function<uint64_t()>
TrafficSimulation::ArrivalsOf(uint32_t flow, ChannelId channel) const
{
    if (!m_packets || m_scenario.measuring.rateInterval.ps == 0)
    {
        return {};
    }
    const uint64_t most = m_scenario.flows[flow].bytes;
    if (m_scenario.operation == scenario::FlowOperation::kRead)
    {
        return [this, channel, most] {
            return std::min(most, m_packets->GetSender(channel)->GetBytesRead());
        };
    }
    // Those of the flows before it on this channel come first. Its other end is there when the
    // first packet is, so it is asked for each time.
    const uint64_t before = m_packets->GetSender(channel)->GetBytesPosted();
    return [this, channel, most, before]() -> uint64_t {
        const ns3::RdmaQueuePair* receiver = m_packets->GetReceiver(channel);
        const uint64_t received = receiver ? receiver->GetBytesReceived() : 0;
        return std::min(most, received > before ? received - before : 0);
    };
}

uint16_t
TrafficSimulation::SourcePortOf(ChannelId channel) const
{
    return m_packets && m_completions->IsWanted() ? m_packets->GetSourcePort(channel) : 0;
}

void
TrafficSimulation::OnFlowArrived(uint32_t flow, ChannelId channel, int64_t now)
{
    NodeWindows::Note<&TrafficSimulation::Tell>(
        this,
        FlowNews{flow, SourcePortOf(channel), !m_scenario.completionAtSender, true, false, now});
}

void
TrafficSimulation::OnFlowEnded(uint32_t flow, ChannelId channel, bool failed, int64_t now)
{
    const bool complete = !failed && m_scenario.completionAtSender;
    if (failed || complete)
    {
        NodeWindows::Note<&TrafficSimulation::Tell>(
            this,
            FlowNews{flow, SourcePortOf(channel), complete, failed, failed, now});
    }
}

void
TrafficSimulation::Tell(const FlowNews& news)
{
    const scenario::Flow& of = m_scenario.flows[news.flow];
    if (news.complete && m_scenario.measuring.Covers(of.start))
    {
        const auto ideal = m_transport->IdealOf(of.src, of.dst, of.bytes);
        m_statistics->OnComplete(news.flow,
                                 news.time - (m_began.empty() ? of.start.ps : m_began[news.flow]),
                                 ideal ? *ideal
                                       : IdealCompletionPs(m_scenario, m_run.Fabric(), of));
    }
    if (news.complete && m_completions->IsWanted())
    {
        m_completions->Write(news.flow, news.sourcePort, news.time);
    }
    if (news.gone)
    {
        m_statistics->OnGone(news.flow, news.failed);
    }
}

void
TrafficSimulation::OnFlowsDone()
{
    if (TellsByNotes())
    {
        // As FabricRun::Decide has it.
        m_run.Control().EndWithOthers(m_run.Fabric().GetDecisionDelay());
        return;
    }
    m_run.End();
}

void
TrafficSimulation::MergeRanks()
{
    const Ranks& ranks = Ranks::OfHosts();
    FlowCounts counts = m_runner->GetCounts();
    for (uint64_t* sum : {&counts.posted,
                          &counts.postedBytes,
                          &counts.arrived,
                          &counts.arrivedBytes,
                          &counts.ended,
                          &counts.failed,
                          &counts.measuredArrived,
                          &counts.measuredEnded})
    {
        *sum = ranks.Sum(*sum);
    }
    counts.lastArrival = ranks.Max(counts.lastArrival);
    counts.lastEnd = ranks.Max(counts.lastEnd);
    m_merged = counts;
    m_queuePairs = ranks.Sum(m_packets ? m_packets->GetQueuePairs() : 0);
}

FlowCounts
TrafficSimulation::GetCounts() const
{
    return m_merged ? *m_merged : m_runner->GetCounts();
}

bool
TrafficSimulation::IsDone() const
{
    const FlowCounts counts = GetCounts();
    const int64_t stopAfter = m_scenario.stopAfter.ps;
    const bool all = counts.measuredEnded == m_measured;
    return counts.failed == 0 && (all || (stopAfter > 0 && ns3::RdmaClock::Now() >= stopAfter));
}

std::string
TrafficSimulation::DescribeUnfinished() const
{
    const FlowCounts counts = GetCounts();
    const uint64_t missing = m_scenario.flows.size() - counts.arrived;
    if (missing == 0 && counts.failed > 0)
    {
        return "all flows arrived, but the senders of " + reports::HumanCount(counts.failed) +
               " of them had given up";
    }
    return reports::HumanCount(missing) + " of " + HumanCounted(m_scenario.flows.size(), "flow") +
           " did not arrive";
}

// Before and afterwards --------------------------------------------------------------------------

void
TrafficSimulation::OnBegin()
{
    if (!Ranks::Get().IsFirst())
    {
        return;
    }
    const topo::Topology& topology = m_scenario.topology;
    const scenario::ProtocolSpec& protocol = m_scenario.run.protocol;
    std::cout << "Network          " << m_scenario.topologyName << ": "
              << HumanCounted(topology.Hosts().size(), "host") << ", "
              << HumanCounted(topology.SwitchCount(), "switch", "es") << ", "
              << HumanCounted(topology.Links().size(), "link") << "; "
              << (protocol.IsTcp()   ? "congestion control " + protocol.control
                  : protocol.IsUdp() ? "no congestion control"
                                     : scenario::NetworkText(m_scenario.fabric))
              << "; set up in " << reports::HumanTime(m_run.GetSetUpS() * 1e6) << "\n"
              << "Traffic          " << m_scenario.pattern
              << (protocol.IsOrdinary() ? " by " + protocol.Text() : "") << ": "
              << HumanCounted(m_scenario.flows.size(), "flow") << ", "
              << reports::HumanBytes(static_cast<double>(m_totalBytes));
    if (Ranks::Get().Several())
    {
        std::cout << "; " << Ranks::Get().Size() << " processes";
    }
    std::cout << std::endl;
}

void
TrafficSimulation::OnEnd(reports::RunOutcome& outcome)
{
    const FlowCounts counts = Ranks::HasHosts() ? GetCounts() : FlowCounts();
    if (TellsByNotes() && counts.ended == m_scenario.flows.size())
    {
        // Where one process stops.
        const int64_t stopAfter = m_scenario.stopAfter.ps;
        outcome.simulatedPs = counts.lastEnd + m_run.Fabric().GetDecisionDelay();
        outcome.simulatedPs =
            stopAfter > 0 ? std::min(stopAfter, outcome.simulatedPs) : outcome.simulatedPs;
    }
    if (m_completions)
    {
        m_completions->Close();
    }
    m_statistics->Finish(outcome.simulatedPs);
}

TrafficSimulation::OfferedLoad
TrafficSimulation::GetOfferedLoad() const
{
    double capacity = 0; // bytes
    for (const topo::Endpoint& endpoint : m_scenario.topology.Endpoints())
    {
        const topo::Node& host = m_scenario.topology.Nodes()[endpoint.host];
        capacity +=
            static_cast<double>(m_scenario.topology.Links()[host.ports[endpoint.port]].rate.bps) /
            8;
    }
    const scenario::Measuring& measuring = m_scenario.measuring;
    capacity *= static_cast<double>(measuring.until.ps - measuring.from.ps) / 1e12;
    const rdma::FrameSizes& frames = m_scenario.fabric.frames;
    const uint64_t mtu = m_scenario.fabric.mtu;
    const uint64_t header =
        frames.DataWire(rdma::RoceOpcode::kWriteMiddle, m_scenario.fabric.mtu) - mtu;
    double wire = static_cast<double>(m_measuredBytes);
    for (const scenario::Flow& flow : m_scenario.flows)
    {
        if (measuring.Covers(flow.start))
        {
            wire += static_cast<double>((flow.bytes + mtu - 1) / mtu * header + frames.rethBytes);
        }
    }
    return {static_cast<double>(m_measuredBytes) / capacity, wire / capacity};
}

struct TrafficSimulation::Told
{
    const TrafficSimulation& of;
    FlowCounts counts;

    const scenario::TrafficScenario& Scenario() const
    {
        return of.m_scenario;
    }

    static const Told& Itself(const Told& t)
    {
        return t;
    }
};

const reports::Object<TrafficSimulation::Told>&
TrafficSimulation::Keys()
{
    using T = Told;
    using reports::Key;
    using reports::Object;
    static const Object<T> topology{
        {"name: Family and size", [](const T& t) { return t.Scenario().topologyName; }},
        {"hosts (count): Hosts", [](const T& t) { return t.Scenario().topology.Hosts().size(); }},
        {"switches (count): Switches",
         [](const T& t) { return t.Scenario().topology.SwitchCount(); }},
        {"links (count): Links, both directions as one",
         [](const T& t) { return t.Scenario().topology.Links().size(); }}};
    static const Object<T> flows{
        {"all (count): Flows", [](const T& t) { return t.Scenario().flows.size(); }},
        {"posted (count): Started", [](const T& t) { return t.counts.posted; }},
        {"arrived (count): Arrived in full", [](const T& t) { return t.counts.arrived; }},
        {"failed (count): Given up; the data of a failed request may have arrived",
         [](const T& t) { return t.counts.failed; }},
        {"measured (count): Flows that statistics are of: those that start after the warm-up and "
         "before the end of the duration",
         [](const T& t) { return t.of.m_measured; }},
        {"measured_arrived (count): Of these: arrived",
         [](const T& t) { return t.counts.measuredArrived; }},
        {"first_start_us (us): Start of the first",
         [](const T& t) { return FirstStartUs(t.Scenario()); }},
        {"last_arrival_us (us): Arrival of the last",
         [](const T& t) { return LastArrivalUs(t.counts); }},
        {"goodput_gbps (Gb/s): Payload that arrived over the time from the first start to the last "
         "arrival, all flows",
         [](const T& t) { return GoodputGbps(t.Scenario(), t.counts); }}};
    static const reports::JoinedKeys flowWords({&flows, &reports::LossWords()});
    static const Object<T> offered{
        {"asked (0 to 1): Load asked for, of each host's links",
         [](const T& t) { return t.Scenario().offered.load; }},
        {"incast_asked (0 to 1): Load of incasts asked for, beside the other",
         [](const T& t) { return t.Scenario().offered.incastLoad; }},
        {"of: Bytes that the load counts: payload or wire",
         [](const T& t) { return t.Scenario().offered.wire ? "wire" : "payload"; }},
        {"payload (0 to 1): Load of the flows' bytes, as it came out",
         [](const T& t) { return t.of.GetOfferedLoad().payload; }},
        {"wire (0 to 1): The same with headers, preambles and gaps",
         [](const T& t) { return t.of.GetOfferedLoad().wire; }},
        {"mean_flow_bytes (B): Mean of the distribution of flow sizes",
         [](const T& t) { return t.Scenario().offered.meanFlowBytes; }}};
    static const Object<T> keys{
        {"topology: The network", T::Itself, topology},
        {"pattern: Who sends to whom", [](const T& t) { return t.Scenario().pattern; }},
        {"flows: Flows of the run",
         [](const T& t) {
             reports::Json json = flows.ToJson(t);
             if (t.of.m_transport)
             {
                 AddLosses(*t.of.m_transport, json);
             }
             return json;
         },
         static_cast<const reports::Shape&>(flowWords)},
        Key<T>("offered_load: Traffic from a load: what measured flows are of the rates of all "
               "hosts' links",
               T::Itself,
               offered)
            .Only([](const T& t) { return t.Scenario().offered.load > 0; }),
        Key<T>("queue_pairs (count): Queue pairs made, both ends; reused ones count once",
               [](const T& t) {
                   return t.of.m_merged ? t.of.m_queuePairs : t.of.m_packets->GetQueuePairs();
               })
            .Only([](const T& t) { return static_cast<bool>(t.of.m_packets); })};
    return keys;
}

const reports::RegisteredKeys TrafficSimulation::g_keys(reports::Section::kTraffic,
                                                        TrafficSimulation::Keys());

nlohmann::ordered_json
TrafficSimulation::GetStatistics() const
{
    return Keys().ToJson({*this, GetCounts()});
}

nlohmann::ordered_json
TrafficSimulation::GetMoreStatistics() const
{
    nlohmann::ordered_json j;
    m_statistics->AddTo(j);
    return j;
}

void
TrafficSimulation::PrintSummary(std::ostream& os, const reports::RunStats& network) const
{
    const FlowCounts counts = GetCounts();
    os << "Flows            " << reports::HumanCount(counts.arrived) << " of "
       << reports::HumanCount(m_scenario.flows.size()) << " arrived";
    if (counts.arrived)
    {
        os << ", the last after "
           << reports::HumanTime(LastArrivalUs(counts) - FirstStartUs(m_scenario)) << "; "
           << reports::HumanRate(GoodputGbps(m_scenario, counts)) << " together";
    }
    os << (m_transport ? LossesText(*m_transport) : "") << "\n";
    if (m_scenario.offered.load > 0)
    {
        const OfferedLoad offered = GetOfferedLoad();
        const auto percent = [](double share) { return reports::Format("%.3g%%", 100 * share); };
        const double incasts = m_scenario.offered.incastLoad;
        os << "Load             " << percent(m_scenario.offered.load)
           << (incasts > 0 ? " and incasts of " + percent(incasts) : "")
           << " of the hosts' rates asked, "
           << percent(m_scenario.offered.wire ? offered.wire : offered.payload)
           << " in the flows that were drawn";
        if (const auto sent = m_statistics->GetSentShare())
        {
            os << "\n                 " << percent(*sent)
               << " sent while they start, headers and ACKs included";
        }
        os << "\n";
    }
    if (m_measured != m_scenario.flows.size())
    {
        const scenario::Measuring& measuring = m_scenario.measuring;
        os << "Measured flows   " << reports::HumanCount(counts.measuredArrived) << " of "
           << reports::HumanCount(m_measured) << " arrived, those that start from "
           << reports::HumanTime(static_cast<double>(measuring.from.ps) / 1e6) << " on";
        if (measuring.until.ps > 0)
        {
            // The length, not the end: of a short time after a long one both ends look the same.
            os << ", for "
               << reports::HumanTime(static_cast<double>(measuring.until.ps - measuring.from.ps) /
                                     1e6);
        }
        os << "\n";
    }
    reports::PrintLuckOfWays(os, network);
    reports::PrintRunStats(os, network);
    m_statistics->Print(os);
}

std::string
TrafficSimulation::GetFiles() const
{
    return std::string(m_completions->IsWanted() ? ", fct.txt" : "") + ", slowdown.csv" +
           (m_scenario.measuring.queueInterval.ps > 0 ? ", queues.csv" : "") +
           (m_scenario.measuring.rateInterval.ps > 0 ? ", fairness.csv" : "");
}

} // namespace dltrain
