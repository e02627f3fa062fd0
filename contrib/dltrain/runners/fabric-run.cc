/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fabric-run.h"

#include "background-traffic.h"
#include "contrib/dltrain/base/console.h"
#include "contrib/dltrain/base/large-pages.h"
#include "contrib/dltrain/observers/balance-statistics.h"
#include "contrib/dltrain/observers/capture-setup.h"
#include "contrib/dltrain/observers/fabric-statistics.h"
#include "contrib/dltrain/ranks/ranks.h"
#include "fabric-builder.h"
#include "reports/base/line-log.h"
#include "reports/base/output-errors.h"
#include "reports/base/report-launcher.h"
#include "reports/stats/run-summary.h"
#include "reports/stats/stats-file.h"
#include "reports/tables/topology-file.h"
#include "reports/timeline/timeline-writer.h"
#include "scenarios/dry-run/estimate.h"
#include "scenarios/launch/interruption.h"
#include "scenarios/network/background.h"
#include "scenarios/network/network-kinds.h"
#include "scenarios/network/recovery-options.h"
#include "scenarios/network/traffic-classes.h"

#include "ns3/config.h"
#include "ns3/node-window-ranks.h"
#include "ns3/node-windows.h"
#include "ns3/rdma-owner.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <chrono>

namespace dltrain
{

void
FabricSimulation::Listen()
{
}

void
FabricSimulation::OnBegin()
{
}

void
FabricSimulation::MergeRanks()
{
}

bool
FabricSimulation::GoesOnByItself() const
{
    return true;
}

void
FabricSimulation::OnEnd(reports::RunOutcome&)
{
}

nlohmann::ordered_json
FabricSimulation::GetMoreStatistics() const
{
    return nlohmann::ordered_json::object();
}

void
FabricSimulation::WriteTimeline(const scenario::RunOptions& run, std::ostream& os) const
{
    reports::WriteTimelineOf(run, os);
}

std::string
FabricSimulation::GetFiles() const
{
    return {};
}

FabricRun::FabricRun(std::string program,
                     const scenario::RunOptions& run,
                     const scenario::FabricSpec& fabric,
                     Network network,
                     Options options)
    : m_program(std::move(program)),
      m_run(run),
      m_spec(fabric),
      m_network(std::move(network)),
      m_options(options),
      m_control(run)
{
}

FabricRun::~FabricRun()
{
    m_background.reset();
    m_faults.reset();
    m_collector.reset();
    m_notes.reset();
    m_stack.reset();
    m_fabric.reset();
    ns3::Simulator::Destroy();
}

namespace
{

/// Hosts differ from switches by what their events take.
void
TellHosts(const ns3::RdmaFabric& fabric)
{
    constexpr uint8_t HOST = 1;
    if (ns3::NodeWindows* windows = ns3::NodeWindows::Active())
    {
        for (uint32_t e = 0; e < fabric.GetNEndpoints(); ++e)
        {
            if (fabric.IsLocal(e))
            {
                windows->SetKind(fabric.GetNic(e)->GetPort()->GetNode()->GetId(), HOST);
            }
        }
    }
}

/// The same, where a message needs no time from one to the other.
void
JoinNodes(const ns3::RdmaFabric& fabric)
{
    if (ns3::NodeWindows* windows = ns3::NodeWindows::Active())
    {
        for (uint32_t i = 0; i < fabric.GetNodes().GetN(); ++i)
        {
            windows->Join(fabric.GetNodes().Get(0)->GetId(), fabric.GetNodes().Get(i)->GetId());
        }
    }
}

} // namespace

namespace
{

/// All priorities of flows are lossless, as those of traffic are.
void
SetLosslessPriorities(const scenario::RunOptions& run,
                      const scenario::FabricSpec& fabric,
                      uint32_t lossless)
{
    if (run.background && !run.background->protocol.IsOrdinary() &&
        !fabric.IsLossy(run.background->trafficClass))
    {
        lossless |= 1U << run.background->priority;
    }
    if (lossless != 0)
    {
        ns3::Config::SetDefault("ns3::RdmaSwitch::LosslessPriorities",
                                ns3::UintegerValue(lossless | 1U << 3));
    }
}

} // namespace

std::string
FabricRun::Build(FabricSimulation& simulation)
{
    ns3::RdmaOwner::ReadGlobalValue();
    SetLosslessPriorities(m_run, m_spec, m_options.lossless);
    std::string error;
    scenario::MemoryNeeds needs;
    needs.links = needs.usedLinks = static_cast<double>(m_network.topology.Links().size());
    needs.infiniBand = m_spec.infiniBand;
    // And half of that for queue pairs, events and what else comes later: assumed.
    ReserveLargePages(static_cast<std::size_t>(1.5 * scenario::EstimateMemory(needs).network));
    m_fabric = BuildFabric(m_spec, m_network.topology, m_run, error);
    if (!m_fabric)
    {
        return error;
    }
    if (m_run.protocol.IsOrdinary())
    {
        m_stack = InstallStack(*m_fabric, error);
        if (!m_stack)
        {
            return error;
        }
    }
    if (ns3::NodeWindowRanks* ranks = Ranks::OfWindows())
    {
        ranks->SetListener([this](const std::string& word) { OnWord(word); });
        if (!m_run.pcap.empty() || (m_options.firstHears && Ranks::OfHosts().Several()))
        {
            m_notes = std::make_unique<RankNotes>(*ranks);
        }
    }
    if (!scenario::HasPackets(m_spec))
    {
        JoinNodes(*m_fabric);
    }
    TellHosts(*m_fabric);
    error = CheckCaptures(*m_fabric, m_run);
    if (!error.empty())
    {
        return error;
    }
    TraceCollector::Options options;
    options.out = m_run.out;
    options.inputs = m_run.inputs;
    options.seed = m_run.seed;
    options.warmup = m_options.warmup;
    options.atSender = m_options.completionAtSender;
    options.attribution = m_run.attribution;
    options.queuePairs = Ranks::HasHosts() ? m_run.traceQueuePairs : std::vector<std::string>();
    options.paths = m_run.tracePaths;
    options.watch = m_run.watch;
    if (m_run.linkInterval.ps > 0)
    {
        options.linkIntervalPs = m_run.linkInterval.ps;
        options.linkRows = SIZE_MAX; // it stays as it is asked for
    }
    options.law = scenario::NetworkLaw(m_spec);
    options.notes = Notes();
    options.links = HasLinkTable();
    options.classes = scenario::TrafficClassesOf(m_spec);
    m_collector = std::make_unique<TraceCollector>(*m_fabric, options);
    if (!m_run.faults.faults.empty())
    {
        m_faults = std::make_unique<FaultRun>(m_run.faults, *m_fabric, m_collector->GetEvents());
        m_faults->Start();
    }
    simulation.Listen();
    if (reports::OutputErrors::Any())
    {
        return reports::OutputErrors::First();
    }
    error = Ranks::Get().IsFirst() ? WriteSubnet(*m_fabric, m_spec, m_run) : "";
    if (!error.empty())
    {
        return error;
    }
    error = StartCaptures(*m_fabric, m_run, m_notes.get());
    if (!error.empty())
    {
        return error;
    }
    error = Ranks::HasHosts() ? simulation.Populate() : "";
    if (m_run.background && error.empty())
    {
        m_background = std::make_unique<BackgroundTraffic>(*m_run.background,
                                                           m_spec.network,
                                                           m_stack.get(),
                                                           *m_fabric,
                                                           *m_collector,
                                                           m_options.warmup);
        m_background->Start(m_run.recovery && m_run.recovery->policy->recovers);
    }
    return error.empty() ? reports::OutputErrors::First() : error;
}

std::unique_ptr<Interconnect>
FabricRun::Connect(const scenario::ClusterSpec& cluster,
                   const Places::NicsInUse& nicsInUse,
                   NetworkShare* share) const
{
    return std::make_unique<Interconnect>(cluster,
                                          m_spec.network,
                                          *m_fabric,
                                          *m_collector,
                                          nicsInUse,
                                          share);
}

void
FabricRun::ActIn(int64_t delay, std::function<void()> what)
{
    ns3::Simulator::ScheduleWithContext(ns3::Simulator::NO_CONTEXT,
                                        ns3::RdmaClock::At(delay),
                                        std::move(what));
}

void
FabricRun::Decide(std::function<void()> what)
{
    ActIn(m_fabric->GetDecisionDelay(), std::move(what));
}

namespace
{

// Words to all ranks.
constexpr char RANK_DONE[] = "done";
constexpr char DECIDED = '\1'; //!< when, ps, as text; a blank; ToText

} // namespace

void
FabricRun::DecideForAll(const Decision& decision)
{
    if (!Notes())
    {
        Decide([this, decision] { m_apply(decision); });
        return;
    }
    const int64_t at = m_notes->GetTime() + m_fabric->GetDecisionDelay();
    Ranks::OfWindows()->Say(DECIDED + std::to_string(at) + ' ' + ToText(decision));
}

void
FabricRun::StartMeasuring(int64_t now)
{
    m_collector->StartMeasuring(now);
    m_lossesBefore = m_stack ? CountLosses(*m_fabric, *m_stack) : OrdinaryLosses();
    if (m_background)
    {
        m_background->StartMeasuring(now);
    }
    ns3::NodeWindowRanks* ranks = Ranks::OfWindows();
    if (ranks && !Ranks::OfHosts().Several()) // else each of them does this by itself
    {
        ranks->Say(std::to_string(now));
    }
}

void
FabricRun::End()
{
    ns3::NodeWindowRanks* ranks = Ranks::OfWindows();
    if (ranks && m_run.processes.hostsApart)
    {
        ranks->Say(RANK_DONE);
        return;
    }
    m_control.End(); // on all ranks, as they run the same windows
}

void
FabricRun::OnWord(const std::string& word)
{
    if (m_control.OnWord(word) || RankNotes::IsWord(word))
    {
        return;
    }
    if (word[0] == DECIDED)
    {
        const std::size_t blank = word.find(' ');
        const int64_t at = std::stoll(word.substr(1, blank - 1));
        ActIn(at - ns3::RdmaClock::Now(),
              [this, decision = DecisionOf(word.substr(blank + 1))] { m_apply(decision); });
    }
    else if (word == RANK_DONE)
    {
        if (++m_ranksDone == Ranks::Get().Size())
        {
            m_control.End();
        }
    }
    else if (!Ranks::HasHosts())
    {
        m_collector->StartMeasuring(std::stoll(word));
    }
}

namespace
{

bool
IsAnyGpuStopped(const scenario::FaultPlan& plan)
{
    const int64_t now = ns3::RdmaClock::Now();
    return std::any_of(plan.faults.begin(), plan.faults.end(), [now](const scenario::Fault& f) {
        return f.kind == scenario::FaultKind::kGpuStop && f.at.ps <= now &&
               (f.length.ps == 0 || now < f.at.ps + f.length.ps);
    });
}

} // namespace

int
FabricRun::Run(FabricSimulation& simulation)
{
    const auto begin = std::chrono::steady_clock::now();
    // If one rank cannot build, no rank simulates.
    const std::string error = Ranks::Get().FirstText(Build(simulation));
    if (!error.empty())
    {
        return Ranks::Get().IsFirst() ? SayError(m_program, error, &m_run) : 2;
    }
    reports::WriteTopology(m_run.out, m_network.name, m_network.topology, m_network.hostOfServer);
    int64_t longest = 0;
    for (const scenario::Fault& fault : m_run.faults.faults)
    {
        longest = fault.kind == scenario::FaultKind::kPauseStorm
                      ? std::max(longest, fault.length.ps)
                  : fault.circuits ? std::max(longest, fault.circuits->changes.back().at.ps)
                                   : longest;
    }
    if (m_run.recovery)
    {
        // Until then it may be that nothing moves, and that this is ended.
        longest = std::max(longest, m_run.recovery->watchdog.ps);
    }
    m_control.Endure(longest);
    m_control.Watch(*m_collector);
    if (m_background && m_collector->HasPackets())
    {
        m_control.SetJobSight([this, &simulation] {
            RunControl::JobSight sight = m_background->SeeOthers(*m_fabric);
            // Messages inside servers are not watched. Only a stopped GPU or a failed queue pair
            // makes a job stand still without messages between servers.
            const bool stands = IsAnyGpuStopped(m_run.faults) || sight.failed;
            sight.goesOn = !stands || simulation.GoesOnByItself();
            return sight;
        });
    }
    const bool has = Ranks::HasHosts();
    m_control.SetProgress([&simulation, has] { return has ? simulation.GetShareDone() : 0; });
    m_control.SetMerge([&simulation] {
        if (Ranks::OfHosts().Several())
        {
            simulation.MergeRanks();
        }
    });
    m_control.SetFinish([this, &simulation](const reports::RunOutcome& outcome) {
        return Report(simulation, outcome);
    });
    m_setUpS = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (has)
    {
        simulation.OnBegin();
    }
    const auto isDone = [&simulation, has] {
        return Ranks::Get().Max(static_cast<int64_t>(has && simulation.IsDone())) == 1;
    };
    return Report(simulation, m_control.Run(isDone, [this, &simulation, has] {
        std::string text = has ? simulation.DescribeUnfinished() : "";
        for (const std::string& line :
             m_faults ? m_faults->DescribeActive() : std::vector<std::string>())
        {
            text += (text.empty() || text.back() == '\n' ? "" : "\n") + line;
        }
        return text;
    }));
}

bool
FabricRun::HasLinkTable() const
{
    const bool isOneServer = m_network.hostOfServer.size() == 1;
    return !isOneServer || m_run.background || m_run.recovery;
}

void
FabricRun::NoteLinks()
{
    if (Ranks::Get().Several() || !m_collector->HasPackets())
    {
        return;
    }
    reports::LinkNotes& notes = m_collector->GetLinkNotes();
    notes.SetLoads(LoadsOfLinks(*m_fabric, m_collector->GetBaseline(), ns3::RdmaClock::Now()));
    m_collector->NoteOrdinary(ns3::RdmaClock::Now());
    if (m_faults)
    {
        m_faults->AddTo(notes);
    }
}

int
FabricRun::Report(FabricSimulation& simulation, reports::RunOutcome outcome)
{
    FinishCaptures();
    simulation.OnEnd(outcome);
    NoteLinks();
    reports::RunStats network = CollectRunStats(*m_collector, outcome.simulatedPs);
    network.linkTable = HasLinkTable();
    network.recovers = m_run.recovery && m_run.recovery->policy->recovers;
    if (m_faults)
    {
        network.faults = m_faults->GetRecords();
    }
    if (m_stack)
    {
        AddLosses(network, CountLosses(*m_fabric, *m_stack), m_lossesBefore);
    }
    if (!Ranks::Get().IsFirst())
    {
        return outcome.exitStatus;
    }
    nlohmann::ordered_json stats = WriteStatistics(simulation, outcome, network);
    std::ostream& os = m_options.os;
    simulation.PrintSummary(os, network);
    if (m_background)
    {
        m_background->Print(os, outcome.simulatedPs);
    }
    if (m_stack)
    {
        PrintOrdinary(os, m_run.protocol, *m_fabric, *m_stack);
    }
    reports::PrintEnd(os, m_run, outcome, network, simulation.GetFiles());
    const auto nameLostFiles = [&] {
        if (!m_run.out.empty())
        {
            reports::NameLostFiles(stats, Head(outcome, network), m_run.out);
        }
    };
    simulation.WriteTimeline(m_run, os);
    nameLostFiles(); // the page shows them
    reports::WriteReport(m_run, os);
    nameLostFiles();
    // Results are whole if the signal came after the event loop.
    const int signal = scenario::Interruption();
    const int status = outcome.exitStatus == 0 && signal != 0 ? 128 + signal : outcome.exitStatus;
    return reports::OutputErrors::Status(m_program, status);
}

nlohmann::ordered_json
FabricRun::Head(const reports::RunOutcome& outcome, const reports::RunStats& network) const
{
    return reports::BeginStats(m_program, m_run, outcome, network.packets ? "" : m_spec.network);
}

nlohmann::ordered_json
FabricRun::WriteStatistics(const FabricSimulation& simulation,
                           const reports::RunOutcome& outcome,
                           const reports::RunStats& network) const
{
    // stats.json names the files that are not whole: it is the last of the results.
    if (!m_run.out.empty())
    {
        simulation.WriteTables();
    }
    reports::LineLog::CloseAll();
    nlohmann::ordered_json stats = Head(outcome, network);
    stats.update(simulation.GetStatistics());
    reports::AddRunStats(stats, network);
    stats.update(simulation.GetMoreStatistics());
    if (m_background)
    {
        m_background->AddTo(stats, outcome.simulatedPs);
    }
    if (m_stack)
    {
        AddOrdinary(stats, m_run.protocol, *m_fabric, *m_stack);
    }
    reports::AddCosts(stats, outcome, network);
    reports::RunExtras extras;
    extras.ranks = Ranks::Get().Size();
    if (m_options.gpus)
    {
        const double cores = extras.ranks * (1 + (outcome.threads - 1) * outcome.parallelShare);
        const double coreS = outcome.eventLoopS * cores;
        extras.gpuSPerCoreS =
            coreS > 0 ? static_cast<double>(outcome.simulatedPs) * 1e-12 * m_options.gpus / coreS
                      : 0;
    }
    reports::AddExtras(stats, extras);
    if (!m_run.out.empty())
    {
        reports::WriteStats(stats, m_run.out);
    }
    return stats;
}

} // namespace dltrain
