/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The output of ibnetdiscover, which lists an InfiniBand subnet that is there
 * (linux-rdma/rdma-core, infiniband-diags/ibnetdiscover.c):
 *
 *     # Topology file: generated on Mon Dec 18 12:34:08 2023
 *     Switch  36 "S-ec0d9a0300ec8240"         # "leaf-1" base port 0 lid 48 lmc 0
 *     [1]     "H-506b4b03003fa9b6"[1](506b4b03003fa9b6)   # "node018 mlx5_0" lid 67 4xHDR
 *     Ca      1 "H-506b4b03003fa9b6"          # "node018 mlx5_0"
 *     [1](506b4b03003fa9b6)   "S-ec0d9a0300ec8240"[1]     # lid 67 lmc 0 "leaf-1" lid 48 4xHDR
 *
 * Each link is there twice, once from each end; the first of both counts. Its width and speed
 * ("4xHDR") are its rate (rdma::ParseIbLink); the file has no delays.
 *
 * Hosts. Adapters whose descriptions are "<host> <device>" are NICs of one host, in the order of
 * devices and ports; any other adapter is a host. Hosts are in the order of their names, node2
 * before node10. Adapters of switches ("Aggregation Node") and routers are left out, with a note.
 */
#ifndef TOPOLOGIES_FORMATS_IBNET_FORMAT_H
#define TOPOLOGIES_FORMATS_IBNET_FORMAT_H

#include "topologies/family.h"

#include <string>

namespace topo
{

/// Whether a file has a line of a switch or adapter, as ibnetdiscover writes it, in its first 4
/// KiB.
bool IsIbnetTopology(const std::string& path);

/// \param delay of each link
TopologyResult ReadIbnetTopology(const std::string& text,
                                 const std::string& name,
                                 rdma::Duration delay);

} // namespace topo

#endif // TOPOLOGIES_FORMATS_IBNET_FORMAT_H
