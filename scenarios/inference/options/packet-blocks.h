/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_INFERENCE_OPTIONS_PACKET_BLOCKS_H
#define SCENARIOS_INFERENCE_OPTIONS_PACKET_BLOCKS_H

#include "scenarios/job/serving-scenario.h"
#include "scenarios/options/validation.h"

namespace scenario
{

/// Blocks of an iteration that are simulated where nothing else is on the network: assumed. Their
/// eight all-reduces differ by microseconds from those of the other blocks (docs/serving.md).
constexpr uint32_t kSampledBlocks = 4;

/// --packet-blocks. \pre the scenario has its pools and its servers
void ReadPacketBlocks(Validation* v, const ClusterSpec& cluster, ServingScenario* s);

} // namespace scenario

#endif // SCENARIOS_INFERENCE_OPTIONS_PACKET_BLOCKS_H
