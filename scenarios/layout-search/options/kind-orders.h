/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Orders of the kinds of unequal servers. Stages of a pipeline follow the ranks, so the order says
 * which kind has the first stages, which keep the activations of most micro-batches.
 */
#ifndef SCENARIOS_LAYOUT_SEARCH_OPTIONS_KIND_ORDERS_H
#define SCENARIOS_LAYOUT_SEARCH_OPTIONS_KIND_ORDERS_H

#include "scenarios/options/options.h"

#include <vector>

namespace scenario
{

/// Each job with its --server-kinds in every order; of more than three kinds, in theirs and the
/// reverse. Other jobs stay as they are.
std::vector<ReadResult> WithOrdersOfKinds(const std::vector<ReadResult>& jobs);

} // namespace scenario

#endif // SCENARIOS_LAYOUT_SEARCH_OPTIONS_KIND_ORDERS_H
