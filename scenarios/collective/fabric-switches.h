/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Which runs have switches between servers that add up: those in which a collective of the run asks
 * for an algorithm that uses them, by --algorithm, --compare or NCCL_ALGO.
 */
#ifndef SCENARIOS_COLLECTIVE_FABRIC_SWITCHES_H
#define SCENARIOS_COLLECTIVE_FABRIC_SWITCHES_H

#include "scenarios/collective/collectives-of-run.h"
#include "scenarios/job/scenario.h"
#include "scenarios/options/validation.h"

#include <vector>

namespace scenario
{

/// Whether a choice has something of the run done in switches between servers, of which each has
/// `gpus`.
bool AsksForSwitches(const CollectiveOptions& choice, const CollectivesOfRun& run, uint32_t gpus);

/// Replaces choices that need aggregating switches by those of --algorithm=auto.
/// \return whether a choice has changed
bool LeaveSwitchesOut(CollectiveOptions* choice);

/// Gives the cluster the units that its choices ask for. With --aggregation-groups=0 there are
/// none, and choices that ask for them change; that is a note. Where nothing asks,
/// --aggregation-... are errors on the command line, and notes in a scenario.
void AddFabricSwitches(Validation* v,
                       ClusterSpec* cluster,
                       const std::vector<CollectiveOptions*>& choices,
                       const CollectivesOfRun& run);

} // namespace scenario

#endif // SCENARIOS_COLLECTIVE_FABRIC_SWITCHES_H
