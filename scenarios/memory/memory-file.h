/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Files that describe memory beyond the GPUs'. Two kinds, told apart by their keys.
 *
 * Ours:
 *
 *     {"tiers": [
 *       {"name": "host", "per": "server", "attached": "link", "rate": "100GBps", "latency": "1us",
 *        "capacity": "1TB"},
 *       {"name": "pool", "per": "cluster", "devices": 8, "attached": "switch", "reduces": true,
 *        "rate": "400Gbps", "latency": "2us"},
 *       {"name": "far", "attached": "network"}
 *     ]}
 *
 * `per` gpu, server or cluster; `devices` of each such (left out: 1), among which its ranks are
 * spread; `rate`, `latency`, `capacity` of a device. What `attached` means: training::MemoryTier.
 * On a network neither rate nor latency is said: both are those of the memory servers' NICs.
 *
 * ASTRA-sim's (inputs/remote_memory of astra-sim/astra-sim@6c41279):
 *
 *     {"memory-type": "PER_NODE_MEMORY_EXPANSION", "remote-mem-latency": 100, "remote-mem-bw": 100,
 *      "num-nodes": 2, "num-npus-per-node": 4}
 *
 * with NO_MEMORY_EXPANSION, PER_NODE_MEMORY_EXPANSION, PER_NPU_MEMORY_EXPANSION or MEMORY_POOL; ns
 * and GB/s of 10^9 bytes.
 */
#ifndef SCENARIOS_MEMORY_MEMORY_FILE_H
#define SCENARIOS_MEMORY_MEMORY_FILE_H

#include "scenarios/training/steps/memory-tier.h"
#include "topologies/error.h"

#include <optional>
#include <string>
#include <vector>

namespace scenario
{

/// The tiers of a file of ours. Nothing, and errors, if it is wrong.
std::optional<std::vector<training::MemoryTier>> ReadMemoryTiers(const std::string& text,
                                                                 const std::string& file,
                                                                 std::vector<topo::Error>& errors);

/// Of ASTRA-sim's: no tier for NO_MEMORY_EXPANSION, else one.
std::optional<std::vector<training::MemoryTier>> ReadRemoteMemory(const std::string& text,
                                                                  const std::string& file,
                                                                  std::vector<topo::Error>& errors);

} // namespace scenario

#endif // SCENARIOS_MEMORY_MEMORY_FILE_H
