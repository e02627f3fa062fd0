/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_TRAINING_SIMULATION_H
#define DLTRAIN_TRAINING_SIMULATION_H

#include "contrib/dltrain/recovery/recoverable-job.h"
#include "contrib/dltrain/runners/fabric-run.h"

#include <string>

namespace dltrain
{

/// Training steps of a scenario: warm-up steps, then measured ones.
class TrainingSimulation : public FabricSimulation
{
  public:
    explicit TrainingSimulation(const scenario::TrainingScenario& scenario);

    /// Simulates and reports. \return exit status
    int Run();

  private:
    // FabricSimulation
    std::string Populate() override;
    double GetShareDone() const override;
    void MergeRanks() override;
    bool IsDone() const override;
    bool GoesOnByItself() const override;
    std::string DescribeUnfinished() const override;
    void OnEnd(reports::RunOutcome& outcome) override;
    nlohmann::ordered_json GetStatistics() const override;
    void WriteTables() const override;
    void PrintSummary(std::ostream& os, const reports::RunStats& network) const override;
    std::string GetFiles() const override;

    const scenario::TrainingScenario& m_scenario;
    FabricRun m_run;
    RecoverableJob m_job;
};

} // namespace dltrain

#endif // DLTRAIN_TRAINING_SIMULATION_H
