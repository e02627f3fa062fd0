/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Memory beyond a GPU's own: what serves loads and stores of tasks (Task::tier), and how fast.
 *
 *   link      a device serves one access after another: latency + bytes / rate each (as ASTRA-sim's
 *             analytical remote memory, extern/remote_memory_backend/analytical of
 *             astra-sim/astra-sim@6c41279). An access of a GPU goes to one device
 *   switch    the same, and the switch can read a datum once for all ranks that share it (gather),
 *             or add up what they store (reduce): then they wait for each other
 *   network   servers of the network hold the data: a load is an RDMA READ, a store a WRITE, in
 *             packets beside all else
 */
#ifndef SCENARIOS_TRAINING_STEPS_MEMORY_TIER_H
#define SCENARIOS_TRAINING_STEPS_MEMORY_TIER_H

#include "contrib/rdma/core/units.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace training
{

struct MemoryTier
{
    enum class Per : uint8_t
    {
        kGpu,
        kServer,
        kCluster
    };

    enum class Attached : uint8_t
    {
        kLink,
        kSwitch,
        kNetwork
    };

    std::string name;
    Per per = Per::kServer;
    Attached attached = Attached::kLink;
    uint32_t devices = 1;   ///< of a GPU, a server, the cluster; rank r uses r mod devices
    uint32_t gpus = 0;      ///< kServer: ranks in a row with devices in common; 0: a server's
    rdma::BitRate rate;     ///< of a device; kNetwork: of its servers' NICs, not said here
    rdma::Duration latency; ///< of each access; kNetwork: of the network, not said here
    uint64_t capacity = 0;  ///< bytes of a device; 0: not limited
    bool reduces = false;   ///< kSwitch: gathers and adds up

    /// The number of a rank's device, among those of the tier. \param gpusOfServer of the cluster
    uint32_t DeviceOf(uint32_t rank, uint32_t ranks, uint32_t gpusOfServer) const
    {
        const uint32_t in = per == Per::kGpu       ? 1
                            : per == Per::kCluster ? ranks
                            : gpus                 ? gpus
                                                   : gpusOfServer;
        return rank / in * devices + rank % devices;
    }

    /// Of an access alone. kNetwork: 0, not known.
    rdma::Duration TimeOf(uint64_t bytes) const
    {
        return attached == Attached::kNetwork
                   ? rdma::Duration(0)
                   : rdma::Duration(latency.ps + std::llround(static_cast<double>(bytes) * 8e12 /
                                                              static_cast<double>(rate.bps)));
    }
};

/// Ranks that hold the same data, and so may have them gathered or added up.
struct SharedData
{
    std::vector<uint32_t> groupOf; ///< by rank
    std::vector<uint32_t> sizes;   ///< by group
};

} // namespace training

#endif // SCENARIOS_TRAINING_STEPS_MEMORY_TIER_H
