/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Small changes of a layout, which estimates say little about: they are tried as runs of dltrain.
 * Only options that were not given change.
 */
#ifndef SCENARIOS_LAYOUT_SEARCH_MOVES_H
#define SCENARIOS_LAYOUT_SEARCH_MOVES_H

#include "scenarios/layout-search/layout-space.h"

#include <string>
#include <vector>

namespace planner
{

/// Other values of one option. They exclude each other; those of several options do not.
struct Move
{
    scenario::Member option;
    std::vector<std::string> values; ///< as users write them
};

/// Sizes of gradient buckets, an algorithm for each collective of the gradients, channels, the
/// order of ranks.
/// \param job as given \param options of the layout, resolved
std::vector<Move> MovesOf(const scenario::ReadResult& job,
                          const Layout& layout,
                          const training::TrainingOptions& options);

/// A layout with one more option, or another value of it.
Layout Moved(Layout layout, scenario::Member option, const std::string& value);

} // namespace planner

#endif // SCENARIOS_LAYOUT_SEARCH_MOVES_H
