/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * dlserve's pools of instances: their cuts, their GPUs, and their room for KV.
 */
#ifndef SCENARIOS_INFERENCE_OPTIONS_SERVING_POOLS_H
#define SCENARIOS_INFERENCE_OPTIONS_SERVING_POOLS_H

#include "scenarios/inference/options/served-model.h"
#include "scenarios/job/serving-scenario.h"
#include "scenarios/options/validation.h"

#include <cstdint>
#include <vector>

namespace scenario
{

/// The pools of --tp, --pp, --ep and --replicas, or of --split, without GPUs yet. Empty after an
/// error.
std::vector<serving::PoolSpec> ReadPools(Validation* v, const training::ModelSpec& model);

/// Gives the pools their GPUs, one instance after another. An instance that divides a server's GPUs
/// lies in one server, one that needs more begins with a server.
/// \return GPUs up to the last one
uint64_t PlacePools(std::vector<serving::PoolSpec>* pools, uint32_t gpusPerServer);

/// Whether the GPUs suffice; decides --replicas where it is not given. Notes what is idle, and
/// tensor groups that lie on two servers. \param sized the user says how many GPUs there are
void CheckGpus(Validation* v, const ClusterSpec& cluster, bool sized, ServingScenario* s);

/// Cuts that the model's heads, layers and experts do not allow.
void CheckCuts(Validation* v, const ServingScenario& s);

/// The KV blocks of each pool; errors where the model, or one request, does not fit.
void MakeKvBlocks(Validation* v, ServingScenario* s);

} // namespace scenario

#endif // SCENARIOS_INFERENCE_OPTIONS_SERVING_POOLS_H
