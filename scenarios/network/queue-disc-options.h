/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --queue-disc: which frame of a port is sent next.
 */
#ifndef SCENARIOS_NETWORK_QUEUE_DISC_OPTIONS_H
#define SCENARIOS_NETWORK_QUEUE_DISC_OPTIONS_H

#include "scenarios/options/options.h"
#include "scenarios/options/validation.h"

#include <string>
#include <vector>

namespace scenario
{

std::vector<NamedItem> QueueDiscItems();

std::vector<Option> QueueDiscOptionRows();

/// \pre load balancing and --ets are decided \return the name; empty: a port's own
std::string ApplyQueueDisc(Validation* v);

} // namespace scenario

#endif // SCENARIOS_NETWORK_QUEUE_DISC_OPTIONS_H
