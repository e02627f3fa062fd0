/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What goes wrong in a run: --fault=WHAT,at=TIME,on=WHERE[,for=TIME][,to=VALUE], and how long the
 * network takes to notice.
 */
#ifndef SCENARIOS_NETWORK_FAULT_OPTIONS_H
#define SCENARIOS_NETWORK_FAULT_OPTIONS_H

#include "contrib/rdma/core/units.h"
#include "scenarios/job/fault-plan.h"
#include "scenarios/options/options.h"
#include "scenarios/options/validation.h"
#include "topologies/topology.h"

#include <cstdint>
#include <string>
#include <vector>

namespace training
{
struct TrainingPlan;
}

namespace scenario
{

struct ClusterSpec;

std::vector<Option> FaultOptionRows();

std::vector<NamedItem> FaultItems(); ///< the kinds of faults

/// Reads --fault, --fault-detection and --convergence. Adds errors.
/// \param topology null if it is not known, because of another error
/// \param several the words that asked for several processes; empty: a single process
FaultPlan MakeFaults(Validation* v, const topo::Topology* topology, const std::string& several);

/// Applies faults of GPUs to the plan's speeds.
void MakeGpuFaults(Validation* v, const ClusterSpec& cluster, training::TrainingPlan* plan);

} // namespace scenario

#endif // SCENARIOS_NETWORK_FAULT_OPTIONS_H
