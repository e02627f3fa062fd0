/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_TRAINING_SIMULATION_H
#define DLTRAIN_TRAINING_SIMULATION_H

#include "critical-path.h"
#include "fabric-run.h"
#include "results/line-log.h"
#include "step-runner.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
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
class TrainingSimulation : public FabricSimulation
{
  public:
    explicit TrainingSimulation(const scenario::TrainingScenario& scenario);
    ~TrainingSimulation() override;

    /// Simulates and reports. \return exit status
    int Run();

  private:
    /// Collectives of one operation and algorithm, all measured steps.
    struct Sum
    {
        uint64_t count = 0;
        double bytes = 0;
        double us = 0;     ///< first entry to last leaving: what busbw is from
        double rankUs = 0; ///< that a rank spends in them; these do not overlap
        double busBytes = 0;
        uint64_t sent = 0; ///< bytes, by all ranks together
    };

    /// A measured step whose collectives stats.json lists.
    struct ListedStep
    {
        uint32_t number; ///< from 1
        std::vector<CollectiveRecord> collectives;
    };

    // FabricSimulation
    std::string Populate() override;
    double GetShareDone() const override;
    bool IsDone() const override;
    std::string DescribeUnfinished() const override;
    void OnEnd(results::RunOutcome& outcome) override;
    nlohmann::ordered_json GetStatistics() const override;
    void PrintSummary(std::ostream& os, const results::RunStats& network) const override;
    std::string GetFiles() const override;

    bool OpenCalls();
    void OnStep(uint32_t step, const StepRecord& record);
    void Add(const StepRecord& record);
    void OnCall(const CallRecord& call);
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
    double MeanUs(double us) const;

    const scenario::TrainingScenario& m_scenario;
    FabricRun m_run;
    std::unique_ptr<StepRunner> m_steps;
    std::unique_ptr<Interconnect> m_interconnect;
    std::unique_ptr<CollectiveRunner> m_runner;
    std::unique_ptr<CriticalPath> m_critical; //!< null: not asked for
    double m_bytes = 0;                       ///< that all steps move on the network
    results::LineLog m_calls;
    std::string m_line;
    uint32_t m_logEvery = 1;          ///< calls.log has every n-th rank
    uint32_t m_logSteps = UINT32_MAX; ///< and of the measured steps the first
    int64_t m_lastEnd = 0;
    // Sums over the measured steps, and what stats.json lists of the first of them: memory does not
    // grow with their number.
    uint32_t m_measured = 0;
    int64_t m_begin = 0; //!< ps, of the first
    int64_t m_end = 0;   //!< ps, of the last
    double m_computeUs = 0;
    double m_communicationUs = 0;
    std::map<std::pair<std::string, std::string>, Sum> m_sums; //!< by operation and algorithm
    uint64_t m_collectives = 0;
    std::vector<double> m_stepUs;     //!< of the first
    std::vector<ListedStep> m_listed; //!< the first
    uint64_t m_collectivesListed = 0;
    std::vector<std::string> m_names; ///< by tag
};

} // namespace dltrain

#endif // DLTRAIN_TRAINING_SIMULATION_H
