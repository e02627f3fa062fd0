/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * GOAL, the group operation assembly language of LogGOPSim and ATLAHS: the computation, sends and
 * receives of each rank, and their dependencies.
 *
 *     num_ranks 2
 *     rank 0 {
 *     l1: calc 500                                ns
 *     l2: send 64b to 1 tag 7 cpu 0 nic 0
 *     l2 requires l1                              l2 begins when l1 has ended
 *     l3: calc 500 cpu 1
 *     l3 irequires l1                             l3 begins when l1 has begun
 *     }
 *     rank 1 { ... }
 *
 * As spcl/LogGOPSim has it, src/LogGOPSim/txt2bin.re (d5bb14a8): a statement a line; tag, cpu and
 * nic in this order, each may be left out; remarks behind // and between slashes with stars; labels
 * are letters, digits and '_'; the "}" of a rank may stand on a line with others.
 *
 * Reading. calc on cpu 0 is computation of the GPU; on other cpus it is a thread of the host beside
 * that. calc 0 takes no time and no cpu. nic has no effect here: a GPU's messages leave by its own
 * NIC. A send has ended when its message has arrived. irequires waits for the dependencies of the
 * other statement. A receive from any rank, or of any tag (-1), is refused.
 */
#ifndef SCENARIOS_FORMATS_GOAL_GOAL_H
#define SCENARIOS_FORMATS_GOAL_GOAL_H

#include "scenarios/formats/recording.h"

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace formats
{

/// Nothing, and an error with its line, if the text is not GOAL. \param file for errors
std::optional<Recording> ReadGoal(const std::string& text,
                                  const std::string& file,
                                  std::vector<topo::Error>& errors);

/// The schedule of a collective among these ranks.
using ScheduleOf =
    std::function<std::unique_ptr<coll::Schedule>(const coll::Collective& what,
                                                  const std::vector<coll::Rank>& ranks)>;

/// Lines of a file that are written at most.
constexpr double kMostGoalLines = 1e8;

/// Why a plan cannot be written, in a sentence: what adds up in switches has no messages between
/// ranks; too many lines. Empty: it can.
std::string WhyNoGoal(const training::TrainingPlan& plan, const ScheduleOf& schedule);

/**
 * One step of a plan. GOAL has no collectives: they are written as the messages of their schedule.
 * What a stream does comes one after another, said by "requires".
 *
 * \param plan without actors, and alike in all steps
 * \return WhyNoGoal
 */
std::string WriteGoal(const training::TrainingPlan& plan,
                      const ScheduleOf& schedule,
                      std::ostream& os);

} // namespace formats

#endif // SCENARIOS_FORMATS_GOAL_GOAL_H
