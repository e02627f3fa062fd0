/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --ets: shares of priorities.
 */
#ifndef SCENARIOS_NETWORK_ETS_OPTIONS_H
#define SCENARIOS_NETWORK_ETS_OPTIONS_H

#include "scenarios/job/ets.h"
#include "scenarios/options/options.h"
#include "scenarios/options/validation.h"

#include <string>
#include <vector>

namespace scenario
{

std::vector<Option> EtsOptionRows();

EtsSpec ApplyEts(Validation* v);

} // namespace scenario

#endif // SCENARIOS_NETWORK_ETS_OPTIONS_H
