/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The best plans of a search as runs of dltrain, in processes of their own.
 */
#ifndef DLTRAIN_PLAN_VERIFICATION_H
#define DLTRAIN_PLAN_VERIFICATION_H

#include "scenarios/layout-search/search.h"

#include <functional>
#include <string>
#include <vector>

namespace dltrain
{

/// Who watches runs.
struct Watched
{
    std::function<bool()> goesOn;                 ///< false: runs are ended, and no more begun
    std::function<void(const std::string&)> tell; ///< gets a line for each plan
};

/// Runs plans, two at a time, in folders below scenario.run.out, and fills Plan::verified or
/// Plan::notVerified. The network is that of the jobs. With scenario.resume, a run that has ended
/// there before is not run again.
void RunPlans(const scenario::PlannerScenario& scenario,
              const std::vector<scenario::TrainingScenario>& clusters,
              const std::vector<planner::Plan*>& plans,
              const Watched& watch);

/// The jobs of a search as its runs have them.
struct VerifiedJobs
{
    std::vector<scenario::ReadResult> jobs; ///< empty: nothing is to be verified
    std::vector<std::string> notes;
    std::vector<scenario::Error> errors; ///< why runs cannot have them
};

/// Jobs of --verify (ForRuns), on --verify-network. Known before the search.
VerifiedJobs JobsToVerify(const scenario::PlannerScenario& scenario);

/// What a user should know of estimates of this job.
std::vector<std::string> NotesOfEstimates(const scenario::PlannerScenario& scenario);

} // namespace dltrain

#endif // DLTRAIN_PLAN_VERIFICATION_H
