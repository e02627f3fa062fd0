/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The step of a layout as runs of dltrain.
 */
#ifndef DLTRAIN_LAYOUT_RUNS_H
#define DLTRAIN_LAYOUT_RUNS_H

#include "child-runs.h"
#include "scenarios/layout-search/layout-space.h"

#include <optional>
#include <string>
#include <vector>

namespace dltrain
{

/// A job as the runs of its layouts have it.
struct JobOfRuns
{
    scenario::ReadResult read;
    std::string network;
    std::vector<scenario::Error> errors; ///< why that network cannot have it
};

/// A job without what is of one run alone (OptionsOfRun), on a network that takes all of its
/// options.
/// \param network "auto": the job's own, or the cheapest; packets where nothing less does
JobOfRuns ForRuns(scenario::ReadResult job, const std::string& network);

/// The runs that a layout's step follows from: of many micro-batches two with fewer.
/// \param job of ForRuns \param folder in which runs have theirs, with names that say what they are
std::vector<ChildJob> RunsOf(const scenario::ReadResult& job,
                             const scenario::TrainingScenario& cluster,
                             const planner::Layout& layout,
                             const std::string& folder,
                             ChildMemory memory);

/// \param runs those of RunsOf \return s; nothing: a run has no step
std::optional<double> StepOf(const planner::Layout& layout, const std::vector<ChildResult>& runs);

/// \param runs those of RunsOf, at --fidelity=fast \return "fast, +-0.3%": the largest error that
/// one states; empty: they were not fast
std::string FastTextOf(const std::vector<ChildResult>& runs);

} // namespace dltrain

#endif // DLTRAIN_LAYOUT_RUNS_H
