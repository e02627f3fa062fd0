/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --fidelity: how much of the network is simulated.
 */
#ifndef SCENARIOS_NETWORK_FIDELITY_OPTIONS_H
#define SCENARIOS_NETWORK_FIDELITY_OPTIONS_H

#include "scenarios/options/options.h"
#include "scenarios/options/validation.h"

#include <optional>
#include <string>
#include <vector>

namespace scenario
{

struct RecallOptions;

/// \param recalls whether the program has collectives that can be recalled
std::vector<Option> FidelityOptionRows(bool recalls);

/// \return the --network that --fidelity has; empty: it is not given
std::string NetworkOfFidelity(const Values& values);

/// \return whether --fidelity is fast
bool IsFast(const Values& values);

/// Decides --network. Before anything asks for it.
void ApplyFidelity(Validation* v);

/// \return nothing: every packet is simulated, or none. What needs every packet is refused.
std::optional<RecallOptions> RecallOf(Validation* v);

} // namespace scenario

#endif // SCENARIOS_NETWORK_FIDELITY_OPTIONS_H
