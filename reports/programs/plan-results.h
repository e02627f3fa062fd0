/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What dlplan prints and writes: stats.json, plans.csv, estimates.csv, plan.json, deepspeed.json,
 * megatron.txt, launch-notes.txt, and its options for a search that goes on.
 */
#ifndef REPORTS_PROGRAMS_PLAN_RESULTS_H
#define REPORTS_PROGRAMS_PLAN_RESULTS_H

#include "scenarios/layout-search/launch-flags.h"
#include "scenarios/layout-search/search.h"

#include <iosfwd>
#include <string>
#include <vector>

namespace reports
{

/// A search that has found something.
struct PlanResults
{
    const scenario::PlannerScenario& scenario;
    const std::vector<scenario::TrainingScenario>& clusters;
    const planner::Found& found;
    /// Options of the best plan, resolved.
    const training::TrainingOptions& best;
};

/// The best plan's flags for each framework.
struct PlanLaunch
{
    planner::MegatronLaunch megatron;
    planner::DeepSpeedLaunch deepSpeed;
    std::vector<std::string> nccl; ///< notes
};

PlanLaunch LaunchOf(const PlanResults& results);

/// The table, what was dropped and why, the best plan's flags.
void PrintPlans(std::ostream& os, const PlanResults& results);

/// A layout as options of dltrain, those too that --fix or the job gives.
std::string PlanOptions(const scenario::PlannerScenario& scenario, const planner::Layout& layout);

/// What a search dropped, in a line: "9120 layouts: 210 refused (--tp 200, ...), ...".
std::string DroppedText(const planner::Found& found);

/// Makes the folder this search's, so that it can go on when it is killed: what an older search
/// left there goes, and its options are written. \return why not; empty: they are
std::string BeginPlans(const scenario::PlannerScenario& scenario);

/// Takes back what BeginPlans() wrote, of a search that has found nothing.
void DropPlans(const scenario::PlannerScenario& scenario);

/// Writes the estimates so far, for a search that may be killed.
void KeepEstimates(const scenario::PlannerScenario& scenario,
                   const std::vector<planner::Plan>& all);

/// \return why a file cannot be written; empty: all are
std::string WritePlans(const PlanResults& results, const std::string& folder);

/// Estimates of a search that was ended, in its folder. What cannot be one is left out.
planner::Estimates ReadEstimates(const scenario::PlannerScenario& scenario,
                                 const std::string& folder);

} // namespace reports

#endif // REPORTS_PROGRAMS_PLAN_RESULTS_H
