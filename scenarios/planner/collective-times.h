/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The planner's times of collectives are those of all estimates.
 */
#ifndef SCENARIOS_PLANNER_COLLECTIVE_TIMES_H
#define SCENARIOS_PLANNER_COLLECTIVE_TIMES_H

#include "scenarios/options/collective/collective-times.h"

namespace planner
{

using scenario::CollectiveTimes;

} // namespace planner

#endif // SCENARIOS_PLANNER_COLLECTIVE_TIMES_H
