/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --qps-per-connection and --split-data-on-qps: several queue pairs a connection, as NCCL has them.
 */
#ifndef SCENARIOS_NETWORK_QUEUE_PAIR_OPTIONS_H
#define SCENARIOS_NETWORK_QUEUE_PAIR_OPTIONS_H

#include "scenarios/job/connections.h"
#include "scenarios/options/options.h"
#include "scenarios/options/validation.h"

#include <vector>

namespace scenario
{

/// The queue pair options of programs whose messages go between GPUs.
std::vector<Option> QueuePairOptionRows();

ConnectionSpec MakeConnections(Validation* v);

} // namespace scenario

#endif // SCENARIOS_NETWORK_QUEUE_PAIR_OPTIONS_H
