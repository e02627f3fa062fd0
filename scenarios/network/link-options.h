/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Ethernet's link layer: --flow-control, --credit-buffer, --link-retry.
 */
#ifndef SCENARIOS_NETWORK_LINK_OPTIONS_H
#define SCENARIOS_NETWORK_LINK_OPTIONS_H

#include "scenarios/job/scenario.h"
#include "scenarios/options/options.h"
#include "scenarios/options/validation.h"

#include <string>
#include <vector>

namespace scenario
{

std::vector<Option> LinkOptionRows();

/// \pre the rows of the fabric itself are decided
void ApplyLinks(Validation* v, FabricSpec* fabric);

/// In the plan; empty: PFC, and nothing is sent again by links.
std::string LinksText(const FabricSpec& fabric);

} // namespace scenario

#endif // SCENARIOS_NETWORK_LINK_OPTIONS_H
