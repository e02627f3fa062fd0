/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Trees of switches that add up (AggregationTree, schedule.h), cut down to the part that a group of
 * servers needs.
 *
 *     the machine's                the group a, b, d            one server alone
 *
 *            S4                         S4                            a
 *          /    \                     /    \                          |
 *        S2      S3                 S0      d                         S0
 *       /  \       \               /  \
 *     S0    S1      S5            a    b
 *    /  \    |     /  \
 *   a    b   c    d    e
 *
 * Switches without a server of the group below them have nothing to do (S1). Switches with one
 * child have nothing to add up: their data go to the next switch that adds up (S2, S3 and S5). A
 * root with one child hands over to it.
 */
#ifndef COLLECTIVES_AGGREGATION_AGGREGATION_H
#define COLLECTIVES_AGGREGATION_AGGREGATION_H

#include "collectives/core/schedule.h"

namespace coll
{

/// Makes a tree over servers 0..servers-1 in order. Each station has `radix` >= 2 children, except
/// perhaps the last one of its level. The tree has as few levels as that allows. Its switches are
/// numbered from `firstNode` on. Throws std::invalid_argument for a smaller radix or no server.
AggregationTree MakeAggregationTree(uint32_t servers, uint32_t radix, uint32_t firstNode = 0);

/// Why a tree does not join these servers (numbers as in Placement::serverOf), in a sentence
/// without a subject's name; empty: it does. Throws std::invalid_argument if `tree` is no tree.
std::string WhyNotJoined(const AggregationTree& tree, const std::vector<uint32_t>& servers);

/// The part of a tree for these servers, see above. Stations stand after their parents. `stationOf`
/// is by index into `servers`. Precondition: WhyNotJoined() is empty.
AggregationTree Pruned(const AggregationTree& tree, const std::vector<uint32_t>& servers);

} // namespace coll

#endif // COLLECTIVES_AGGREGATION_AGGREGATION_H
