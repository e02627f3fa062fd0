/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * dltrain --strategy: training with parameter servers instead of collectives (served-plan.h), its
 * options and what of the others it leaves no meaning.
 */
#ifndef SCENARIOS_TRAINING_OPTIONS_STRATEGY_OPTIONS_H
#define SCENARIOS_TRAINING_OPTIONS_STRATEGY_OPTIONS_H

#include "scenarios/options/options.h"
#include "scenarios/options/validation.h"
#include "scenarios/training/graphs/served-plan.h"

#include <cstdint>
#include <string>
#include <vector>

namespace scenario
{

std::vector<Option> StrategyOptionRows(const Section& section);

/// Adds errors for options that do not go together, and decides those that were not given; of
/// --strategy=sync only that its own options are not given.
/// \param gpus that train \param servers they stand in
training::ServedOptions MakeStrategy(Validation* v, uint32_t gpus, uint32_t servers);

} // namespace scenario

#endif // SCENARIOS_TRAINING_OPTIONS_STRATEGY_OPTIONS_H
