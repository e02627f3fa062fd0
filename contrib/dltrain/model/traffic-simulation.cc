/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "traffic-simulation.h"

#include "contrib/rdma/core/flow-hash.h"
#include "contrib/rdma/core/set-up-phase.h"
#include "dry-run.h"
#include "program.h"
#include "ranks.h"
#include "results/human-text.h"
#include "results/message-id.h"
#include "results/run-summary.h"
#include "scenarios/traffic/hpcc-times.h"

#include "ns3/config.h"
#include "ns3/node.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>
#include <tuple>

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
        const uint32_t flow = results::MessageId::Flow(request.id);
        if (request.operation == ns3::RdmaOperation::READ && !failed)
        {
            m_simulation.OnArrived(flow, now);
        }
        m_simulation.OnEnded(flow, qp, failed, now);
    }

    void OnMessage(ns3::RdmaQueuePair* qp, const ns3::RdmaMessage&, int64_t now) override
    {
        const auto flow = static_cast<uint32_t>(qp->cookie);
        if (!m_simulation.m_nextOfPair.empty())
        {
            qp->cookie = m_simulation.m_nextOfPair[flow]; // they come in the order of their posts
        }
        m_simulation.OnArrived(flow, now);
    }

  private:
    struct Entry
    {
        uint32_t flow;
        ns3::RdmaQueuePair* qp; //!< null: found when the flow begins
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
            const uint32_t index = m_flows[m_next].flow;
            ns3::RdmaQueuePair* qp = m_flows[m_next].qp;
            qp = qp ? qp : m_simulation.Take(index, now);
            qp->Post(m_simulation.OnBegin(index, qp, now));
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
    const bool several = Ranks::Get().Several();
    for (uint32_t e = 0; e < m_run.Fabric().GetNEndpoints(); ++e)
    {
        m_hosts.push_back(m_run.Fabric().IsLocal(e)
                              ? std::make_unique<Host>(*this, *m_run.Fabric().GetNic(e))
                              : nullptr);
    }
    uint64_t toHere = 0;
    const bool read = GetOperation() == ns3::RdmaOperation::READ;
    const scenario::QueuePairUse use = m_scenario.queuePairs;

    struct Pair
    {
        ns3::RdmaQueuePair* sender;
        ns3::RdmaQueuePair* receiver;
        uint32_t lastFlow;
    };

    std::map<std::tuple<uint32_t, uint32_t, uint8_t>, Pair> pairs;
    if (use == scenario::QueuePairUse::kReused)
    {
        m_resting.resize(8 * static_cast<std::size_t>(m_run.Fabric().GetNEndpoints()));
    }
    else if (use == scenario::QueuePairUse::kPerPair)
    {
        m_nextOfPair.resize(m_scenario.flows.size());
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
        if (use == scenario::QueuePairUse::kReused)
        {
            m_hosts[read ? flow.dst : flow.src]->Add(i, nullptr);
            m_sourcePorts.push_back(0);
            m_totalBytes += flow.bytes;
            toHere += flow.bytes;
            continue;
        }
        ns3::RdmaQueuePair* sender = nullptr;
        ns3::RdmaQueuePair* receiver = nullptr;
        const auto key = std::make_tuple(flow.src, flow.dst, flow.priority);
        const auto known = pairs.find(key);
        if (use == scenario::QueuePairUse::kPerPair && known != pairs.end())
        {
            sender = known->second.sender;
            receiver = known->second.receiver;
            m_nextOfPair[known->second.lastFlow] = i;
            known->second.lastFlow = i;
        }
        else
        {
            std::tie(sender, receiver) =
                m_run.Fabric().ConnectQueuePairs(flow.src, flow.dst, flow.priority);
            m_queuePairs += 2;
            if (use == scenario::QueuePairUse::kPerPair)
            {
                pairs.emplace(key, Pair{sender, receiver, i});
            }
            if (sender)
            {
                sender->cookie = i;
            }
            if (receiver)
            {
                receiver->cookie = i;
                m_receivers.push_back(receiver);
            }
        }
        toHere += receiver ? flow.bytes : 0;
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
            const uint32_t tag = m_run.Collector().Tag(flow.tag); // the same number everywhere
            if (receiver && !sender && !read)
            {
                m_run.Collector().ExpectMessage(*receiver,
                                                flow.start.ps,
                                                results::MessageId::Of(tag, i),
                                                GetOperation());
            }
        }
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

ns3::RdmaQueuePair*
TrafficSimulation::TakeEnd(uint32_t endpoint, uint8_t priority, int64_t now)
{
    std::deque<Resting>& resting = m_resting[8 * static_cast<std::size_t>(endpoint) + priority];
    if (resting.empty() || resting.front().since + REUSE_AFTER_PS > now)
    {
        ++m_queuePairs;
        return m_run.Fabric().GetNic(endpoint)->CreateQueuePair(priority);
    }
    ns3::RdmaQueuePair* qp = resting.front().queuePair;
    resting.pop_front();
    qp->Modify(ns3::RdmaQueuePair::State::RESET);
    return qp;
}

ns3::RdmaQueuePair*
TrafficSimulation::Take(uint32_t index, int64_t now)
{
    const scenario::Flow& flow = m_scenario.flows[index];
    ns3::RdmaQueuePair* sender = TakeEnd(flow.src, flow.priority, now);
    ns3::RdmaQueuePair* receiver = TakeEnd(flow.dst, flow.priority, now);
    ns3::RdmaNic::Connect(sender, receiver);
    sender->cookie = receiver->cookie = index;
    if (m_sourcePorts[index] == 0) // else the flow file's reader has its own
    {
        m_sourcePorts[index] = rdma::RoceSourcePort(sender->GetNumber(), sender->GetPeerNumber());
    }
    return GetOperation() == ns3::RdmaOperation::READ ? receiver : sender;
}

void
TrafficSimulation::GiveBack(ns3::RdmaQueuePair* poster, int64_t now)
{
    const uint32_t peer = poster->GetPeerEndpoint();
    ns3::RdmaQueuePair* other =
        m_run.Fabric().GetNic(peer)->GetQueuePair(poster->GetPeerNumber() - 2); // as numbers go
    const auto rest = [&](uint32_t endpoint, ns3::RdmaQueuePair* qp) {
        m_resting[8 * static_cast<std::size_t>(endpoint) + qp->GetPriority()].push_back({qp, now});
    };
    rest(poster->GetNic()->GetEndpoint(), poster);
    rest(peer, other);
}

ns3::RdmaSendRequest
TrafficSimulation::OnBegin(uint32_t index, ns3::RdmaQueuePair* poster, int64_t now)
{
    const scenario::Flow& flow = m_scenario.flows[index];
    const bool read = GetOperation() == ns3::RdmaOperation::READ;
    const bool measured = m_scenario.measuring.Covers(flow.start);
    ++m_posted;
    if (!Ranks::Get().Several())
    {
        const ns3::RdmaQueuePair* counter =
            read ? poster
                 : m_run.Fabric().GetNic(flow.dst)->GetQueuePair(poster->GetPeerNumber() - 2);
        m_statistics->OnPosted(index, counter, read, read ? 0 : poster->GetBytesPosted(), now);
    }
    ns3::RdmaSendRequest request;
    request.id = results::MessageId::Of(m_run.Collector().Tag(flow.tag) |
                                            (measured ? 0 : results::MessageId::WARMUP),
                                        index);
    request.operation = GetOperation();
    request.bytes = flow.bytes;
    return request;
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
    uint64_t received = m_arrivedBytes; // of queue pairs that are not asked below
    for (const ns3::RdmaQueuePair* qp : m_receivers)
    {
        received += qp->GetBytesReceived() + qp->GetBytesRead();
    }
    return static_cast<double>(received) / static_cast<double>(std::max<uint64_t>(1, m_totalBytes));
}

void
TrafficSimulation::OnArrived(uint32_t flow, int64_t now)
{
    const scenario::Flow& of = m_scenario.flows[flow];
    ++m_arrived;
    m_deliveredBytes += of.bytes;
    m_lastArrival = now;
    m_arrivedBytes += m_receivers.empty() ? of.bytes : 0;
    if (m_scenario.measuring.Covers(of.start))
    {
        ++m_measuredArrived;
        if (!m_scenario.completionAtSender)
        {
            m_statistics->OnComplete(flow, now - of.start.ps, GetIdealPs(of));
        }
    }
    m_statistics->OnGone(flow, false, now);
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
TrafficSimulation::OnEnded(uint32_t flow, ns3::RdmaQueuePair* poster, bool failed, int64_t now)
{
    const scenario::Flow& of = m_scenario.flows[flow];
    const bool measured = m_scenario.measuring.Covers(of.start);
    m_failed += failed;
    m_lastEnd = now;
    if (failed)
    {
        m_statistics->OnGone(flow, true, now);
    }
    else if (measured && m_scenario.completionAtSender)
    {
        m_statistics->OnComplete(flow, now - of.start.ps, GetIdealPs(of));
    }
    if (!failed && !m_resting.empty())
    {
        GiveBack(poster, now);
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
              << Counted(topology.Links().size(), "link") << "; congestion control "
              << m_scenario.fabric.cc << "; set up in "
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
    j["queue_pairs"] = m_queuePairs;
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
               << results::HumanTime(static_cast<double>(measuring.until.ps - measuring.from.ps) / 1e6);
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
