/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What --tuner=measured has found: what each candidate took, which was taken, and what the formula
 * would have taken. The same whether it was measured now or read. And what --tuner=network takes.
 */
#ifndef RESULTS_STATS_TUNER_RECORD_H
#define RESULTS_STATS_TUNER_RECORD_H

#include "scenarios/options/collective/measured-choices.h"
#include "scenarios/run/scenario.h"

#include <nlohmann/json.hpp>
#include <ostream>

namespace results
{

/// `tuner` of stats.json.
void AddTo(nlohmann::ordered_json& stats, const scenario::MeasuredChoices& choices);

/// A line for each choice.
void PrintTuner(std::ostream& os, const scenario::MeasuredChoices& choices);

/// Prints a line where the choice of --tuner=model is much slower than that of --tuner=network.
void PrintAdvice(std::ostream& os, const scenario::CollperfScenario& scenario);

} // namespace results

#endif // RESULTS_STATS_TUNER_RECORD_H
