/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_DRY_RUN_FORMULA_TEXT_H
#define SCENARIOS_DRY_RUN_FORMULA_TEXT_H

#include "collectives/tuner/idle-link.h"
#include "scenarios/job/scenario.h"

#include <optional>
#include <string>
#include <vector>

namespace scenario
{

/// The network as formulas in time see it: a rank and a NIC a server, Ethernet, no time for
/// software, all servers as far as the first from the last. Nothing: it is another one.
std::optional<coll::IdleLink> IdleLinkOf(const CollperfScenario& s);

/// The results of the algorithms' own formulas (coll::Cost, coll::IdleSeconds) for each size, in
/// columns for people and for tests. An algorithm without a formula has its name and dashes.
std::string FormulaText(const CollperfScenario& s, const std::vector<coll::Collective>& whats);

} // namespace scenario

#endif // SCENARIOS_DRY_RUN_FORMULA_TEXT_H
