/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --shard-verify: the best results of a sharding search, each run by dltrain in a process of its
 * own with the run's own network, and the fastest taken.
 */
#ifndef DLTRAIN_SHARD_VERIFICATION_H
#define DLTRAIN_SHARD_VERIFICATION_H

#include "scenarios/job/scenario.h"

namespace dltrain
{

/// Nothing to do without --shard-verify. \return 0, or the exit status
int VerifySharding(scenario::TrainingScenario* scenario);

} // namespace dltrain

#endif // DLTRAIN_SHARD_VERIFICATION_H
