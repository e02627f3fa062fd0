/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Leaf-spine: two layers, every leaf wired once to every spine.
 *
 *        spine-0     spine-1            spines
 *        /  |   \   /   |  \
 *       /   |    \ /    |   \           one link of the fabric rate from every leaf to every spine
 *      /    |    / \    |    \
 *     leaf-0    leaf-1     leaf-2       leaves
 *     | | |     | | |      | | |        hostsPerLeaf server ports a leaf
 *     servers 0, 1, 2, ...              filled leaf by leaf
 *
 * Server s, NIC n takes server port s x nicsPerServer + n, counted leaf by leaf.
 * Between leaves there are `spines` shortest paths of 4 links.
 *
 * What is not given is chosen: hostsPerLeaf = server ports / leaves, rounded up, or 16 if leaves is
 * not given either (as in HPCC's network; fewer if there are fewer ports); leaves so that the
 * servers fit; spines so that the uplinks of a leaf carry what its server ports do.
 *
 * Oversubscription f divides the uplink capacity of a leaf by f: there are
 * ceil(hostsPerLeaf x linkRate / (f x fabricRate)) spines, and with f > 1 the rate of their links
 * is lowered to meet the ratio exactly. Spines that are given say the ratio themselves, so an f
 * beside them has to be that ratio.
 */
#include "topologies/families/leaf-spine.h"

#include "contrib/rdma/core/unit-strings.h"
#include "topologies/names.h"

#include <algorithm>
#include <cmath>

namespace topo
{

namespace
{

/// The text of a whole number that may be larger than an integer's.
std::string
Whole(double number)
{
    return std::to_string(static_cast<uint64_t>(number));
}

TopologyResult
MakeLeafSpine(const TopologyRequest& r)
{
    TopologyResult result;
    constexpr uint32_t kUsualHostsPerLeaf = 16;
    constexpr uint64_t kMostPorts = 65535;

    const double oversubscription = r.parameters.Factor("oversubscription");
    const bool givenSpines = r.parameters.Has("spines");
    uint64_t ports = uint64_t(r.hosts) * r.nicsPerServer;
    uint64_t leaves = r.parameters.Count("leaves");
    uint64_t hostsPerLeaf = r.parameters.Count("hosts-per-leaf");
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
        hostsPerLeaf = leaves != 0 ? detail::CeilDiv(ports, leaves)
                                   : std::min<uint64_t>(ports / r.bond, kUsualHostsPerLeaf);
    }
    if (leaves == 0)
    {
        leaves = detail::CeilDiv(ports, hostsPerLeaf);
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
                 detail::ServersNeed(r) + "; " +
                 Counted(detail::CeilDiv(ports, hostsPerLeaf), "leaf", "leaves") + ", or " +
                 Counted(detail::CeilDiv(ports, leaves), "port") + " a leaf, are enough",
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
    double spines = static_cast<double>(r.parameters.Count("spines"));
    if (!givenSpines)
    {
        spines = std::max(1.0, std::ceil(full / oversubscription - 1e-9));
        if (oversubscription > 1)
        {
            rate = detail::Scaled(rate, std::min(1.0, full / oversubscription / spines));
        }
    }
    else if (oversubscription > 1 && std::abs(full / spines / oversubscription - 1) > 1e-6)
    {
        result.errors.push_back(
            {"oversubscription",
             detail::RatioText(oversubscription),
             "is not what the spines make: " + Counted(hostsPerLeaf, "server port") + " of " +
                 rdma::ToString(r.linkRate) + " and " +
                 Counted(r.parameters.Count("spines"), "uplink") + " of " + rdma::ToString(rate) +
                 " at a leaf are " + detail::RatioText(full / spines) +
                 ":1; allowed: one of the two, or --fabric-rate",
             "",
             "",
             "spines"});
        return result;
    }

    const double nodes = static_cast<double>(servers) + static_cast<double>(leaves) + spines;
    const double links = static_cast<double>(ports) + static_cast<double>(leaves) * spines;
    if (static_cast<double>(hostsPerLeaf) + spines > kMostPorts ||
        static_cast<double>(leaves) > kMostPorts)
    {
        const bool ofLeaf = static_cast<double>(leaves) <= kMostPorts;
        const bool byRate = ofLeaf && !givenSpines && r.fabricRate.bps != 0 &&
                            static_cast<double>(hostsPerLeaf) <= kMostPorts; // so many uplinks
        const std::string blamed = byRate                  ? "fabricRate"
                                   : ofLeaf && givenSpines ? "spines"
                                                           : "leaves";
        result.errors.push_back(
            {blamed,
             "",
             "a switch of this network would have more than 65535 ports: " +
                 (ofLeaf ? "a leaf one to each of " + std::to_string(hostsPerLeaf) +
                               " server ports and of " + Whole(spines) + " spines"
                         : "a spine one to each of " + std::to_string(leaves) + " leaves") +
                 "; allowed: at most 65535",
             "",
             "",
             blamed == "leaves" ? "spines" : "leaves"}); // both decide the size
    }
    else if (nodes > detail::kMostNodes || links > detail::kMostLinks)
    {
        result.errors.push_back({"leaves",
                                 "",
                                 std::to_string(leaves) + " leaves and " + Whole(spines) +
                                     " spines have " + Whole(nodes) + " nodes and " + Whole(links) +
                                     " links, which is larger than this simulator takes; allowed "
                                     "of leaves and spines together: at most " +
                                     std::to_string(detail::kMostNodes) + " nodes and " +
                                     std::to_string(detail::kMostLinks) + " links",
                                 "",
                                 "",
                                 "spines"});
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
    detail::AddServers(&t, servers);
    std::vector<NodeId> leaf;
    std::vector<NodeId> spine;
    for (uint64_t l = 0; l < leaves; ++l)
    {
        leaf.push_back(t.AddSwitchAt("leaf", 1, {static_cast<uint32_t>(l)}));
    }
    for (uint32_t s = 0; s < nSpines; ++s)
    {
        spine.push_back(t.AddSwitchAt("spine", 2, {s}));
    }
    detail::ConnectServers(&t, r, [&](uint64_t port) { return leaf[port / hostsPerLeaf]; });
    for (const NodeId l : leaf)
    {
        for (const NodeId s : spine)
        {
            t.Connect(l, s, rate, r.linkDelay, r.bitErrorRate);
        }
    }
    result.notes.push_back("leaf-spine: " + Counted(leaves, "leaf", "leaves") + " of " +
                           Counted(hostsPerLeaf, "server port") + " of " +
                           rdma::ToString(r.linkRate) + " and " + Counted(nSpines, "uplink") +
                           " of " + rdma::ToString(rate));
    Description about;
    about.name = "leaf-spine, " + Counted(leaves, "leaf", "leaves") + ", " +
                 Counted(nSpines, "spine") + detail::OversubscriptionText(oversubscription);
    about.parameters.SetCount("leaves", leaves)
        .SetCount("spines", nSpines)
        .SetCount("hosts-per-leaf", hostsPerLeaf);
    return detail::Made(std::move(result), std::move(t), std::move(about));
}

} // namespace

Family
detail::LeafSpineFamily(const std::string& name, const std::string& description)
{
    Family f(name, description);
    f.parameters = {
        Oversubscription(),
        CountParameter("leaves", "number of leaves").Chosen("what the servers need").Example("4"),
        CountParameter("spines", "number of spines").Chosen("what the leaves can use").Example("4"),
        CountParameter("hosts-per-leaf", "server ports of a leaf")
            .Chosen("16 at most")
            .Example("4"),
        Planes(),
    };
    f.sizedBy = {"leaves", "hosts-per-leaf"};
    f.tiers = {"leaf", "spine"};
    f.noCycles = true;
    f.make = MakeLeafSpine;
    return f;
}

namespace
{

Family
LeafSpine()
{
    Family f =
        detail::LeafSpineFamily("leaf-spine",
                                "two layers, every leaf wired to every spine (leaves, spines, "
                                "hosts per leaf, oversubscription)");
    f.parameters.push_back(detail::Bond());
    return f;
}

const RegisteredFamily g_leafSpine(LeafSpine());

} // namespace

} // namespace topo
