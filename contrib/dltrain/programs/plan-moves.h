/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Small changes of a search's best plan, as runs of dltrain.
 */
#ifndef DLTRAIN_PLAN_MOVES_H
#define DLTRAIN_PLAN_MOVES_H

#include "plan-verification.h"

namespace dltrain
{

/// Goes from option to option, keeps what makes the step shorter, and ends after scenario.moves
/// runs. A better plan becomes the first of found->plans.
/// \pre found->plans.front() is verified
void TryMoves(const scenario::PlannerScenario& scenario,
              const std::vector<scenario::TrainingScenario>& clusters,
              planner::Found* found,
              const Watched& watch);

} // namespace dltrain

#endif // DLTRAIN_PLAN_MOVES_H
