/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_STEP_RUNNER_H
#define DLTRAIN_STEP_RUNNER_H

#include "collective-runner.h"
#include "event-pool.h"
#include "results/records.h"
#include "scenarios/training/step-graph.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace dltrain
{

using results::CallRecord;
using results::StepRecord;

/**
 * Runs a training plan: every rank walks its role's step graph, over and over, on its own streams.
 *
 * A rank starts its next step when all its tasks of this one are done; ranks wait for one another
 * only where collectives make them. Deterministic: ranks are started in order, ties are broken by
 * the event set.
 */
class StepRunner : public CollectiveUser
{
  public:
    /**
     * Of `steps` to run, the first `warmup` are marked: their messages carry MessageId::WARMUP
     * in their tags. onBegin is called when the first rank begins a step, onStep when the last rank
     * has ended it; tagOf gives the number of a collective's name.
     */
    StepRunner(const training::TrainingPlan& plan,
               uint32_t steps,
               uint32_t warmup,
               std::function<void(uint32_t step)> onBegin,
               std::function<void(uint32_t step, const StepRecord& record)> onStep,
               std::function<uint32_t(const std::string&)> tagOf);

    /// Call before Start. \param runner must outlive this, with this as its user
    void SetRunner(CollectiveRunner* runner);
    /// \param onCall called for every call of every rank, in the order they end
    void SetCallListener(std::function<void(const CallRecord&)> onCall);
    /// All ranks begin their first step at the current time. \return why not, or nothing
    std::string Start();

    bool IsDone() const
    {
        return m_stepsDone == m_steps;
    }

    /// \return (calls ended, calls in all): how far it is
    std::pair<uint64_t, uint64_t> GetProgress() const
    {
        return {m_callsDone, m_calls};
    }

    /// \return lines that say what is not done and why
    std::vector<std::string> DescribeUnfinished() const;

    // CollectiveUser
    void OnRankDone(uint32_t communicator, Rank position, uint64_t cookie, int64_t now) override;
    void OnCollectiveDone(uint32_t communicator,
                          const CollectiveRecord& record,
                          int64_t now) override;

  private:
    /// What is the same for all ranks of a role.
    struct Role
    {
        const training::StepGraph* graph;
        std::vector<uint16_t> dependencies;                 ///< per task
        std::vector<std::vector<training::TaskId>> after;   ///< per task: those that wait for it
        std::vector<std::vector<training::TaskId>> streams; ///< tasks of each stream in order
    };

    struct Stream
    {
        uint32_t next = 0; ///< index into Role::streams
        bool busy = false;
        int64_t since = 0; ///< of the running call
    };

    struct RankState
    {
        std::vector<uint16_t> waiting; ///< per task
        std::vector<Stream> streams;
        uint32_t left = 0; ///< tasks of this step
        uint32_t step = 0;
        uint32_t communicating = 0; ///< communication streams busy
        int64_t communicatingSince = 0;
    };

    struct EventPayload
    {
        Rank rank;
        training::TaskId task;
    };

    /// Of a step that not all ranks have ended.
    struct OpenStep
    {
        uint32_t ranksDone = 0;
        StepRecord record;
    };

    OpenStep& Open(uint32_t step);

    friend class EventPool<StepRunner, EventPayload>;
    void OnEvent(const EventPayload& e, int64_t now);

    void BeginStep(Rank rank, int64_t now);
    void TryStart(Rank rank, uint32_t stream, int64_t now);
    void EndTask(Rank rank, training::TaskId task, int64_t now);

    const training::TrainingPlan& m_plan;
    uint32_t m_steps;
    uint32_t m_warmup;
    std::function<void(uint32_t)> m_onBegin;
    uint32_t m_stepsBegun = 0;
    std::function<void(uint32_t, const StepRecord&)> m_onStep;
    std::function<void(const CallRecord&)> m_onCall;
    CollectiveRunner* m_runner = nullptr;
    std::vector<Role> m_roles;
    std::vector<std::vector<uint32_t>> m_tagOfTask; ///< per role and task
    std::vector<RankState> m_ranks;
    std::vector<std::vector<uint32_t>> m_communicatorOf; ///< [group kind][rank]
    std::vector<std::vector<Rank>> m_positionOf;         ///< [group kind][rank]
    std::deque<OpenStep>
        m_open; ///< steps that some rank has begun and not all have ended: m_stepsDone and on
    uint32_t m_stepsDone = 0;
    uint64_t m_calls = 0;
    uint64_t m_callsDone = 0;
    std::vector<std::vector<Rank>> m_rankAt;    ///< [communicator][position]
    std::vector<uint32_t> m_collectivesDone;    ///< per communicator: how many have ended
    std::vector<uint32_t> m_collectivesPerStep; ///< per communicator
    EventPool<StepRunner, EventPayload> m_events;
};

} // namespace dltrain

#endif // DLTRAIN_STEP_RUNNER_H
