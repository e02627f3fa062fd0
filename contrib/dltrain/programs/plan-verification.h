/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The best plans of a search as runs of dltrain, in processes of their own.
 */
#ifndef DLTRAIN_PLAN_VERIFICATION_H
#define DLTRAIN_PLAN_VERIFICATION_H

#include "scenarios/planner/search.h"

#include <functional>
#include <string>
#include <vector>

namespace dltrain
{

/// Runs the first scenario.verify plans, two at a time, in folders below scenario.run.out, and
/// fills Plan::verified or Plan::notVerified.
/// \param goesOn false: runs are ended, and no more begun \param tell gets a line for each run
void VerifyPlans(const scenario::PlannerScenario& scenario,
                 const std::vector<scenario::TrainingScenario>& clusters,
                 std::vector<planner::Plan>& plans,
                 const std::function<bool()>& goesOn,
                 const std::function<void(const std::string&)>& tell);

/// What a user should know of estimates on this network; "" if nothing.
std::string NoteOfNetwork(const scenario::PlannerScenario& scenario);

} // namespace dltrain

#endif // DLTRAIN_PLAN_VERIFICATION_H
