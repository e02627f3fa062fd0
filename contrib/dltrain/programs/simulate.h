/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What frame.cc calls.
 */
#ifndef DLTRAIN_SIMULATE_H
#define DLTRAIN_SIMULATE_H

#include "scenarios/job/scenario.h"
#include "scenarios/job/serving-scenario.h"

#include <string>

namespace dltrain
{

/// Measures the choices that --tuner=measured needs and no file has, and keeps the results; a dry
/// run only reads. Before the simulation, whose collectives use the measurements. \return 0, or the
/// exit status
int Tune(const scenario::RunOptions& run,
         const scenario::FabricSpec& fabric,
         const scenario::ClusterSpec& cluster,
         const scenario::CollectiveOptions& collectives);

/// Simulates and reports: a job's steps, or several jobs. \return exit status
int Simulate(const scenario::TrainingScenario& scenario);
/// A collective alone, or in place of a job's steps.
int Simulate(const scenario::CollperfScenario& scenario);
int Simulate(const scenario::TrafficScenario& scenario);
/// One run; or --sweep-rate, one a rate; or --find-rate, and then one at the rate that was found.
int Simulate(const scenario::ServingScenario& scenario);

} // namespace dltrain

#endif // DLTRAIN_SIMULATE_H
