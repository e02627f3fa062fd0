/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --compat: defaults that turn the model into another one, so that its inputs and results can be
 * replayed. Every value is one of an option, which can be given otherwise.
 */
#ifndef SCENARIOS_NETWORK_COMPAT_H
#define SCENARIOS_NETWORK_COMPAT_H

#include "scenarios/job/scenario.h"
#include "scenarios/options/validation.h"

#include <vector>

namespace scenario
{

/// The names of --compat.
std::vector<NamedItem> CompatItems();

/// Decides what --compat has a default of and the user did not give, but for what depends on the
/// network.
void ApplyCompat(Validation* v);

/// The rest, once the network is known: the window.
void ApplyCompatToNetwork(Validation* v, const topo::Topology& topology, FabricSpec* fabric);

/// Options of frames that only such models set.
std::vector<Option> FrameOptionRows();

} // namespace scenario

#endif // SCENARIOS_NETWORK_COMPAT_H
