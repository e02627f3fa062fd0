/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * GPUs by the names that faults have for them.
 */
#ifndef SCENARIOS_PLACEMENT_GPU_PLACE_H
#define SCENARIOS_PLACEMENT_GPU_PLACE_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace scenario
{

struct ClusterSpec;

/// A GPU as a thing, whoever computes on it.
struct GpuPlace
{
    uint32_t host = 0; ///< host in the topology
    uint32_t gpu = 0;  ///< GPU in its server

    bool operator<(const GpuPlace& other) const
    {
        return std::pair(host, gpu) < std::pair(other.host, other.gpu);
    }
};

/// Finds the GPU named "gpu-5" (rank) or "server-0:gpu-5" (host in the topology).
/// \param spares hosts whose servers may be named, too
/// \return the problem, or nothing
std::string FindGpu(const ClusterSpec& cluster,
                    const std::vector<uint32_t>& spares,
                    const std::string& name,
                    GpuPlace* place);

} // namespace scenario

#endif // SCENARIOS_PLACEMENT_GPU_PLACE_H
