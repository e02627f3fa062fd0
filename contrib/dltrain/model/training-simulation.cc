/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "training-simulation.h"

#include "ranks.h"
#include "results/run-summary.h"
#include "results/tuner-record.h"
#include "scenarios/spec/trace-options.h"
#include "stuck-report.h"

namespace dltrain
{

TrainingSimulation::TrainingSimulation(const scenario::TrainingScenario& scenario)
    : m_scenario(scenario),
      m_run(
          "dltrain",
          scenario.run,
          scenario.fabric,
          {scenario.cluster.topology, scenario.cluster.topologyName, scenario.cluster.hostOfServer},
          {scenario.warmupSteps > 0, false, scenario.plan.ranks, std::cout, true}),
      m_job(scenario)
{
}

int
TrainingSimulation::Run()
{
    return m_run.Run(*this);
}

std::string
TrainingSimulation::Populate()
{
    if (Ranks::Get().IsFirst())
    {
        if (std::string why = scenario::WriteExports(m_scenario); !why.empty())
        {
            return why;
        }
    }
    TrainingJob::Setting setting;
    setting.tagOf = [this](const std::string& name) { return m_run.Collector().Tag(name); };
    setting.decide = [this](const std::string& what) { m_run.DecideForAll(what); };
    setting.onPhase = [this](const std::string& phase) { m_run.Control().SetPhase(phase); };
    // Packets and links are counted from where the step time is: the last rank's end, as soon as
    // others can know of it. Messages and calls by the step they belong to, as ranks do not begin
    // one together.
    setting.onMeasure = [this](int64_t now) { m_run.StartMeasuring(now); };
    setting.onEnd = [this] { m_run.End(); };
    setting.calls = m_scenario.run.out + "/calls.log";
    if (m_scenario.run.recovery)
    {
        m_recovery = std::make_unique<RecoveryRun>(m_scenario, m_run, m_job);
        setting.watcher = m_recovery.get();
        m_recovery->Start();
    }
    m_run.SetActor([this](const std::string& what) { m_job.Act(what); });
    return m_job.Populate(m_run, std::move(setting));
}

double
TrainingSimulation::GetShareDone() const
{
    return m_job.GetShareDone();
}

void
TrainingSimulation::MergeRanks()
{
    m_job.MergeRanks();
}

bool
TrainingSimulation::IsDone() const
{
    return m_job.IsDone();
}

bool
TrainingSimulation::GoesOnByItself() const
{
    return m_job.GoesOnByItself() || (m_recovery && m_recovery->IsRecovering());
}

std::string
TrainingSimulation::DescribeUnfinished() const
{
    if (m_recovery && m_recovery->IsRecovering())
    {
        return {}; // its ranks are gone
    }
    std::string text = DescribeRanks(m_job.DescribeUnfinished());
    if (!m_scenario.run.faults.faults.empty())
    {
        text +=
            (text.empty() || text.back() == '\n' ? "" : "\n") + DescribeTimeOuts(m_run.Fabric());
    }
    return text;
}

void
TrainingSimulation::OnEnd(results::RunOutcome& outcome)
{
    if (m_recovery)
    {
        m_recovery->End(outcome.simulatedPs);
    }
    m_job.Close();
}

std::string
TrainingSimulation::GetFiles() const
{
    return ", calls.log";
}

nlohmann::ordered_json
TrainingSimulation::GetStatistics() const
{
    nlohmann::ordered_json stats = m_job.GetStatistics();
    if (m_scenario.collectives.measured)
    {
        stats["tuner"] = results::ToJson(*m_scenario.collectives.measured);
    }
    if (m_recovery)
    {
        stats["recovery"] = results::ToJson(m_recovery->GetResults());
    }
    const std::vector<results::CutOffRecord> cutOff = m_job.GetCutOff();
    if (!cutOff.empty() && !m_job.IsDone() && !(m_recovery && m_recovery->IsRecovering()))
    {
        stats["cut_off"] = results::ToJson(cutOff);
    }
    return stats;
}

void
TrainingSimulation::PrintSummary(std::ostream& os, const results::RunStats& network) const
{
    m_job.Print(os);
    if (m_scenario.collectives.measured)
    {
        results::PrintTuner(os, *m_scenario.collectives.measured);
    }
    if (m_recovery)
    {
        results::PrintRecovery(os, m_recovery->GetResults());
    }
    results::PrintRunStats(os, network);
}

} // namespace dltrain
