/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Results beside the one of least cost, to be compared as step graphs. The sum of costs knows
 * little of what runs side by side, so the fastest step is often not that of the least sum.
 *
 *   of one operator   one operator has another strategy
 *   around one        the same, and all others are chosen anew for the least sum
 */
#ifndef SCENARIOS_OPERATOR_SEARCH_ALTERNATIVES_H
#define SCENARIOS_OPERATOR_SEARCH_ALTERNATIVES_H

#include "scenarios/operator-search/search-space.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sharding
{

struct Alternative
{
    double total = 0; ///< the sum of costs
    uint32_t op = 0;  ///< that was given another strategy
    Choice choice;
};

/// Choices that differ in one operator, those of least total first.
std::vector<Alternative> OfOneOperator(const SearchSpace& space,
                                       const Choice& choice,
                                       std::size_t most);

/// Choices around each strategy of each operator, each once, those of least total first.
/// \param work so many sums are added up at most, those of changes that cost least first
std::vector<Alternative> AroundOneOperator(SearchSpace space, const Choice& choice, double work);

} // namespace sharding

#endif // SCENARIOS_OPERATOR_SEARCH_ALTERNATIVES_H
