/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "training-job.h"

#include "ranks.h"
#include "results/output-errors.h"
#include "scenarios/training/volumes.h"
#include "scenarios/workload/served.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <sstream>
#include <utility>

namespace dltrain
{

TrainingJob::TrainingJob(const scenario::TrainingScenario& scenario)
    : m_scenario(scenario),
      m_workload(scenario.served ? workload::MakeServed(scenario.plan,
                                                        *scenario.served,
                                                        scenario.warmupSteps,
                                                        scenario.steps)
                                 : workload::Find(scenario.workload)
                                       ->make(scenario.plan, scenario.warmupSteps, scenario.steps)),
      m_calls(scenario.plan, scenario.warmupSteps, scenario.steps),
      m_results(scenario)
{
}

TrainingJob::~TrainingJob() = default;

namespace
{

/// "measure? end? count of stopped, they, rank word rank word ...", for FabricRun::DecideForAll.
std::string
TextOf(const workload::Notice& notice)
{
    std::string text = std::to_string(notice.measure) + " " + std::to_string(notice.end);
    text += " " + std::to_string(notice.stop.size());
    for (const Rank rank : notice.stop)
    {
        text += " " + std::to_string(rank);
    }
    for (const workload::Wake& wake : notice.wake)
    {
        text += " " + std::to_string(wake.rank) + " " + std::to_string(wake.word);
    }
    return text;
}

workload::Notice
NoticeOf(const std::string& text)
{
    std::istringstream words(text);
    workload::Notice notice;
    std::size_t stopped = 0;
    words >> notice.measure >> notice.end >> stopped;
    notice.stop.resize(stopped);
    for (Rank& rank : notice.stop)
    {
        words >> rank;
    }
    Rank rank = 0;
    for (uint32_t word = 0; words >> rank >> word;)
    {
        notice.wake.emplace_back(rank, word);
    }
    return notice;
}

} // namespace

std::string
TrainingJob::Populate(FabricRun& run, Setting setting)
{
    m_setting = std::move(setting);
    m_collector = &run.Collector();
    m_lastEnd = m_setting.start;
    m_job = std::make_unique<JobRunner>(*m_workload, *this, m_setting.tagOf);
    m_job->SetNotes(run.Notes());
    m_interconnect = run.Connect(m_scenario.cluster);
    m_collectives = std::make_unique<CollectiveRunner>(m_scenario.cluster,
                                                       m_scenario.collectives,
                                                       *m_interconnect,
                                                       m_job.get(),
                                                       m_setting.number);
    m_collectives->SetSpeeds(&m_scenario.plan.speeds);
    m_messages = std::make_unique<MessageRunner>(*m_interconnect,
                                                 m_scenario.collectives,
                                                 *m_job,
                                                 m_setting.number);
    m_job->SetServices({*m_collectives, *m_messages});
    m_job->SetDecider([this](const workload::Notice& n) { m_setting.decide(TextOf(n)); });
    // Of a step that replicas do each at its own pace there is no critical path, nor of one in
    // which a pipeline goes on with what was sent in the step before.
    if (m_scenario.run.attribution && !m_scenario.served && m_scenario.plan.fillRoles == 0)
    {
        const TraceCollector& collector = run.Collector();
        m_critical = std::make_unique<results::CriticalPath>(
            m_scenario.plan,
            collector.GetPortNames(),
            collector.GetTags(),
            collector.GetWords(),
            [&collector] { return collector.GetMessageParts(); });
        m_critical->SetNotes(&collector.GetLinkNotes());
        m_collectives->SetPaths(&m_critical->GetPaths());
        m_messages->SetPaths(&m_critical->GetPaths());
    }

    if (Ranks::Get().IsFirst() && !m_setting.calls.empty() && !m_calls.Open(m_setting.calls))
    {
        return results::OutputErrors::First();
    }
    for (const auto& [op, perGpu] : training::BytesMovedPerGpu(m_scenario.plan))
    {
        if (m_scenario.served)
        {
            break; // what a GPU sends depends on how fast it is: calls tell how far the run is
        }
        m_bytes += perGpu * m_scenario.plan.ranks * (m_scenario.warmupSteps + m_scenario.steps) *
                   static_cast<double>(m_scenario.plan.sizes.size());
    }
    if (run.Notes())
    {
        uint32_t here = 0;
        for (Rank rank = 0; rank < m_scenario.plan.ranks; ++rank)
        {
            here += m_interconnect->GetPlaces().IsHere(rank);
        }
        run.Control().SetPortion(static_cast<double>(here) / m_scenario.plan.ranks);
    }
    const std::string error = m_job->Prepare();
    if (!error.empty())
    {
        return error;
    }
    if (m_setting.start == 0)
    {
        m_job->Begin();
        return {};
    }
    ns3::Simulator::ScheduleWithContext(ns3::Simulator::NO_CONTEXT,
                                        ns3::RdmaClock::At(m_setting.start),
                                        [this] { m_job->Begin(); });
    return {};
}

void
TrainingJob::Act(const std::string& what)
{
    m_job->Act(NoticeOf(what));
}

double
TrainingJob::GetShareDone() const
{
    // Of all that takes wall time, bytes on the network are nearly all; computing costs nothing.
    const auto [done, all] = m_job->GetProgress();
    const double calls = std::min(1.0, static_cast<double>(done) / static_cast<double>(all));
    const uint64_t bytes =
        m_merged ? *m_merged : m_collectives->GetBytes() + m_messages->GetBytes();
    return done == all || m_bytes == 0 ? calls
                                       : std::min(0.999, static_cast<double>(bytes) / m_bytes);
}

void
TrainingJob::MergeRanks()
{
    const Ranks& ranks = Ranks::OfHosts();
    const uint64_t all = ranks.Sum(m_collectives->GetBytes() + m_messages->GetBytes());
    m_merged = ranks.IsFirst() ? all : 0; // the shares of all ranks are added up
}

void
TrainingJob::Close()
{
    m_calls.Close();
}

nlohmann::ordered_json
TrainingJob::GetStatistics() const
{
    return m_results.ToJson(m_critical.get(), m_collector->GetTags(), m_workload->Statistics());
}

void
TrainingJob::Print(std::ostream& os) const
{
    m_results.Print(os, m_critical.get(), m_workload->Statistics());
}

void
TrainingJob::OnRoundBegin(uint32_t step)
{
    m_setting.onPhase(PhaseName(step));
}

void
TrainingJob::OnRoundEnd(uint32_t step, const results::StepRecord& record)
{
    if (IsMeasured(step))
    {
        m_results.Add(record, m_lastEnd);
        if (m_critical && SizeOf(step) == 0)
        {
            m_critical->OnStep(step, m_lastEnd);
        }
    }
    m_lastEnd = record.end;
}

void
TrainingJob::OnMeasure(int64_t now)
{
    m_setting.onMeasure(now);
}

void
TrainingJob::OnJobEnd()
{
    m_setting.onEnd();
}

std::string
TrainingJob::PhaseName(uint32_t step) const
{
    const uint32_t ofSize = step % (m_scenario.warmupSteps + m_scenario.steps);
    const bool warmup = !IsMeasured(step);
    const auto& sizes = m_scenario.plan.sizes;
    return (warmup ? "warm-up step " + std::to_string(ofSize + 1)
                   : "step " + std::to_string(ofSize - m_scenario.warmupSteps + 1)) +
           " of " + std::to_string(warmup ? m_scenario.warmupSteps : m_scenario.steps) +
           (sizes.size() > 1 ? ", " + std::to_string(sizes[SizeOf(step)].blocks) + " blocks" : "");
}

uint32_t
TrainingJob::SizeOf(uint32_t step) const
{
    return step / (m_scenario.warmupSteps + m_scenario.steps);
}

bool
TrainingJob::IsMeasured(uint32_t step) const
{
    return step % (m_scenario.warmupSteps + m_scenario.steps) >= m_scenario.warmupSteps;
}

void
TrainingJob::OnCallEnds(const results::CallRecord& call)
{
    if (m_critical && IsMeasured(call.step) && SizeOf(call.step) == 0)
    {
        m_critical->OnCall(call);
    }
}

void
TrainingJob::OnCall(const results::CallRecord& call)
{
    m_calls.Write(call);
}

} // namespace dltrain
