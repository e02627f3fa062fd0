/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "traffic-simulation.h"

#include "capture-setup.h"
#include "contrib/rdma/core/flow-hash.h"
#include "fabric-builder.h"
#include "report-launcher.h"
#include "scenarios/traffic/hpcc-times.h"
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
        return false;
    }
    TraceCollector::Options options;
    options.out = m_scenario.run.out;
    options.seed = m_scenario.run.seed;
    options.atSender = m_scenario.completionAtSender;
    m_collector = std::make_unique<TraceCollector>(*m_fabric, options);
    error = StartCaptures(*m_fabric, m_scenario.run);
    if (!error.empty())
    {
        return false;
    }
    MakeFlows();
    OpenCompletionTimes();
    error = OutputErrors::First();
    if (!error.empty())
    {
        return false;
    }
    WriteTopology(m_scenario.run.out, m_scenario.topologyName, m_scenario.topology);
    m_control.Watch(*m_collector);
    m_control.SetProgress([this] { return ShareDone(); });
    m_setUpS = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return true;
}

void
TrafficSimulation::MakeFlows()
{
    for (uint32_t e = 0; e < m_fabric->GetNEndpoints(); ++e)
    {
        m_hosts.push_back(std::make_unique<Host>(*this, *m_fabric->GetNic(e)));
    }
    for (uint32_t i = 0; i < m_scenario.flows.size(); ++i)
    {
        const scenario::Flow& flow = m_scenario.flows[i];
        ns3::RdmaQueuePair* sender = m_fabric->GetNic(flow.src)->CreateQueuePair(flow.priority);
        ns3::RdmaQueuePair* receiver = m_fabric->GetNic(flow.dst)->CreateQueuePair(flow.priority);
        ns3::RdmaNic::Connect(sender, receiver);
        sender->cookie = receiver->cookie = i;
        if (GetOperation() == ns3::RdmaOperation::READ)
        {
            m_hosts[flow.dst]->Add(i, receiver);
        }
        else
        {
            m_hosts[flow.src]->Add(i, sender);
        }
        m_receivers.push_back(receiver);
        m_totalBytes += flow.bytes;
    }
    for (const auto& host : m_hosts)
    {
        host->Start();
    }
}

/// HPCC's own result file, for its analysis scripts, which look for the flow file's destination
/// port. To be compatible a flow's source port is that code's: a host counts its flows from 10000.
void
TrafficSimulation::OpenCompletionTimes()
{
    const nlohmann::json& asRun = m_scenario.run.asRun;
    const nlohmann::json::json_pointer path("/traffic/flows");
    if (m_scenario.run.out.empty() || !asRun.contains(path) || !asRun[path].is_string())
    {
        return;
    }
    m_completionTimes.Open(m_scenario.run.out + "/fct.txt");
    std::vector<uint16_t> next(m_scenario.topology.Nodes().size(), 10000);
    for (std::size_t i = 0; i < m_scenario.flows.size(); ++i)
    {
        const ns3::RdmaQueuePair& receiver = *m_receivers[i];
        const uint32_t host = m_scenario.topology.Endpoints()[m_scenario.flows[i].src].host;
        m_sourcePorts.push_back(
            m_scenario.fabric.compat == "hpcc"
                ? next[host]++
                : rdma::RoceSourcePort(receiver.GetPeerNumber(), receiver.GetNumber()));
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
    if (m_completionTimes.IsOpen() && !m_scenario.completionAtSender)
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
    char line[160];
    std::snprintf(line,
                  sizeof(line),
                  "%08x %08x %u %u %llu %lld %lld %lld",
                  address(flow.src),
                  address(flow.dst),
                  m_sourcePorts[index],
                  flow.dport,
                  static_cast<unsigned long long>(flow.bytes),
                  ns(flow.start.ps),
                  ns(now - flow.start.ps),
                  alone);
    m_completionTimes.Write(line);
}

void
TrafficSimulation::OnEnded(uint32_t flow, bool failed, int64_t now)
{
    m_failed += failed;
    if (!failed && m_completionTimes.IsOpen() && m_scenario.completionAtSender)
    {
        WriteCompletionTime(flow, now);
    }
    if (++m_ended == m_scenario.flows.size())
    {
        ns3::Simulator::Stop();
    }
}

RunOutcome
TrafficSimulation::RunEvents()
{
    const int64_t stopAfter = m_scenario.stopAfter.ps;
    if (stopAfter > 0)
    {
        ns3::Simulator::Stop(ns3::PicoSeconds(static_cast<uint64_t>(stopAfter)));
    }
    return m_control.Run(
        [&] {
            const bool all = m_ended == m_scenario.flows.size();
            return m_failed == 0 && (all || (stopAfter > 0 && ns3::RdmaClock::Now() >= stopAfter));
        },
        [&] {
            const uint64_t missing = m_scenario.flows.size() - m_arrived;
            return HumanCount(missing) + " of " + Counted(m_scenario.flows.size(), "flow") +
                   " did not arrive";
        });
}

int
TrafficSimulation::Run()
{
    std::string error;
    if (!Build(error))
    {
        std::cerr << "traffic: error: " << error << "\n";
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
    const topo::Topology& topology = m_scenario.topology;
    std::cout << "Network          " << m_scenario.topologyName << ": "
              << Counted(topology.Hosts().size(), "host") << ", "
              << Counted(topology.SwitchCount(), "switch", "es") << ", "
              << Counted(topology.Links().size(), "link") << "; congestion control "
              << m_scenario.fabric.cc << "; set up in " << HumanTime(m_setUpS * 1e6) << "\n"
              << "Traffic          " << m_scenario.pattern << ": "
              << Counted(m_scenario.flows.size(), "flow") << ", "
              << HumanBytes(static_cast<double>(m_totalBytes)) << std::endl;
}

int
TrafficSimulation::Report(const RunOutcome& outcome)
{
    m_completionTimes.Close();
    const RunStats run = CollectRunStats(*m_collector, outcome.simulatedPs);
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
             m_sourcePorts.empty() ? "" : ", fct.txt");

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
    std::string error;
    if (!m_scenario.run.out.empty() && !WriteStats(j, m_scenario.run.out, error))
    {
        OutputErrors::Add(error);
    }
    WriteReport(m_scenario.run, std::cout);
    return OutputErrors::Status("traffic", outcome.exitStatus);
}

} // namespace dltrain
