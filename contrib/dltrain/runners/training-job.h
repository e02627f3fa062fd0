/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_TRAINING_JOB_H
#define DLTRAIN_TRAINING_JOB_H

#include "fabric-run.h"
#include "job-runner.h"
#include "memory-runner.h"
#include "reports/attribution/critical-path.h"
#include "reports/programs/training-results.h"
#include "reports/tables/call-log.h"
#include "scenarios/workload/registry.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace dltrain
{

/// Hears what matters for recovery.
class TrainingJobWatcher
{
  public:
    virtual ~TrainingJobWatcher() = default;
    /// Messages of a rank begin to fail, by an event of its server. \param what in words
    virtual void OnMessageFails(const std::string& what) = 0;
    /// All ranks have ended the step, counted from 0, the warm-up included.
    virtual void OnStepEnd(uint32_t step, int64_t begin, int64_t end) = 0;
    /// And wait for a checkpoint, until this is called. By an event without context, as what
    /// follows and that call.
    virtual void OnCheckpointBegin(std::function<void()> goOn) = 0;
    /// They go on.
    virtual void OnCheckpointEnd() = 0;
};

/**
 * The steps of one job on a fabric, alone or beside others: its workload, what runs it, and its
 * results. Messages of jobs are told apart by the job's number (ChannelName::job), tags by their
 * names.
 */
class TrainingJob : public JobListener
{
  public:
    /// The place of a job among others, and its listeners.
    struct Setting
    {
        uint32_t number = 0;
        int64_t start = 0; ///< ps: ranks begin then
        /// The number of a collective's name.
        std::function<uint32_t(const std::string& name)> tagOf;
        /// Has it applied: FabricRun::DecideForAll.
        std::function<void(Decision decision)> decide;
        std::function<void(const std::string& phase)> onPhase;
        std::function<void(int64_t now)> onMeasure; ///< the warm-up is over; between events
        std::function<void()> onEnd;                ///< the last step is over; between events
        /// A measured step that is not thrown away any more; may be empty.
        std::function<void(const reports::StepRecord& step, int64_t begin)> onStep = {};
        std::string step = "step";     ///< people's word for a step
        std::string calls;             ///< file of calls; empty: none
        bool criticalPath = true;      ///< to be told, if it is known
        NetworkShare* share = nullptr; ///< with other jobs: NetworkParts::share
        /// Set for a scenario with a RecoverySpec, else null.
        TrainingJobWatcher* watcher = nullptr;
    };

    /// Where a job is, if not as at its beginning.
    struct Whereabouts
    {
        std::vector<uint32_t> hosts; ///< hosts of servers: ClusterSpec::hostOfServer
        Places::NicsInUse nics = {}; ///< as many of each server; empty: all
    };

    /// \param scenario kept by reference
    explicit TrainingJob(const scenario::TrainingScenario& scenario);
    ~TrainingJob() override;

    /// Ranks and the first events, before all events; once. \return why not, or nothing
    std::string Populate(FabricRun& run, Setting setting);
    /// As decided.
    void Apply(const Decision& decision);

    /// Between the nodes' events: ends the ranks where they are. \param keep whether to keep their
    /// work; else the work since the last checkpoint is forgotten
    void Abort(bool keep);
    /// Steps before this one can no longer be thrown away. \param step counts from 0, warm-up
    /// included
    void Keep(uint32_t step);
    /// They begin again, now, after Abort, by an event without context. \return why they cannot, or
    /// nothing
    std::string Resume(const JobStart& start, const Whereabouts& where);
    /// JobRunner::Suspend
    void Suspend();
    /// JobRunner::Rebuild
    std::string Rebuild(const std::vector<Rank>& leaving,
                        const Whereabouts& where,
                        JobRunner::Repeated* repeated);

    /// CollectiveRunner::GetCutOff
    std::vector<reports::CutOffRecord> GetCutOff() const
    {
        return Now().Wires().collectives->GetCutOff();
    }

    /// JobRunner::DescribeCommunicating
    std::string DescribeCommunicating() const
    {
        return Now().job->DescribeCommunicating();
    }

    /// JobRunner::CommunicatesSince
    int64_t CommunicatesSince() const
    {
        return Now().job->CommunicatesSince();
    }

    /// Setting::step
    const std::string& GetStepWord() const
    {
        return m_setting.step;
    }

    /// The share of the work that is done, 0 to 1.
    double GetShareDone() const;

    bool IsDone() const
    {
        return Now().job->IsDone();
    }

    /// \return whether a rank computes or waits for a time
    bool GoesOnByItself() const
    {
        const MemoryRunner* memory = Now().Wires().memory.get();
        return Now().job->GoesOnByItself() || (memory && memory->GoesOnByItself());
    }

    std::vector<std::string> DescribeUnfinished() const
    {
        return Now().job->DescribeUnfinished();
    }

    /// With several Ranks: at the end, what all did.
    void MergeRanks();
    /// The run is over.
    void Close();

    nlohmann::ordered_json GetStatistics() const;
    /// \param error TrainingResults::Print
    void Print(std::ostream& os, std::optional<double> error = {}) const;
    /// reports::TrainingResults::WriteTables
    void WriteTables(const std::string& out) const;
    /// reports::TrainingResults::StepsToJson
    nlohmann::ordered_json GetStepStatistics() const;

    const reports::TrainingResults& GetResults() const
    {
        return m_results;
    }

    // JobListener
    void OnRoundBegin(uint32_t step) override;
    void OnCallEnds(const reports::CallRecord& call, reports::PathRecord* path) override;
    void OnCall(const reports::CallRecord& call) override;
    void OnCallAborted(const reports::CallRecord& call) override;
    /// "step 3" (Setting::step) for a measured step, from 1, or "warm-up step 1": as calls.log and
    /// the pages count
    std::string NameOfRound(uint32_t number) const override;
    void OnRoundEnd(uint32_t step, const reports::StepRecord& record) override;
    void OnMeasure(int64_t now) override;
    void OnJobEnd() override;

  private:
    /// The services that carry out the ranks' communication.
    struct Wiring
    {
        std::unique_ptr<const scenario::ClusterSpec> cluster; ///< null: the scenario's
        std::unique_ptr<Interconnect> interconnect;
        std::unique_ptr<CollectiveRunner> collectives;
        std::unique_ptr<MessageRunner> messages;
        std::unique_ptr<const scenario::ClusterSpec> memoryCluster; ///< with memory servers
        std::unique_ptr<MemoryRunner> memory;                       ///< null: the plan has no tiers
    };

    /// The runners of the ranks, from a beginning to an end or an abort. Aborted attempts stay, as
    /// frames and events still refer to them.
    struct Attempt
    {
        /// Speeds as in the scenario, except those of ranks that have moved.
        std::map<Rank, training::SpeedProfile> speeds;
        std::unique_ptr<workload::Workload> workload;
        std::unique_ptr<JobRunner> job;
        std::deque<Wiring> wirings; ///< the last one is in use
        bool suspended = false;

        const Wiring& Wires() const
        {
            return wirings.back();
        }
    };

    struct KeptStep
    {
        uint32_t step;
        int64_t begin;
        reports::StepRecord record;
    };

    const Attempt& Now() const
    {
        return *m_attempts.back();
    }

    Attempt& Now()
    {
        return *m_attempts.back();
    }

    std::unique_ptr<MemoryRunner> ConnectMemory(const scenario::ClusterSpec& cluster,
                                                Wiring* wiring);
    /// A new attempt, all but its ranks' beginning.
    void Add(const Whereabouts& where, const JobStart& start);
    /// The last attempt gets what carries out its communication.
    RankServices Wire(const Whereabouts& where);
    /// For the critical path.
    void NotePaths();
    /// \return those that the last attempt has sent
    uint64_t CountBytes() const;
    void AddResults(const KeptStep& step);
    /// \param step counts from 0, warm-up included
    std::string PhaseName(uint32_t step) const;
    /// \return which of the plan's sizes it has
    uint32_t SizeOf(uint32_t step) const;
    bool IsMeasured(uint32_t step) const;
    /// Whether a call of the warm-up belongs to the measured part, as a repetition.
    bool IsAgain() const;

    const scenario::TrainingScenario& m_scenario;
    Setting m_setting;
    FabricRun* m_run = nullptr;
    const TraceCollector* m_collector = nullptr;
    std::deque<std::unique_ptr<Attempt>> m_attempts; //!< the last one is active
    std::deque<KeptStep> m_steps;                    //!< steps that a restart could throw away
    bool m_measuring = false;
    std::unique_ptr<reports::CriticalPath> m_critical; //!< null: not asked for
    reports::CallLog m_calls;
    reports::TrainingResults m_results;
    double m_bytes = 0;               ///< bytes that all steps move on the network
    std::optional<uint64_t> m_merged; ///< bytes that all Ranks have moved, when the events are over
    uint32_t m_roundsKept = 0;        ///< rounds that can no longer be thrown away
    double m_standing = 0;            ///< share of the job that stood when the last attempt began
    int64_t m_lastEnd = 0;
};

} // namespace dltrain

#endif // DLTRAIN_TRAINING_JOB_H
