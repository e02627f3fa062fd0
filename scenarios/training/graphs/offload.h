/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The fourth pass, with --offload: copies between the GPU and its host (host-work.h), put between
 * transfers and what waits for them.
 */
#ifndef SCENARIOS_TRAINING_GRAPHS_OFFLOAD_H
#define SCENARIOS_TRAINING_GRAPHS_OFFLOAD_H

#include "scenarios/training/graphs/communication.h"

#include <vector>

namespace training
{

/// \param options resolved \param transfers of DataParallelTransfers, when they run is decided.
/// Without --offload they are as they were. With a single replica copies stand for collectives.
std::vector<Transfer> WithHost(const TrainingOptions& options,
                               const RankWork& work,
                               std::vector<Transfer> transfers);

} // namespace training

#endif // SCENARIOS_TRAINING_GRAPHS_OFFLOAD_H
