/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "training-simulation.h"

#include "results/output-errors.h"
#include "results/run-summary.h"
#include "scenarios/training/training-plan.h"

#include <algorithm>

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
    const uint32_t steps = m_scenario.warmupSteps + m_scenario.steps;
    m_steps = std::make_unique<StepRunner>(
        m_scenario.plan,
        steps,
        m_scenario.warmupSteps,
        [this](uint32_t step) { m_run.Control().SetPhase(PhaseName(step)); },
        [this](uint32_t step, const StepRecord& record) { OnStep(step, record); },
        [this](const std::string& name) { return m_run.Collector().Tag(name); });
    m_interconnect = std::make_unique<Interconnect>(m_scenario.cluster,
                                                    m_scenario.fabric.network,
                                                    m_run.Fabric(),
                                                    m_run.Collector());
    m_runner = std::make_unique<CollectiveRunner>(m_scenario.cluster,
                                                  m_scenario.collectives,
                                                  *m_interconnect,
                                                  m_steps.get());
    m_steps->SetRunner(m_runner.get());
    if (m_scenario.run.attribution)
    {
        const TraceCollector& collector = m_run.Collector();
        m_critical = std::make_unique<results::CriticalPath>(
            m_scenario.plan,
            collector.GetPortNames(),
            collector.GetTags(),
            collector.GetFabric().GetLinkLayer().GetWords(),
            [&collector] { return collector.GetMessageParts(); });
        m_runner->SetPaths(&m_critical->GetPaths());
    }

    if (!m_calls.Open(m_scenario.run.out + "/calls.log"))
    {
        return results::OutputErrors::First();
    }
    m_steps->SetCallListener([this](const CallRecord& call) { OnCall(call); });
    for (const auto& [op, perGpu] : training::BytesMovedPerGpu(m_scenario.plan))
    {
        m_bytes += perGpu * m_scenario.plan.ranks * steps;
    }
    return m_steps->Start();
}

double
TrainingSimulation::GetShareDone() const
{
    // Of all that takes wall time, bytes on the network are nearly all; computing costs nothing.
    const auto [done, all] = m_steps->GetProgress();
    const double calls = static_cast<double>(done) / static_cast<double>(all);
    return done == all || m_bytes == 0
               ? calls
               : std::min(0.999, static_cast<double>(m_runner->GetBytes()) / m_bytes);
}

bool
TrainingSimulation::IsDone() const
{
    return m_steps->IsDone();
}

std::string
TrainingSimulation::DescribeUnfinished() const
{
    std::string text;
    for (const std::string& line : m_steps->DescribeUnfinished())
    {
        text += line + "\n";
    }
    return text;
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
TrainingSimulation::OnStep(uint32_t step, const StepRecord& record)
{
    const int64_t now = record.end;
    if (step >= m_scenario.warmupSteps)
    {
        m_results.Add(record, m_lastEnd);
        if (m_critical)
        {
            m_critical->OnStep(step, m_lastEnd);
        }
    }
    // Packets and links are counted from where the step time is: the last rank's end. Messages and
    // calls by the step they belong to, as ranks do not begin one together.
    if (step + 1 == m_scenario.warmupSteps)
    {
        m_run.Collector().StartMeasuring(now);
    }
    m_lastEnd = now;
    if (step + 1 == m_scenario.warmupSteps + m_scenario.steps)
    {
        m_run.Control().End();
    }
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
TrainingSimulation::OnCall(const CallRecord& call)
{
    if (m_critical && call.step >= m_scenario.warmupSteps)
    {
        m_critical->OnCall(call);
    }
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
