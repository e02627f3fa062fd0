/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_PROGRAMS_TRAINING_RESULTS_H
#define REPORTS_PROGRAMS_TRAINING_RESULTS_H

#include "reports/attribution/critical-path.h"
#include "reports/base/records.h"
#include "reports/programs/band-text.h"
#include "reports/schema/object.h"
#include "scenarios/job/scenario.h"
#include "scenarios/training/steps/least-step.h"
#include "scenarios/workload/served.h"

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace reports
{

/**
 * Measured steps, summed up (training-results.cc): dltrain's keys of stats.json (training-json.cc),
 * its tables (training-tables.cc) and its summary (training-summary.cc). Memory does not grow with
 * their number.
 *
 * A step's time is from the end of the step before (the last rank's) to its own end. It is
 * computing, work of the host, exposed communication (under way, and no computing), a pipeline's
 * bubble, and waiting: nothing of the GPU's own was under way.
 */
class TrainingResults
{
  public:
    /// steps.csv has so many steps, the first.
    static constexpr std::size_t MOST_STEP_TIMES = 100000;
    /// step_collectives.csv has all collectives of the first steps: so many, or those of one step.
    static constexpr uint64_t MOST_COLLECTIVES = 10000;

    /// \param scenario kept by reference
    explicit TrainingResults(const scenario::TrainingScenario& scenario);

    /// A measured step has ended. \param begin end of the step before, ps
    void Add(const StepRecord& record, int64_t begin);

    /// \param critical null: not noted
    /// \param served null: there are no parameter servers
    nlohmann::ordered_json ToJson(const CriticalPath* critical,
                                  const workload::ServedStatistics* served = nullptr) const;
    /// Writes steps.csv, step_collectives.csv and the tables of the critical path.
    /// \param tags names of collectives, by tag
    void WriteTables(const std::string& out,
                     const CriticalPath* critical,
                     const std::vector<std::string>& tags) const;
    /// The part of ToJson for a job among others: steps, their times, throughput where there is a
    /// model, bytes sent, the parameter servers' work, and the collectives summed up by operation
    /// and algorithm.
    /// \param served null: there are no parameter servers
    nlohmann::ordered_json StepsToJson(const workload::ServedStatistics* served) const;
    /// Words for the keys of StepsToJson.
    static const Shape& StepWords();

    /// Mean of the measured steps; 0 if there are none.
    double GetStepUs() const;

    /// Where the time of a step went: mean over GPUs and steps, us. The parts are 0 or more and
    /// together the step.
    struct Breakdown
    {
        double step = 0;
        double compute = 0;
        double host = 0;
        double loading = 0;
        double underWay = 0; ///< communication, exposed or not: no part
        std::array<double, training::kParallelisms> exposed{};
        double bubble = 0;
        double waiting = 0;

        double Exposed() const;
    };

    /// \pre HasWhole
    Breakdown GetBreakdown() const;
    /// \return means over the measured steps of the largest size; empty: no pipeline
    std::vector<StageRecord> GetStages() const;

    /// \param error stated, of --fidelity=fast: a share of the step's time
    void Print(std::ostream& os,
               const CriticalPath* critical,
               const workload::ServedStatistics* served = nullptr,
               std::optional<double> error = {}) const;

  private:
    /// Collectives of one operation and algorithm, all measured steps.
    struct Sum
    {
        uint64_t count = 0;
        double bytes = 0;
        double us = 0; ///< first entry to last leaving: the time for busbw
        /// Time that a rank spends in them, mean of all ranks; they do not overlap.
        double rankUs = 0;
        double waitUs = 0; ///< part of rankUs until the last rank has entered
        double busBytes = 0;
        uint64_t sent = 0; ///< bytes, by all ranks together
    };

    /// Sums over the measured steps of one size of the plan.
    struct Size
    {
        uint32_t blocks = 0;
        uint32_t measured = 0;
        double stepUs = 0;
        double computeUs = 0;
        double communicationUs = 0;
        std::array<double, training::kParallelisms> exposedUs{};
        std::vector<StageRecord> stages; ///< sums, us and bytes
        double bubbleUs = 0;
        double hostUs = 0;
        double loadingUs = 0;
        double queuedUs = 0;
        double longestQueuedUs = 0;
        double messageBytes = 0;                                 ///< bytes of sends
        std::map<std::pair<std::string, std::string>, Sum> sums; ///< by operation and algorithm
    };

    /// A measured step whose collectives step_collectives.csv lists.
    struct ListedStep
    {
        uint32_t number; ///< from 1, of its size
        std::vector<CollectiveRecord> collectives;
    };

    /// Steps of another number of blocks follow, larger than those before.
    void BeginSize(uint32_t blocks);
    /// From the first rank's entry to the last one's leaving.
    static double SpanUs(const CollectiveRecord& record);
    /// Share of the GPUs that do anything: in a recording some may not.
    double WorkingShare() const;
    /// Number of those GPUs. It is the divisor of means per GPU, for times and bytes.
    double WorkingGpus() const;
    /// Average over the ranks that did a step.
    double SamplesPerStep() const;
    /// FLOP/s of a GPU with this datatype.
    double Peak() const;
    /**
     * Model FLOPs utilization: FLOPs of the model (StepFlops, nothing that is computed again) a
     * second over the peak. PaLM (arXiv 2204.02311), appendix B; there in tokens a second, which is
     * the same ratio.
     */
    double Utilization(double stepUs) const;

    /// \return whether the computation is known: layers of a user's profile need not give it
    bool HasFlops() const
    {
        return m_scenario.plan.flopsPerGpuPerStep > 0;
    }

    /// \pre HasWhole
    ComparedStep GetCompared() const
    {
        return {m_scenario.options, GetStepUs(), HasFlops() ? Utilization(GetStepUs()) : 0};
    }

    bool HasTokens() const;
    /// 0: not known, or a model of images.
    double TokensPerStep() const;
    /// Whether the number of samples is known: a recording may not have it.
    bool HasSamples() const;
    /// \return means over the measured steps of each size, us: as m_sizes
    std::vector<double> OfSizes(double Size::*sum) const;
    /// By size: what a pipeline's step takes over a network without delay; empty: not extrapolated,
    /// no pipeline, or not known. The last one is the whole model's.
    const std::vector<training::IdealStep>& Ideals() const;
    /// A part of the step beyond the ideal pipeline's, which is a line over the blocks.
    /// \param ideal this part of an ideal step, us
    double BeyondIdeal(const std::vector<double>& values,
                       const std::function<double(const training::IdealStep&)>& ideal) const;
    /// Mean over the measured steps, us: of the whole model, extrapolated where the plan's sizes
    /// have fewer blocks. 0: no step was measured.
    double Mean(double Size::*sum) const;
    /// The bubble of the whole model. \param leftUs time without computing and work of the host
    double BubbleUs(double leftUs) const;
    /// Misses of the line (fewer-layers.h), of the whole step.
    std::optional<double> LineError() const;
    std::optional<double> WholeLineError() const;

    /// \return whether the whole takes as long as the largest number of blocks, as more blocks took
    /// less time
    bool IsHeld() const;

    /// The bubble of one size as a share of its exposed time; and all sizes' shares, as words of an
    /// extrapolated run.
    static double BubbleShare(const Size& size);
    /// Of a step, us: what is left beside its other parts.
    static double WaitingUs(const Size& size);
    std::string BubbleShares() const;
    /// Words for each size's communication, where messages collide and it is not linear in the
    /// size.
    std::string CommunicationOfSizes() const;
    /// By operation: bytes a GPU sends in a step, extrapolated as Mean.
    std::map<std::string, double> BytesSent() const;
    /// \return of the sizes that have been measured their numbers of blocks
    std::vector<uint32_t> Blocks() const;
    double Whole(const std::vector<double>& values) const;
    bool IsExtrapolated() const;
    /// Whether anything is known of a step of the whole model: of a run that was interrupted when
    /// it had done only one of several numbers of blocks, nothing is.
    bool HasWhole() const;
    /// Whether the line over the blocks ends below the computing of the whole model: it bends on
    /// the way, as where few blocks do not hide what many hide.
    bool IsBelowComputing() const;
    /// All measured steps together.
    double MeasuredUs() const;

    // training-json.cc
    struct Told;
    static const Object<Told>& ModelKeys();
    static const Object<Told>& TimeKeys();
    static const Object<Told>& GpuKeys();
    static const Object<Told>& PathKeys();
    static const Object<Told>& CountKeys();
    static const Object<Told>& ExtrapolationKeys();
    static const Object<Told>& StepKeys();
    static const Object<Breakdown>& ExposedKeys();
    static const Object<StageRecord>& StageKeys();
    static const JoinedKeys g_words;
    static const RegisteredKeys g_keys;
    static const RegisteredKeys g_pathKeys;

    // training-summary.cc
    void PrintHead(std::ostream& os) const;
    std::string ExtrapolationText() const;
    std::string StepsText() const;
    void PrintStep(std::ostream& os,
                   const CriticalPath* critical,
                   std::optional<double> error) const;
    void PrintStages(std::ostream& os) const;
    void PrintThroughput(std::ostream& os) const;
    void PrintBand(std::ostream& os) const;
    void PrintCollectives(std::ostream& os) const;

    const scenario::TrainingScenario& m_scenario;

    // Values of the size that was begun last, which is the largest in the end:
    uint32_t m_measured = 0;
    double m_shares = 0;       ///< StepRecord::share, summed up
    std::vector<Size> m_sizes; ///< sizes of the plan that were begun: the last one first
    uint64_t m_collectives = 0;
    std::vector<double> m_stepUs;     ///< of the first MOST_STEP_TIMES steps
    std::vector<double> m_stepBegins; ///< us; of the same, where something is between them
    std::vector<ListedStep> m_listed; ///< the first
    uint64_t m_collectivesListed = 0;
    mutable std::optional<std::vector<training::IdealStep>> m_ideals; ///< made once
};

} // namespace reports

#endif // REPORTS_PROGRAMS_TRAINING_RESULTS_H
