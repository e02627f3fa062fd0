/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/leaf-spine.h"

#include "topologies/names.h"

#include <algorithm>
#include <cmath>

namespace topo
{

namespace
{

/// Of whole numbers that may be larger than an integer's.
std::string
Whole(double number)
{
    return std::to_string(static_cast<uint64_t>(number));
}

} // namespace

TopologyResult
MakeLeafSpine(const TopologyRequest& r)
{
    TopologyResult result;
    constexpr uint32_t kUsualHostsPerLeaf = 16;
    constexpr uint64_t kMostPorts = 65535;
    const auto ceilDiv = [](uint64_t a, uint64_t b) { return (a + b - 1) / b; };

    uint64_t ports = uint64_t(r.hosts) * r.nicsPerServer;
    uint64_t leaves = r.leaves;
    uint64_t hostsPerLeaf = r.hostsPerLeaf;
    if (r.hosts == 0 && (leaves == 0 || hostsPerLeaf == 0))
    {
        result.errors.push_back(
            {"hosts",
             "",
             "a leaf-spine needs a number of servers, or both leaves and hosts per leaf",
             ""});
        return result;
    }
    if (hostsPerLeaf == 0)
    {
        hostsPerLeaf =
            leaves != 0 ? ceilDiv(ports, leaves) : std::min<uint64_t>(ports, kUsualHostsPerLeaf);
    }
    if (leaves == 0)
    {
        leaves = ceilDiv(ports, hostsPerLeaf);
    }
    const uint64_t capacity = leaves * hostsPerLeaf;
    const uint64_t servers = r.hosts != 0 ? r.hosts : capacity / r.nicsPerServer;
    ports = servers * r.nicsPerServer;
    if (ports > capacity)
    {
        result.errors.push_back(
            {"leaves",
             std::to_string(leaves),
             (leaves == 1 ? "leaf of " : "leaves of ") + Counted(hostsPerLeaf, "server port") +
                 (leaves == 1 ? " has " : " have ") + std::to_string(capacity) + ", but " +
                 Counted(r.hosts, "server") + (r.hosts == 1 ? " needs " : " need ") +
                 std::to_string(ports) + "; " +
                 Counted(ceilDiv(ports, hostsPerLeaf), "leaf", "leaves") + ", or " +
                 Counted(ceilDiv(ports, leaves), "port") + " a leaf, are enough",
             ""});
        return result;
    }
    if (servers == 0)
    {
        result.errors.push_back({"nicsPerServer",
                                 std::to_string(r.nicsPerServer),
                                 "NICs find no place in this network",
                                 ""});
        return result;
    }

    rdma::BitRate rate = r.fabricRate.bps == 0 ? r.linkRate : r.fabricRate;
    const double full =
        static_cast<double>(hostsPerLeaf) * static_cast<double>(r.linkRate.bps) /
        static_cast<double>(rate.bps); // uplinks of this rate for no oversubscription
    double spines = r.spines;
    if (r.spines == 0)
    {
        spines = std::max(1.0, std::ceil(full / r.oversubscription - 1e-9));
        if (r.oversubscription > 1)
        {
            rate = detail::Scaled(rate, std::min(1.0, full / r.oversubscription / spines));
        }
    }
    else
    {
        rate = detail::Scaled(rate, 1 / r.oversubscription);
    }

    const double nodes = static_cast<double>(servers) + static_cast<double>(leaves) + spines;
    const double links = static_cast<double>(ports) + static_cast<double>(leaves) * spines;
    if (static_cast<double>(hostsPerLeaf) + spines > kMostPorts ||
        static_cast<double>(leaves) > kMostPorts)
    {
        const bool ofLeaf = static_cast<double>(leaves) <= kMostPorts;
        result.errors.push_back(
            {ofLeaf && r.spines != 0 ? "spines" : "leaves",
             "",
             "a switch of this network would have more than 65535 ports: " +
                 (ofLeaf ? "a leaf one to each of " + std::to_string(hostsPerLeaf) +
                               " server ports and of " + Whole(spines) + " spines"
                         : "a spine one to each of " + std::to_string(leaves) + " leaves") +
                 "; allowed: at most 65535",
             ""});
    }
    else if (nodes > detail::kMostNodes || links > detail::kMostLinks)
    {
        result.errors.push_back({"leaves",
                                 "",
                                 std::to_string(leaves) + " leaves and " + Whole(spines) +
                                     " spines have " + Whole(nodes) + " nodes and " +
                                     Whole(links) +
                                     " links, which is larger than this simulator takes; allowed "
                                     "of leaves and spines together: at most " +
                                     std::to_string(detail::kMostNodes) + " nodes and " +
                                     std::to_string(detail::kMostLinks) + " links",
                                 ""});
    }
    else if (rate.bps == 0)
    {
        result.errors.push_back({"oversubscription", "", "leaves the uplinks a rate of 0", ""});
    }
    if (!result.errors.empty())
    {
        return result;
    }

    const uint32_t nSpines = static_cast<uint32_t>(spines);
    Topology t;
    for (uint64_t s = 0; s < servers; ++s)
    {
        t.AddHost("server-" + std::to_string(s));
    }
    std::vector<NodeId> leaf;
    std::vector<NodeId> spine;
    for (uint64_t l = 0; l < leaves; ++l)
    {
        leaf.push_back(t.AddSwitch("leaf-" + std::to_string(l), 1));
    }
    for (uint32_t s = 0; s < nSpines; ++s)
    {
        spine.push_back(t.AddSwitch("spine-" + std::to_string(s), 2));
    }
    for (uint64_t p = 0; p < ports; ++p)
    {
        t.Connect(t.Hosts()[p / r.nicsPerServer],
                  leaf[p / hostsPerLeaf],
                  r.linkRate,
                  r.linkDelay,
                  r.bitErrorRate);
    }
    for (const NodeId l : leaf)
    {
        for (const NodeId s : spine)
        {
            t.Connect(l, s, rate, r.linkDelay, r.bitErrorRate);
        }
    }
    result.notes.push_back("leaf-spine: " + Counted(leaves, "leaf", "leaves") + " of " +
                           Counted(hostsPerLeaf, "server port") + " of " +
                           rdma::ToString(r.linkRate) + " and " + Counted(nSpines, "uplink") + " of " + rdma::ToString(rate));
    result.topology = std::move(t);
    return result;
}

} // namespace topo
