/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_TRAINING_JOB_H
#define DLTRAIN_TRAINING_JOB_H

#include "fabric-run.h"
#include "job-runner.h"
#include "results/call-log.h"
#include "results/critical-path.h"
#include "results/training-results.h"
#include "scenarios/workload/registry.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace dltrain
{

/**
 * The steps of one job on a fabric, alone or beside others: its workload, what runs it, and its
 * results. Messages of jobs are told apart by the job's number (ChannelName::job), tags by their
 * names.
 */
class TrainingJob : public JobListener
{
  public:
    /// What a job is among others, and whom it tells what.
    struct Setting
    {
        uint32_t number = 0;
        int64_t start = 0; ///< ps: ranks begin then
        /// The number of a collective's name.
        std::function<uint32_t(const std::string& name)> tagOf;
        /// Has Act done with this text: FabricRun::DecideForAll.
        std::function<void(const std::string& what)> decide;
        std::function<void(const std::string& phase)> onPhase;
        std::function<void(int64_t now)> onMeasure; ///< the warm-up is over; between events
        std::function<void()> onEnd;                ///< the last step is over; between events
        std::string calls;                          ///< file of calls; empty: none
    };

    /// \param scenario kept by reference
    explicit TrainingJob(const scenario::TrainingScenario& scenario);
    ~TrainingJob() override;

    /// Ranks and the first events, before all events; once. \return why not, or nothing
    std::string Populate(FabricRun& run, Setting setting);
    /// As decided.
    void Act(const std::string& what);

    /// Of the work, 0 to 1.
    double GetShareDone() const;

    bool IsDone() const
    {
        return m_job->IsDone();
    }

    /// \return whether a rank computes or waits for a time
    bool GoesOnByItself() const
    {
        return m_job->GoesOnByItself();
    }

    std::vector<std::string> DescribeUnfinished() const
    {
        return m_job->DescribeUnfinished();
    }

    /// With several Ranks: at the end, what all did.
    void MergeRanks();
    /// The run is over.
    void Close();

    nlohmann::ordered_json GetStatistics() const;
    void Print(std::ostream& os) const;

    const results::TrainingResults& GetResults() const
    {
        return m_results;
    }

    // JobListener
    void OnRoundBegin(uint32_t step) override;
    void OnCallEnds(const results::CallRecord& call) override;
    void OnCall(const results::CallRecord& call) override;
    void OnRoundEnd(uint32_t step, const results::StepRecord& record) override;
    void OnMeasure(int64_t now) override;
    void OnJobEnd() override;

  private:
    /// \param step counts from 0, warm-up included
    std::string PhaseName(uint32_t step) const;
    /// \return which of the plan's sizes it has
    uint32_t SizeOf(uint32_t step) const;
    bool IsMeasured(uint32_t step) const;

    const scenario::TrainingScenario& m_scenario;
    Setting m_setting;
    const TraceCollector* m_collector = nullptr;
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

#endif // DLTRAIN_TRAINING_JOB_H
