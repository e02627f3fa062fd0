/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_JOB_RUNNER_H
#define DLTRAIN_JOB_RUNNER_H

#include "rank-runner.h"
#include "reports/attribution/collective-join.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dltrain
{

/// Has JobRunner::Act done later with this, in an event without context, which may touch any host;
/// what was decided at one time in that order.
using Decider = std::function<void(const workload::Notice& notice)>;
/// The same for what a group's first rank has chosen.
using ChoiceDecider = std::function<void(const CollectiveChoice& choice)>;

class RankNotes;

/// The start of a job that has begun before.
struct JobStart
{
    uint32_t first = 0; ///< round
    /// By rank: it has left, and its replica too; empty: none has left.
    std::vector<bool> absent = {};
    std::vector<bool> moved = {}; ///< by rank: it is at another GPU; empty: none
    /// Speeds of the ranks' GPUs, by rank, kept; null: those of the plan.
    const std::map<Rank, training::SpeedProfile>* speeds = nullptr;

    bool IsAbsent(Rank rank) const
    {
        return !absent.empty() && absent[rank];
    }

    bool HasMoved(Rank rank) const
    {
        return !moved.empty() && moved[rank];
    }
};

/// Hears of a job.
class JobListener
{
  public:
    virtual ~JobListener() = default;
    /// The first rank begins a round of this number.
    virtual void OnRoundBegin(uint32_t number) = 0;
    /// By an event of the rank's server, while whoever runs it tells of its end.
    virtual void OnCallEnds(const reports::CallRecord& call, reports::PathRecord* path);
    /// A call of any rank has ended. In the order of ends, as all calls here: through
    /// NodeWindows::Note.
    virtual void OnCall(const reports::CallRecord& call) = 0;
    /// A call that ran when the job was aborted: it lasted until then.
    virtual void OnCallAborted(const reports::CallRecord& call);
    /// \return people's name for a round of this number
    virtual std::string NameOfRound(uint32_t number) const;
    /// The last rank has ended the rounds of this number.
    virtual void OnRoundEnd(uint32_t number, const reports::StepRecord& record) = 0;
    /// The workload's word, decided: packets and links are counted from now on.
    virtual void OnMeasure(int64_t now) = 0;
    /// The workload's word, decided: the run is over.
    virtual void OnJobEnd() = 0;
};

/**
 * A workload on its ranks: a RankRunner for each, the communicators of its groups, and what the
 * ranks did, joined. Deterministic: ranks are started in order, ties are broken by the event set.
 *
 * A rank goes on by itself. What its end means for others (the workload's Notice) is decided.
 */
class JobRunner : public CollectiveUser, public MessageUser, public RankListener
{
  public:
    /// \param tagOf gives the number of a collective's name
    JobRunner(workload::Workload& workload,
              JobListener& listener,
              const std::function<uint32_t(const std::string&)>& tagOf,
              JobStart start = {});

    /// Without a decider, decisions take effect at once.
    void SetDecider(Decider decide)
    {
        m_decide = std::move(decide);
    }

    /// The same for choices of queued collectives.
    void SetChoiceDecider(ChoiceDecider choose)
    {
        m_choose = std::move(choose);
    }

    /// With several Ranks that have hosts, before SetServices: the first one hears by these notes
    /// of the events of all ranks of the job, and decides. \param notes null: a single process
    void SetNotes(RankNotes* notes);

    /// Call before Start. \param services must outlive this, with this as their user
    void SetServices(const RankServices& services);
    /// Prepares the work of ranks. \return why that cannot be, or nothing
    std::string Prepare();
    /// Once prepared: all ranks of this process begin at the current time. In an event without
    /// context, or before the first event.
    void Begin();

    /// Both. \return why not, or nothing
    std::string Start()
    {
        std::string why = Prepare();
        if (why.empty())
        {
            Begin();
        }
        return why;
    }

    /// Between the nodes' events: stops everything in the job. Its listener hears only of the calls
    /// that this ends.
    void Abort();

    /// Between the nodes' events: ranks go on computing, but their communication stops.
    void Suspend();

    /// Counts of work that began anew.
    struct Repeated
    {
        uint64_t collectives = 0;
        uint64_t messages = 0;
    };

    /// In an event without context, after Suspend: other services carry out the communication.
    /// Interrupted communication begins anew, also for ranks that had left a collective that others
    /// had not. Then ranks leave.
    /// \param leaving ranks that had not left; none in a job with messages
    /// \param repeated out
    /// \return why that cannot be, or nothing
    std::string Rebuild(const RankServices& services,
                        const std::vector<Rank>& leaving,
                        Repeated* repeated);

    bool IsAborted() const
    {
        return m_aborted;
    }

    /// \return the first number of a round that no rank has begun
    uint32_t CountBegun() const
    {
        return m_begun;
    }

    /// \return since when a rank has been in a collective or message, the longest, ps; -1: none is
    int64_t CommunicatesSince() const;
    /// \return a line about the rank that has communicated longest, and its work; empty: none
    /// communicates
    std::string DescribeCommunicating() const;

    /// As decided.
    void Act(const workload::Notice& notice);
    void Act(const CollectiveChoice& choice);

    bool IsDone() const
    {
        return m_workload.IsDone();
    }

    /// \return (tasks ended, tasks in all): how far it is
    std::pair<uint64_t, uint64_t> GetProgress() const
    {
        return {m_tasksDone, m_tasks};
    }

    /// \return whether a rank computes or waits for a time
    bool GoesOnByItself() const;

    /// \return lines about unfinished work, with the reasons
    std::vector<std::string> DescribeUnfinished() const;

    // CollectiveUser
    void OnRankDone(const reports::CollectivePart& part,
                    uint64_t cookie,
                    reports::PathRecord* path) override;

    // MessageUser
    void OnMessageDone(Rank rank,
                       uint64_t cookie,
                       int64_t now,
                       int64_t sent,
                       reports::PathRecord* path) override;

  private:
    /// Rounds of one number, not ended by all ranks.
    struct OpenRound
    {
        uint32_t ranksDone = 0; ///< number of present ranks that are done
        uint32_t ranksLeft = 0; ///< ranks that have left in it, and may have done a part
        int64_t end = 0;
        // Sums over the ranks; of 100 days and a million ranks, which are too many for 64 bits.
        unsigned __int128 computePs = 0;
        unsigned __int128 communicationPs = 0;
        unsigned __int128 bubblePs = 0;
        std::array<unsigned __int128, training::kParallelisms> exposedPs{};
        unsigned __int128 hostPs = 0;
        unsigned __int128 loadingPs = 0;
        unsigned __int128 queuedPs = 0;
        uint64_t queuedCalls = 0;
        int64_t longestQueuedPs = 0;
        uint64_t messageBytes = 0;
        std::vector<CollectiveRecord> collectives;

        /// The ranks of a stage of a pipeline.
        struct Stage
        {
            unsigned __int128 forwardPs = 0;
            unsigned __int128 backwardPs = 0;
            unsigned __int128 bubblePs = 0;
            unsigned __int128 bytesSent = 0;
        };

        std::vector<Stage> stages;
    };

    // RankListener
    void OnCall(const reports::CallRecord& call,
                int64_t communicated,
                int64_t bubble,
                reports::PathRecord* path) override;
    void OnRoundEnd(Rank runner,
                    const workload::Round& round,
                    const reports::ExposedTimes& exposed,
                    int64_t now) override;
    void OnChoice(const CollectiveChoice& choice) override;

    std::string NameOfRound(uint32_t number) const override
    {
        return m_listener.NameOfRound(number);
    }

    // Events of ranks: On... is called in the event, Tell... in the order of time.

    struct Call
    {
        reports::CallRecord record;
        int64_t communicated;
        int64_t bubble;
    };

    struct RoundEnd
    {
        Rank rank; //!< or actor
        workload::Round round;
        int64_t time; //!< ps
        reports::ExposedTimes exposed;
    };

    /// A Call as it goes to another process, which has the same plan.
    struct CallNote
    {
        int64_t start; ///< ps
        int64_t end;   ///< ps
        int64_t communicated;
        int64_t bubble;
        int64_t queued; ///< CallRecord
        Rank rank;
        uint32_t step;
        uint32_t role; ///< index of the graph
        training::TaskId task;
    };

    void TellBegin(const uint32_t& round);
    void TellPart(const reports::CollectivePart& part);
    void TellCall(const Call& ended);
    void TellRoundEnd(const RoundEnd& ended);
    void TellChoice(const CollectiveChoice& choice);
    // At once or, of several processes, in the first one.
    void HearBegin(uint32_t round);
    void HearPart(const reports::CollectivePart& part);
    void HearCall(const Call& ended);
    void HearRoundEnd(const RoundEnd& ended);

    CallNote NoteOf(const Call& ended) const;
    Call CallOf(const CallNote& note) const;

    /// The step that a round of this number is reported with. With actors, round numbers are each
    /// runner's own, and steps are the common work of all.
    uint32_t StepOf(uint32_t round) const
    {
        return m_plan.HasActors() ? m_closed : round;
    }

    OpenRound& Open(uint32_t number);
    /// \return null: there is no pipeline
    OpenRound::Stage* StageIn(OpenRound& round, Rank rank) const;
    reports::StepRecord Join(OpenRound& round) const;
    /// All ranks have ended the oldest that is open.
    void EndOldest();
    /// The last step of a plan with actors has ended. Work in progress counts for it up to now. In
    /// an event without context.
    void EndLast(int64_t now);

    /// \return ps of a span within measured steps, where these are spans of time; else the whole
    /// span
    uint64_t Measured(int64_t begin, int64_t end) const
    {
        return static_cast<uint64_t>(
            std::max<int64_t>(std::min(end, m_measuredUntil) - std::max(begin, m_measuredFrom), 0));
    }

    /// A collective that is to begin anew.
    struct Again
    {
        Rank rank;
        std::size_t kind;
        coll::Collective what; ///< collective of the ranks that stay
        uint32_t tag;
        uint64_t cookie; ///< GHOST: the rank had left it
    };

    /// Cookie of collectives that no rank waits for.
    static constexpr uint64_t GHOST = UINT64_MAX;

    /// \param leaving by rank
    /// \param again out, in the order of each communicator
    /// \return the number of collectives; -1: it is no longer known what one of them was
    int64_t FindInterrupted(const std::vector<bool>& leaving, std::vector<Again>* again) const;
    void Leave(const std::vector<Rank>& leaving);
    /// Makes communicators of the current groups. \return by rank, by group kind
    std::vector<std::vector<Seat>> MakeSeats();
    std::string PrepareCollectives();
    /// \param round nothing: it rests
    void Begin(Rank runner, const std::optional<workload::Round>& round, int64_t now);
    /// Calls `what` for the runners of this process, in order.
    void ForEachHere(std::size_t count,
                     const std::function<Rank(uint32_t i)>& runnerOf,
                     const std::function<void(Rank runner, uint32_t i)>& what);

    /// \return null: the GPU is as fast as ever
    const training::SpeedProfile* FindSpeed(Rank rank) const;
    /// Makes a task's schedule. \return why the rank cannot do this task, or nothing
    std::string Prepare(Rank rank, const training::Task& task) const;

    workload::Workload& m_workload;
    const training::TrainingPlan& m_plan;
    JobStart m_start;
    std::vector<training::GroupKind> m_groupKinds; ///< groups of the ranks that are present
    uint32_t m_ranksHere; ///< number of ranks that are present, in all processes
    bool m_aborted = false;
    JobListener& m_listener;
    Decider m_decide;
    ChoiceDecider m_choose;
    CollectiveRunner* m_collectives = nullptr;
    MessageRunner* m_messages = nullptr;
    RankNotes* m_notes = nullptr;
    std::vector<GraphTables> m_graphs;
    std::vector<std::unique_ptr<RankRunner>> m_ranks; ///< and actors; null: of another process
    std::vector<std::vector<Rank>> m_rankAt; ///< [communicator][position], for all services
    std::size_t m_firstAt = 0;               ///< begin of the current services in m_rankAt
    std::vector<uint32_t> m_roundsEnded;     ///< by rank
    reports::CollectiveJoin m_join;
    std::deque<OpenRound> m_open; ///< numbers that not all ranks have ended: m_closed and on
    uint32_t m_closed;
    uint32_t m_begun; ///< numbers that some rank has begun
    // For plans with actors, whose steps are spans of time; ps:
    int64_t m_measuredFrom = 0;
    int64_t m_measuredUntil = INT64_MAX;
    uint64_t m_tasks;
    uint64_t m_tasksDone = 0;

    /// The kinds of notes in RankNotes.
    struct Kinds
    {
        uint16_t begin;
        uint16_t part;
        uint16_t call;
        uint16_t roundEnd;
        uint16_t choice;
    };

    Kinds m_kinds{};
};

} // namespace dltrain

#endif // DLTRAIN_JOB_RUNNER_H
