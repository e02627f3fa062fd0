/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Notes about rules of --algorithm that no collective of the run uses: the run has no such
 * operation or size, or later rules win. Without the notes a user would believe them to be in
 * effect.
 */
#ifndef SCENARIOS_COLLECTIVE_IDLE_RULES_H
#define SCENARIOS_COLLECTIVE_IDLE_RULES_H

#include "collectives/core/schedule.h"
#include "scenarios/job/scenario.h"
#include "scenarios/network/validate.h"

#include <vector>

namespace scenario
{

/// \param used all collectives that the run does
void NoteIdleRules(Validation* v,
                   const CollectiveOptions& c,
                   const std::vector<coll::Collective>& used);

} // namespace scenario

#endif // SCENARIOS_COLLECTIVE_IDLE_RULES_H
