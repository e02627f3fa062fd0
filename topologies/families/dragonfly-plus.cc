/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Dragonfly+ (A. Shpiner et al., "Dragonfly+: Low Cost Topology for Scaling Datacenters", HiPINEB
 * 2017): groups that are leaf-spine inside; spines have the global links. 2 leaves, 2 spines, 1
 * global link a spine, so up to 3 groups:
 *
 *       group 0                    group 1                    group 2
 *     spine-0-0   spine-0-1 ...   spine-1-0   spine-1-1 ...  spine-2-0  spine-2-1
 *      |      \   /     |           |  (each leaf to each spine of its group)
 *      |       \ /      |
 *      |       / \      |          a global link leads from a spine to one of another group:
 *      leaf-0-0   leaf-0-1         groups.h
 *       |  |       |  |
 *      servers, filled leaf by leaf, group by group
 *
 * Shortest paths between groups are leaf, spine, spine, leaf, by the spines that have a link to
 * that very group: as many as there are links between the two groups. They go up, across once and
 * down, so nothing waits in a circle.
 *
 * What is not given is chosen: as many leaves as spines in a group, as many server ports a leaf and
 * global links a spine as there are of those (half of a switch's ports go each way), the fewest
 * that fit the servers and join the groups; as few groups as fit the servers. Without a number of
 * servers there is one at each port, if groups, leaves and server ports a leaf are given.
 */
#include "contrib/rdma/core/unit-strings.h"
#include "topologies/family.h"
#include "topologies/groups.h"
#include "topologies/names.h"

#include <algorithm>

namespace topo
{

namespace
{

TopologyResult
MakeDragonflyPlus(const TopologyRequest& r)
{
    TopologyResult result;
    const auto fail =
        [&result](const char* field, const std::string& value, const std::string& message) {
            result.errors.push_back({field, value, message, ""});
            return result;
        };
    const auto& given = r.parameters;
    const uint64_t servers =
        r.hosts ? r.hosts
                : detail::ServersOfAllPorts(r,
                                            {"groups", "group-leaves", "hosts-per-leaf"},
                                            "a dragonfly+",
                                            &result.errors);
    if (servers == 0)
    {
        return result;
    }
    const auto orElse = [&given](const char* name, uint64_t otherwise) {
        return given.Has(name) ? given.Count(name) : otherwise;
    };
    const uint64_t ports = servers * r.nicsPerServer;
    uint64_t leaves = 0;
    uint64_t spines = 0;
    uint64_t p = 0;
    uint64_t h = 0;
    for (uint64_t half = 1;; ++half)
    {
        leaves = orElse("group-leaves", half);
        spines = orElse("group-spines", half);
        p = orElse("hosts-per-leaf", half);
        h = orElse("global-links", half);
        const uint64_t g = orElse("groups", spines * h + 1);
        // Growing further changes nothing, or what fits is found.
        if ((leaves * p * g >= ports && detail::WhyNotJoined(g, spines * h).empty()) ||
            half > std::max(ports, g))
        {
            break;
        }
    }
    const uint64_t groups = orElse("groups", detail::CeilDiv(ports, leaves * p));
    if (const std::string why = detail::WhyNotJoined(groups, spines * h); !why.empty())
    {
        return fail("groups", std::to_string(groups), why);
    }
    if (leaves * p * groups < ports)
    {
        return fail("groups",
                    std::to_string(groups),
                    "of " + Counted(leaves, "leaf", "leaves") + " with " +
                        Counted(p, "server port") + " have " + std::to_string(leaves * p * groups) +
                        ", but " + detail::ServersNeed(r));
    }
    if (p + spines > 65535 || leaves + h > 65535)
    {
        return fail("group-spines",
                    std::to_string(spines),
                    "would be switches of more than 65535 ports");
    }
    if (servers + (leaves + spines) * groups > detail::kMostNodes ||
        ports + groups * leaves * spines + groups * spines * h / 2 > detail::kMostLinks)
    {
        return fail("groups",
                    std::to_string(groups),
                    "are a network larger than " + detail::LargestNetwork());
    }

    Topology t;
    detail::AddServers(&t, servers);
    std::vector<NodeId> leaf;  // l of group g: [g * leaves + l]
    std::vector<NodeId> spine; // the same
    for (uint32_t g = 0; g < groups; ++g)
    {
        for (uint32_t l = 0; l < leaves; ++l)
        {
            leaf.push_back(t.AddSwitchAt("leaf", 1, {g, l}));
        }
        for (uint32_t s = 0; s < spines; ++s)
        {
            spine.push_back(t.AddSwitchAt("spine", 2, {g, s}));
        }
    }
    detail::ConnectServers(&t, r, [&](uint64_t port) { return leaf[port / p]; });
    const rdma::BitRate rate = r.fabricRate.bps == 0 ? r.linkRate : r.fabricRate;
    const auto connect = [&](NodeId from, NodeId to) {
        t.Connect(from, to, rate, r.linkDelay, r.bitErrorRate);
    };
    for (uint64_t l = 0; l < leaf.size(); ++l)
    {
        for (uint64_t s = 0; s < spines; ++s)
        {
            connect(leaf[l], spine[l / leaves * spines + s]);
        }
    }
    detail::JoinGroups(groups,
                       spines * h,
                       [&](uint64_t from, uint64_t port, uint64_t to, uint64_t portThere) {
                           connect(spine[from * spines + port / h],
                                   spine[to * spines + portThere / h]);
                       });
    Description about;
    about.name = "dragonfly+, " + Counted(groups, "group") + " of " +
                 Counted(leaves, "leaf", "leaves") + " and " + Counted(spines, "spine") +
                 " (h=" + std::to_string(h) + ")";
    about.parameters.SetCount("groups", groups)
        .SetCount("group-leaves", leaves)
        .SetCount("group-spines", spines)
        .SetCount("hosts-per-leaf", p)
        .SetCount("global-links", h);
    about.partPorts = leaves * p;
    result.notes.push_back(about.name + ": leaves of " + Counted(p, "server port") + ", " +
                           (groups == 1
                                ? std::string("no global link")
                                : Counted(detail::LinksOfPair(spines * h, groups), "link") +
                                      " of " + rdma::ToString(rate) + " between each two groups"));
    return detail::Made(std::move(result), std::move(t), std::move(about));
}

Family
DragonflyPlus()
{
    Family f(
        "dragonfly-plus",
        "groups of leaves and spines, whose spines join every two of them (groups, group leaves, "
        "group spines, hosts per leaf, global links)");
    f.parameters = {
        detail::Groups(),
        CountParameter("group-leaves", "leaves of a group")
            .Chosen("what the servers need")
            .Recorded()
            .Example("3"),
        CountParameter("group-spines", "spines of a group")
            .Chosen("what the servers need")
            .Recorded()
            .Example("3"),
        CountParameter("hosts-per-leaf", "server ports of a leaf")
            .Chosen("16 at most")
            .Example("4"),
        detail::GlobalLinks(),
    };
    f.sizedBy = {"groups", "group-leaves", "hosts-per-leaf"};
    f.part = "group";
    f.tiers = {"leaf", "spine"};
    f.routing = "dfsssp,updn";
    f.noCycles = true;
    f.make = MakeDragonflyPlus;
    return f;
}

const RegisteredFamily g_dragonflyPlus(DragonflyPlus());

} // namespace

} // namespace topo
