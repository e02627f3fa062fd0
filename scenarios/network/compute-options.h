/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * dltrain: what a GPU and its server compute, beside the model and how it is shared out.
 */
#ifndef SCENARIOS_NETWORK_COMPUTE_OPTIONS_H
#define SCENARIOS_NETWORK_COMPUTE_OPTIONS_H

#include "scenarios/options/options.h"
#include "scenarios/options/validation.h"
#include "scenarios/training/spec/plan-options.h"
#include "topologies/server.h"

#include <string>
#include <vector>

namespace scenario
{

std::vector<Option> ComputeOptionRows(const Section& section);

/// Bytes/s of messages between a GPU and its server, each way; 0: it is not known.
double HostLinkOf(const topo::ServerSpec& server, const training::GpuSpec& gpu);

/// Decides an option that says this rate and is not given. \param feature an option that needs it
/// \return whether it is known; else an error is added
bool DecideHostLink(Validation* v,
                    Member option,
                    Member feature,
                    const topo::ServerSpec& server,
                    const training::GpuSpec& gpu);

/// \param o gets them; has the GPU \param server the GPU's
void MakeCompute(Validation* v, const topo::ServerSpec& server, training::TrainingOptions* o);

} // namespace scenario

#endif // SCENARIOS_NETWORK_COMPUTE_OPTIONS_H
