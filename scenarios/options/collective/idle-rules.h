/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What --algorithm says of an operation or of sizes, and no collective of the run takes: it is not
 * there, or later parts win. A note for each, so that nobody believes them to be at work.
 */
#ifndef SCENARIOS_OPTIONS_COLLECTIVE_IDLE_RULES_H
#define SCENARIOS_OPTIONS_COLLECTIVE_IDLE_RULES_H

#include "collectives/schedule.h"
#include "scenarios/options/cluster/validate.h"
#include "scenarios/run/scenario.h"

#include <vector>

namespace scenario
{

/// \param used all collectives that the run does
void NoteIdleRules(Validation* v,
                   const CollectiveOptions& c,
                   const std::vector<coll::Collective>& used);

} // namespace scenario

#endif // SCENARIOS_OPTIONS_COLLECTIVE_IDLE_RULES_H
