/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --ets: shares of priorities.
 */
#ifndef SCENARIOS_SPEC_ETS_OPTIONS_H
#define SCENARIOS_SPEC_ETS_OPTIONS_H

#include "scenarios/spec/ets.h"
#include "scenarios/spec/options.h"
#include "scenarios/spec/validation.h"

#include <vector>

namespace scenario
{

std::vector<Option> EtsOptionRows();

EtsSpec ApplyEts(Validation* v);

} // namespace scenario

#endif // SCENARIOS_SPEC_ETS_OPTIONS_H
