/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "training-simulation.h"

#include "contrib/dltrain/ranks/ranks.h"
#include "reports/stats/run-summary.h"
#include "reports/stats/tuner-record.h"
#include "scenarios/operator-search/options/sharding-options.h"
#include "scenarios/training/options/order-options.h"
#include "scenarios/training/options/trace-options.h"

#include <utility>

namespace dltrain
{

TrainingSimulation::TrainingSimulation(const scenario::TrainingScenario& scenario)
    : m_scenario(scenario),
      m_run(
          "dltrain",
          scenario.run,
          scenario.fabric,
          {scenario.cluster.topology, scenario.cluster.topologyName, scenario.cluster.hostOfServer},
          {scenario.plan.StepsBeforeCounting(scenario.warmupSteps, scenario.steps) > 0,
           false,
           scenario.plan.ranks,
           std::cout,
           true,
           scenario::LosslessPriorities(scenario.plan)}),
      m_job(scenario, m_run)
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
        if (std::string why = scenario::WriteSharding(m_scenario); !why.empty())
        {
            return why;
        }
    }
    TrainingJob::Setting setting;
    setting.calls = m_scenario.run.out + "/calls.log";
    return m_job.Populate(std::move(setting));
}

double
TrainingSimulation::GetShareDone() const
{
    return m_job.Get().GetShareDone();
}

void
TrainingSimulation::MergeRanks()
{
    m_job.Get().MergeRanks();
}

bool
TrainingSimulation::IsDone() const
{
    return m_job.Get().IsDone();
}

bool
TrainingSimulation::GoesOnByItself() const
{
    return m_job.GoesOnByItself();
}

std::string
TrainingSimulation::DescribeUnfinished() const
{
    return m_job.DescribeUnfinished();
}

void
TrainingSimulation::OnEnd(reports::RunOutcome& outcome)
{
    m_job.OnEnd(outcome.simulatedPs);
}

std::string
TrainingSimulation::GetFiles() const
{
    return std::string(", calls.log") +
           (m_scenario.sharded ? scenario::ShardingFiles(m_scenario) : "");
}

void
TrainingSimulation::WriteTables() const
{
    m_job.Get().WriteTables(m_scenario.run.out);
}

nlohmann::ordered_json
TrainingSimulation::GetStatistics() const
{
    nlohmann::ordered_json stats = m_job.Get().GetStatistics();
    if (m_scenario.collectives.measured)
    {
        reports::AddTo(stats, *m_scenario.collectives.measured);
    }
    m_job.AddTo(&stats);
    return stats;
}

void
TrainingSimulation::PrintSummary(std::ostream& os, const reports::RunStats& network) const
{
    const auto& fast = network.fastForward;
    m_job.Get().Print(os, fast ? std::optional(fast->error) : std::nullopt);
    if (m_scenario.collectives.measured)
    {
        reports::PrintTuner(os, *m_scenario.collectives.measured);
    }
    m_job.PrintRecovery(os);
    reports::PrintLuckOfWays(os, network);
    reports::PrintRunStats(os, network);
}

} // namespace dltrain
