/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The rows of collperf, as far as their reader needs them.
 */
#ifndef SCENARIOS_COLLECTIVE_COLLPERF_OPTIONS_H
#define SCENARIOS_COLLECTIVE_COLLPERF_OPTIONS_H

#include "collectives/core/registry.h"
#include "scenarios/job/scenario.h"
#include "scenarios/network/cluster-options.h"
#include "scenarios/options/option.h"

#include <vector>

namespace scenario
{

/// Of --datatype and --reduction: a row for each.
constexpr const char* kAll = "all";

const std::vector<Datatype>& Datatypes();
std::vector<NamedItem> ReductionItems();
/// sendrecv has the column redop in nccl-tests, too.
bool HasReduction(coll::Op op);
ClusterDefaults CollperfClusterDefaults();

} // namespace scenario

#endif // SCENARIOS_COLLECTIVE_COLLPERF_OPTIONS_H
