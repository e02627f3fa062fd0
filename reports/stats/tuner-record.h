/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What --tuner=measured has found: what each candidate took, which was taken, and what the formula
 * would have taken. The same whether it was measured now or read. And what --tuner=network takes.
 */
#ifndef REPORTS_STATS_TUNER_RECORD_H
#define REPORTS_STATS_TUNER_RECORD_H

#include "scenarios/collective/measured-choices.h"
#include "scenarios/job/scenario.h"

#include <nlohmann/json.hpp>
#include <ostream>

namespace reports
{

/// `tuner` of stats.json.
void AddTo(nlohmann::ordered_json& stats, const scenario::MeasuredChoices& choices);

/// A line for each choice.
void PrintTuner(std::ostream& os, const scenario::MeasuredChoices& choices);

/// Prints a line where the choice of --tuner=model is much slower than that of --tuner=network.
void PrintAdvice(std::ostream& os, const scenario::CollperfScenario& scenario);

} // namespace reports

#endif // REPORTS_STATS_TUNER_RECORD_H
