/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "recovery-run.h"

#include "fault-run.h"
#include "results/human-text.h"
#include "scenarios/training/layout.h"

#include "ns3/node-windows.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <utility>

namespace dltrain
{

namespace
{

using ns3::RdmaClock;
using scenario::Fault;
using scenario::FaultKind;
using scenario::RecoveryPolicy;

constexpr const char* OF_QUEUE_PAIR = "queue pair";
constexpr const char* OF_WATCHDOG = "watchdog";
constexpr const char* OF_LAUNCHER = "launcher";

/// Whether it is there at a time, ps.
bool
IsThere(const Fault& fault, int64_t now)
{
    const int64_t since = now - fault.at.ps;
    if (since < 0 || (fault.length.ps > 0 && since >= fault.length.ps))
    {
        return false;
    }
    return fault.kind != FaultKind::kFlap || static_cast<double>(since % fault.period.ps) <
                                                 static_cast<double>(fault.period.ps) * fault.duty;
}

} // namespace

RecoveryRun::RecoveryRun(const scenario::TrainingScenario& scenario,
                         FabricRun& run,
                         TrainingJob& job)
    : m_scenario(scenario),
      m_spec(*scenario.run.recovery),
      m_run(run),
      m_job(job),
      m_hosts(scenario.cluster.hostOfServer),
      m_spares(m_spec.spares)
{
    m_results.policy = scenario::RecoveryPolicyName(m_spec.policy);
    m_results.watchdogPs = m_spec.watchdog.ps;
    m_results.checkpointEvery = m_spec.checkpointEvery;
    m_results.checkpointBytes = m_spec.checkpointBytes;
    m_results.checkpointPs = m_spec.CheckpointTime().ps;
    m_results.ranks = scenario.plan.ranks;
}

void
RecoveryRun::At(int64_t time, std::function<void()> what)
{
    ns3::Simulator::ScheduleWithContext(ns3::Simulator::NO_CONTEXT,
                                        RdmaClock::At(time) - ns3::Simulator::Now(),
                                        std::move(what));
}

void
RecoveryRun::Start()
{
    const QueuePairPatience patience = GetPatience(*m_run.Fabric().GetNic(0));
    m_results.queuePairPs = patience.exponent == 0 ? -1 /* never */ : patience.GetPs();
    if (m_spec.policy == RecoveryPolicy::kNone)
    {
        return;
    }
    At(m_spec.watchdog.ps, [this] { Watch(); });
    for (const Fault& fault : m_scenario.run.faults.faults)
    {
        // One that goes on by itself has not lost its process.
        if (fault.kind == FaultKind::kGpuStop && fault.length.ps == 0)
        {
            At(fault.at.ps + m_spec.monitorInterval.ps, [this] { OnProcessGone(); });
        }
    }
}

std::set<coll::Rank>
RecoveryRun::StoppedRanks(int64_t sooner) const
{
    std::set<coll::Rank> ranks;
    const int64_t now = RdmaClock::Now();
    for (const auto& [rank, speed] : m_scenario.plan.speeds)
    {
        if (!m_start.IsAbsent(rank) && !m_start.HasMoved(rank) && now >= sooner &&
            speed.IsStopped(now - sooner) && speed.IsStopped(now))
        {
            ranks.insert(rank);
        }
    }
    return ranks;
}

bool
RecoveryRun::CutsOff(const Fault& fault, uint32_t host) const
{
    const topo::Topology& topology = m_scenario.cluster.topology;
    const auto& links = topology.Nodes()[topology.Hosts()[host]].ports;
    return fault.IsCut() && IsThere(fault, RdmaClock::Now()) &&
           std::any_of(links.begin(), links.end(), [&fault](topo::LinkId link) {
               return std::binary_search(fault.ends.begin(), fault.ends.end(), 2 * link);
           });
}

bool
RecoveryRun::IsCutOff(uint32_t host) const
{
    const std::vector<Fault>& faults = m_scenario.run.faults.faults;
    return std::any_of(faults.begin(), faults.end(), [this, host](const Fault& fault) {
        return CutsOff(fault, host);
    });
}

std::string
RecoveryRun::NameOf(uint32_t host) const
{
    const topo::Topology& topology = m_scenario.cluster.topology;
    return topology.Nodes()[topology.Hosts()[host]].name;
}

void
RecoveryRun::Log(const std::string& text)
{
    results::EventLog& log = m_run.Collector().GetEvents().GetLog();
    if (log.Count(results::EventLog::FAULT))
    {
        log.Write(RdmaClock::Now(), results::EventLog::FAULT, "job", text);
    }
}

void
RecoveryRun::Watch()
{
    if (m_over)
    {
        return;
    }
    const int64_t now = RdmaClock::Now();
    const int64_t since = m_recovering ? -1 : m_job.CommunicatesSince();
    if (since >= 0 && since + m_spec.watchdog.ps <= now)
    {
        Know(OF_WATCHDOG, m_job.DescribeCommunicating());
    }
    if (!m_over)
    {
        const bool waits = since >= 0 && !m_recovering;
        At((waits ? since : now) + m_spec.watchdog.ps, [this] { Watch(); });
    }
}

void
RecoveryRun::OnMessageFails(const std::string& what)
{
    if (m_spec.policy == RecoveryPolicy::kNone)
    {
        return;
    }
    ns3::NodeWindows::NoteCall([this, what] {
        m_run.Decide([this, what, generation = m_generation] { OnFailed(generation, what); });
    });
}

void
RecoveryRun::OnFailed(uint32_t generation, const std::string& what)
{
    if (generation == m_generation && !m_recovering && !m_over)
    {
        Know(OF_QUEUE_PAIR, what);
    }
}

void
RecoveryRun::OnProcessGone()
{
    const std::set<coll::Rank> stopped = StoppedRanks(m_spec.monitorInterval.ps);
    if (!stopped.empty() && !m_over)
    {
        const coll::Rank rank = *stopped.begin();
        Know(OF_LAUNCHER,
             "the process of rank " + std::to_string(rank) + " at " +
                 NameOf(m_hosts[rank / m_scenario.cluster.server.gpus]) + " is gone");
    }
}

void
RecoveryRun::Know(const std::string& by, const std::string& what)
{
    const int64_t now = RdmaClock::Now();
    const bool restarts = m_spec.policy == RecoveryPolicy::kRestart;
    results::RecoveryRecord record;
    record.known = now;
    record.by = by;
    record.what = what;
    if (!m_recovering)
    {
        if (restarts)
        {
            record.lostPs = now - m_since;
            record.lostSteps = m_ended - m_checkpoint;
        }
        else
        {
            m_results.usefulPs += m_useful;
            record.lostPs = now - m_stepEnd;
        }
        m_useful = 0;
        record.cutOff = m_job.GetCutOff();
        m_results.lostPs += record.lostPs;
        m_job.Abort(!restarts);
        m_recovering = true;
        m_known = now;
    }
    ++m_generation;
    m_start.first = record.fromStep = restarts ? m_checkpoint : m_ended;
    Log("failure known by the " + by + ": " + what);

    const std::set<coll::Rank> stopped = StoppedRanks(0);
    std::set<coll::Rank> ranks = stopped;
    std::set<uint32_t> servers;
    const uint32_t gpus = m_scenario.cluster.server.gpus;
    for (uint32_t server = 0; server < m_hosts.size(); ++server)
    {
        const bool cut = IsCutOff(m_hosts[server]);
        bool failed = false;
        for (coll::Rank rank = server * gpus; rank < (server + 1) * gpus; ++rank)
        {
            if (!m_start.IsAbsent(rank) && (cut || stopped.count(rank)))
            {
                failed = true;
                ranks.insert(rank);
            }
        }
        if (failed)
        {
            servers.insert(server);
            record.servers.push_back(NameOf(m_hosts[server]));
        }
    }
    record.failed = FindFailed(stopped, servers);
    std::string why;
    if (m_recoveries >= m_spec.mostRestarts)
    {
        why = "--max-restarts=" + std::to_string(m_spec.mostRestarts) + " allows no other recovery";
    }
    else
    {
        why = restarts ? Replace(servers, &record) : Leave(ranks, &record);
    }
    if (why.empty())
    {
        ++m_recoveries;
        record.abortPs = m_spec.abort.ps;
        record.restartPs = m_spec.restart.ps;
        record.readPs = restarts && m_checkpoint > 0 ? m_results.checkpointPs : 0;
        At(now + record.abortPs + record.restartPs + record.readPs,
           [this, generation = m_generation] { Resume(generation); });
    }
    m_results.failures.push_back(std::move(record));
    if (!why.empty())
    {
        GiveUp(why);
    }
}

int64_t
RecoveryRun::FindFailed(const std::set<coll::Rank>& stopped, const std::set<uint32_t>& servers)
{
    const int64_t now = RdmaClock::Now();
    const auto cuts = [this, &servers](const Fault& fault) {
        return std::any_of(servers.begin(), servers.end(), [&](uint32_t server) {
            return CutsOff(fault, m_hosts[server]);
        });
    };
    int64_t failed = -1;
    for (std::size_t i = 0; i < m_scenario.run.faults.faults.size(); ++i)
    {
        const Fault& fault = m_scenario.run.faults.faults[i];
        if (fault.at.ps > now)
        {
            continue;
        }
        const bool isNew = m_seen.insert(i).second;
        // What made servers fail; if none did, whatever may have lost frames or held them up.
        const bool explains = servers.empty() ? isNew && fault.kind != FaultKind::kGpuSlow
                              : fault.kind == FaultKind::kGpuStop ? isNew && !stopped.empty()
                                                                  : cuts(fault);
        if (explains)
        {
            failed = failed < 0 ? fault.at.ps : std::min(failed, fault.at.ps);
        }
    }
    return failed;
}

std::string
RecoveryRun::Replace(const std::set<uint32_t>& servers, results::RecoveryRecord* record)
{
    const uint32_t gpus = m_scenario.cluster.server.gpus;
    m_start.moved.resize(m_scenario.plan.ranks);
    for (const uint32_t server : servers)
    {
        const auto spare = std::find_if(m_spares.begin(), m_spares.end(), [this](uint32_t host) {
            return !IsCutOff(host);
        });
        if (spare == m_spares.end())
        {
            return "no spare server works that could take the place of " + NameOf(m_hosts[server]) +
                   " (--spares=" + std::to_string(m_spec.spares.size()) + ")";
        }
        record->spares.push_back(NameOf(*spare));
        m_hosts[server] = *spare;
        m_spares.erase(spare);
        std::fill_n(m_start.moved.begin() + server * gpus, gpus, true);
    }
    return {};
}

std::string
RecoveryRun::Leave(const std::set<coll::Rank>& ranks, results::RecoveryRecord* record)
{
    const training::Layout layout = m_scenario.options.GetLayout();
    std::set<uint32_t> replicas;
    for (const coll::Rank rank : ranks)
    {
        replicas.insert(training::PlaceOf(layout, rank).data);
    }
    m_start.absent.resize(m_scenario.plan.ranks);
    for (coll::Rank rank = 0; rank < m_scenario.plan.ranks; ++rank)
    {
        if (!m_start.absent[rank] && replicas.count(training::PlaceOf(layout, rank).data))
        {
            m_start.absent[rank] = true;
            record->left.push_back(rank);
        }
    }
    m_results.ranks -= static_cast<uint32_t>(record->left.size());
    return m_results.ranks == 0 ? "no replica of the model is left" : "";
}

void
RecoveryRun::Resume(uint32_t generation)
{
    if (generation != m_generation || m_over)
    {
        return; // another failure became known meanwhile
    }
    const int64_t now = RdmaClock::Now();
    m_results.recoveringPs += now - m_known;
    m_recovering = false;
    m_since = now;
    m_stepEnd = now;
    m_results.failures.back().resumed = now;
    Log("the ranks begin again with step " + std::to_string(m_start.first + 1));
    m_ended = m_start.first;
    if (m_results.failures.back().lostSteps == 0)
    {
        m_results.failures.back().recomputed = now;
    }
    const std::string why = m_job.Resume(m_start, m_hosts);
    if (!why.empty())
    {
        GiveUp(why);
    }
}

void
RecoveryRun::GiveUp(const std::string& why)
{
    m_results.gaveUp = why;
    Log("the job gives up: " + why);
    m_run.Control().Fail("the job gives up: " + why);
}

void
RecoveryRun::OnStepEnd(uint32_t step, int64_t begin, int64_t end)
{
    m_ended = step + 1;
    m_stepEnd = end;
    m_useful += end - begin;
    m_over = m_ended == m_scenario.warmupSteps + m_scenario.steps;
    if (!m_results.failures.empty())
    {
        results::RecoveryRecord& last = m_results.failures.back();
        if (last.recomputed < 0 && m_ended >= last.fromStep + last.lostSteps)
        {
            last.recomputed = end;
        }
    }
}

int64_t
RecoveryRun::OnCheckpointBegin()
{
    return m_results.checkpointPs;
}

void
RecoveryRun::OnCheckpointEnd()
{
    const int64_t now = RdmaClock::Now();
    if (++m_results.checkpoints <= results::RecoveryResults::MOST_WRITTEN)
    {
        m_results.written.push_back(now);
    }
    m_checkpoint = m_ended;
    m_results.usefulPs += std::exchange(m_useful, 0);
    m_results.writingPs += now - m_stepEnd;
    m_since = now;
    m_stepEnd = now;
    Log("checkpoint of " + std::to_string(m_ended) + (m_ended == 1 ? " step" : " steps") +
        " written");
}

void
RecoveryRun::End(int64_t now)
{
    m_results.usefulPs += std::exchange(m_useful, 0);
    if (m_recovering)
    {
        m_results.recoveringPs += now - m_known;
    }
    else if (!m_over)
    {
        m_results.lostPs += now - m_stepEnd; // of a step that did not end
    }
}

} // namespace dltrain
