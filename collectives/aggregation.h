/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Trees of switches that add up (AggregationTree, schedule.h), cut down to what a group of servers
 * needs of them.
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
 * Switches without a server of the group below them have nothing to do (S1). Those with one child
 * have nothing to add up: what they would get goes on to the next that has (S2, S3 and S5). A root
 * with one child hands over to it.
 */
#ifndef COLLECTIVES_AGGREGATION_H
#define COLLECTIVES_AGGREGATION_H

#include "collectives/schedule.h"

namespace coll
{

/// A tree over servers 0..servers-1 in order: each station, the last of its level perhaps excepted,
/// has `radix` >= 2 children, and there are as few levels as that takes. Its switches are numbered
/// from `firstNode` on. Throws std::invalid_argument for a smaller radix or no server.
AggregationTree MakeAggregationTree(uint32_t servers, uint32_t radix, uint32_t firstNode = 0);

/// Why a tree does not join these servers (numbers as in Placement::serverOf), in a sentence
/// without a subject's name; empty: it does. Throws std::invalid_argument if the tree is none.
std::string WhyNotJoined(const AggregationTree& tree, const std::vector<uint32_t>& servers);

/// What is left for these servers, see above. Stations stand behind their parents, and `stationOf`
/// is by index into `servers`. Precondition: WhyNotJoined() is empty.
AggregationTree Pruned(const AggregationTree& tree, const std::vector<uint32_t>& servers);

} // namespace coll

#endif // COLLECTIVES_AGGREGATION_H
