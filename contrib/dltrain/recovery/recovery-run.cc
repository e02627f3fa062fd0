/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "recovery-run.h"

#include "contrib/dltrain/runners/fault-run.h"
#include "reports/base/human-text.h"
#include "scenarios/asked/recovery.h"
#include "scenarios/options/member.h"
#include "topologies/names.h"

#include "ns3/node-windows.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <numeric>
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
    m_results.policy = m_spec.policy->name;
    m_results.watchdogPs = m_spec.watchdog.ps;
    m_results.checkpointEvery = m_spec.checkpointEvery;
    const std::vector<uint64_t> written = m_spec.checkpoint.WrittenBy();
    const std::vector<uint64_t> read = m_spec.checkpoint.ReadBy(m_spec.gpus);
    m_results.checkpointBytes = std::accumulate(written.begin(), written.end(), uint64_t{0});
    m_results.writtenBytes = m_spec.MostOfServer(written);
    m_results.readBytes = m_spec.MostOfServer(read);
    m_results.writesBehind = m_spec.writesBehind;
    m_results.copyPs = m_spec.CopyTime(written).ps;
    m_results.writePs = m_spec.TimeAtRate(written).ps;
    m_results.readPs = m_spec.TimeAtRate(read).ps;
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
    if (!m_spec.checkpointHosts.empty())
    {
        m_traffic =
            std::make_unique<CheckpointTraffic>(m_scenario, m_run, [this](const std::string& what) {
                OnMessageFails(what);
            });
    }
    const QueuePairPatience patience = GetPatience(*m_run.Fabric().GetNic(0));
    m_results.queuePairPs = patience.exponent == 0 ? -1 /* never */ : patience.GetPs();
    if (!m_spec.policy->recovers)
    {
        return;
    }
    if (FaultRun* faults = m_run.Faults())
    {
        faults->SetMissed([this](std::size_t fault) { return WhyMissed(fault); });
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

std::string
RecoveryRun::NameOf(uint32_t host) const
{
    const topo::Topology& topology = m_scenario.cluster.topology;
    return topology.Nodes()[topology.Hosts()[host]].name;
}

void
RecoveryRun::Log(const std::string& text)
{
    reports::EventLog& log = m_run.Collector().GetEvents().GetLog();
    if (log.Count(reports::EventLog::FAULT))
    {
        log.Write(RdmaClock::Now(), reports::EventLog::FAULT, "job", text);
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
    int64_t since = m_recovering ? -1 : m_job.CommunicatesSince();
    // communication that began anew is younger
    since = since < 0 ? since : std::max(since, m_rebuilt);
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
    if (!m_spec.policy->recovers)
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
    // Failures of ranks that end anyhow do not count; but reads have to arrive.
    if (generation == m_generation && (!m_recovering || m_readingSince >= 0) && !m_over)
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
RecoveryRun::Settle(int64_t now)
{
    if (m_recovering && now > m_settled)
    {
        const int64_t passed = now - std::exchange(m_settled, now);
        m_results.recoveringPs += passed;
        m_takenSince += passed;
        m_takenOfStep += passed;
    }
}

int64_t
RecoveryRun::Lose(int64_t now, bool restarts)
{
    if (!restarts)
    {
        m_results.usefulPs += m_useful;
    }
    m_useful = 0;
    const int64_t lost = restarts ? now - m_since - m_takenSince : now - m_stepEnd - m_takenOfStep;
    m_job.Abort(!restarts);
    if (std::exchange(m_goOn, nullptr))
    {
        NoteHeld(now);
    }
    m_copied.reset();
    ++m_phase;
    m_suspended = false;
    m_leaving.clear();
    m_since = m_stepEnd = now;
    m_takenSince = m_takenOfStep = 0;
    return lost;
}

void
RecoveryRun::Know(const std::string& by, const std::string& what)
{
    const int64_t now = RdmaClock::Now();
    const Failed failed = FindFailed();
    reports::RecoveryRecord record;
    record.known = now;
    record.by = by;
    record.what = what;
    Settle(now);
    EndTraffic(now);
    const RecoveryPolicy* policy = m_spec.policy;
    if (policy->repeats)
    {
        // Ranks that have ended for a restart cannot go on any more.
        record.notRebuilt =
            m_recovering && !m_suspended ? "the job begins again already" : WhyNotRebuilt(failed);
        policy = record.notRebuilt.empty()
                     ? policy
                     : &scenario::RegisteredRecoveryPolicy::Get(policy->instead);
    }
    const bool rebuilds = policy->repeats;
    const bool restarts = policy->restarts;
    const bool givesUp = m_recoveries >= m_spec.mostRestarts;
    if (!m_recovering)
    {
        record.cutOff = m_job.GetCutOff();
    }
    if (rebuilds && !givesUp)
    {
        if (!m_recovering)
        {
            const int64_t since = m_job.CommunicatesSince();
            record.lostPs =
                since < 0 ? 0 : std::max<int64_t>(0, now - std::max({since, m_stepEnd, m_rebuilt}));
            m_takenSince += record.lostPs;
            m_takenOfStep += record.lostPs;
            m_job.Suspend();
            m_suspended = true;
        }
    }
    else
    {
        record.lostSteps = restarts ? m_ended - m_checkpoint : 0;
        record.lostPs = Lose(now, restarts);
        m_ended = restarts ? m_checkpoint : m_ended;
    }
    m_results.lostPs += record.lostPs;
    m_recovering = true;
    m_settled = now;
    ++m_generation;
    m_start.first = record.fromStep = m_ended;
    record.nameOfStep = m_job.NameOfRound(m_ended);
    record.action = policy->name;
    Log("failure known by the " + by + ": " + what);

    for (const uint32_t server : failed.servers)
    {
        record.servers.push_back(NameOf(m_hosts[server]));
    }
    const uint32_t gpus = m_scenario.cluster.server.gpus;
    for (const coll::Rank rank : failed.stopped)
    {
        if (!failed.cutOff.count(rank / gpus))
        {
            record.gpus.push_back(NameOf(m_hosts[rank / gpus]) + ":gpu-" +
                                  std::to_string(rank % gpus));
        }
    }
    record.failed = FindBegin(failed, by == OF_WATCHDOG);
    std::string why;
    if (givesUp)
    {
        why = scenario::Spell(&scenario::asked::Recovery::maxRestarts) + "=" +
              std::to_string(m_spec.mostRestarts) + " allows no other recovery";
    }
    else if (restarts)
    {
        why = Replace(failed.servers, &record);
    }
    else
    {
        why = Leave(failed.ranks, &record);
    }
    if (why.empty())
    {
        ++m_recoveries;
        record.abortPs = m_spec.abort.ps;
        record.restartPs = (record.notRebuilt.empty() ? m_spec.restart : m_spec.restartInstead).ps;
        const bool reads = restarts && m_checkpoint > 0;
        record.readPs =
            reads && !m_traffic
                ? m_spec.TimeAtRate(m_spec.checkpoint.ReadBy(m_spec.gpus, m_start.absent)).ps
                : 0;
        At(now + record.abortPs + record.restartPs + record.readPs,
           [this, reads, generation = m_generation] {
               if (reads && m_traffic)
               {
                   Read(generation);
                   return;
               }
               Resume(generation);
           });
    }
    else
    {
        record.action.clear();
    }
    record.nics = LostPorts();
    m_results.failures.push_back(std::move(record));
    if (!why.empty())
    {
        GiveUp(why);
    }
}

Places::NicsInUse
RecoveryRun::NicsNow() const
{
    return m_spec.policy->repeats ? FindNics() : Places::NicsInUse();
}

void
RecoveryRun::Read(uint32_t generation)
{
    if (generation != m_generation || m_over)
    {
        return; // another failure became known meanwhile
    }
    m_readingSince = RdmaClock::Now();
    Log("the ranks read their checkpoint");
    m_traffic->Read({m_hosts, NicsNow(), m_start.absent}, [this, generation] {
        m_results.failures.back().readPs = RdmaClock::Now() - std::exchange(m_readingSince, -1);
        Resume(generation);
    });
}

void
RecoveryRun::EndTraffic(int64_t now)
{
    if (m_readingSince >= 0)
    {
        m_results.failures.back().readPs = now - std::exchange(m_readingSince, -1);
    }
    if (m_traffic)
    {
        m_traffic->Abort();
    }
}

void
RecoveryRun::Resume(uint32_t generation)
{
    if (generation != m_generation || m_over)
    {
        return; // another failure became known meanwhile
    }
    const int64_t now = RdmaClock::Now();
    Settle(now);
    m_recovering = false;
    m_rebuilt = now;
    reports::RecoveryRecord& last = m_results.failures.back();
    last.resumed = now;
    if (last.lostSteps == 0)
    {
        last.recomputed = now;
    }
    last.nics = LostPorts(); // includes ports that were lost meanwhile
    std::string why = WhyNoRails();
    why = why.empty() ? GoOn(last) : why;
    if (!why.empty())
    {
        last.resumed = -1;
        last.action.clear();
        GiveUp(why);
    }
}

std::string
RecoveryRun::GoOn(reports::RecoveryRecord& last)
{
    if (!m_suspended)
    {
        m_since = m_stepEnd = RdmaClock::Now();
        m_takenSince = m_takenOfStep = 0;
        Log("the ranks begin again with " + m_job.NameOfRound(m_start.first));
        return m_job.Resume(m_start, {m_hosts, NicsNow()});
    }
    m_suspended = false;
    JobRunner::Repeated again;
    std::string why = m_job.Rebuild(std::exchange(m_leaving, {}), {m_hosts, FindNics()}, &again);
    last.repeated = again.collectives;
    last.repeatedMessages = again.messages;
    Log("the ranks go on; collectives that begin anew: " + std::to_string(again.collectives) +
        ", messages: " + std::to_string(again.messages));
    if (m_traffic && why.empty())
    {
        WriteAll(); // anew, of those that are left
    }
    return why;
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
    Settle(end);
    m_ended = step + 1;
    m_stepEnd = end;
    m_useful += end - begin - std::exchange(m_takenOfStep, 0);
    m_over = m_ended == m_scenario.warmupSteps + m_scenario.steps;
    if (!m_results.failures.empty())
    {
        reports::RecoveryRecord& last = m_results.failures.back();
        if (last.recomputed < 0 && m_ended >= last.fromStep + last.lostSteps)
        {
            last.recomputed = end;
        }
    }
}

void
RecoveryRun::After(const rdma::Duration& time, std::function<void()> what)
{
    At(RdmaClock::Now() + time.ps, [this, phase = ++m_phase, what = std::move(what)] {
        if (phase == m_phase)
        {
            what();
        }
    });
}

void
RecoveryRun::Write(std::function<void()> then)
{
    m_writingSince = RdmaClock::Now();
    if (m_traffic)
    {
        m_traffic->Write({m_hosts, NicsNow(), m_start.absent}, std::move(then));
        return;
    }
    After(m_spec.TimeAtRate(m_spec.checkpoint.WrittenBy(m_start.absent)), std::move(then));
}

void
RecoveryRun::WriteAll()
{
    // Where the job is rebuilt, its packets wait until it is; what takes a time takes it.
    if (m_traffic && m_recovering)
    {
        return;
    }
    if (m_copied)
    {
        Write([this] { OnWrittenBehind(); });
    }
    else if (m_goOn && !m_spec.writesBehind)
    {
        Write([this] { GoOn(); });
    }
}

void
RecoveryRun::GoOn()
{
    std::exchange(m_goOn, nullptr)();
}

void
RecoveryRun::Copy()
{
    After(m_spec.CopyTime(m_spec.checkpoint.WrittenBy(m_start.absent)), [this] { GoOn(); });
}

void
RecoveryRun::OnCheckpointBegin(std::function<void()> goOn)
{
    ++m_results.checkpointsBegun;
    m_heldSince = RdmaClock::Now();
    m_goOn = std::move(goOn);
    if (!m_spec.writesBehind)
    {
        WriteAll();
    }
    else if (!m_copied) // else when that is written
    {
        Copy();
    }
}

void
RecoveryRun::NoteHeld(int64_t now)
{
    if (m_results.heldUntil.size() < reports::RecoveryResults::MOST_WRITTEN)
    {
        m_results.heldFrom.push_back(m_heldSince);
        m_results.heldUntil.push_back(now);
    }
}

void
RecoveryRun::OnCheckpointEnd()
{
    const int64_t now = RdmaClock::Now();
    Settle(now);
    const int64_t waited = now - m_stepEnd - std::exchange(m_takenOfStep, 0);
    m_results.writingPs += waited;
    m_takenSince += waited;
    m_stepEnd = now;
    NoteHeld(now);
    const Copied copied{m_ended, now, m_useful, m_takenSince};
    if (!m_spec.writesBehind)
    {
        TakeForWritten(copied);
        return;
    }
    m_copied = copied;
    Log("the states of " + topo::Counted(m_ended, "step") + " are copied, the last is " +
        m_job.NameOfRound(m_ended - 1));
    WriteAll();
}

void
RecoveryRun::OnWrittenBehind()
{
    TakeForWritten(*m_copied);
    m_copied.reset();
    if (m_goOn)
    {
        Copy();
    }
}

void
RecoveryRun::TakeForWritten(const Copied& copied)
{
    const int64_t now = RdmaClock::Now();
    if (++m_results.checkpoints <= reports::RecoveryResults::MOST_WRITTEN)
    {
        m_results.written.push_back(now);
        m_results.took.push_back(now - m_writingSince);
    }
    m_checkpoint = copied.steps;
    m_results.usefulPs += copied.useful;
    m_useful -= copied.useful;
    m_since = copied.at;
    m_takenSince -= copied.taken;
    m_job.Keep(copied.steps);
    Log("checkpoint of " + topo::Counted(copied.steps, "step") + " written, the last is " +
        m_job.NameOfRound(copied.steps - 1));
}

void
RecoveryRun::End(int64_t now)
{
    m_results.step = m_job.GetStepWord();
    m_results.storage = static_cast<uint32_t>(m_spec.checkpointHosts.size());
    if (m_readingSince >= 0)
    {
        m_results.failures.back().readPs = now - std::exchange(m_readingSince, -1);
    }
    m_results.usefulPs += std::exchange(m_useful, 0);
    Settle(now);
    if (!m_over)
    {
        const int64_t lost = now - m_stepEnd - m_takenOfStep; // part of a step that did not end
        m_results.lostPs += lost;
        if (!m_results.gaveUp.empty() && !m_results.failures.empty())
        {
            m_results.failures.back().lostPs += lost;
        }
    }
}

} // namespace dltrain
