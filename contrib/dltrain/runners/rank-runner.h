/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_RANK_RUNNER_H
#define DLTRAIN_RANK_RUNNER_H

#include "collective-queue.h"
#include "collective-runner.h"
#include "contrib/dltrain/base/event-pool.h"
#include "message-runner.h"
#include "reports/attribution/message-id.h"
#include "reports/base/records.h"
#include "scenarios/workload/workload.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dltrain
{

/// A step graph as ranks walk it: read by all that play the role, written by none.
struct GraphTables
{
    /// \param tagOf gives the number of a name
    /// \param plan of the graph
    GraphTables(const training::StepGraph& graph,
                const training::TrainingPlan& plan,
                const std::function<uint32_t(const std::string&)>& tagOf);

    const training::StepGraph* graph;
    std::vector<uint32_t> dependencies;               ///< per task
    std::vector<std::vector<training::TaskId>> after; ///< per task: those that wait for it
    /// Tasks of each stream in order, without those that are queued.
    std::vector<std::vector<training::TaskId>> streams;
    CollectiveQueue::Tables queue; ///< empty: there is none
    std::vector<uint32_t> tags;    ///< per task: of collectives and sends; of others 0
    /// Per task: the number among receives. A receive has its own; a computation, and a collective
    /// that puts received data together, has that of the receive it waits for. NONE: there is none.
    std::vector<uint32_t> receives;
    uint32_t receiveCount = 0;
    /// Per task: of one that communicates.
    std::vector<training::Parallelism> parallelism;

    static constexpr uint32_t NONE = UINT32_MAX;
};

/// A rank's place in a group.
struct Seat
{
    uint32_t communicator = UINT32_MAX; ///< none: the rank is in no group of this kind
    Rank position = 0;
    const std::vector<Rank>* group = nullptr;
};

class MemoryRunner;

/// The services that carry out a rank's communication; of the whole job.
struct RankServices
{
    CollectiveRunner* collectives;
    MessageRunner* messages;
    MemoryRunner* memory = nullptr; ///< null: the plan has no tiers
};

/// Hears of ranks and actors.
class RankListener
{
  public:
    virtual ~RankListener() = default;
    /// A task has ended.
    /// \param communicated if the rank's communication streams are idle since: the ps for which
    /// they were busy, with those of actors that send for it. 0 otherwise, and for other actors.
    /// For a task on the host: the ps since the last such end for which only host tasks were
    /// running (loading tasks are counted separately)
    /// \param bubble ps for which computing stood still, before it was sent, for the message that
    /// this computation waited for; else 0
    virtual void OnCall(const reports::CallRecord& call,
                        int64_t communicated,
                        int64_t bubble,
                        reports::PathRecord* path) = 0;
    /// The last task of a round has ended. \param runner TrainingPlan::Runners
    /// \param exposed what the rank waited for; of an actor nothing
    virtual void OnRoundEnd(Rank runner,
                            const workload::Round& round,
                            const reports::ExposedTimes& exposed,
                            int64_t now) = 0;
    /// The rank has chosen for its group.
    virtual void OnChoice(const CollectiveChoice& choice) = 0;
    /// \return what people call a round of this number: "step 3"
    virtual std::string NameOfRound(uint32_t number) const = 0;
};

/**
 * One rank: a compute stream, named communication streams, and the round it is in. It touches
 * nothing of other ranks, and reports to its listener. An actor is the same beside a rank: its
 * messages are from and to that rank's GPU.
 */
class RankRunner
{
  public:
    /// \param runner TrainingPlan::Runners
    /// \param rank its place: another one for actors only
    /// \param slowness factor on computing times
    /// \param jitter additional factor for each round
    /// \param contention share of its speed that computing loses while a collective of this rank is
    /// in progress
    /// \param speed speed of the GPU over time, kept; null: constant
    /// \param seats by group kind
    RankRunner(Rank runner,
               Rank rank,
               double slowness,
               const training::Jitter& jitter,
               double contention,
               const training::SpeedProfile* speed,
               std::vector<Seat> seats,
               RankServices services,
               RankListener& listener);

    /// Sends of this actor count as the rank's: the rank reports for both. \param rank outlives
    /// this
    void SendFor(RankRunner& rank)
    {
        m_sending = &rank.m_ownSending;
    }

    /// \pre the rank is in no round
    void Begin(const workload::Round& round, const GraphTables& tables, int64_t now);
    /// Collectives of data parallelism wait in a queue. Before the first round.
    void SetQueue(const training::CollectiveQueueSpec& spec);
    /// What its group's first rank has chosen. In an event without context.
    void OnTold(const CollectiveChoice& choice, int64_t now);

    /// Its round, if it is in one, ends with the tasks under way. \pre the round only computes
    void Stop();

    /// Stops everything in this runner.
    void Abort()
    {
        m_aborted = true;
    }

    bool IsAborted() const
    {
        return m_aborted;
    }

    /// Others carry out its communication from now on. Whoever sets them starts anew what the rank
    /// is in.
    void SetServices(RankServices services, std::vector<Seat> seats)
    {
        m_services = services;
        m_seats = std::move(seats);
    }

    /// \return since when it has been in the oldest of the collectives and messages that it is in,
    /// ps; -1: it is in none
    int64_t CommunicatesSince() const;
    /// \return a line that says which one; empty: it is in none
    std::string DescribeCommunicating() const;
    /// A communication has ended. \param sent of a receive: when its message was sent; -1: it was
    /// not waited for
    void EndTask(training::TaskId task,
                 int64_t now,
                 int64_t sent = -1,
                 reports::PathRecord* path = nullptr);

    /// \return that it is in, or the last
    const workload::Round& GetRound() const
    {
        return m_round;
    }

    const Seat& GetSeat(uint32_t groupKind) const
    {
        return m_seats[groupKind];
    }

    /// For the services of communication. \return the runner of a cookie
    static Rank RunnerOf(uint64_t cookie)
    {
        return static_cast<Rank>(cookie >> 32);
    }

    /// \return which task
    static training::TaskId TaskOf(uint64_t cookie)
    {
        return static_cast<training::TaskId>(cookie);
    }

    /// \return what a task of kind kCollective asks for \pre the rank is in the task's group
    coll::Collective CollectiveOf(const training::Task& task) const;

    /// \return whether it computes or waits for a time, so that it goes on by itself
    bool GoesOnByItself() const
    {
        return m_events.IsPending();
    }

    /// \return a line for each task that is under way
    std::vector<std::string> DescribeUnfinished() const;

    /// \return when it stopped computing, if it has by then for ever; else now
    int64_t ComputesUntil(int64_t now) const
    {
        return m_speed ? m_speed->StoppedForGood(now) : now;
    }

    /// \return since when the rank has sent, itself or by others; -1: it does not, or this is an
    /// actor, which tells of none
    int64_t SendsSince() const
    {
        return m_runner == m_rank && m_ownSending.busy > 0 ? m_ownSending.since : -1;
    }

    /// \return the tasks that are under way, as if they ended now
    std::vector<reports::CallRecord> GetUnderWay(int64_t now) const;

  private:
    /// \pre the stream is busy
    /// \return its current task
    const training::Task& TaskOf(uint32_t stream) const;

    struct UnderWay
    {
        const training::Task* task = nullptr; ///< null: there is none
        uint32_t stream = 0;
        int64_t since = 0;
    };

    /// \return the collective or message that has been under way for the longest time
    UnderWay FindCommunicating() const;
    /// Calls look(task, stream, since) for all.
    template <class Look>
    void ForEachUnderWay(const Look& look) const;

    /// \return a line about a task under way

    struct Stream
    {
        uint32_t next = 0; ///< index into GraphTables::streams
        bool busy = false;
        int64_t since = 0; ///< begin of the running call
    };

    /// The event of a round's beginning, or of a GPU that goes on.
    static constexpr training::TaskId BEGINNING = UINT32_MAX;
    /// The event in which the rank chooses, behind all that happens to it at that time.
    static constexpr training::TaskId CHOOSING = UINT32_MAX - 1;

    /// Whether the GPU stands still; then it goes on by itself, if ever.
    bool StandsStill(int64_t now);

    friend class EventPool<RankRunner, training::TaskId>;
    void OnEvent(training::TaskId task, int64_t now);
    /// The next task of each stream that can, or the round's end.
    void GoOn(int64_t now);
    void TryStart(uint32_t stream, int64_t now);
    void Start(training::TaskId id, int64_t now);
    /// Begins queued collectives that can, and chooses.
    void TryQueue(int64_t now);
    void Choose(int64_t now);
    std::string Describe(const training::Task& task, uint32_t stream) const;
    void Compute(training::TaskId id, int64_t now);
    /// Time without computing, up to now.
    void Account(int64_t now);
    /// A computation begins: what the time since the last one was waited for.
    /// \param receive GraphTables::receives
    /// \return its bubble
    int64_t EndWait(uint32_t receive);
    /// The round ends: what has been waited for is told.
    void TellWait();

    static bool IsLoading(const training::Task& task)
    {
        return task.phase == training::Phase::kLoading;
    }

    /// Takes off the work that was computed since the last call.
    void Progress(int64_t now);
    void Communicate(training::TaskId id, int64_t now);
    MessageOrder OrderOf(const training::Task& task) const;

    uint32_t TagOf(training::TaskId id) const
    {
        return m_tables->tags[id] | (m_round.measured ? 0 : reports::MessageId::WARMUP);
    }

    uint64_t CookieOf(training::TaskId id) const
    {
        return static_cast<uint64_t>(m_runner) << 32 | id;
    }

    Rank m_runner;
    Rank m_rank;
    double m_slowness;
    training::Jitter m_jitter;
    double m_factor = 1; ///< both, in this round
    double m_contention;
    const training::SpeedProfile* m_speed;
    int64_t m_resumes = -1; ///< time of the event for a GPU that goes on, ps
    uint32_t m_collectivesBusy = 0;
    bool m_computing = false;
    int64_t m_workLeft = 0;      ///< ps of the running computation, alone on the GPU
    int64_t m_progressUntil = 0; ///< work before this time is taken off
    // Tasks of the host, by whether they load data:
    std::array<uint32_t, 2> m_hosting{}; ///< tasks under way
    std::array<int64_t, 2> m_waited{};   ///< ps that were for nothing else, not told yet
    int64_t m_accounted = 0;             ///< what was before is in m_waited
    std::vector<Seat> m_seats;
    RankServices m_services;
    RankListener& m_listener;
    const GraphTables* m_tables = nullptr; ///< tables of the round
    workload::Round m_round;
    std::vector<uint32_t> m_waiting; ///< per task: how many it waits for
    std::vector<Stream> m_streams;
    std::unique_ptr<CollectiveQueue> m_queue; ///< null: there is none
    bool m_choosing = false;                  ///< an event of CHOOSING is to come
    std::vector<int64_t> m_received;          ///< per receive of the round: when it ended
    int64_t m_computedUntil = -1;             ///< end of the last computation; -1: there was none
    int64_t m_bubble = 0;                     ///< bubble of the computation that runs

    /// Time since the last computation, ps.
    struct Wait
    {
        /// A collective or a send was under way.
        std::array<int64_t, training::kParallelisms> exposed{};
        int64_t hosted = 0; ///< nothing but work of the host
    };

    /// A receive that ended since then.
    struct Arrival
    {
        uint32_t receive; ///< GraphTables::receives
        int64_t sent;     ///< ps; -1: it was not waited for
        Wait before;      ///< until then
    };

    Wait m_wait;
    Wait m_told; ///< part of it that was told with the round before
    std::vector<Arrival> m_arrivals;
    reports::ExposedTimes m_exposed; ///< of this round
    uint32_t m_left = 0;             ///< tasks of this round
    bool m_stopped = false;          ///< the round
    bool m_aborted = false;

    /// Communication streams, but those that only receive.
    struct Sending
    {
        uint32_t busy = 0;
        int64_t since = 0;                                  ///< ps: when they were idle last
        std::array<uint32_t, training::kParallelisms> by{}; ///< `busy` by parallelism
    };

    Sending m_ownSending;
    Sending* m_sending = &m_ownSending; ///< counters of the rank that sends count for
    EventPool<RankRunner, training::TaskId> m_events;
};

} // namespace dltrain

#endif // DLTRAIN_RANK_RUNNER_H
