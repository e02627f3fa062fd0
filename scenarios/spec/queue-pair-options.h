/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --qps-per-connection and --split-data-on-qps: several queue pairs a connection, as NCCL has them.
 */
#ifndef SCENARIOS_SPEC_QUEUE_PAIR_OPTIONS_H
#define SCENARIOS_SPEC_QUEUE_PAIR_OPTIONS_H

#include "scenarios/spec/connections.h"
#include "scenarios/spec/options.h"
#include "scenarios/spec/validation.h"

#include <vector>

namespace scenario
{

/// Of programs whose messages go between GPUs.
std::vector<Option> QueuePairOptionRows();

ConnectionSpec MakeConnections(Validation* v);

} // namespace scenario

#endif // SCENARIOS_SPEC_QUEUE_PAIR_OPTIONS_H
