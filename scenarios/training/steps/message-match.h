/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Which send a receive takes its message from: the k-th receive of rank b from rank a, of one group
 * kind and tag, takes the k-th send of a to b. Both stand on one stream of their rank, so that
 * their order is that of the graph. Sends may stand on several streams, which have nothing else,
 * where the graph says in which order they begin: each waits for the one before, or stands on a
 * later stream than it and waits for all that it waits for, directly or for what waits for it.
 */
#ifndef SCENARIOS_TRAINING_STEPS_MESSAGE_MATCH_H
#define SCENARIOS_TRAINING_STEPS_MESSAGE_MATCH_H

#include "scenarios/training/steps/step-graph.h"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace training
{

/// A task of a rank.
struct RankTask
{
    coll::Rank rank = 0;
    TaskId task = 0;
};

constexpr uint16_t kMostTag = 0x7fff;

/// \return the rank at the other end of a message task; kNoRank if the rank is in no group of that
/// kind, or the group has no rank at that offset
coll::Rank PeerOf(const TrainingPlan& plan, coll::Rank rank, const Task& task);

/// Whether a task waits for `before`, or for one that waits for it. \param after what each waits
/// for
bool IsNearBehind(const std::vector<std::vector<TaskId>>& after, TaskId before, TaskId task);

class MessageMatch
{
  public:
    explicit MessageMatch(const TrainingPlan& plan);

    /// The tasks that cannot run at all: no peer, two streams for messages of one order, a size
    /// that differs between the two ends. In words that name the tasks; empty: none.
    const std::vector<std::string>& Problems() const
    {
        return m_problems;
    }

    /// Sends without a receive and receives without a send, in words. They run until the rank
    /// waits.
    const std::vector<std::string>& Unmatched() const
    {
        return m_unmatched;
    }

    /// \return the send whose message a receive takes; nullptr: none
    const RankTask* SendOf(coll::Rank rank, TaskId receive) const;

  private:
    std::unordered_map<uint64_t, RankTask> m_sendOf; ///< by rank and task of the receive
    std::vector<std::string> m_problems;
    std::vector<std::string> m_unmatched;
};

} // namespace training

#endif // SCENARIOS_TRAINING_STEPS_MESSAGE_MATCH_H
