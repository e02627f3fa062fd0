/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/families/fat-tree.h"

#include "contrib/rdma/core/unit-strings.h"
#include "topologies/names.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace topo
{

namespace
{

TopologyResult MakeFatTree(const TopologyRequest& request);

Parameter
CoreOversubscription()
{
    return FactorParameter("core-oversubscription",
                           "downlink to uplink capacity of an aggregation switch")
        .Range(1, 1000)
        .Chosen("1")
        .OfSharing()
        .Example("2");
}

Family
FatTree()
{
    Family f("fat-tree",
             "k-ary fat-tree of three layers, k^3/4 server ports (k, oversubscription)");
    f.parameters = {
        CountParameter("k", "ports of a switch, even; k^3/4 server ports")
            .Range(2, kLargestFatTree)
            .Usual("8")
            .Chosen("the smallest that fits {servers}")
            .Recorded()
            .Example("8"),
        detail::Oversubscription(),
        CoreOversubscription(),
        detail::Planes(),
        detail::Bond(),
    };
    f.sizedBy = {"k"};
    f.part = "pod";
    f.tiers = {"edge", "aggregation", "core"};
    f.noCycles = true;
    f.make = MakeFatTree;
    return f;
}

const RegisteredFamily g_fatTree(FatTree());

} // namespace

uint32_t
SmallestFatTree(uint64_t serverPorts)
{
    for (uint64_t k = 2; k <= kLargestFatTree; k += 2)
    {
        if (k * k * k / 4 >= serverPorts)
        {
            return static_cast<uint32_t>(k);
        }
    }
    return 0;
}

namespace
{

/// The number of uplinks, out of `half`, that replace `wanted` ones of the full rate, and the rate
/// of each.
std::pair<uint32_t, rdma::BitRate>
Thinned(uint32_t half, double wanted, rdma::BitRate rate)
{
    // A factor such as 4/3 is not exact in binary: values that are whole except for rounding are
    // rounded.
    const double uplinks = std::clamp(std::ceil(wanted - 1e-9), 1.0, static_cast<double>(half));
    return {static_cast<uint32_t>(uplinks), detail::Scaled(rate, std::min(1.0, wanted / uplinks))};
}

} // namespace

FatTreeShape
ShapeOfFatTree(uint32_t k,
               double oversubscription,
               rdma::BitRate fabricRate,
               double coreOversubscription,
               rdma::BitRate linkRate)
{
    const double rates =
        linkRate.bps == 0 || oversubscription == 1
            ? 1
            : static_cast<double>(linkRate.bps) / static_cast<double>(fabricRate.bps);
    FatTreeShape shape;
    shape.k = k;
    std::tie(shape.uplinks, shape.fabricRate) =
        Thinned(k / 2, k / 2 * rates / oversubscription, fabricRate);
    std::tie(shape.coreUplinks, shape.coreRate) =
        Thinned(k / 2, k / 2 / coreOversubscription, shape.fabricRate);
    return shape;
}

namespace
{

TopologyResult
MakeFatTree(const TopologyRequest& r)
{
    TopologyResult result;
    const double oversubscription = r.parameters.Factor("oversubscription");
    const double coreOversubscription = r.parameters.Has("core-oversubscription")
                                            ? r.parameters.Factor("core-oversubscription")
                                            : 1;
    const uint64_t portsNeeded = uint64_t(r.hosts) * r.nicsPerServer;
    const uint32_t smallest = SmallestFatTree(portsNeeded);
    uint32_t k = static_cast<uint32_t>(r.parameters.Count("k"));
    if (k % 2 != 0)
    {
        result.errors.push_back(
            {"k",
             std::to_string(k),
             "is not an even number from 2 to " + std::to_string(kLargestFatTree),
             ""});
        return result;
    }
    const std::string need = Counted(r.hosts, "server") +
                             (r.nicsPerServer == 1 ? "" : " of " + Counted(r.nicsPerServer, "NIC"));
    if (smallest == 0)
    {
        result.errors.push_back({"hosts",
                                 "",
                                 need + " are more than the largest fat-tree (k=" +
                                     std::to_string(kLargestFatTree) + ") has ports for",
                                 ""});
        return result;
    }
    if (k == 0)
    {
        if (r.hosts == 0)
        {
            result.errors.push_back({"k", "", "a fat-tree needs k or a number of servers", ""});
            return result;
        }
        k = smallest;
        result.notes.push_back("fat-tree: k=" + std::to_string(k) + ", the smallest for " + need);
    }
    const rdma::BitRate fabricRate = r.fabricRate.bps == 0 ? r.linkRate : r.fabricRate;
    // the ratio with all uplinks
    const double least = static_cast<double>(r.linkRate.bps) / static_cast<double>(fabricRate.bps);
    if (oversubscription > 1 && oversubscription < least - 1e-9)
    {
        result.errors.push_back({"oversubscription",
                                 detail::RatioText(oversubscription),
                                 "is less than all uplinks make, of " + rdma::ToString(fabricRate) +
                                     " below servers of " + rdma::ToString(r.linkRate) +
                                     "; allowed: 1 (all of them), or from " +
                                     detail::RatioText(least) + " on",
                                 "",
                                 "",
                                 "fabricRate"});
        return result;
    }
    const FatTreeShape shape =
        ShapeOfFatTree(k, oversubscription, fabricRate, coreOversubscription, r.linkRate);
    if (portsNeeded > shape.ServerPorts())
    {
        result.errors.push_back(
            {"k",
             std::to_string(k),
             "is too small: a fat-tree of k=" + std::to_string(k) + " has " +
                 std::to_string(shape.ServerPorts()) + " server ports (k^3/4), " + need + " need " +
                 std::to_string(portsNeeded) + "; k=" + std::to_string(smallest) + " is enough",
             ""});
        return result;
    }
    if (r.hosts == 0 && shape.ServerPorts() < r.nicsPerServer)
    {
        result.errors.push_back({"k", std::to_string(k), "is too small for one server", ""});
        return result;
    }
    if (shape.fabricRate.bps == 0)
    {
        result.errors.push_back({"oversubscription", "", "leaves the uplinks a rate of 0", ""});
        return result;
    }
    if (shape.coreRate.bps == 0)
    {
        result.errors.push_back(
            {"core-oversubscription", "", "leaves the uplinks a rate of 0", ""});
        return result;
    }

    const uint32_t half = shape.Half();
    const uint32_t edges = shape.EdgesPerPod();
    const uint32_t servers =
        r.hosts != 0 ? r.hosts : static_cast<uint32_t>(shape.ServerPorts() / r.nicsPerServer);

    Topology t;
    detail::AddServers(&t, servers);
    // Pod by pod; an edge switch is edge[p * edges + e], an aggregation switch agg[p * uplinks +
    // a].
    std::vector<NodeId> edge;
    std::vector<NodeId> agg;
    std::vector<NodeId> core;
    for (uint32_t p = 0; p < k; ++p)
    {
        for (uint32_t e = 0; e < edges; ++e)
        {
            edge.push_back(t.AddSwitchAt("edge", 1, {p, e}));
        }
        for (uint32_t a = 0; a < shape.uplinks; ++a)
        {
            agg.push_back(t.AddSwitchAt("agg", 2, {p, a}));
        }
    }
    for (uint32_t c = 0; c < shape.Cores(); ++c)
    {
        core.push_back(t.AddSwitchAt("core", 3, {c}));
    }

    // Ports follow from this order: of an edge switch, servers first, then uplinks; of a core
    // switch, port p leads to pod p.
    detail::ConnectServers(&t, r, [&](uint64_t port) { return edge[port / half]; });
    for (uint32_t p = 0; p < k; ++p)
    {
        for (uint32_t e = 0; e < edges; ++e)
        {
            for (uint32_t a = 0; a < shape.uplinks; ++a)
            {
                t.Connect(edge[p * edges + e],
                          agg[p * shape.uplinks + a],
                          shape.fabricRate,
                          r.linkDelay,
                          r.bitErrorRate);
            }
        }
    }
    for (uint32_t p = 0; p < k; ++p)
    {
        for (uint32_t a = 0; a < shape.uplinks; ++a)
        {
            for (uint32_t j = 0; j < shape.coreUplinks; ++j)
            {
                t.Connect(agg[p * shape.uplinks + a],
                          core[a * shape.coreUplinks + j],
                          shape.coreRate,
                          r.linkDelay,
                          r.bitErrorRate);
            }
        }
    }
    if (oversubscription > 1)
    {
        result.notes.push_back("fat-tree: every edge switch has " + Counted(half, "server port") +
                               " of " + rdma::ToString(r.linkRate) + " and " +
                               Counted(shape.uplinks, "uplink") + " of " +
                               rdma::ToString(shape.fabricRate));
    }
    if (coreOversubscription > 1)
    {
        result.notes.push_back(
            "fat-tree: every aggregation switch has " + Counted(edges, "downlink") + " of " +
            rdma::ToString(shape.fabricRate) + " and " + Counted(shape.coreUplinks, "uplink") +
            " of " + rdma::ToString(shape.coreRate));
    }
    Description about;
    about.name = "fat-tree k=" + std::to_string(k) + detail::OversubscriptionText(oversubscription);
    about.name += coreOversubscription > 1
                      ? ", core oversubscription " + ValueText(coreOversubscription)
                      : "";
    about.parameters.SetCount("k", k).SetFactor("core-oversubscription", coreOversubscription);
    about.partPorts = uint64_t(half) * edges;
    return detail::Made(std::move(result), std::move(t), std::move(about));
}

} // namespace

} // namespace topo
