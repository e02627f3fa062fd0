/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The ranks that lost links cut off from each other in a collective.
 *
 *        0                     the tree loses 1 - 3: its leaves (3, 4, 5) hear nothing of 0, 1, 2
 *      1   2                   and the other way round: parts {0, 1, 2} and {3, 4, 5}
 *     3
 *    4 5
 *
 * A ring that loses one link is a chain: one part, open. Each lane (tree, ring) is looked at alone,
 * as each has bytes of its own.
 */
#ifndef COLLECTIVES_CORE_CUT_OFF_H
#define COLLECTIVES_CORE_CUT_OFF_H

#include "collectives/core/schedule.h"

#include <set>
#include <utility>
#include <vector>

namespace coll
{

/// Sender and receiver: members of a schedule (ranks, network nodes).
using Edge = std::pair<Rank, Rank>;

/// Lanes with the same split.
struct SplitLanes
{
    std::vector<Lane> lanes;
    /// Ranks that messages still join, whichever way these go: each ascending, in the order of
    /// their first ranks. More than one: the lane has lost its leaves.
    std::vector<std::vector<Rank>> parts;
};

/// \param lost messages along these edges do not arrive
/// \return the lanes that have messages along some of these edges
std::vector<SplitLanes> SplitWithout(const Schedule& schedule, const std::set<Edge>& lost);

} // namespace coll

#endif // COLLECTIVES_CORE_CUT_OFF_H
