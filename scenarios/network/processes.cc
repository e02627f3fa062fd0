/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/network/processes.h"

#include "contrib/rdma/core/look-ahead.h"
#include "scenarios/asked/collective.h"
#include "scenarios/asked/network.h"
#include "scenarios/asked/run.h"
#include "scenarios/launch/launcher.h"
#include "scenarios/launch/mpi-hosts.h"
#include "scenarios/network/infiniband.h"
#include "topologies/names.h"
#include "topologies/rank-partition.h"

#include <algorithm>
#include <boost/algorithm/string/split.hpp>
#include <cstdlib>

namespace scenario
{

namespace
{

/// Where the first process has all hosts: docs/ranks.md has x 1.1 in two processes with 16 hosts,
/// less with less, and no more than two to gain.
constexpr uint32_t kHostsThatPay = 16;

/// Checks features that several processes do not have.
class ProcessCheck
{
  public:
    ProcessCheck(const ReadResult& read,
                 const RunOptions& run,
                 const FabricSpec& fabric,
                 const topo::Topology& topology,
                 std::vector<Error>* errors)
        : m_read(read),
          m_run(run),
          m_processes(run.processes),
          m_fabric(fabric),
          m_topology(topology),
          m_errors(errors)
    {
    }

    /// \return whether there is nothing wrong
    bool Check()
    {
        return CheckNumber() && CheckOutputs() && CheckLinks();
    }

    bool Fail(const std::string& problem)
    {
        m_errors->push_back({"", "", problem, ""});
        return false;
    }

    /// Refuses an option that a single process would take.
    bool Fail(Member option, const std::string& problem)
    {
        const Values& values = m_read.values;
        m_errors->push_back({values.Where(option),
                             values.Raw(option),
                             problem + ", or without " + m_processes.by,
                             ""});
        return false;
    }

  private:
    bool CheckNumber()
    {
        if (m_processes.hostsApart)
        {
            return m_processes.count <= m_topology.Hosts().size() ||
                   Fail(m_processes.by + ": the network has " +
                        topo::Counted(m_topology.Hosts().size(), "host") +
                        "; allowed: at most one process a host");
        }
        if (m_run.engine != "windows")
        {
            return Fail(&asked::Run::engine,
                        "does not know processes of which one has all hosts; allowed: windows");
        }
        return m_processes.count <= m_topology.SwitchCount() + 1 ||
               Fail(m_processes.by + ": one process has all hosts, and the network has " +
                    std::to_string(m_topology.SwitchCount()) +
                    (m_topology.SwitchCount() == 1 ? " switch" : " switches") +
                    " for others; allowed: at most one process a switch, and one");
    }

    bool CheckOutputs()
    {
        return m_run.pcap.empty() || m_run.engine == "windows" ||
               Fail(&asked::Run::pcap,
                    "ns-3's engine captures in one process only; allowed: with --engine=windows");
    }

    /// As the fabric of several ranks does (contrib/rdma/helper/rdma-fabric-ranks.cc).
    bool CheckLinks()
    {
        const uint32_t n = m_processes.count;
        const std::vector<uint32_t> of = m_processes.hostsApart
                                             ? topo::PartitionAmongRanks(m_topology, n)
                                             : topo::PartitionSwitchesAmongRanks(m_topology, n);
        for (topo::LinkId id = 0; id < m_topology.Links().size(); ++id)
        {
            const topo::Link& link = m_topology.Links()[id];
            const int64_t delay = link.delay.ps + FecDelay(m_fabric, link.rate).ps;
            if (of[link.a] != of[link.b] && !rdma::SplitDelay(delay))
            {
                const Values& values = m_read.values;
                const Member member = values.Given(&asked::Network::linkDelay)
                                          ? Member(&asked::Network::linkDelay)
                                          : Member(&asked::Network::topology);
                return Fail(member,
                            "link " + m_topology.LinkName(id, true) + " is cut between ranks " +
                                std::to_string(of[link.a]) + " and " + std::to_string(of[link.b]) +
                                ", and has a delay of " + std::to_string(delay) +
                                " ps; allowed between ranks: 1 ps or more");
            }
        }
        return true;
    }

    const ReadResult& m_read;
    const RunOptions& m_run;
    const Processes& m_processes;
    const FabricSpec& m_fabric;
    const topo::Topology& m_topology;
    std::vector<Error>* m_errors;
};

template <class Scenario>
void
CheckCluster(const ReadResult& read, Scenario* s, std::vector<Error>* errors)
{
    Processes& processes = s->run.processes;
    if (processes.Several())
    {
        processes.busyHosts = s->cluster.servers;
        processes.hostsApart = s->run.traceQueuePairs.empty();
        ProcessCheck check(read, s->run, s->fabric, s->cluster.topology, errors);
        if (s->run.engine != "windows")
        {
            check.Fail(&asked::Run::engine,
                       "runs several processes of traffic alone; allowed: windows");
            return;
        }
        check.Check();
    }
}

/// \return whether nothing has to be known of hosts together while they run
bool
CanHostsBeApart(const TrafficScenario& s)
{
    const Measuring& measuring = s.measuring;
    const auto covered = [&measuring](const Flow& flow) { return measuring.Covers(flow.start); };
    return s.queuePairs != QueuePairUse::kReused && s.outstanding == 0 && measuring.from.ps == 0 &&
           measuring.rateInterval.ps == 0 && s.run.traceQueuePairs.empty() &&
           std::all_of(s.flows.begin(), s.flows.end(), covered);
}

} // namespace

Processes
ProcessesOf(const Values& values)
{
    const Launcher launcher = FindLauncher();
    const auto asked = static_cast<uint32_t>(values.Get(&asked::Run::mpiRanks));
    Processes processes;
    std::string job;
    const std::string problem = FindHosts(values, &processes.hosts, &job);
    const uint32_t named = values.Given(&asked::Run::mpiRanks) || processes.hosts.empty()
                               ? asked
                               : RanksOf(processes.hosts);
    processes.count = launcher.started ? launcher.ranks : named;
    if (processes.Several())
    {
        processes.by =
            asked == processes.count
                ? values.Where(&asked::Run::mpiRanks) + "=" + values.Raw(&asked::Run::mpiRanks)
            : named == processes.count
                ? values.Where(&asked::Run::mpiHosts) + "=" + values.Raw(&asked::Run::mpiHosts)
                : "mpirun -np " + std::to_string(processes.count);
    }
    return processes;
}

std::string
FindHosts(const Values& values, std::vector<MpiHost>* hosts, std::string* job)
{
    const auto asked = static_cast<uint32_t>(values.Get(&asked::Run::mpiRanks));
    std::string problem;
    if (const char* const all = std::getenv(HOSTS_OF_RUN); all && FindLauncher().started)
    {
        std::vector<std::string> texts;
        boost::split(texts, std::string(all), [](char c) { return c == ','; });
        return ReadHosts(texts, hosts);
    }
    if (values.Given(&asked::Run::mpiHosts))
    {
        problem = ReadHosts(values.Get(&asked::Run::mpiHosts), hosts);
        const uint32_t ranks = values.Given(&asked::Run::mpiRanks) ? asked : RanksOf(*hosts);
        if (problem.empty() && ranks < 2)
        {
            return "is of several processes, and one runs on this machine; allowed: with " +
                   Spell(&asked::Run::mpiRanks) + "=2 or more";
        }
        return problem.empty() ? SpreadRanks(ranks, hosts) : problem;
    }
    const Allocation allocation = FindAllocation();
    if (asked < 2 || allocation.nodes < 2 || FindLauncher().started)
    {
        return "";
    }
    problem = NodesOf(allocation, hosts);
    *job = allocation.job;
    hosts->resize(std::min<std::size_t>(hosts->size(), asked));
    return problem.empty() ? SpreadRanks(asked, hosts) : problem;
}

void
CheckProcesses(const ReadResult& read, TrainingScenario* s, std::vector<Error>* errors)
{
    if (s->run.processes.Several() && s->cluster.aggregators)
    {
        // A process knows the collectives of its own ranks only, its switches would add up others.
        ProcessCheck(read, s->run, s->fabric, s->cluster.topology, errors)
            .Fail(&asked::Collective::algorithm,
                  "switches between servers add up in one process only; allowed: other algorithms");
        return;
    }
    CheckCluster(read, s, errors);
}

void
CheckProcesses(const ReadResult& read, CollperfScenario* s, std::vector<Error>* errors)
{
    CheckCluster(read, s, errors);
}

void
CheckProcesses(const ReadResult& read, ServingScenario* s, std::vector<Error>* errors)
{
    CheckCluster(read, s, errors);
}

void
CheckProcesses(const ReadResult& read, TrafficScenario* s, std::vector<Error>* errors)
{
    Processes& processes = s->run.processes;
    if (!processes.Several())
    {
        return;
    }
    processes.hostsApart = CanHostsBeApart(*s);
    processes.busyHosts = static_cast<uint32_t>(s->topology.Hosts().size());
    ProcessCheck check(read, s->run, s->fabric, s->topology, errors);
    if (!processes.hostsApart && s->run.engine != "windows")
    {
        check.Fail(&asked::Run::engine,
                   "several processes measure all flows with it; allowed: windows, or "
                   "--queue-pairs=per-flow or per-pair, --warm-up=0, --cool-down=0, "
                   "--rate-interval=0 and no --trace-qps");
        return;
    }
    check.Check();
}

bool
DoProcessesPay(const Processes& processes)
{
    return !processes.Several() || processes.hostsApart ||
           (processes.count == 2 && processes.busyHosts >= kHostsThatPay);
}

std::string
ProcessesText(const Processes& processes)
{
    if (!processes.Several())
    {
        return "";
    }
    std::string text = std::to_string(processes.count) +
                       (processes.hosts.empty() ? "" : ", on " + HostText(processes.hosts)) +
                       (processes.hostsApart   ? ": each has hosts and switches"
                        : processes.count == 2 ? ": one has all hosts, the other switches"
                                               : ": one has all hosts, the others switches");
    if (processes.noAttribution)
    {
        text += "; no attribution of time, as a frame's journey does not cross processes";
    }
    if (!DoProcessesPay(processes))
    {
        text += processes.busyHosts < kHostsThatPay
                    ? "; slower than one process with fewer than " + std::to_string(kHostsThatPay) +
                          " hosts (docs/ranks.md)"
                    : "; no faster than 2 (docs/ranks.md)";
    }
    return text;
}

} // namespace scenario
