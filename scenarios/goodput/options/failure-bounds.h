/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Bounds of a goodput simulation that are known only when the job is.
 */
#ifndef SCENARIOS_GOODPUT_OPTIONS_FAILURE_BOUNDS_H
#define SCENARIOS_GOODPUT_OPTIONS_FAILURE_BOUNDS_H

#include "scenarios/goodput/options/goodput-options.h"

#include <string>
#include <vector>

namespace scenario
{

/// Failures that are too many to simulate. \param rate of all causes, 1/s \return errors
std::vector<Error> CheckFailures(const GoodputScenario& scenario, double rate);

/// No step ends within the simulated time. \param step s
std::string WhyNoStep(const GoodputScenario& scenario, double step);

} // namespace scenario

#endif // SCENARIOS_GOODPUT_OPTIONS_FAILURE_BOUNDS_H
