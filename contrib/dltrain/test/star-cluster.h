/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What the tests of this module build on: servers of some GPUs and one NIC around one switch.
 *
 * At 8 Gb/s a byte is a nanosecond. A message of 1,000 B is one packet of 1,102 B on the wire (82,
 * an RETH of 16 and an immediate of 4 more), W = 1,102 ns a link. Alone it takes 2 W + P: two
 * cables of 2 us and the switch's pipeline of 500 ns make P = 4,500 ns. An acknowledgement is 86 B
 * on the wire, A = 86 ns a link.
 */
#ifndef DLTRAIN_STAR_CLUSTER_H
#define DLTRAIN_STAR_CLUSTER_H

#include "scenarios/job/scenario.h"

#include "ns3/abort.h"
#include "ns3/rdma-fabric-helper.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace dltrain
{
namespace test
{

constexpr int64_t NS = 1000; //!< ps
constexpr int64_t US = 1000 * NS;
constexpr int64_t W = 1102 * NS;
constexpr int64_t A = 86 * NS;
constexpr int64_t CABLE = 2 * US;
constexpr int64_t P = 2 * CABLE + 500 * NS;
constexpr uint64_t GBPS = 1000000000;

/// The cable, and the links between GPUs of a server.
struct StarLinks
{
    int64_t cable{CABLE};
    uint64_t gpuRate{80 * GBPS};
    int64_t gpuLatency{600 * NS};
};

/// \param rates of the servers' links, bit/s
inline scenario::ClusterSpec
StarCluster(const std::vector<uint64_t>& rates, uint32_t gpus, const StarLinks& about = {})
{
    scenario::ClusterSpec cluster;
    const auto servers = static_cast<uint32_t>(rates.size());
    for (uint32_t s = 0; s < servers; ++s)
    {
        cluster.topology.AddHost("h" + std::to_string(s));
        cluster.hostOfServer.push_back(s);
    }
    cluster.topology.AddSwitch("s", 1);
    for (uint32_t s = 0; s < servers; ++s)
    {
        cluster.topology.Connect(s, servers, rdma::BitRate(rates[s]), rdma::Duration(about.cable));
    }
    cluster.servers = servers;
    cluster.server.gpus = gpus;
    cluster.server.nics = 1;
    cluster.server.scaleUp.perGpu = rdma::BitRate(about.gpuRate);
    cluster.server.scaleUp.latency = rdma::Duration(about.gpuLatency);
    return cluster;
}

/// The same as a fabric.
inline std::unique_ptr<ns3::RdmaFabric>
BuildFabric(ns3::RdmaFabricHelper& helper, const scenario::ClusterSpec& cluster)
{
    std::vector<ns3::RdmaNodeSpec> nodes;
    std::vector<ns3::RdmaLinkSpec> links;
    for (const topo::Node& node : cluster.topology.Nodes())
    {
        nodes.push_back({node.name, node.kind == topo::NodeKind::kSwitch});
    }
    for (const topo::Link& link : cluster.topology.Links())
    {
        links.push_back({link.a, link.b, link.rate.bps, link.delay.ps, 0});
    }
    std::string error;
    auto fabric = helper.Build(nodes, links, error);
    NS_ABORT_MSG_IF(!fabric, error);
    return fabric;
}

} // namespace test
} // namespace dltrain

#endif /* DLTRAIN_STAR_CLUSTER_H */
