/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Ranks that go through their step graphs side by side, in the order of time and without a network:
 * a collective or a message takes what a function says, from the last rank that comes on. So the
 * bubble of a pipeline, and communication that nothing covers, come out of the graphs.
 *
 *   no function        a lower bound of the step (least-step.h)
 *   a tuner's formula  an estimate of it (scenarios/layout-search/step-estimate.h)
 */
#ifndef SCENARIOS_TRAINING_STEPS_STEP_WALK_H
#define SCENARIOS_TRAINING_STEPS_STEP_WALK_H

#include "scenarios/training/steps/parallelism.h"
#include "scenarios/training/steps/step-graph.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <tuple>
#include <vector>

namespace training
{

/// Where a step's time goes on a rank, mean over the ranks, ps.
struct StepParts
{
    double computing = 0;
    /// A rank computes nothing and communicates; several at once: the first in the order of
    /// Parallelism.
    std::array<double, kParallelisms> exposed = {};
    double bubble = 0; ///< it waits for another rank's computing
};

/// One rank, and all ranks that it exchanges messages with, directly or through others (in a
/// pipeline one GPU per stage). Other members of a collective do the same at the same time.
class StepWalk
{
  public:
    /// How long a collective or a message takes alone.
    struct Time
    {
        int64_t ps = 0;
        /// It takes the rank's NICs: those that do at the same time share them out evenly.
        bool shares = false;
    };

    using Lasting = std::function<Time(coll::Rank rank, const Task& task)>;

    /// \param lasting empty: no communication takes any time, and none slows down computing
    /// \param mostTasks of all ranks; with more no step is walked
    StepWalk(const TrainingPlan& plan,
             coll::Rank first,
             std::size_t mostTasks,
             Lasting lasting = {});

    /// \return tasks of the ranks; above mostTasks there may be more
    std::size_t CountTasks() const
    {
        return m_tasks;
    }

    /// \return computing in a step, mean over the ranks, ps
    double MeanComputing() const;

    /// \return from a rank's end of the last Step() to the end of the last rank, mean, ps
    double MeanWaiting() const;

    /// One more step of all. \return when the last of them ends it, ps; empty: they wait for each
    /// other for ever
    std::optional<int64_t> Step();

    /// \return the parts of the last step
    StepParts Parts() const;

  private:
    static constexpr uint32_t kNone = UINT32_MAX;

    /// In which group of a kind a rank stands, and where.
    struct Seat
    {
        uint32_t group = 0;
        uint32_t position = 0;
        bool taken = false;
    };

    /// A graph as ranks go through it.
    struct Shape
    {
        explicit Shape(const TrainingPlan& plan, const StepGraph& of);

        const StepGraph* graph;
        std::vector<std::vector<TaskId>> streams;
        std::vector<uint32_t> firstAfter; ///< by task: where its dependents begin in `after`
        std::vector<TaskId> after;
        std::vector<Parallelism> parallelism; ///< by task
    };

    struct Walk
    {
        coll::Rank rank = 0;
        const Shape* shape = nullptr;
        std::vector<uint32_t> slots;   ///< by task
        std::vector<uint32_t> waiting; ///< by task: tasks that it waits for
        std::vector<std::size_t> next; ///< by stream
        std::vector<bool> busy;        ///< by stream
        std::size_t left = 0;          ///< tasks
        int64_t end = 0;               ///< end of the last step
        bool computing = false;
        int64_t workLeft = 0;
        int64_t progress = 0; ///< work before it is done
        uint32_t collectives = 0;
        /// Collectives that share NICs, with what is left of them alone, ps.
        std::vector<std::pair<TaskId, double>> sharing;
        int64_t shared = 0;       ///< until when that is counted
        uint64_t sharedEvent = 0; ///< number of the event that ends the next of them
        std::array<uint32_t, kParallelisms> under = {}; ///< collectives and sends
        uint32_t receiving = 0;                         ///< receives that wait
        uint32_t arriving = 0;                          ///< whose message is on its way
        int64_t accounted = 0;
        StepParts parts;
    };

    /// A meeting of ranks: a message, or a collective.
    struct Slot
    {
        uint32_t members = 0; ///< 0: a message
        uint32_t come = 0;
        bool sent = false;
        bool arrived = false;
        std::vector<std::pair<uint32_t, TaskId>> there; ///< walks that wait
    };

    struct Event
    {
        int64_t time;
        uint64_t number;
        uint32_t walk;
        TaskId task;

        bool operator>(const Event& other) const
        {
            return std::tie(time, number) > std::tie(other.time, other.number);
        }
    };

    using Place = std::tuple<uint32_t, coll::Rank, coll::Rank, uint16_t, uint32_t>;

    void Add(coll::Rank rank);
    void Meet(std::size_t walk);
    coll::Rank PeerOf(coll::Rank rank, const Task& task) const;
    uint32_t SlotOf(const Place& place);
    int64_t WorkOf(coll::Rank rank, const Task& task) const;

    void Schedule(int64_t time, uint32_t walk, TaskId task);
    void TryStream(uint32_t walk, std::size_t stream, int64_t now);
    void Start(uint32_t walk, TaskId task, int64_t now);
    void Send(uint32_t walk, TaskId task, int64_t now);
    void Receive(uint32_t walk, TaskId task, int64_t now);
    void Enter(uint32_t walk, TaskId task, int64_t now);
    void End(uint32_t walk, TaskId task, int64_t now);
    void Share(uint32_t walk, int64_t now);
    void EndShared(uint32_t walk, uint64_t event, int64_t now);
    void Progress(Walk& walk, int64_t now) const;
    static void Account(Walk& walk, int64_t now);

    const TrainingPlan& m_plan;
    const Lasting m_lasting;
    std::vector<std::vector<Seat>> m_seats;
    std::map<const StepGraph*, Shape> m_shapes;
    std::deque<Walk> m_walks;
    std::set<coll::Rank> m_met; ///< whose walks there are
    std::map<Place, uint32_t> m_slotOf;
    std::vector<Slot> m_slots;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> m_events;
    uint64_t m_number = 0;
    std::size_t m_tasks = 0;
};

} // namespace training

#endif // SCENARIOS_TRAINING_STEPS_STEP_WALK_H
