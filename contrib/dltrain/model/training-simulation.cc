/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "training-simulation.h"

#include "results/human-text.h"
#include "results/output-errors.h"
#include "results/run-summary.h"
#include "scenarios/training/volumes.h"

#include <algorithm>
#include <functional>

namespace dltrain
{

TrainingSimulation::TrainingSimulation(const scenario::TrainingScenario& scenario)
    : m_scenario(scenario),
      m_run(
          "dltrain",
          scenario.run,
          scenario.fabric,
          {scenario.cluster.topology, scenario.cluster.topologyName, scenario.cluster.hostOfServer},
          {scenario.warmupSteps > 0, false, scenario.plan.ranks}),
      m_workload(workload::Find(scenario.workload)
                     ->make(scenario.plan, scenario.warmupSteps, scenario.steps)),
      m_calls(scenario.plan, scenario.warmupSteps, scenario.steps),
      m_results(scenario)
{
}

TrainingSimulation::~TrainingSimulation() = default;

int
TrainingSimulation::Run()
{
    return m_run.Run(*this);
}

std::string
TrainingSimulation::Populate()
{
    m_job = std::make_unique<JobRunner>(*m_workload, *this, [this](const std::string& name) {
        return m_run.Collector().Tag(name);
    });
    m_interconnect = m_run.Connect(m_scenario.cluster);
    m_collectives = std::make_unique<CollectiveRunner>(m_scenario.cluster,
                                                       m_scenario.collectives,
                                                       *m_interconnect,
                                                       m_job.get());
    m_messages = std::make_unique<MessageRunner>(*m_interconnect,
                                                 m_scenario.collectives.stepLatency,
                                                 *m_job);
    m_job->SetServices({*m_collectives, *m_messages});
    m_job->SetDecider([this](std::function<void()> what) { m_run.Decide(std::move(what)); });
    if (m_scenario.run.attribution)
    {
        const TraceCollector& collector = m_run.Collector();
        m_critical = std::make_unique<results::CriticalPath>(
            m_scenario.plan,
            collector.GetPortNames(),
            collector.GetTags(),
            collector.GetFabric().GetLinkLayer().GetWords(),
            [&collector] { return collector.GetMessageParts(); });
        m_collectives->SetPaths(&m_critical->GetPaths());
        m_messages->SetPaths(&m_critical->GetPaths());
    }

    if (!m_calls.Open(m_scenario.run.out + "/calls.log"))
    {
        return results::OutputErrors::First();
    }
    for (const auto& [op, perGpu] : training::BytesMovedPerGpu(m_scenario.plan))
    {
        m_bytes += perGpu * m_scenario.plan.ranks * (m_scenario.warmupSteps + m_scenario.steps);
    }
    return m_job->Start();
}

double
TrainingSimulation::GetShareDone() const
{
    // Of all that takes wall time, bytes on the network are nearly all; computing costs nothing.
    const auto [done, all] = m_job->GetProgress();
    const double calls = static_cast<double>(done) / static_cast<double>(all);
    return done == all || m_bytes == 0
               ? calls
               : std::min(0.999,
                          static_cast<double>(m_collectives->GetBytes() + m_messages->GetBytes()) /
                              m_bytes);
}

bool
TrainingSimulation::IsDone() const
{
    return m_job->IsDone();
}

std::string
TrainingSimulation::DescribeUnfinished() const
{
    return results::InLines(m_job->DescribeUnfinished());
}

void
TrainingSimulation::OnEnd(results::RunOutcome&)
{
    m_calls.Close();
}

std::string
TrainingSimulation::GetFiles() const
{
    return ", calls.log";
}

void
TrainingSimulation::OnRoundBegin(uint32_t step)
{
    m_run.Control().SetPhase(PhaseName(step));
}

void
TrainingSimulation::OnRoundEnd(uint32_t step, const results::StepRecord& record)
{
    if (step >= m_scenario.warmupSteps)
    {
        m_results.Add(record, m_lastEnd);
        if (m_critical)
        {
            m_critical->OnStep(step, m_lastEnd);
        }
    }
    m_lastEnd = record.end;
}

void
TrainingSimulation::OnMeasure(int64_t now)
{
    // Packets and links are counted from where the step time is: the last rank's end, as soon as
    // others can know of it. Messages and calls by the step they belong to, as ranks do not begin
    // one together.
    m_run.StartMeasuring(now);
}

void
TrainingSimulation::OnJobEnd()
{
    m_run.End();
}

std::string
TrainingSimulation::PhaseName(uint32_t step) const
{
    const bool warmup = step < m_scenario.warmupSteps;
    return (warmup ? "warm-up step " + std::to_string(step + 1)
                   : "step " + std::to_string(step - m_scenario.warmupSteps + 1)) +
           " of " + std::to_string(warmup ? m_scenario.warmupSteps : m_scenario.steps);
}

void
TrainingSimulation::OnCallEnds(const results::CallRecord& call)
{
    if (m_critical && call.step >= m_scenario.warmupSteps)
    {
        m_critical->OnCall(call);
    }
}

void
TrainingSimulation::OnCall(const results::CallRecord& call)
{
    m_calls.Write(call);
}

nlohmann::ordered_json
TrainingSimulation::GetStatistics() const
{
    return m_results.ToJson(m_critical.get(), m_run.Collector().GetTags());
}

void
TrainingSimulation::PrintSummary(std::ostream& os, const results::RunStats& network) const
{
    m_results.Print(os, m_critical.get());
    results::PrintRunStats(os, network);
}

} // namespace dltrain
