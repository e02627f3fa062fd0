/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Which collectives a run does, as far as it is known before.
 */
#ifndef SCENARIOS_COLLECTIVE_COLLECTIVES_OF_RUN_H
#define SCENARIOS_COLLECTIVE_COLLECTIVES_OF_RUN_H

#include "collectives/core/schedule.h"

#include <vector>

namespace scenario
{

/// The collectives that a group of ranks does.
struct UsedBy
{
    std::vector<coll::Rank> ranks; ///< ranks of the run; empty: all
    std::vector<coll::Collective> collectives;
};

struct CollectivesOfRun
{
    std::vector<UsedBy> groups;
    bool andOthers = false; ///< a user's own workload adds collectives that only it knows
    /// Size of an element that is sent: chunks of files are whole elements.
    uint32_t elementBytes = 1;
};

} // namespace scenario

#endif // SCENARIOS_COLLECTIVE_COLLECTIVES_OF_RUN_H
