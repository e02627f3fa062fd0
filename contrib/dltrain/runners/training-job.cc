/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "training-job.h"

#include "contrib/dltrain/ranks/ranks.h"
#include "reports/base/output-errors.h"
#include "scenarios/network/network-kinds.h"
#include "scenarios/network/recovery-options.h"
#include "scenarios/training/steps/volumes.h"
#include "scenarios/workload/checkpointed-steps.h"
#include "scenarios/workload/served.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <utility>

namespace dltrain
{

TrainingJob::TrainingJob(const scenario::TrainingScenario& scenario)
    : m_scenario(scenario),
      m_calls(scenario.plan,
              scenario.plan.StepsBeforeCounting(scenario.warmupSteps, scenario.steps),
              scenario.steps),
      m_results(scenario)
{
}

TrainingJob::~TrainingJob() = default;

namespace
{

std::unique_ptr<workload::Workload>
MakeWorkload(const scenario::TrainingScenario& s, const JobStart& start)
{
    if (s.run.recovery)
    {
        return std::make_unique<workload::CheckpointedSteps>(s.plan,
                                                             s.warmupSteps,
                                                             s.steps,
                                                             s.run.recovery->checkpointEvery,
                                                             start.first,
                                                             start.absent);
    }
    return s.served ? workload::MakeServed(s.plan, *s.served, s.warmupSteps, s.steps)
                    : topo::Registered<workload::Kind>::Get(s.workload)
                          .make(s.plan, s.warmupSteps, s.steps);
}

} // namespace

void
TrainingJob::Add(const Whereabouts& where, const JobStart& start)
{
    const std::size_t number = m_attempts.size();
    Attempt& attempt = *m_attempts.emplace_back(std::make_unique<Attempt>());
    attempt.workload = MakeWorkload(m_scenario, start);
    const uint32_t gpus = m_scenario.cluster.server.gpus;
    for (Rank rank = 0; rank < m_scenario.plan.ranks; ++rank)
    {
        if (const auto* speed = scenario::SpeedAt(m_scenario, where.hosts[rank / gpus], rank))
        {
            attempt.speeds.emplace(rank, *speed);
        }
    }
    JobStart from = start;
    from.speeds = &attempt.speeds;
    attempt.job = std::make_unique<JobRunner>(*attempt.workload, *this, m_setting.tagOf, from);
    attempt.job->SetNotes(number == 0 ? m_run->Notes() : nullptr); // with several there is one
    attempt.job->SetServices(Wire(where));
    attempt.job->SetDecider([this, number](const workload::Notice& n) {
        m_setting.decide({RoundEnded{number, n}});
    });
    attempt.job->SetChoiceDecider([this, number](const CollectiveChoice& c) {
        m_setting.decide({CollectiveChosen{number, c.communicator, c.kind, c.round, c.index}});
    });
}

RankServices
TrainingJob::Wire(const Whereabouts& where)
{
    Attempt& attempt = Now();
    Wiring& wiring = attempt.wirings.emplace_back();
    const scenario::ClusterSpec* cluster = &m_scenario.cluster;
    scenario::CollectiveOptions options = m_scenario.collectives;
    if (where.hosts != cluster->hostOfServer || !where.nics.empty())
    {
        auto changed = std::make_unique<scenario::ClusterSpec>(*cluster);
        changed->hostOfServer = where.hosts;
        if (!where.nics.empty())
        {
            changed->server.nics = static_cast<uint32_t>(where.nics.front().size());
            options.machine.nics = changed->server.nics;
        }
        wiring.cluster = std::move(changed);
        cluster = wiring.cluster.get();
    }
    wiring.interconnect = m_run->Connect(*cluster, where.nics, m_setting.share);
    wiring.collectives = std::make_unique<CollectiveRunner>(*cluster,
                                                            options,
                                                            *wiring.interconnect,
                                                            attempt.job.get(),
                                                            m_setting.number);
    wiring.collectives->SetSpeeds(&attempt.speeds);
    wiring.messages = std::make_unique<MessageRunner>(*wiring.interconnect,
                                                      options,
                                                      *attempt.job,
                                                      m_setting.number);
    if (TrainingJobWatcher* watcher = m_setting.watcher)
    {
        const auto tell = [watcher](const std::string& what) { watcher->OnMessageFails(what); };
        wiring.collectives->SetFailureListener(tell);
        wiring.messages->SetFailureListener(tell);
    }
    if (m_critical)
    {
        NotePaths();
    }
    if (!m_scenario.plan.tiers.empty())
    {
        wiring.memory = ConnectMemory(*cluster, &wiring);
    }
    return {wiring.collectives.get(), wiring.messages.get(), wiring.memory.get()};
}

std::unique_ptr<MemoryRunner>
TrainingJob::ConnectMemory(const scenario::ClusterSpec& cluster, Wiring* wiring)
{
    const std::vector<uint32_t>& hosts = m_scenario.cluster.memoryHosts;
    std::unique_ptr<Interconnect> interconnect;
    if (!hosts.empty())
    {
        auto with = std::make_unique<scenario::ClusterSpec>(cluster);
        with->hostOfServer.insert(with->hostOfServer.end(), hosts.begin(), hosts.end());
        with->servers = static_cast<uint32_t>(with->hostOfServer.size());
        wiring->memoryCluster = std::move(with);
        interconnect = m_run->Connect(*wiring->memoryCluster);
    }
    return std::make_unique<MemoryRunner>(m_scenario.plan,
                                          cluster,
                                          wiring->interconnect->GetPlaces(),
                                          std::move(interconnect),
                                          static_cast<uint32_t>(hosts.size()),
                                          *Now().job);
}

void
TrainingJob::NotePaths()
{
    Now().Wires().collectives->SetPaths(&m_critical->GetPaths());
    Now().Wires().messages->SetPaths(&m_critical->GetPaths());
}

void
TrainingJob::Abort(bool keep)
{
    if (keep)
    {
        Keep(UINT32_MAX);
    }
    m_steps.clear();
    Suspend();
    Now().job->Abort();
    m_standing = static_cast<double>(m_roundsKept) /
                 static_cast<double>((m_scenario.warmupSteps + m_scenario.steps) *
                                     m_scenario.plan.sizes.size());
    if (m_critical)
    {
        m_critical->Forget(0); // all begins anew
    }
}

void
TrainingJob::Suspend()
{
    if (!std::exchange(Now().suspended, true))
    {
        Now().job->Suspend();
        Now().Wires().interconnect->Abort();
        if (Now().Wires().memory)
        {
            Now().Wires().memory->Abort();
        }
        if (m_critical)
        {
            m_critical->Forget(Now().job->CountBegun());
        }
    }
}

std::string
TrainingJob::Resume(const JobStart& start, const Whereabouts& where)
{
    Add(where, start);
    m_lastEnd = ns3::RdmaClock::Now();
    std::string why = Now().job->Prepare();
    if (why.empty())
    {
        Now().job->Begin();
    }
    return why;
}

std::string
TrainingJob::Rebuild(const std::vector<Rank>& leaving,
                     const Whereabouts& where,
                     JobRunner::Repeated* repeated)
{
    Now().suspended = false;
    return Now().job->Rebuild(Wire(where), leaving, repeated);
}

std::string
TrainingJob::Populate(FabricRun& run, Setting setting)
{
    m_setting = std::move(setting);
    m_run = &run;
    m_collector = &run.Collector();
    m_lastEnd = m_setting.start;
    Add({m_scenario.cluster.hostOfServer}, {});
    for (const training::StepGraph& role : m_scenario.plan.roles)
    {
        for (const training::Task& task : role.tasks)
        {
            if (task.kind == training::TaskKind::kCollective)
            {
                run.Collector().MarkCollective(m_setting.tagOf(task.name));
            }
        }
    }
    // There is no critical path for a step that replicas do each at its own pace, nor for one in
    // which a pipeline goes on with the messages of the step before. Without packets the time of
    // messages between servers is not divided; noting paths takes a tenth of such a run. What waits
    // in a queue is begun by no call's end.
    const bool noted = scenario::NotesWaiting(m_scenario.run, m_scenario.fabric);
    if (m_setting.criticalPath && noted && !m_scenario.served && m_scenario.plan.fillRoles == 0 &&
        !m_scenario.plan.queue)
    {
        const TraceCollector& collector = run.Collector();
        m_critical = std::make_unique<reports::CriticalPath>(m_scenario.plan,
                                                             collector.GetPortNames(),
                                                             collector.GetTags(),
                                                             collector.GetWords());
        m_critical->SetNotes(&collector.GetLinkNotes());
        NotePaths();
    }

    if (Ranks::Get().IsFirst() && !m_setting.calls.empty() && !m_calls.Open(m_setting.calls))
    {
        return reports::OutputErrors::First();
    }
    for (const auto& [op, perGpu] : training::BytesMovedPerGpu(m_scenario.plan))
    {
        if (m_scenario.served)
        {
            break; // a GPU's sends depend on its speed: calls tell how far the run is
        }
        m_bytes += perGpu * m_scenario.plan.ranks * (m_scenario.warmupSteps + m_scenario.steps) *
                   static_cast<double>(m_scenario.plan.sizes.size());
    }
    if (run.Notes())
    {
        uint32_t here = 0;
        for (Rank rank = 0; rank < m_scenario.plan.ranks; ++rank)
        {
            here += Now().Wires().interconnect->GetPlaces().IsHere(rank);
        }
        run.Control().SetPortion(static_cast<double>(here) / m_scenario.plan.ranks);
    }
    const std::string error = Now().job->Prepare();
    if (!error.empty())
    {
        return error;
    }
    if (m_setting.start == 0)
    {
        Now().job->Begin();
        return {};
    }
    ns3::Simulator::ScheduleWithContext(ns3::Simulator::NO_CONTEXT,
                                        ns3::RdmaClock::At(m_setting.start),
                                        [this] { Now().job->Begin(); });
    return {};
}

void
TrainingJob::Apply(const Decision& decision)
{
    if (const auto* const chosen = std::get_if<CollectiveChosen>(&decision.what))
    {
        if (chosen->attempt + 1 == m_attempts.size())
        {
            Now().job->Act(
                CollectiveChoice{chosen->communicator, chosen->kind, chosen->round, chosen->index});
        }
        return;
    }
    auto [attempt, notice] = std::get<RoundEnded>(decision.what);
    if (attempt + 1 != m_attempts.size())
    {
        return; // it was aborted meanwhile
    }
    if (!notice.checkpoint)
    {
        Now().job->Act(notice);
        return;
    }
    // Immediate decisions take effect now; resting ranks are woken later.
    workload::Notice later;
    later.wake = std::exchange(notice.wake, {});
    Now().job->Act(notice);
    m_setting.watcher->OnCheckpointBegin([this, attempt = attempt, later] {
        if (attempt + 1 != m_attempts.size() || Now().job->IsAborted())
        {
            return;
        }
        m_setting.watcher->OnCheckpointEnd();
        m_lastEnd = ns3::RdmaClock::Now();
        Now().job->Act(later);
    });
}

double
TrainingJob::GetShareDone() const
{
    // Nearly all wall time is for bytes on the network; computing costs nothing.
    if (Now().job->IsAborted())
    {
        return m_standing;
    }
    const auto [done, all] = Now().job->GetProgress();
    const double rest = 1 - m_standing; // share of the job that this attempt has to do
    if (done == all || m_bytes == 0)
    {
        return m_standing +
               rest * std::min(1.0, static_cast<double>(done) / static_cast<double>(all));
    }
    const uint64_t bytes = m_merged ? *m_merged : CountBytes();
    return std::min(0.999, m_standing + static_cast<double>(bytes) / m_bytes);
}

uint64_t
TrainingJob::CountBytes() const
{
    uint64_t bytes = 0;
    for (const Wiring& wiring : Now().wirings)
    {
        bytes += wiring.collectives->GetBytes() + wiring.messages->GetBytes();
    }
    return bytes;
}

void
TrainingJob::MergeRanks()
{
    const Ranks& ranks = Ranks::OfHosts();
    const uint64_t all = ranks.Sum(CountBytes());
    m_merged = ranks.IsFirst() ? all : 0; // the shares of all ranks are added up
    Now().Wires().collectives->MergeRanks();
}

void
TrainingJob::Close()
{
    Keep(UINT32_MAX);
    m_calls.Close();
}

nlohmann::ordered_json
TrainingJob::GetStatistics() const
{
    return m_results.ToJson(m_critical.get(), Now().workload->Statistics());
}

void
TrainingJob::WriteTables(const std::string& out) const
{
    m_results.WriteTables(out, m_critical.get(), m_collector->GetTags());
}

nlohmann::ordered_json
TrainingJob::GetStepStatistics() const
{
    return m_results.StepsToJson(Now().workload->Statistics());
}

void
TrainingJob::Print(std::ostream& os, std::optional<double> error) const
{
    m_results.Print(os, m_critical.get(), Now().workload->Statistics(), error);
}

void
TrainingJob::OnRoundBegin(uint32_t step)
{
    m_setting.onPhase(PhaseName(step));
}

void
TrainingJob::OnRoundEnd(uint32_t step, const reports::StepRecord& record)
{
    if (m_setting.watcher)
    {
        m_setting.watcher->OnStepEnd(step, m_lastEnd, record.end);
    }
    if (m_critical && IsMeasured(step) && SizeOf(step) == 0)
    {
        m_critical->OnStep(step, m_lastEnd);
    }
    if (m_scenario.run.recovery && m_scenario.run.recovery->policy->MayRestart())
    {
        m_steps.push_back({step, m_lastEnd, record});
    }
    else
    {
        AddResults({step, m_lastEnd, record});
    }
    m_lastEnd = record.end;
}

void
TrainingJob::AddResults(const KeptStep& step)
{
    ++m_roundsKept;
    if (IsMeasured(step.step))
    {
        m_results.Add(step.record, step.begin);
        if (m_setting.onStep)
        {
            m_setting.onStep(step.record, step.begin);
        }
    }
}

void
TrainingJob::Keep(uint32_t step)
{
    for (; !m_steps.empty() && m_steps.front().step < step; m_steps.pop_front())
    {
        AddResults(m_steps.front());
    }
}

void
TrainingJob::OnMeasure(int64_t now)
{
    if (!std::exchange(m_measuring, true)) // a job that begins again ends its warm-up twice
    {
        m_setting.onMeasure(now);
    }
}

void
TrainingJob::OnJobEnd()
{
    m_setting.onEnd();
}

std::string
TrainingJob::PhaseName(uint32_t step) const
{
    const bool warmup = !IsMeasured(step);
    const auto& sizes = m_scenario.plan.sizes;
    return NameOfRound(step) + " of " +
           std::to_string(warmup ? m_scenario.warmupSteps : m_scenario.steps) +
           (sizes.size() > 1 ? ", " + std::to_string(sizes[SizeOf(step)].blocks) + " blocks" : "");
}

std::string
TrainingJob::NameOfRound(uint32_t number) const
{
    const uint32_t ofSize = number % (m_scenario.warmupSteps + m_scenario.steps);
    return IsMeasured(number)
               ? m_setting.step + " " + std::to_string(ofSize - m_scenario.warmupSteps + 1)
               : "warm-up " + m_setting.step + " " + std::to_string(ofSize + 1);
}

uint32_t
TrainingJob::SizeOf(uint32_t step) const
{
    return static_cast<uint32_t>(
        m_scenario.plan.SizeInTurn(step / (m_scenario.warmupSteps + m_scenario.steps)));
}

bool
TrainingJob::IsMeasured(uint32_t step) const
{
    return step % (m_scenario.warmupSteps + m_scenario.steps) >= m_scenario.warmupSteps;
}

void
TrainingJob::OnCallEnds(const reports::CallRecord& call, reports::PathRecord* path)
{
    if (m_critical && IsMeasured(call.step) && SizeOf(call.step) == 0)
    {
        m_critical->OnCall(call, path);
    }
}

void
TrainingJob::OnCall(const reports::CallRecord& call)
{
    m_calls.Write(call, IsAgain() ? reports::CallLog::How::kAgain : reports::CallLog::How::kPlain);
}

void
TrainingJob::OnCallAborted(const reports::CallRecord& call)
{
    // A call of the first warm-up is in no measured time.
    if (IsMeasured(call.step) || IsAgain())
    {
        m_calls.Write(call, reports::CallLog::How::kAborted);
    }
}

bool
TrainingJob::IsAgain() const
{
    return m_measuring && m_attempts.size() > 1;
}

} // namespace dltrain
