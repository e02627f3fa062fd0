/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collperf-job-simulation.h"

#include "reports/base/output-errors.h"
#include "reports/stats/run-summary.h"

#include <iostream>
#include <utility>

namespace dltrain
{

CollperfJobSimulation::CollperfJobSimulation(const scenario::CollperfScenario& scenario)
    : m_scenario(scenario),
      m_run(
          "collperf",
          scenario.run,
          scenario.fabric,
          {scenario.cluster.topology, scenario.cluster.topologyName, scenario.cluster.hostOfServer},
          {scenario.warmupIterations > 0, false, scenario.ranks, std::cerr, true}),
      m_job(*scenario.job, m_run),
      m_table(scenario)
{
}

int
CollperfJobSimulation::Run()
{
    return m_run.Run(*this);
}

std::string
CollperfJobSimulation::Populate()
{
    if (!m_table.Open(m_scenario.run.out + "/collectives.csv"))
    {
        return reports::OutputErrors::First();
    }
    TrainingJob::Setting setting;
    setting.step = "iteration";
    setting.onStep = [this](const reports::StepRecord& record, int64_t begin) {
        OnIteration(record, begin);
    };
    return m_job.Populate(std::move(setting));
}

void
CollperfJobSimulation::OnBegin()
{
    m_table.PrintHead(std::cout);
}

double
CollperfJobSimulation::GetShareDone() const
{
    return m_job.Get().GetShareDone();
}

bool
CollperfJobSimulation::IsDone() const
{
    return m_job.Get().IsDone();
}

bool
CollperfJobSimulation::GoesOnByItself() const
{
    return m_job.GoesOnByItself();
}

std::string
CollperfJobSimulation::DescribeUnfinished() const
{
    return m_job.DescribeUnfinished();
}

void
CollperfJobSimulation::OnIteration(const reports::StepRecord& record, int64_t begin)
{
    ++m_iterations;
    m_elapsed += record.end - begin;
    if (!record.collectives.empty())
    {
        m_last = record.collectives.back();
    }
}

void
CollperfJobSimulation::OnEnd(reports::RunOutcome& outcome)
{
    m_job.OnEnd(outcome.simulatedPs);
    if (m_last.algorithm)
    {
        reports::CollperfRow row;
        row.last = m_last;
        row.timeUs = static_cast<double>(m_elapsed) * 1e-6 / m_iterations;
        row.asked = m_scenario.sizes.front();
        m_table.Add(std::cout, row);
    }
    m_table.Close();
}

nlohmann::ordered_json
CollperfJobSimulation::GetStatistics() const
{
    nlohmann::ordered_json stats = m_table.ToJson();
    m_job.AddTo(&stats);
    return stats;
}

void
CollperfJobSimulation::PrintSummary(std::ostream& os, const reports::RunStats& network) const
{
    m_table.PrintEnd(std::cout);
    m_table.PrintShares(os);
    m_job.PrintRecovery(os);
    reports::PrintRunStats(os, network);
}

std::string
CollperfJobSimulation::GetFiles() const
{
    return ", collectives.csv";
}

} // namespace dltrain
