/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Dragonfly (J. Kim, W. J. Dally, S. Scott, D. Abts, "Technology-Driven, Highly-Scalable Dragonfly
 * Topology", ISCA 2008): groups of a switches that are all linked to one another, each with p
 * server ports and h global links. a = 2, p = h = 1, so up to a h + 1 = 3 groups:
 *
 *          group 0               group 1               group 2
 *      sw-0-0 --- sw-0-1     sw-1-0 --- sw-1-1     sw-2-0 --- sw-2-1
 *       |   \      |   \      /  |       |   \      /  |       |   \
 *      server-0  server-1 \__/ server-2  server-3 \_/ server-4 server-5 --.
 *            \                                                            |
 *             '---- global link of sw-0-0 to group 1, of sw-0-1 to group 2
 *
 * How global links are arranged: groups.h. With at most a h + 1 groups there are a p g server
 * ports, and balanced is a = 2p = 2h: p = h = 2, a = 4, 9 groups, 72 server ports is the paper's
 * example.
 *
 * Routes are shortest paths, but for the detours of some load balancers. They have at most 3 links
 * between switches (local, global, local); with a path of 2, by two global links through a third
 * group, that is shorter than the minimal one of the paper, which has one global link at most.
 * Local links wait for global ones, which wait for local ones: on a lossless network they can wait
 * in a circle (docs/topologies.md#deadlock). On InfiniBand the subnet manager's dfsssp keeps them
 * apart by virtual lanes.
 *
 * What is not given is chosen: p = h, a = 2p, p the smallest that fits the servers; as few groups
 * as fit them. Without a number of servers there is one at each port, if g, a and p are given.
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
MakeDragonfly(const TopologyRequest& r)
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
                                            {"groups", "group-switches", "hosts-per-switch"},
                                            "a dragonfly",
                                            &result.errors);
    if (servers == 0)
    {
        return result;
    }
    const uint64_t ports = servers * r.nicsPerServer;
    // Balanced: the smallest p whose a p (a h + 1) server ports are enough.
    uint64_t p = 0;
    uint64_t h = 0;
    uint64_t a = 0;
    for (uint64_t least = 1;; ++least)
    {
        p = given.Has("hosts-per-switch") ? given.Count("hosts-per-switch")
            : given.Has("global-links")   ? given.Count("global-links")
                                          : least;
        h = given.Has("global-links") ? given.Count("global-links") : p;
        a = given.Has("group-switches") ? given.Count("group-switches") : 2 * std::max(p, h);
        const bool allGiven = (given.Has("hosts-per-switch") || given.Has("global-links"));
        const uint64_t g = given.Has("groups") ? given.Count("groups") : a * h + 1;
        if (allGiven || a * p * g >= ports)
        {
            break;
        }
    }
    const uint64_t groups = given.Has("groups")
                                ? given.Count("groups")
                                : std::max<uint64_t>(1, detail::CeilDiv(ports, a * p));
    if (const std::string why = detail::WhyNotJoined(groups, a * h); !why.empty())
    {
        return fail("groups", std::to_string(groups), why);
    }
    if (a * p * groups < ports)
    {
        return fail("groups",
                    std::to_string(groups),
                    "of " + Counted(a, "switch", "switches") + " with " +
                        Counted(p, "server port") + " have " + std::to_string(a * p * groups) +
                        ", but " + detail::ServersNeed(r));
    }
    if (p + a - 1 + h > 65535)
    {
        return fail("group-switches",
                    std::to_string(a),
                    "would be switches of more than 65535 ports");
    }
    if (servers + a * groups > detail::kMostNodes ||
        ports + groups * a * (a - 1) / 2 + groups * a * h / 2 > detail::kMostLinks)
    {
        return fail("groups",
                    std::to_string(groups),
                    "are a network larger than " + detail::LargestNetwork());
    }

    Topology t;
    detail::AddServers(&t, servers);
    std::vector<NodeId> nodes; // switch s of group g: [g * a + s]
    for (uint32_t g = 0; g < groups; ++g)
    {
        for (uint32_t s = 0; s < a; ++s)
        {
            nodes.push_back(t.AddSwitchAt("sw", 1, {g, s}));
        }
    }
    detail::ConnectServers(&t, r, [&](uint64_t port) { return nodes[port / p]; });
    const rdma::BitRate rate = r.fabricRate.bps == 0 ? r.linkRate : r.fabricRate;
    const auto connect = [&](uint64_t from, uint64_t to) {
        t.Connect(nodes[from], nodes[to], rate, r.linkDelay, r.bitErrorRate);
    };
    for (uint64_t g = 0; g < groups; ++g)
    {
        for (uint64_t from = 0; from < a; ++from)
        {
            for (uint64_t to = from + 1; to < a; ++to)
            {
                connect(g * a + from, g * a + to);
            }
        }
    }
    detail::JoinGroups(groups,
                       a * h,
                       [&](uint64_t from, uint64_t port, uint64_t to, uint64_t portThere) {
                           connect(from * a + port / h, to * a + portThere / h);
                       });
    Description about;
    about.name = "dragonfly, " + Counted(groups, "group") + " of " + std::to_string(a) +
                 " (p=" + std::to_string(p) + ", h=" + std::to_string(h) + ")";
    about.parameters.SetCount("groups", groups)
        .SetCount("group-switches", a)
        .SetCount("hosts-per-switch", p)
        .SetCount("global-links", h);
    about.partPorts = a * p;
    result.notes.push_back(about.name + ": " +
                           (groups == 1
                                ? std::string("one group, so no global link")
                                : Counted(detail::LinksOfPair(a * h, groups), "link") + " of " +
                                      rdma::ToString(rate) + " between each two groups"));
    return detail::Made(std::move(result), std::move(t), std::move(about));
}

Family
Dragonfly()
{
    Family f(
        "dragonfly",
        "groups of switches that are all linked, and groups too (groups, group switches, hosts "
        "per switch, global links)");
    f.parameters = {
        detail::Groups(),
        CountParameter("group-switches", "switches of a group, all linked to one another")
            .Chosen("twice their server ports")
            .Recorded()
            .Example("4"),
        CountParameter("hosts-per-switch", "server ports of a switch")
            .Chosen("what the servers need")
            .Example("2"),
        detail::GlobalLinks(),
    };
    f.sizedBy = {"groups", "group-switches", "hosts-per-switch"};
    f.part = "group";
    f.tiers = {"switch"};
    f.routing = "dfsssp,updn";
    f.lanes = 2;
    f.make = MakeDragonfly;
    return f;
}

const RegisteredFamily g_dragonfly(Dragonfly());

} // namespace

} // namespace topo
