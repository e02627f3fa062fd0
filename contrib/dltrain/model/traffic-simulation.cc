/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "traffic-simulation.h"

#include "capture-setup.h"
#include "contrib/rdma/core/flow-hash.h"
#include "fabric-builder.h"
#include "ranks.h"
#include "report-launcher.h"
#include "scenarios/traffic/hpcc-times.h"
#include "timeline-writer.h"
#include "topology-file.h"

#include "ns3/config.h"
#include "ns3/node.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>

namespace dltrain
{

namespace
{

/// "1 switch", "12,345 switches".
std::string
Counted(uint64_t n, const std::string& what, const std::string& plural = "s")
{
    return HumanCount(n) + " " + what + (n == 1 ? "" : plural);
}

} // namespace

/// The application of one endpoint: posts its flows in order of start, with one pending event.
class TrafficSimulation::Host : public ns3::RdmaNicUser
{
  public:
    Host(TrafficSimulation& simulation, ns3::RdmaNic& nic)
        : m_simulation(simulation),
          m_nic(nic),
          m_timer(this)
    {
        nic.SetUser(this);
    }

    void Add(uint32_t flow, ns3::RdmaQueuePair* qp)
    {
        m_flows.push_back({flow, qp});
    }

    void Start()
    {
        ScheduleNext();
    }

    void OnCompletion(ns3::RdmaQueuePair* qp,
                      const ns3::RdmaWorkRequest& request,
                      ns3::RdmaStatus status,
                      int64_t now) override
    {
        const bool failed = status != ns3::RdmaStatus::SUCCESS;
        if (request.operation == ns3::RdmaOperation::READ && !failed)
        {
            m_simulation.OnArrived(static_cast<uint32_t>(qp->cookie), now);
        }
        m_simulation.OnEnded(static_cast<uint32_t>(qp->cookie), failed, now);
    }

    void OnMessage(ns3::RdmaQueuePair* qp, const ns3::RdmaMessage&, int64_t now) override
    {
        m_simulation.OnArrived(static_cast<uint32_t>(qp->cookie), now);
    }

  private:
    struct Entry
    {
        uint32_t flow;
        ns3::RdmaQueuePair* qp;
    };

    const scenario::Flow& FlowOf(const Entry& entry) const
    {
        return m_simulation.m_scenario.flows[entry.flow];
    }

    void ScheduleNext()
    {
        if (m_next < m_flows.size())
        {
            m_timer.ScheduleAt(FlowOf(m_flows[m_next]).start.ps,
                               m_nic.GetPort()->GetNode()->GetId());
        }
    }

    void OnTimer()
    {
        const int64_t now = ns3::RdmaClock::Now();
        for (; m_next < m_flows.size(); ++m_next)
        {
            const scenario::Flow& flow = FlowOf(m_flows[m_next]);
            if (flow.start.ps > now)
            {
                break;
            }
            const uint32_t tag = m_simulation.m_collector->Tag(flow.tag);
            ++m_simulation.m_posted;
            ns3::RdmaSendRequest request;
            request.id = TraceCollector::Id(tag, m_flows[m_next].flow);
            request.operation = m_simulation.GetOperation();
            request.bytes = flow.bytes;
            m_flows[m_next].qp->Post(request);
        }
        ScheduleNext();
    }

    TrafficSimulation& m_simulation;
    ns3::RdmaNic& m_nic;
    std::vector<Entry> m_flows;
    std::size_t m_next{0};
    ns3::RdmaTimer<Host, &Host::OnTimer> m_timer;
};

TrafficSimulation::TrafficSimulation(const scenario::TrafficScenario& scenario)
    : m_scenario(scenario),
      m_control(scenario.run)
{
}

TrafficSimulation::~TrafficSimulation() = default;

// Set-up -----------------------------------------------------------------------------------------

bool
TrafficSimulation::Build(std::string& error)
{
    const auto begin = std::chrono::steady_clock::now();
    // What one rank cannot build, none simulates.
    error = Ranks::Get().FirstText(BuildPart());
    if (!error.empty())
    {
        return false;
    }
    if (Ranks::Get().IsFirst())
    {
        WriteTopology(m_scenario.run.out, m_scenario.topologyName, m_scenario.topology);
    }
    m_control.Watch(*m_collector);
    m_control.SetMerge([this] { MergeRanks(); });
    m_control.SetProgress([this] { return ShareDone(); });
    m_setUpS = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return true;
}

std::string
TrafficSimulation::BuildPart()
{
    std::string error;
    // All priorities that flows use are lossless, as in HPCC's code; priority 3 in any case.
    uint32_t lossless = 1U << 3;
    for (const scenario::Flow& flow : m_scenario.flows)
    {
        lossless |= 1U << flow.priority;
    }
    ns3::Config::SetDefault("ns3::RdmaSwitch::LosslessPriorities", ns3::UintegerValue(lossless));
    m_fabric = BuildFabric(m_scenario.fabric, m_scenario.topology, m_scenario.run, error);
    if (!m_fabric)
    {
        return error;
    }
    TraceCollector::Options options;
    options.out = m_scenario.run.out;
    options.seed = m_scenario.run.seed;
    options.atSender = m_scenario.completionAtSender;
    options.attribution = m_scenario.run.attribution;
    m_collector = std::make_unique<TraceCollector>(*m_fabric, options);
    error = WriteSubnet(*m_fabric, m_scenario.fabric, m_scenario.run);
    if (!error.empty())
    {
        return error;
    }
    error = StartCaptures(*m_fabric, m_scenario.run);
    if (!error.empty())
    {
        return error;
    }
    MakeFlows();
    OpenCompletionTimes();
    return OutputErrors::First();
}

void
TrafficSimulation::MakeFlows()
{
    const bool several = Ranks::Get().Several();
    for (uint32_t e = 0; e < m_fabric->GetNEndpoints(); ++e)
    {
        m_hosts.push_back(m_fabric->IsLocal(e) ? std::make_unique<Host>(*this, *m_fabric->GetNic(e))
                                               : nullptr);
    }
    uint64_t toHere = 0;
    for (uint32_t i = 0; i < m_scenario.flows.size(); ++i)
    {
        const scenario::Flow& flow = m_scenario.flows[i];
        const bool read = GetOperation() == ns3::RdmaOperation::READ;
        const auto [sender, receiver] =
            m_fabric->ConnectQueuePairs(flow.src, flow.dst, flow.priority);
        if (sender)
        {
            sender->cookie = i;
        }
        if (receiver)
        {
            receiver->cookie = i;
            m_receivers.push_back(receiver);
            toHere += flow.bytes;
        }
        if (ns3::RdmaQueuePair* poster = read ? receiver : sender)
        {
            m_hosts[read ? flow.dst : flow.src]->Add(i, poster);
        }
        m_sourcePorts.push_back(
            sender     ? rdma::RoceSourcePort(sender->GetNumber(), sender->GetPeerNumber())
            : receiver ? rdma::RoceSourcePort(receiver->GetPeerNumber(), receiver->GetNumber())
                       : 0);
        if (several)
        {
            const uint32_t tag = m_collector->Tag(flow.tag); // the same number everywhere
            if (receiver && !sender && !read)
            {
                m_collector->ExpectMessage(*receiver,
                                           flow.start.ps,
                                           TraceCollector::Id(tag, i),
                                           GetOperation());
            }
        }
        m_totalBytes += flow.bytes;
    }
    m_control.SetPortion(static_cast<double>(toHere) /
                         static_cast<double>(std::max<uint64_t>(1, m_totalBytes)));
    for (const auto& host : m_hosts)
    {
        if (host)
        {
            host->Start();
        }
    }
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
TrafficSimulation::ShareDone() const
{
    uint64_t received = 0;
    for (const ns3::RdmaQueuePair* qp : m_receivers)
    {
        received += qp->GetBytesReceived() + qp->GetBytesRead();
    }
    return static_cast<double>(received) / static_cast<double>(std::max<uint64_t>(1, m_totalBytes));
}

void
TrafficSimulation::OnArrived(uint32_t flow, int64_t now)
{
    ++m_arrived;
    m_lastArrival = now;
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
    return m_fabric->GetIdealCompletion(read ? flow.dst : flow.src,
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
                                      m_fabric->GetPath(flow.src, flow.dst),
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
TrafficSimulation::OnEnded(uint32_t flow, bool failed, int64_t now)
{
    m_failed += failed;
    m_lastEnd = now;
    if (!failed && m_writeCompletionTimes && m_scenario.completionAtSender)
    {
        WriteCompletionTime(flow, now);
    }
    // Of several ranks none knows what the others have left, nor may it leave before them.
    if (++m_ended == m_scenario.flows.size() && !Ranks::Get().Several())
    {
        ns3::Simulator::Stop();
    }
}

void
TrafficSimulation::MergeRanks()
{
    const Ranks& ranks = Ranks::Get();
    m_posted = ranks.Sum(m_posted);
    m_arrived = ranks.Sum(m_arrived);
    m_failed = ranks.Sum(m_failed);
    m_ended = ranks.Sum(m_ended);
    m_lastArrival = ranks.Max(m_lastArrival);
    m_lastEnd = ranks.Max(m_lastEnd);
}

RunOutcome
TrafficSimulation::RunEvents()
{
    const int64_t stopAfter = m_scenario.stopAfter.ps;
    if (stopAfter > 0)
    {
        ns3::Simulator::Stop(ns3::PicoSeconds(static_cast<uint64_t>(stopAfter)));
    }
    RunOutcome outcome = m_control.Run(
        [&] {
            const bool all = m_ended == m_scenario.flows.size();
            return m_failed == 0 && (all || (stopAfter > 0 && ns3::RdmaClock::Now() >= stopAfter));
        },
        [&] {
            const uint64_t missing = m_scenario.flows.size() - m_arrived;
            return HumanCount(missing) + " of " + Counted(m_scenario.flows.size(), "flow") +
                   " did not arrive";
        });
    if (Ranks::Get().Several() && m_ended == m_scenario.flows.size())
    {
        outcome.simulatedPs = m_lastEnd; // where one process stops
    }
    return outcome;
}

int
TrafficSimulation::Run()
{
    std::string error;
    if (!Build(error))
    {
        if (Ranks::Get().IsFirst())
        {
            std::cerr << "traffic: error: " << error << "\n";
        }
        return 2;
    }
    PrintHead();
    const int status = Report(RunEvents());
    ns3::Simulator::Destroy(); // completes captures
    return status;
}

// Afterwards -------------------------------------------------------------------------------------

void
TrafficSimulation::PrintHead() const
{
    if (!Ranks::Get().IsFirst())
    {
        return;
    }
    const topo::Topology& topology = m_scenario.topology;
    std::cout << "Network          " << m_scenario.topologyName << ": "
              << Counted(topology.Hosts().size(), "host") << ", "
              << Counted(topology.SwitchCount(), "switch", "es") << ", "
              << Counted(topology.Links().size(), "link") << "; congestion control "
              << m_scenario.fabric.cc << "; set up in " << HumanTime(m_setUpS * 1e6) << "\n"
              << "Traffic          " << m_scenario.pattern << ": "
              << Counted(m_scenario.flows.size(), "flow") << ", "
              << HumanBytes(static_cast<double>(m_totalBytes));
    if (Ranks::Get().Several())
    {
        std::cout << "; " << Ranks::Get().Size() << " processes";
    }
    std::cout << std::endl;
}

int
TrafficSimulation::Report(const RunOutcome& outcome)
{
    CloseCompletionTimes();
    const RunStats run = CollectRunStats(*m_collector, outcome.simulatedPs);
    if (!Ranks::Get().IsFirst())
    {
        return outcome.exitStatus;
    }
    const uint64_t flows = m_scenario.flows.size();
    const double lastUs = static_cast<double>(m_lastArrival) / 1e6;
    const double goodput = lastUs > 0 ? static_cast<double>(run.messageBytes) * 8e-3 / lastUs : 0;

    PrintRunStats(std::cout, run);
    std::cout << "Flows            " << HumanCount(m_arrived) << " of " << HumanCount(flows)
              << " arrived";
    if (m_arrived)
    {
        std::cout << ", the last after " << HumanTime(lastUs) << "; " << HumanRate(goodput)
                  << " together";
    }
    std::cout << "\n";
    PrintEnd(std::cout,
             m_scenario.run,
             outcome,
             run.frameHops,
             m_writeCompletionTimes ? ", fct.txt" : "");

    nlohmann::ordered_json j = BeginStats("traffic", m_scenario.run, outcome);
    j["topology"] = {{"name", m_scenario.topologyName},
                     {"hosts", m_scenario.topology.Hosts().size()},
                     {"switches", m_scenario.topology.SwitchCount()},
                     {"links", m_scenario.topology.Links().size()}};
    j["pattern"] = m_scenario.pattern;
    j["flows"] = {{"all", flows},
                  {"posted", m_posted},
                  {"arrived", m_arrived},
                  {"failed", m_failed},
                  {"last_arrival_us", lastUs},
                  {"goodput_gbps", goodput}};
    AddRunStats(j, run);
    AddCosts(j, outcome, run.frameHops);
    if (Ranks::Get().Several())
    {
        j["ranks"] = Ranks::Get().Size();
    }
    std::string error;
    if (!m_scenario.run.out.empty() && !WriteStats(j, m_scenario.run.out, error))
    {
        OutputErrors::Add(error);
    }
    WriteTimelineOf(m_scenario.run, std::cout);
    WriteReport(m_scenario.run, std::cout);
    return OutputErrors::Status("traffic", outcome.exitStatus);
}

} // namespace dltrain
