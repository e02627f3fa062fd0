/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What --tuner=measured has found: what each candidate took, which was taken, and what the formula
 * would have taken. The same whether it was measured now or read.
 */
#ifndef RESULTS_TUNER_RECORD_H
#define RESULTS_TUNER_RECORD_H

#include "scenarios/spec/measured-choices.h"

#include <nlohmann/json.hpp>
#include <ostream>

namespace results
{

/// stats.json: "tuner".
nlohmann::ordered_json ToJson(const scenario::MeasuredChoices& choices);

/// A line for each choice.
void PrintTuner(std::ostream& os, const scenario::MeasuredChoices& choices);

} // namespace results

#endif // RESULTS_TUNER_RECORD_H
