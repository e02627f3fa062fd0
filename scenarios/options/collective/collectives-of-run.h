/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Which collectives a run does, as far as it is known before.
 */
#ifndef SCENARIOS_OPTIONS_COLLECTIVE_COLLECTIVES_OF_RUN_H
#define SCENARIOS_OPTIONS_COLLECTIVE_COLLECTIVES_OF_RUN_H

#include "collectives/schedule.h"

#include <vector>

namespace scenario
{

/// The collectives that a group of ranks does.
struct UsedBy
{
    std::vector<coll::Rank> ranks; ///< of the run; empty: all
    std::vector<coll::Collective> collectives;
};

struct CollectivesOfRun
{
    std::vector<UsedBy> groups;
    bool andOthers = false;    ///< of a workload of the user's own, which only it knows
    uint32_t elementBytes = 1; ///< of what is sent: chunks of files are whole elements
};

} // namespace scenario

#endif // SCENARIOS_OPTIONS_COLLECTIVE_COLLECTIVES_OF_RUN_H
