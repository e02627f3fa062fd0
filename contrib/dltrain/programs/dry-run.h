/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_DRY_RUN_H
#define DLTRAIN_DRY_RUN_H

#include "scenarios/job/scenario.h"
#include "scenarios/job/serving-scenario.h"

namespace dltrain
{

/**
 * --dry-run: refuses what the run would refuse, else prints the plan. The network is set up as for
 * the run, so that what a device, the subnet manager or a file of tables refuses is found too; one
 * of more than DRY_RUN_LINKS links is not, and a note says so.
 * \return the exit status
 */
int DryRun(const scenario::TrainingScenario& scenario);
int DryRun(const scenario::CollperfScenario& scenario);
int DryRun(const scenario::TrafficScenario& scenario);
int DryRun(const scenario::ServingScenario& scenario);

/// Setting up as many takes about a second.
constexpr std::size_t DRY_RUN_LINKS = 20000;

/// The priorities of the flows are without loss, as in HPCC's code; priority 3 in any case. Before
/// the network is built.
void SetLosslessPriorities(const scenario::TrafficScenario& scenario);

} // namespace dltrain

#endif /* DLTRAIN_DRY_RUN_H */
