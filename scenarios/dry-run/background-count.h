/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The flows beside a job (--background), counted for as long as the job is assumed to take.
 *
 * Flows of a load share a link evenly with all others there (DCQCN, ib-cc and PFC all aim at that),
 * so k of them leave a job 1 / (k + 1) of it. Of a load r there are k with probability
 * (1 - r) r^k (processor sharing: Kleinrock, Queueing Systems 2, 1976, section 4.4). A ring goes as
 * fast as the slowest of its n links:
 *
 *     slowdown = 1 + sum over k = 0, 1, ... of  1 - (1 - r^(k + 1))^n
 *
 * Messages that wait for nobody take 1 / (1 - r) of their time. Flows that repeat are there all the
 * time: their number at each link is counted.
 */
#ifndef SCENARIOS_DRY_RUN_BACKGROUND_COUNT_H
#define SCENARIOS_DRY_RUN_BACKGROUND_COUNT_H

#include "scenarios/dry-run/estimate.h"
#include "scenarios/job/scenario.h"

namespace scenario
{

/// How many times as long a ring over n links takes beside flows of a load. \param load below 1
double RingBesideLoad(double load, double links);

/// Fills in `background` of a whole run's estimate; nothing without a background.
void CountBackground(const RunOptions& run,
                     const FabricSpec& fabric,
                     const topo::Topology& topology,
                     Estimate* estimate);

} // namespace scenario

#endif // SCENARIOS_DRY_RUN_BACKGROUND_COUNT_H
