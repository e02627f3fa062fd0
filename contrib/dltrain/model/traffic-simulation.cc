/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "traffic-simulation.h"

#include "contrib/rdma/core/set-up-phase.h"
#include "dry-run.h"
#include "network-transport.h"
#include "program.h"
#include "ranks.h"
#include "results/human-text.h"
#include "results/message-id.h"
#include "results/run-summary.h"
#include "scenarios/spec/network-kinds.h"
#include "scenarios/traffic/hpcc-times.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>
#include <tuple>
#include <utility>

namespace dltrain
{

namespace
{

/// "1 switch", "12,345 switches".
std::string
Counted(uint64_t n, const std::string& what, const std::string& plural = "s")
{
    return results::HumanCount(n) + " " + what + (n == 1 ? "" : plural);
}

} // namespace

/// The application of one endpoint: posts its flows in order of start, with one pending event.
class TrafficSimulation::Host
{
  public:
    Host(TrafficSimulation& simulation, uint32_t context)
        : m_simulation(simulation),
          m_context(context),
          m_timer(this)
    {
    }

    /// \param channel NO_CHANNEL: it gets one when it begins
    void Add(uint32_t flow, ChannelId channel)
    {
        m_flows.push_back({flow, channel});
    }

    void Start()
    {
        ScheduleNext();
    }

  private:
    struct Entry
    {
        uint32_t flow;
        ChannelId channel;
    };

    int64_t StartOf(const Entry& entry) const
    {
        return m_simulation.m_scenario.flows[entry.flow].start.ps;
    }

    void ScheduleNext()
    {
        if (m_next < m_flows.size())
        {
            m_timer.ScheduleAt(StartOf(m_flows[m_next]), m_context);
        }
    }

    void OnTimer()
    {
        const int64_t now = ns3::RdmaClock::Now();
        for (; m_next < m_flows.size() && StartOf(m_flows[m_next]) <= now; ++m_next)
        {
            m_simulation.Begin(m_flows[m_next].flow, m_flows[m_next].channel, now);
        }
        ScheduleNext();
    }

    TrafficSimulation& m_simulation;
    uint32_t m_context;
    std::vector<Entry> m_flows;
    std::size_t m_next{0};
    ns3::RdmaTimer<Host, &Host::OnTimer> m_timer;
};

TrafficSimulation::TrafficSimulation(const scenario::TrafficScenario& scenario)
    : m_scenario(scenario),
      m_run("traffic",
            scenario.run,
            scenario.fabric,
            {scenario.topology, scenario.topologyName},
            {scenario.measuring.from.ps > 0, scenario.completionAtSender}),
      m_measuringTimer(this)
{
}

TrafficSimulation::~TrafficSimulation() = default;

// Set-up -----------------------------------------------------------------------------------------

int
TrafficSimulation::Run()
{
    const std::string error = Refused();
    if (!error.empty())
    {
        const bool speaks = Ranks::Get().IsFirst();
        return speaks ? SayError("traffic", error, &m_scenario.run) : 2;
    }
    SetLosslessPriorities(m_scenario);
    return m_run.Run(*this);
}

std::string
TrafficSimulation::Refused() const
{
    const scenario::Measuring& measuring = m_scenario.measuring;
    const bool allMeasured =
        std::all_of(m_scenario.flows.begin(), m_scenario.flows.end(), [&](const auto& flow) {
            return measuring.Covers(flow.start);
        });
    if (Ranks::Get().Several() &&
        (m_scenario.queuePairs == scenario::QueuePairUse::kReused || !allMeasured ||
         measuring.from.ps > 0 || measuring.queueInterval.ps > 0 || measuring.rateInterval.ps > 0))
    {
        return "several processes (mpirun) measure all flows and look at no queues; allowed: "
               "--queue-pairs=per-flow or per-pair, --warm-up=0, --cool-down=0, "
               "--queue-interval=0, "
               "--rate-interval=0";
    }
    return {};
}

void
TrafficSimulation::Listen()
{
    const scenario::Measuring& measuring = m_scenario.measuring;
    if (measuring.from.ps > 0)
    {
        // The first event of its time: before a flow that starts then.
        m_measuringTimer.ScheduleAt(measuring.from.ps, 0);
    }
    m_statistics = std::make_unique<TrafficStatistics>(m_run.Fabric(),
                                                       m_scenario.topology,
                                                       measuring,
                                                       m_scenario.flows,
                                                       m_run.Collector().GetEndpointNames(),
                                                       m_run.Collector().GetPortNames(),
                                                       m_scenario.run.out);
}

std::string
TrafficSimulation::Populate()
{
    MakeFlows();
    OpenCompletionTimes();
    if (m_scenario.stopAfter.ps > 0)
    {
        m_run.Control().EndAt(m_scenario.stopAfter.ps);
    }
    return {};
}

void
TrafficSimulation::MakeFlows()
{
    const rdma::SetUpPhase phase("making queue pairs", m_scenario.flows.size());
    const ns3::RdmaFabric& fabric = m_run.Fabric();
    m_places = std::make_unique<Places>(fabric);
    m_transport = NetworkKind::Make(m_scenario.fabric.network,
                                    {m_run.Fabric(), m_run.Collector(), *m_places});
    m_packets = dynamic_cast<NetworkTransport*>(m_transport.get());
    for (uint32_t e = 0; e < fabric.GetNEndpoints(); ++e)
    {
        m_hosts.push_back(fabric.IsLocal(e) ? std::make_unique<Host>(*this, m_places->ContextOf(e))
                                            : nullptr);
    }
    uint64_t toHere = 0;
    const bool read = GetOperation() == ns3::RdmaOperation::READ;
    const scenario::QueuePairUse use = m_scenario.queuePairs;

    struct Pair
    {
        ChannelId channel;
        uint32_t lastFlow;
    };

    std::map<std::tuple<uint32_t, uint32_t, uint8_t>, Pair> pairs;
    if (use == scenario::QueuePairUse::kPerPair)
    {
        m_nextOfPair.resize(m_scenario.flows.size());
        m_arriving.resize(m_scenario.flows.size());
    }
    for (uint32_t i = 0; i < m_scenario.flows.size(); ++i)
    {
        phase.Done(i);
        const scenario::Flow& flow = m_scenario.flows[i];
        if (m_scenario.measuring.Covers(flow.start))
        {
            ++m_measured;
            m_measuredBytes += flow.bytes;
        }
        const bool isHere = fabric.IsLocal(read ? flow.dst : flow.src);
        ChannelId channel = NO_CHANNEL;
        if (use == scenario::QueuePairUse::kPerPair)
        {
            const auto [pair, isNew] =
                pairs.emplace(std::make_tuple(flow.src, flow.dst, flow.priority), Pair{0, i});
            if (isNew)
            {
                pair->second.channel = isHere ? Open(i) : NO_CHANNEL;
                m_arriving[i] = i;
            }
            else
            {
                m_nextOfPair[std::exchange(pair->second.lastFlow, i)] = i;
            }
            channel = pair->second.channel;
        }
        else if (use != scenario::QueuePairUse::kReused)
        {
            channel = isHere ? Open(i) : NO_CHANNEL;
        }
        toHere += fabric.IsLocal(flow.dst) ? flow.bytes : 0;
        if (const auto& poster = m_hosts[read ? flow.dst : flow.src])
        {
            poster->Add(i, channel);
        }
        if (!isHere)
        {
            m_transport->Expect(NameOf(i), *this, i, PostOf(i), flow.start.ps);
        }
        const bool known = m_packets && channel != NO_CHANNEL;
        m_sourcePorts.push_back(known ? m_packets->GetSourcePort(channel) : 0);
        m_totalBytes += flow.bytes;
    }
    m_run.Control().SetPortion(static_cast<double>(toHere) /
                               static_cast<double>(std::max<uint64_t>(1, m_totalBytes)));
    for (const auto& host : m_hosts)
    {
        if (host)
        {
            host->Start();
        }
    }
}

ChannelName
TrafficSimulation::NameOf(uint32_t index) const
{
    const scenario::Flow& flow = m_scenario.flows[index];
    const bool read = GetOperation() == ns3::RdmaOperation::READ;
    ChannelName name;
    name.from = read ? flow.dst : flow.src;
    name.to = read ? flow.src : flow.dst;
    name.lane = m_scenario.queuePairs == scenario::QueuePairUse::kPerPair ? 0 : index;
    name.priority = flow.priority;
    return name;
}

ChannelId
TrafficSimulation::Open(uint32_t index)
{
    return m_transport->Open(NameOf(index), *this, index);
}

TransportPost
TrafficSimulation::PostOf(uint32_t index)
{
    const scenario::Flow& flow = m_scenario.flows[index];
    const bool measured = m_scenario.measuring.Covers(flow.start);
    TransportPost post;
    post.id = results::MessageId::Of(m_run.Collector().Tag(flow.tag) |
                                         (measured ? 0 : results::MessageId::WARMUP),
                                     index);
    post.operation = GetOperation();
    post.bytes = flow.bytes;
    return post;
}

void
TrafficSimulation::Begin(uint32_t index, ChannelId channel, int64_t now)
{
    if (channel == NO_CHANNEL)
    {
        channel = Open(index);
        if (m_packets && m_sourcePorts[index] == 0) // else the flow file's reader has its own
        {
            m_sourcePorts[index] = m_packets->GetSourcePort(channel);
        }
    }
    ++m_posted;
    if (!Ranks::Get().Several())
    {
        const bool read = GetOperation() == ns3::RdmaOperation::READ;
        m_statistics->OnPosted(index,
                               !m_packets ? nullptr
                               : read     ? m_packets->GetSender(channel)
                                          : m_packets->GetReceiver(channel),
                               read,
                               read || !m_packets ? 0
                                                  : m_packets->GetSender(channel)->GetBytesPosted(),
                               now);
    }
    m_transport->Post(channel, PostOf(index));
}

void
TrafficSimulation::OnMeasuringStarts()
{
    m_run.Collector().StartMeasuring(ns3::RdmaClock::Now());
}

/// HPCC's own result file, for its analysis scripts, which look for the flow file's destination
/// port. To be compatible a flow's source port is that code's: a host counts its flows from 10000.
void
TrafficSimulation::OpenCompletionTimes()
{
    const nlohmann::json& asRun = m_scenario.run.asRun;
    const nlohmann::json::json_pointer path("/traffic/flows");
    const bool first = Ranks::Get().IsFirst();
    if ((first && m_scenario.run.out.empty()) || !asRun.contains(path) || !asRun[path].is_string())
    {
        return;
    }
    m_writeCompletionTimes = true;
    if (first)
    {
        m_completionTimes.Open(m_scenario.run.out + "/fct.txt");
    }
    std::vector<uint16_t> next(m_scenario.topology.Nodes().size(), 10000);
    for (std::size_t i = 0; i < m_scenario.flows.size(); ++i)
    {
        const uint32_t host = m_scenario.topology.Endpoints()[m_scenario.flows[i].src].host;
        m_sourcePorts[i] = m_scenario.fabric.compat == "hpcc" ? next[host]++ : m_sourcePorts[i];
    }
}

// While it runs ----------------------------------------------------------------------------------

double
TrafficSimulation::GetShareDone() const
{
    // A channel that is closed counts nothing any more.
    const uint64_t received = m_scenario.queuePairs == scenario::QueuePairUse::kReused
                                  ? m_deliveredBytes
                                  : m_transport->GetBytesArrived();
    return static_cast<double>(received) / static_cast<double>(std::max<uint64_t>(1, m_totalBytes));
}

void
TrafficSimulation::OnDelivered(const Delivery& delivery, int64_t now)
{
    auto flow = static_cast<uint32_t>(delivery.cookie);
    if (!m_arriving.empty())
    {
        // They come in the order of their posts.
        uint32_t& arriving = m_arriving[flow];
        flow = std::exchange(arriving, m_nextOfPair[arriving]);
    }
    OnArrived(flow, now);
}

void
TrafficSimulation::OnArrived(uint32_t flow, int64_t now)
{
    const scenario::Flow& of = m_scenario.flows[flow];
    ++m_arrived;
    m_deliveredBytes += of.bytes;
    m_lastArrival = now;
    if (m_scenario.measuring.Covers(of.start))
    {
        ++m_measuredArrived;
        if (!m_scenario.completionAtSender)
        {
            m_statistics->OnComplete(flow, now - of.start.ps, GetIdealPs(of));
        }
    }
    m_statistics->OnGone(flow, false);
    if (m_writeCompletionTimes && !m_scenario.completionAtSender)
    {
        WriteCompletionTime(flow, now);
    }
}

ns3::RdmaOperation
TrafficSimulation::GetOperation() const
{
    switch (m_scenario.operation)
    {
    case scenario::FlowOperation::kSend:
        return ns3::RdmaOperation::SEND;
    case scenario::FlowOperation::kRead:
        return ns3::RdmaOperation::READ;
    default:
        return ns3::RdmaOperation::WRITE;
    }
}

int64_t
TrafficSimulation::GetIdealPs(const scenario::Flow& flow) const
{
    const bool read = GetOperation() == ns3::RdmaOperation::READ;
    return m_run.Fabric().GetIdealCompletion(read ? flow.dst : flow.src,
                                             read ? flow.src : flow.dst,
                                             flow.bytes,
                                             false,
                                             GetOperation(),
                                             m_scenario.completionAtSender);
}

/// \param now when the flow is complete. The last column: the time alone, exactly; where completion
/// is HPCC's own, as that code estimates it.
void
TrafficSimulation::WriteCompletionTime(uint32_t index, int64_t now)
{
    const bool atSender = m_scenario.completionAtSender;
    const scenario::FabricSpec& fabric = m_scenario.fabric;
    const scenario::Flow& flow = m_scenario.flows[index];
    const auto address = [this](uint32_t endpoint) {
        const uint32_t node = m_scenario.topology.Endpoints()[endpoint].host;
        return 0x0b000001U + (node / 256 << 16) + (node % 256 << 8);
    };
    const auto ns = [](int64_t ps) { return static_cast<long long>((ps + 500) / 1000); };
    const long long alone = fabric.compat == "hpcc" && atSender
                                ? static_cast<long long>(scenario::HpccStandaloneNs(
                                      m_run.Fabric().GetPath(flow.src, flow.dst),
                                      flow.bytes,
                                      fabric.mtu))
                                : ns(GetIdealPs(flow));
    const bool atSource = atSender && GetOperation() != ns3::RdmaOperation::READ;
    CompletionLine line{now, atSource ? flow.src : flow.dst, {}};
    std::snprintf(line.text,
                  sizeof(line.text),
                  "%08x %08x %u %u %llu %lld %lld %lld",
                  address(flow.src),
                  address(flow.dst),
                  m_sourcePorts[index],
                  flow.dport,
                  static_cast<unsigned long long>(flow.bytes),
                  ns(flow.start.ps),
                  ns(now - flow.start.ps),
                  alone);
    if (Ranks::Get().Several())
    {
        m_completionLines.push_back(line);
        return;
    }
    m_completionTimes.Write(line.text);
}

void
TrafficSimulation::CloseCompletionTimes()
{
    // In the order of one process: see TraceCollector::Finish.
    std::vector<CompletionLine> lines = Ranks::Get().GatherAll(m_completionLines);
    std::sort(lines.begin(), lines.end(), [](const CompletionLine& a, const CompletionLine& b) {
        return std::make_pair(a.time, a.endpoint) < std::make_pair(b.time, b.endpoint);
    });
    for (const CompletionLine& line : lines)
    {
        m_completionTimes.Write(line.text);
    }
    m_completionTimes.Close();
}

void
TrafficSimulation::OnSent(ChannelId channel, uint64_t, uint64_t id, bool failed, int64_t now)
{
    const uint32_t flow = results::MessageId::Flow(id);
    const scenario::Flow& of = m_scenario.flows[flow];
    const bool measured = m_scenario.measuring.Covers(of.start);
    m_failed += failed;
    m_lastEnd = now;
    if (failed)
    {
        m_statistics->OnGone(flow, true);
    }
    else if (measured && m_scenario.completionAtSender)
    {
        m_statistics->OnComplete(flow, now - of.start.ps, GetIdealPs(of));
    }
    if (!failed && m_scenario.queuePairs == scenario::QueuePairUse::kReused)
    {
        m_transport->Close(channel);
    }
    if (!failed && m_writeCompletionTimes && m_scenario.completionAtSender)
    {
        WriteCompletionTime(flow, now);
    }
    // Of several ranks none knows what the others have left, nor may it leave before them.
    ++m_ended;
    m_measuredEnded += measured;
    if (measured && m_measuredEnded == m_measured && !Ranks::Get().Several())
    {
        m_run.Control().End();
    }
}

void
TrafficSimulation::MergeRanks()
{
    const Ranks& ranks = Ranks::Get();
    m_posted = ranks.Sum(m_posted);
    m_arrived = ranks.Sum(m_arrived);
    m_deliveredBytes = ranks.Sum(m_deliveredBytes);
    m_failed = ranks.Sum(m_failed);
    m_ended = ranks.Sum(m_ended);
    m_measuredEnded = ranks.Sum(m_measuredEnded);
    m_measuredArrived = ranks.Sum(m_measuredArrived);
    m_lastArrival = ranks.Max(m_lastArrival);
    m_lastEnd = ranks.Max(m_lastEnd);
}

bool
TrafficSimulation::IsDone() const
{
    const int64_t stopAfter = m_scenario.stopAfter.ps;
    const bool all = m_measuredEnded == m_measured;
    return m_failed == 0 && (all || (stopAfter > 0 && ns3::RdmaClock::Now() >= stopAfter));
}

std::string
TrafficSimulation::DescribeUnfinished() const
{
    const uint64_t missing = m_scenario.flows.size() - m_arrived;
    return results::HumanCount(missing) + " of " + Counted(m_scenario.flows.size(), "flow") +
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
    std::cout << "Network          " << m_scenario.topologyName << ": "
              << Counted(topology.Hosts().size(), "host") << ", "
              << Counted(topology.SwitchCount(), "switch", "es") << ", "
              << Counted(topology.Links().size(), "link") << "; "
              << scenario::NetworkText(m_scenario.fabric) << "; set up in "
              << results::HumanTime(m_run.GetSetUpS() * 1e6) << "\n"
              << "Traffic          " << m_scenario.pattern << ": "
              << Counted(m_scenario.flows.size(), "flow") << ", "
              << results::HumanBytes(static_cast<double>(m_totalBytes));
    if (Ranks::Get().Several())
    {
        std::cout << "; " << Ranks::Get().Size() << " processes";
    }
    std::cout << std::endl;
}

void
TrafficSimulation::OnEnd(results::RunOutcome& outcome)
{
    if (Ranks::Get().Several() && m_ended == m_scenario.flows.size())
    {
        outcome.simulatedPs = m_lastEnd; // where one process stops
    }
    CloseCompletionTimes();
    m_statistics->Finish(outcome.simulatedPs);
}

/// What the measured flows are of the rates of all hosts over the time in which they start.
nlohmann::ordered_json
TrafficSimulation::OfferedLoad() const
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
    return {{"asked", m_scenario.offered.load},
            {"incast_asked", m_scenario.offered.incastLoad},
            {"of", m_scenario.offered.wire ? "wire" : "payload"},
            {"payload", static_cast<double>(m_measuredBytes) / capacity},
            {"wire", wire / capacity},
            {"mean_flow_bytes", m_scenario.offered.meanFlowBytes}};
}

double
TrafficSimulation::LastArrivalUs() const
{
    return static_cast<double>(m_lastArrival) / 1e6;
}

double
TrafficSimulation::GoodputGbps() const
{
    const double us = LastArrivalUs();
    return us > 0 ? static_cast<double>(m_deliveredBytes) * 8e-3 / us : 0;
}

nlohmann::ordered_json
TrafficSimulation::GetStatistics() const
{
    nlohmann::ordered_json j;
    j["topology"] = {{"name", m_scenario.topologyName},
                     {"hosts", m_scenario.topology.Hosts().size()},
                     {"switches", m_scenario.topology.SwitchCount()},
                     {"links", m_scenario.topology.Links().size()}};
    j["pattern"] = m_scenario.pattern;
    j["flows"] = {{"all", m_scenario.flows.size()},
                  {"posted", m_posted},
                  {"arrived", m_arrived},
                  {"failed", m_failed},
                  {"measured", m_measured},
                  {"measured_arrived", m_measuredArrived},
                  {"last_arrival_us", LastArrivalUs()},
                  {"goodput_gbps", GoodputGbps()}};
    if (m_scenario.offered.load > 0)
    {
        j["offered_load"] = OfferedLoad();
    }
    if (m_packets)
    {
        j["queue_pairs"] = m_packets->GetQueuePairs();
    }
    return j;
}

nlohmann::ordered_json
TrafficSimulation::GetMoreStatistics() const
{
    nlohmann::ordered_json j;
    m_statistics->AddTo(j);
    return j;
}

void
TrafficSimulation::PrintSummary(std::ostream& os, const results::RunStats& network) const
{
    os << "Flows            " << results::HumanCount(m_arrived) << " of "
       << results::HumanCount(m_scenario.flows.size()) << " arrived";
    if (m_arrived)
    {
        os << ", the last after " << results::HumanTime(LastArrivalUs()) << "; "
           << results::HumanRate(GoodputGbps()) << " together";
    }
    os << "\n";
    if (m_measured != m_scenario.flows.size())
    {
        const scenario::Measuring& measuring = m_scenario.measuring;
        os << "Measured flows   " << results::HumanCount(m_measuredArrived) << " of "
           << results::HumanCount(m_measured) << " arrived, those that start from "
           << results::HumanTime(static_cast<double>(measuring.from.ps) / 1e6) << " on";
        if (measuring.until.ps > 0)
        {
            // The length, not the end: of a short time after a long one both ends look the same.
            os << ", for "
               << results::HumanTime(static_cast<double>(measuring.until.ps - measuring.from.ps) /
                                     1e6);
        }
        os << "\n";
    }
    results::PrintRunStats(os, network);
    m_statistics->Print(os);
}

std::string
TrafficSimulation::GetFiles() const
{
    return std::string(m_writeCompletionTimes ? ", fct.txt" : "") + ", slowdown.csv" +
           (m_scenario.measuring.queueInterval.ps > 0 ? ", queues.csv" : "") +
           (m_scenario.measuring.rateInterval.ps > 0 ? ", fairness.csv" : "");
}

} // namespace dltrain
