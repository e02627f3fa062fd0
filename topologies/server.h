/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a server is made of: GPUs, the scale-up links between them, and NICs. Presets, and the same
 * JSON from a file of the user:
 *
 *     {"servers": [
 *       {"name": "dgx-a100", "gpu": "A100", "gpus": 8, "nics": 8, "nic_rate": "200Gbps",
 *        "scale_up": {"kind": "nvswitch", "per_gpu": "2400Gbps", "efficiency": 0.8,
 *                     "latency": "600ns", "bulk_latency": "3.4us"},
 *        "source": "where the numbers come from"}
 *     ]}
 *
 * A file may also be one such object alone. With `"base": "dgx-h100"` a server is that preset but
 * for the members that are given, in `scale_up` too:
 *
 *     {"name": "my-h100", "base": "dgx-h100", "nics": 4, "scale_up": {"efficiency": 0.7}}
 *
 * `nic_rate` is the rate of each NIC, on Ethernet as on InfiniBand; without it the server gives no
 * rate. `per_gpu` is one direction of one GPU's port (2400Gbps = 300 GB/s, which data sheets call
 * 600 GB/s), `efficiency` the share of it that messages get (left out: all). `bulk_latency` (left
 * out: as `latency`) is that of large messages, NCCL's protocol Simple, `latency` then that of LL,
 * which small ones take. `kind` is nvswitch, nvlink-mesh, pcie or nvlink-islands; `host_bridge`
 * (pcie only, required there) is the rate all transfers between GPUs of a server share. Islands are
 * GPUs with NVLink among each other, `island` at a time from the first on, as pairs with an NVLink
 * bridge; between islands go the links of `between`:
 *
 *     {"kind": "nvlink-islands", "per_gpu": "2400Gbps", "latency": "600ns", "island": 2,
 *      "between": {"kind": "pcie", "per_gpu": "252Gbps", "host_bridge": "504Gbps",
 *                  "latency": "1us"}}
 *
 * `rack` (nvswitch only; left out: one switch for all) is the number of GPUs of a rack, each rack
 * with a switch of its own below a spine; `spine_share` (left out: 1) is the rate of a rack's link
 * to the spine, as a share of the sum of its GPUs' ports. Both are for --scale-up=packets.
 *
 * `adds` (nvswitch only; left out: false) says that the switch adds up and copies (NVLink SHARP:
 * collectives' algorithm nvls). How these numbers become times: scale-up-model.h. `library` (left
 * out: NCCL's own expectations, ExpectedLibrary) is the cost of the communication library beyond
 * the links: library-model.h.
 */
#ifndef TOPOLOGIES_SERVER_H
#define TOPOLOGIES_SERVER_H

#include "contrib/rdma/core/units.h"
#include "topologies/error.h"
#include "topologies/library-model.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace topo
{

/// The links between the GPUs of one server.
struct ScaleUp
{
    enum Kind : uint8_t
    {
        kNvSwitch,     ///< every GPU reaches every other at its full rate
        kNvLinkMesh,   ///< GPU-to-GPU links without a switch
        kPcie,         ///< through the host bridge, which all share
        kNvLinkIslands ///< `island` GPUs with NVLink, and `between` those of several islands
    };

    Kind kind = kNvSwitch;
    rdma::BitRate perGpu;     ///< one direction of one GPU's port
    rdma::BitRate hostBridge; ///< kPcie: shared by all transfers of the server; 0 otherwise
    rdma::Duration latency;   ///< latency of a transfer, beyond its serialization
    /// If not 0, NCCL's protocols: messages go as LL (`latency`, twice the bytes) or as Simple
    /// (this latency, the bytes), whichever is faster.
    rdma::Duration bulkLatency;
    double efficiency = 1; ///< share of perGpu and hostBridge that messages get
    bool adds = false;     ///< kNvSwitch: it adds up and copies (NVLink SHARP)
    uint32_t island = 0;   ///< kNvLinkIslands: GPUs of one, the first ones first; 0 otherwise
    std::shared_ptr<const ScaleUp> between; ///< kNvLinkIslands: of kPcie; null otherwise
    /// kNvSwitch in packets: GPUs of a rack, the first ones first, with a switch of their own; 0:
    /// one switch has all. The law for messages knows no racks.
    uint32_t rack = 0;
    /// The rate of a rack's link to the spine, as a share of the sum of its GPUs' perGpu.
    double spineShare = 1;
};

struct ServerSpec
{
    std::string name;
    uint32_t gpus = 0;
    std::string gpu; ///< "A100": a name of the GPU presets
    ScaleUp scaleUp;
    uint32_t nics = 0;     ///< to the network between servers
    rdma::BitRate nicRate; ///< rate of each NIC; 0: not given
    LibraryModel library;
    std::string source; ///< document of every constant, or "assumed"
};

/// "nvswitch", "nvlink-mesh", "pcie", "nvlink-islands".
const char* ToString(ScaleUp::Kind kind);

/// NCCL's expectations for such links, where nothing was measured (server-presets.cc has the
/// sources).
LibraryModel ExpectedLibrary(const ScaleUp& scaleUp);

/// Servers of a JSON text in the format above, in its order; nothing, and errors with JSON paths,
/// if any is wrong. Never throws.
std::optional<std::vector<ServerSpec>> ReadServers(const std::string& json,
                                                   const std::string& fileName,
                                                   std::vector<Error>& errors);

/// The built-in presets.
const std::vector<ServerSpec>& ServerPresets();
/// Their JSON text, to start one's own file from.
const char* ServerPresetsJson();

std::vector<std::string> ServerNames(const std::vector<ServerSpec>& servers);
/// By name, as FoldedName (names.h) compares. \return null if there is none
const ServerSpec* FindServer(const std::vector<ServerSpec>& servers, const std::string& name);
/// The first server with this GPU ("A100"), compared in the same way. \return null if there is none
const ServerSpec* FindServerForGpu(const std::vector<ServerSpec>& servers, const std::string& gpu);

} // namespace topo

#endif // TOPOLOGIES_SERVER_H
