/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Functions of a Placement for algorithms: its servers, the NICs that a group of ranks uses, the
 * number of channels that follows, and checks.
 */
#ifndef COLLECTIVES_CORE_PLACEMENT_H
#define COLLECTIVES_CORE_PLACEMENT_H

#include "collectives/core/schedule.h"

namespace coll
{

/// NCCL's MAXCHANNELS (src/include/device.h).
constexpr uint32_t kMaxChannels = 64;

/// Ranks 0..servers*gpusPerServer-1 in order, all GPUs of a server after one another.
Placement UniformPlacement(uint32_t servers, uint32_t gpusPerServer, uint32_t nicsPerServer = 1);

/// GPUs of the machine: as given, or as far as gpuOf shows.
uint32_t GpusPerServer(const Placement& placement);

/// NICs of a server, at least one.
uint32_t NicsPerServer(const Placement& placement);

/// The NIC next to a GPU.
uint32_t NicNearGpu(uint32_t gpu, uint32_t gpusPerServer, uint32_t nicsPerServer);

/// The GPU that sits next to a NIC: they share the GPUs out evenly.
uint32_t GpuNearNic(uint32_t nic, uint32_t gpusPerServer, uint32_t nicsPerServer);

/**
 * The NICs next to the GPUs of this group, in order. A group of one GPU a server (data parallelism
 * beside 8-way tensor parallelism) uses that GPU's own NIC only. When servers disagree: all NICs.
 */
std::vector<uint32_t> Rails(const Placement& placement);

bool HasSeveralServers(const Placement& placement);

/// How many groups like this one have the NICs near its GPUs together, if all GPUs of a server are
/// in one: 8 of single GPUs at one NIC. \param gpus,nics of a server
double GroupsAtItsNics(const Placement& placement, uint32_t gpus, uint32_t nics);

/// The same of all that a server has. \param gpus of a server
double GroupsInItsServer(const Placement& placement, uint32_t gpus);

/// Channels to use: as asked for; else one a NIC of Rails(), and one within a single server.
uint32_t ChannelCount(const Placement& placement, const AlgorithmOptions& options);

/// Ranks by server. Servers in order of first appearance, ranks of one by GPU.
std::vector<std::vector<Rank>> RanksByServer(const Placement& placement);

/// Why no algorithm could do this (sizes that differ, two ranks on a GPU, a root that is no rank);
/// empty: fine.
std::string Problem(const Collective& what,
                    const Placement& placement,
                    const AlgorithmOptions& options);

} // namespace coll

#endif // COLLECTIVES_CORE_PLACEMENT_H
