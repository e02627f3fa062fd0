/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_COLLECTIVE_QUEUE_H
#define DLTRAIN_COLLECTIVE_QUEUE_H

#include "scenarios/training/steps/step-graph.h"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace dltrain
{

/// What the first rank of a group has chosen. It goes to other processes as bytes.
struct CollectiveChoice
{
    uint32_t communicator = 0;
    uint32_t kind = 0; ///< index into TrainingPlan::groupKinds
    uint32_t round = 0;
    uint32_t index = 0; ///< among the queued collectives of that kind in the ranks' graphs
};

/**
 * A rank's queue in front of its collectives of data parallelism (training::IsQueued). Each group
 * of ranks has its own, with so many slots.
 *
 * All ranks of a group must run them in the same order, else they wait for each other for ever.
 * Which one is ready first differs from rank to rank. So the group's first rank chooses, when it
 * has a slot and something is ready, and tells the others. Each of them, and itself, begins what it
 * was told in that order; a rank that does not have the data yet waits. With fifo the order is that
 * of the graph, which all know.
 */
class CollectiveQueue
{
  public:
    /// The queued collectives of a step graph.
    struct Tables
    {
        std::vector<std::vector<training::TaskId>> tasks; ///< by group kind, in graph order
        std::vector<uint32_t> places; ///< per task: index in its list; NOT_QUEUED

        static constexpr uint32_t NOT_QUEUED = UINT32_MAX;

        bool Has(training::TaskId task) const
        {
            return places[task] != NOT_QUEUED;
        }
    };

    /// When a collective under way became ready, and began, ps.
    struct Times
    {
        int64_t ready;
        int64_t begin;
    };

    /// \param communicators by group kind: the rank's; UINT32_MAX: it is in none
    /// \param leads by group kind: whether the rank is the first of its group
    CollectiveQueue(const training::CollectiveQueueSpec& spec,
                    const std::vector<uint32_t>& communicators,
                    const std::vector<bool>& leads);

    /// \pre nothing is ready or under way
    void Begin(const training::StepGraph& graph, const Tables& tables, uint32_t round);

    /// The tasks that it waited for have ended.
    void OnReady(training::TaskId task, int64_t now);

    /// \return a collective that begins now
    std::optional<training::TaskId> Next(int64_t now);

    /// \return when it was ready and began
    Times End(training::TaskId task);

    /// Whether the rank has to choose.
    bool MayChoose() const;

    /// \return choices for slots that are free, to be told to all ranks of their groups
    std::vector<CollectiveChoice> Choose();

    void OnTold(const CollectiveChoice& choice);

    /// By task.
    const std::map<training::TaskId, Times>& GetUnderWay() const
    {
        return m_underWay;
    }

  private:
    struct Group
    {
        uint32_t communicator = UINT32_MAX;
        bool leads = false;
        uint32_t free = 0;                              ///< slots: of whoever chooses
        uint32_t next = 0;                              ///< with fifo: index
        std::vector<int64_t> readyAt;                   ///< by index, ps; -1: it is not
        std::deque<std::pair<uint32_t, uint32_t>> told; ///< rounds and indices, not begun
        std::set<std::pair<int64_t, uint32_t>> ready; ///< to choose from: rank in the order, index
    };

    bool Chooses(const Group& group) const
    {
        return m_spec.order != training::CollectiveOrder::kFifo && group.leads;
    }

    training::CollectiveQueueSpec m_spec;
    const training::StepGraph* m_graph = nullptr; ///< of the round
    const Tables* m_tables = nullptr;
    uint32_t m_round = 0;
    std::vector<Group> m_groups; ///< by kind
    std::map<training::TaskId, Times> m_underWay;
};

} // namespace dltrain

#endif // DLTRAIN_COLLECTIVE_QUEUE_H
