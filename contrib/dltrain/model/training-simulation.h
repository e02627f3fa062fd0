/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_TRAINING_SIMULATION_H
#define DLTRAIN_TRAINING_SIMULATION_H

#include "fabric-run.h"
#include "job-runner.h"
#include "results/call-log.h"
#include "results/critical-path.h"
#include "results/training-results.h"
#include "scenarios/workload/registry.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace dltrain
{

/// Training steps of a scenario: warm-up steps, then measured ones.
class TrainingSimulation : public FabricSimulation, public JobListener
{
  public:
    explicit TrainingSimulation(const scenario::TrainingScenario& scenario);
    ~TrainingSimulation() override;

    /// Simulates and reports. \return exit status
    int Run();

  private:
    // FabricSimulation
    std::string Populate() override;
    double GetShareDone() const override;
    void MergeRanks() override;
    bool IsDone() const override;
    std::string DescribeUnfinished() const override;
    void OnEnd(results::RunOutcome& outcome) override;
    nlohmann::ordered_json GetStatistics() const override;
    void PrintSummary(std::ostream& os, const results::RunStats& network) const override;
    std::string GetFiles() const override;

    // JobListener
    void OnRoundBegin(uint32_t step) override;
    void OnCallEnds(const results::CallRecord& call) override;
    void OnCall(const results::CallRecord& call) override;
    void OnRoundEnd(uint32_t step, const results::StepRecord& record) override;
    void OnMeasure(int64_t now) override;
    void OnJobEnd() override;

    /// \param step counts from 0, warm-up included
    std::string PhaseName(uint32_t step) const;
    /// \return which of the plan's sizes it has
    uint32_t SizeOf(uint32_t step) const;
    bool IsMeasured(uint32_t step) const;

    const scenario::TrainingScenario& m_scenario;
    FabricRun m_run;
    std::unique_ptr<workload::Workload> m_workload;
    std::unique_ptr<Interconnect> m_interconnect;
    std::unique_ptr<JobRunner> m_job;
    std::unique_ptr<CollectiveRunner> m_collectives;
    std::unique_ptr<MessageRunner> m_messages;
    std::unique_ptr<results::CriticalPath> m_critical; //!< null: not asked for
    results::CallLog m_calls;
    results::TrainingResults m_results;
    double m_bytes = 0;               ///< that all steps move on the network
    std::optional<uint64_t> m_merged; ///< of these, what all Ranks did, when the events are over
    int64_t m_lastEnd = 0;
};

} // namespace dltrain

#endif // DLTRAIN_TRAINING_SIMULATION_H
