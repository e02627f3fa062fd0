/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_SERVING_SIMULATION_H
#define DLTRAIN_SERVING_SIMULATION_H

#include "contrib/dltrain/runners/fabric-run.h"
#include "contrib/dltrain/serving/serving-job.h"
#include "reports/programs/serving-results.h"
#include "scenarios/inference/serving-record.h"
#include "scenarios/job/serving-scenario.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dltrain
{

/// Requests of a scenario, served.
class ServingSimulation : public FabricSimulation
{
  public:
    /// \param scenario outlives this \param quiet without files and texts \param search rates that
    /// were tried before the run that is reported
    ServingSimulation(const scenario::ServingScenario& scenario,
                      bool quiet,
                      reports::ServingSearch search = {});

    /// Simulates and reports. \return exit status
    int Run();

    /// After Run.
    const serving::ServingOutcome& GetOutcome() const
    {
        return m_outcome;
    }

    reports::ServingStatistics Statistics() const;

    /// What neither outcome nor spec says.
    static reports::ServingAbout AboutOf(const scenario::ServingScenario& scenario);

  private:
    // FabricSimulation
    std::string Populate() override;
    double GetShareDone() const override;
    bool IsDone() const override;
    bool GoesOnByItself() const override;
    std::string DescribeUnfinished() const override;
    void OnEnd(reports::RunOutcome& outcome) override;
    nlohmann::ordered_json GetStatistics() const override;
    void WriteTables() const override;
    void PrintSummary(std::ostream& os, const reports::RunStats& network) const override;
    void WriteTimeline(const scenario::RunOptions& run, std::ostream& os) const override;
    std::string GetFiles() const override;

    reports::ServingResults Results() const;
    const scenario::ServingScenario& m_scenario;
    scenario::RunOptions m_options;
    reports::ServingSearch m_search;
    FabricRun m_run;
    std::unique_ptr<ServingJob> m_job; ///< null: it runs without network
    // Without network:
    std::atomic<double> m_share{0}; ///< of requests that are answered
    bool m_served = false;
    reports::ServingAbout m_about;
    serving::ServingOutcome m_outcome;
    std::optional<reports::ServingStatistics> m_statistics;
};

} // namespace dltrain

#endif // DLTRAIN_SERVING_SIMULATION_H
