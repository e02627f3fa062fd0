/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The funnel: all layouts, those that the rules allow, those that fit, those whose bound is below
 * the best estimates so far, and the estimates themselves. Nothing that is dropped could have been
 * among the best `top`, by the estimate.
 */
#ifndef SCENARIOS_LAYOUT_SEARCH_SEARCH_H
#define SCENARIOS_LAYOUT_SEARCH_SEARCH_H

#include "scenarios/layout-search/layout-space.h"
#include "scenarios/layout-search/options/planner-options.h"
#include "scenarios/layout-search/step-estimate.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace planner
{

/// A layout with its estimate.
struct Plan
{
    Layout layout;
    StepEstimate estimate;
    std::optional<double> verified; ///< s: dltrain's step
    std::string notVerified;        ///< why not, if it was to be
};

/// How far a search is.
struct Progress
{
    const SpaceCount* count = nullptr;
    uint64_t fit = 0;
    uint64_t pruned = 0;
    uint64_t estimated = 0;
    const Plan* best = nullptr;             ///< null: none so far
    bool isListing = false;                 ///< no layout has an estimate yet
    const std::vector<Plan>* all = nullptr; ///< with an estimate
};

/// A change of the best layout that dltrain has run.
struct TriedMove
{
    std::string option;
    std::string value;
    std::optional<double> step; ///< s; nothing: the run has none
    std::string why;            ///< it has none
    bool isKept = false;
};

struct Found
{
    std::vector<Plan> plans; ///< best first, at most `top`
    std::vector<Plan> all;   ///< with an estimate, in the order in which they were tried
    SpaceCount count;
    uint64_t fit = 0;
    uint64_t pruned = 0;                ///< by their bound
    uint64_t estimated = 0;             ///< with an estimate
    uint64_t unknown = 0;               ///< without one
    uint64_t untried = 0;               ///< of a search that was ended
    std::optional<double> leastUntried; ///< s: no step of these is shorter
    bool listed = true;                 ///< all layouts were seen
    bool whole = true;                  ///< else somebody ended it
    std::vector<TriedMove> moves;
};

/// Steps that are known already, by EstimateKey. Nothing: there is none.
using Estimates = std::map<std::string, std::optional<StepEstimate>>;

/// Tells the layouts of a search apart.
std::string EstimateKey(const Layout& layout);

/// A search that nobody ends finds the same with any number of threads.
/// \param clusters scenario::ValidateCluster of each job
/// \param look called often; \return whether to go on
/// \param known of the same search, when it was ended
/// \param threads 0: as many as the machine runs at a time
Found Search(const scenario::PlannerScenario& scenario,
             const std::vector<scenario::TrainingScenario>& clusters,
             const std::function<bool(const Progress&)>& look,
             const Estimates& known = {},
             unsigned threads = 0);

/// Plans that dltrain should run next, at most so many: the first ones, and then those that can
/// beat the best step so far. What runs took beyond their estimates is expected of others, too, up
/// to a tenth. \param plans best estimate first
std::vector<Plan*> NextToVerify(const scenario::Objective& objective,
                                std::vector<Plan>& plans,
                                std::size_t most);

/// In a phrase, why a plan is not the best: "bubble +1.2 s".
std::string WhyNotBest(const Plan& plan, const Plan& best);

/// Why no layout fits, with the change that helps most.
std::string WhyNothingFits(const scenario::PlannerScenario& scenario,
                           const std::vector<scenario::TrainingScenario>& clusters,
                           const SpaceCount& count);

} // namespace planner

#endif // SCENARIOS_LAYOUT_SEARCH_SEARCH_H
