/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_COLLPERF_JOB_SIMULATION_H
#define DLTRAIN_COLLPERF_JOB_SIMULATION_H

#include "contrib/dltrain/recovery/recoverable-job.h"
#include "contrib/dltrain/runners/fabric-run.h"
#include "reports/programs/collperf-table.h"
#include "scenarios/job/scenario.h"

#include <cstdint>
#include <string>

namespace dltrain
{

/**
 * A collective whose ranks may fail and recover: its iterations are the steps of a job, of which
 * each rank enters the next one as soon as it has left the last. One row, of the iterations that
 * were not thrown away; in the time of one that began anew is what that took.
 */
class CollperfJobSimulation : public FabricSimulation
{
  public:
    /// \pre it has a job
    explicit CollperfJobSimulation(const scenario::CollperfScenario& scenario);

    /// Simulates and reports. \return exit status
    int Run();

  private:
    // FabricSimulation
    std::string Populate() override;
    void OnBegin() override;
    double GetShareDone() const override;
    bool IsDone() const override;
    bool GoesOnByItself() const override;
    std::string DescribeUnfinished() const override;
    void OnEnd(reports::RunOutcome& outcome) override;
    nlohmann::ordered_json GetStatistics() const override;
    void PrintSummary(std::ostream& os, const reports::RunStats& network) const override;
    std::string GetFiles() const override;

    void OnIteration(const reports::StepRecord& record, int64_t begin);

    const scenario::CollperfScenario& m_scenario;
    FabricRun m_run;
    RecoverableJob m_job;
    reports::CollperfTable m_table;
    // Values of the measured iterations that count:
    uint32_t m_iterations = 0;
    int64_t m_elapsed = 0; ///< ps, in all
    reports::CollectiveRecord m_last;
};

} // namespace dltrain

#endif // DLTRAIN_COLLPERF_JOB_SIMULATION_H
