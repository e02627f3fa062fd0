/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_JOBS_SIMULATION_H
#define DLTRAIN_JOBS_SIMULATION_H

#include "contrib/dltrain/runners/fabric-run.h"
#include "contrib/dltrain/runners/flow-runner.h"
#include "contrib/dltrain/runners/training-job.h"
#include "reports/programs/serving-statistics.h"
#include "reports/schema/object.h"
#include "scenarios/training/options/jobs.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dltrain
{

/**
 * Several jobs on one fabric (scenario::JobSet), each with the same code as if it were the only
 * one: a TrainingJob, a ServingJob, or a FlowRunner. The run ends when all of them have.
 *
 * Everything is measured from the beginning, except the messages of a job's warm-up steps. One
 * process.
 */
class JobsSimulation : public FabricSimulation
{
  public:
    /// What a job is compared by.
    struct Measured
    {
        /// us. Training and collectives: the mean time of a measured step. Flows: the time from the
        /// job's start to the arrival of the last one. Serving: the mean time of a request.
        std::optional<double> us;
        std::optional<reports::ServingStatistics> served; ///< nothing: it serves nothing
    };

    using Times = std::vector<Measured>;

    /// \param only index of the job to be simulated alone, without any file and quietly; nothing:
    /// all jobs
    /// \param alone the jobs' times alone; empty: not known
    JobsSimulation(const scenario::TrainingScenario& scenario,
                   std::optional<std::size_t> only,
                   Times alone);
    ~JobsSimulation() override;

    /// Simulates and reports. \return exit status
    int Run();

    /// After Run: the times of the simulated jobs.
    Times GetTimes() const;

  private:
    struct Told;
    static const reports::Object<Told>& JobKeys();
    static const reports::Object<Told>& FlowKeys();
    static const reports::Object<Told>& ServingKeys();
    static const reports::Object<JobsSimulation>& Keys();
    static const reports::RegisteredKeys g_keys;

    class Member;

    // FabricSimulation
    std::string Populate() override;
    void OnBegin() override;
    double GetShareDone() const override;
    bool IsDone() const override;
    bool GoesOnByItself() const override;
    std::string DescribeUnfinished() const override;
    void OnEnd(reports::RunOutcome& outcome) override;
    nlohmann::ordered_json GetStatistics() const override;
    void WriteTables() const override;
    void PrintSummary(std::ostream& os, const reports::RunStats& network) const override;
    std::string GetFiles() const override;
    /// Latencies of the jobs that serve, together and alone.
    void PrintServed(std::ostream& os) const;
    /// \return what is known of a member alone; nothing: it was not simulated so
    Measured AloneOf(std::size_t member) const;

    /// Between the nodes' events.
    void OnMemberEnds();

    const scenario::TrainingScenario& m_scenario;
    bool m_isAlone;
    Times m_alone;
    scenario::RunOptions m_options;
    FabricRun m_run;
    NetworkShare m_share; ///< shared by all members
    std::vector<std::unique_ptr<Member>> m_members;
    std::size_t m_ended = 0;
    int64_t m_end = 0; ///< ps
};

/// Each job of the scenario alone, if it says so, then all together. \return exit status
int RunJobs(const scenario::TrainingScenario& scenario);

} // namespace dltrain

#endif // DLTRAIN_JOBS_SIMULATION_H
