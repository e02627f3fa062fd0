/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Options of programs whose ranks are GPUs in servers (dltrain, collperf), and what they make
 * together.
 */
#ifndef SCENARIOS_NETWORK_CLUSTER_OPTIONS_H
#define SCENARIOS_NETWORK_CLUSTER_OPTIONS_H

#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/asked/cluster.h"
#include "scenarios/network/validate.h"
#include "scenarios/options/options.h"

#include <optional>
#include <string>
#include <vector>

namespace scenario
{

/// How programs differ in sizing their cluster.
struct ClusterDefaults
{
    std::string total; ///< the option that counts ranks: "gpus", "ranks"
    std::optional<uint32_t> asked::Cluster::*counts = &asked::Cluster::gpus; ///< its member
    std::string totalHelp;
    std::string totalNote;        ///< its default, for --help
    std::string serversNote;      ///< default of --servers, for --help
    uint32_t defaultServers = 16; ///< if neither is given
    uint32_t defaultTotal = 0;    ///< used instead of defaultServers if not 0
    /// GPUs per server of the default cluster; 0: as in the server preset.
    uint32_t gpusPerServer = 0;
};

std::vector<Option> ClusterOptionRows(const ClusterDefaults& defaults);

/// Whether --topology is a file that also says what a server is (SimAI's), and --server no other.
bool TopologyHasServer(const Values& values);

/// A preset, or the one server of a file that an option names.
std::optional<topo::ServerSpec> ServerNamed(Validation* v, Member option, const std::string& name);

/// The preset, or the one server of a file; without --server that of the topology file, if it has
/// one.
std::optional<topo::ServerSpec> ChosenServer(Validation* v);

struct Cluster
{
    ClusterSpec spec;
    bool fromFile = false; ///< the network
    bool valid = false;
};

/// Decides --gpus-per-server, --nics-per-server and --nic by a server that the user named, on the
/// command line, in a scenario or by a topology file that has it. Options that are given themselves
/// stay. The NIC is Ethernet's of that rate, or InfiniBand's with --fabric=ib. Then --topology, by
/// the number of NICs. Before MakeFabric.
void ApplyServer(Validation* v, const std::optional<topo::ServerSpec>& server);

/// "8 x 400GbE", "100GbE": the NICs of a server.
std::string NicsText(const ClusterSpec& cluster, const FabricSpec& fabric);

/// Sizes the cluster, builds the network, puts servers on hosts. Units of switches that add up come
/// with the collectives that use them (collective-options.h).
Cluster MakeCluster(Validation* v,
                    const ClusterDefaults& defaults,
                    const std::optional<topo::ServerSpec>& server,
                    FabricSpec* fabric);

/// Where some ranks are, in this order. \pre rank r is GPU r mod g of server r / g
coll::Placement PlacementOf(const ClusterSpec& cluster, const std::vector<coll::Rank>& ranks);

/// All ranks in order, all GPUs of a server after one another.
coll::Placement RankPlacement(const ClusterSpec& cluster);

NameList ServerList();

} // namespace scenario

#endif // SCENARIOS_NETWORK_CLUSTER_OPTIONS_H
