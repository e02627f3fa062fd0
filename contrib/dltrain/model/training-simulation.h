/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_TRAINING_SIMULATION_H
#define DLTRAIN_TRAINING_SIMULATION_H

#include "cluster-run.h"
#include "critical-path.h"
#include "line-log.h"
#include "step-runner.h"

#include <memory>
#include <string>
#include <vector>

namespace dltrain
{

/**
 * Training steps of a scenario: warm-up steps, then measured ones; calls.log, stats.json and the
 * terminal's summary.
 *
 * A step's time is from the end of the step before (the last rank's) to its own end. Exposed
 * communication is what computing does not cover: step time - time the compute stream is busy, mean
 * over the ranks.
 */
class TrainingSimulation
{
  public:
    explicit TrainingSimulation(const scenario::TrainingScenario& scenario);
    ~TrainingSimulation();

    /// Simulates and reports. \return exit status
    int Run();

  private:
    /// A measured step.
    struct Step
    {
        int64_t begin = 0; ///< ps
        StepRecord record;
    };

    /// Completes the files, prints the summary. \return exit status
    int Report(const RunOutcome& outcome);
    void OnStep(uint32_t step, const StepRecord& record);
    void OnCall(const CallRecord& call);
    nlohmann::ordered_json Statistics() const;
    void PrintSummary(const RunStats& network) const;
    /// FLOP/s of a GPU with this datatype.
    double Peak() const;
    /**
     * Model FLOPs utilization: FLOPs of the model (StepFlops, nothing that is computed again) a
     * second over the peak. PaLM (arXiv 2204.02311), appendix B; there in tokens a second, which is
     * the same ratio.
     */
    double Utilization(double stepUs) const;
    void PrintCriticalPath() const;
    bool HasTokens() const;
    /// \param step counts from 0, warm-up included
    std::string PhaseName(uint32_t step) const;
    /// Means over the measured steps, us.
    double StepUs() const;
    double MeanUs(double StepRecord::*ps) const;

    const scenario::TrainingScenario& m_scenario;
    ClusterRun m_run;
    std::unique_ptr<StepRunner> m_steps;
    std::unique_ptr<CollectiveRunner> m_runner;
    std::unique_ptr<CriticalPath> m_critical; //!< null: not asked for
    LineLog m_calls;
    std::string m_line;
    uint32_t m_logEvery = 1; ///< calls.log has every n-th rank
    int64_t m_lastEnd = 0;
    std::vector<Step> m_measured;
    std::vector<std::string> m_names; ///< by tag
};

} // namespace dltrain

#endif // DLTRAIN_TRAINING_SIMULATION_H
