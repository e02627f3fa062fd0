/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Fat-tree of any number of levels and any radix: the extended generalized fat-tree XGFT(h; m1,
 * ..., mh; w1, ..., wh) of S. R. Öhring, M. Ibel, S. K. Das, M. J. Kumar, "On Generalized Fat
 * Trees", IPPS 1995. A switch of level i has mi children, all but those of the top level w(i+1)
 * parents; w1 = 1, as several NICs are --nics-per-server. --children=3x2x2 --parents=2x1 is XGFT(3;
 * 3,2,2; 1,2,1):
 *
 *            t3-0          t3-1         level 3: 2 children each, the level below
 *           /    \        /    \        level 2: 2 children, 1 parent
 *       t2-0-0  t2-1-0  t2-0-1 t2-1-1   (subtree of the top, number in it)
 *         |  \ /.. |
 *       t1-0-0  t1-0-1   t1-1-0  t1-1-1 level 1: 3 server ports, 2 parents
 *        |||     |||      |||     |||
 *
 * Level l has m(l+1) x ... x mh x w2 x ... x wl switches, and there are m1 x ... x mh server ports.
 * Below a common ancestor of level l there are w2 x ... x wl shortest paths, of 2 l links. Links
 * are alike, so tier l is oversubscribed ml : w(l+1), each tier as one likes; k/2 x k/2 x k and k/2
 * x k/2 is the k-ary fat-tree.
 *
 * Server s, NIC n takes server port s x nicsPerServer + n, counted switch by switch. What is not
 * given is chosen: two levels with switches of 16 server ports at most; as many parents as
 * children (no oversubscription).
 */
#include "contrib/rdma/core/unit-strings.h"
#include "topologies/family.h"
#include "topologies/names.h"

#include <algorithm>
#include <utility>

namespace topo
{

namespace
{

TopologyResult
MakeXgft(const TopologyRequest& r)
{
    TopologyResult result;
    const auto fail =
        [&result](const char* field, const std::string& value, const std::string& message) {
            result.errors.push_back({field, value, message, ""});
            return result;
        };
    std::vector<uint32_t> m = r.parameters.Sizes("children");
    std::vector<uint32_t> w = r.parameters.Sizes("parents");
    uint64_t ports = uint64_t(r.hosts) * r.nicsPerServer;
    if (m.empty())
    {
        if (r.hosts == 0)
        {
            return fail("hosts", "", "such a tree needs a number of servers or its children");
        }
        constexpr uint64_t kUsualHosts = 16;
        const uint64_t first = std::min(ports, kUsualHosts);
        if ((ports + first - 1) / first > 65535)
        {
            return fail("children", "", "have to be given for so many servers");
        }
        m = {static_cast<uint32_t>(first), static_cast<uint32_t>((ports + first - 1) / first)};
    }
    const size_t levels = m.size();
    if (!r.parameters.Has("parents"))
    {
        w.assign(m.begin(), m.end() - 1);
    }
    if (w.size() + 1 != levels)
    {
        return fail("parents",
                    w.empty() ? "" : Quoted(SizesText(w)),
                    "has to have a number for each level but the top one, " +
                        std::to_string(levels - 1) + ": --children=" + SizesText(m) + " has " +
                        Counted(levels, "level"));
    }
    if (levels > kMostDimensions)
    {
        return fail("children", Quoted(SizesText(m)), "has more than 6 levels");
    }
    for (const auto& [name, numbers] :
         {std::make_pair("children", m), std::make_pair("parents", w)})
    {
        if (std::find(numbers.begin(), numbers.end(), 0) != numbers.end())
        {
            return fail(name, Quoted(SizesText(numbers)), "has a level of no switches");
        }
    }
    // For level l, counted from 0: number of subtrees, and of switches in each.
    std::vector<uint64_t> below(levels); // subtrees: m(l+1) x ... x mh
    std::vector<uint64_t> up(levels);    // switches of one of them: w2 x ... x wl
    uint64_t capacity = 1;
    for (const uint32_t children : m)
    {
        capacity *= children;
        if (capacity > detail::kMostLinks)
        {
            return fail("children",
                        Quoted(SizesText(m)),
                        "has more than " + std::to_string(detail::kMostLinks) + " server ports");
        }
    }
    const std::string larger = "is a network larger than " + detail::LargestNetwork();
    uint64_t subtrees = capacity;
    uint64_t copies = 1;
    uint64_t switches = 0;
    uint64_t links = 0;
    for (size_t l = 0; l < levels; ++l)
    {
        subtrees /= m[l];
        copies *= l == 0 ? 1 : w[l - 1]; // at most 2^20 x 2^16 before the check
        below[l] = subtrees;
        up[l] = copies;
        switches += subtrees * copies;
        links += l + 1 < levels ? subtrees * copies * w[l] : 0;
        if (copies > detail::kMostNodes || switches > detail::kMostNodes ||
            links > detail::kMostLinks)
        {
            return fail("children", Quoted(SizesText(m)), larger);
        }
    }
    const uint64_t servers = r.hosts != 0 ? r.hosts : capacity / r.nicsPerServer;
    ports = servers * r.nicsPerServer;
    if (ports > capacity)
    {
        return fail("children",
                    Quoted(SizesText(m)),
                    "has " + Counted(capacity, "server port") + ", but " + detail::ServersNeed(r));
    }
    if (servers == 0)
    {
        return fail("nicsPerServer",
                    std::to_string(r.nicsPerServer),
                    "NICs find no place in this network");
    }
    for (size_t l = 0; l < levels; ++l)
    {
        if (m[l] + (l + 1 < levels ? w[l] : 0) > 65535)
        {
            return fail("parents",
                        Quoted(SizesText(w)),
                        "would be switches of more than 65535 ports");
        }
    }
    if (servers + switches > detail::kMostNodes || ports + links > detail::kMostLinks)
    {
        return fail("children", Quoted(SizesText(m)), larger);
    }

    Topology t;
    detail::AddServers(&t, servers);
    // For level l: copy c of subtree s is node[l][s * up[l] + c].
    std::vector<std::vector<NodeId>> node(levels);
    for (size_t l = 0; l < levels; ++l)
    {
        const uint64_t inPart = below[l] * up[l] / (l + 1 < levels ? m.back() : 1);
        for (uint32_t i = 0; i < below[l] * up[l]; ++i)
        {
            const auto at = l + 1 < levels
                                ? std::vector<uint32_t>{static_cast<uint32_t>(i / inPart),
                                                        static_cast<uint32_t>(i % inPart)}
                                : std::vector<uint32_t>{i};
            node[l].push_back(
                t.AddSwitchAt("t" + std::to_string(l + 1), static_cast<uint8_t>(l + 1), at));
        }
    }
    detail::ConnectServers(&t, r, [&](uint64_t port) { return node[0][port / m[0]]; });
    const rdma::BitRate rate = r.fabricRate.bps == 0 ? r.linkRate : r.fabricRate;
    std::string ratios;
    for (size_t l = 0; l + 1 < levels; ++l)
    {
        for (uint64_t i = 0; i < node[l].size(); ++i)
        {
            const uint64_t parent = i / up[l] / m[l + 1] * up[l + 1] + i % up[l] * w[l];
            for (uint32_t j = 0; j < w[l]; ++j)
            {
                t.Connect(node[l][i], node[l + 1][parent + j], rate, r.linkDelay, r.bitErrorRate);
            }
        }
        ratios += (ratios.empty() ? "" : ", ") + std::to_string(m[l]) + ":" + std::to_string(w[l]);
    }
    Description about;
    about.name = "tree " + SizesText(m) + (w.empty() ? "" : ", parents " + SizesText(w));
    about.parameters.SetSizes("children", m);
    if (!w.empty())
    {
        about.parameters.SetSizes("parents", w);
    }
    about.partPorts = capacity / m.back();
    result.notes.push_back(
        about.name + ": " + Counted(capacity, "server port") +
        (ratios.empty() ? "" : "; downlinks to uplinks, from the servers on " + ratios));
    return detail::Made(std::move(result), std::move(t), std::move(about));
}

Family
Xgft()
{
    Family f("xgft",
             "fat-tree of any levels and radices, oversubscribed tier by tier (children, parents)");
    f.parameters = {
        SizesParameter("children", "of a switch of each level, from the servers' on")
            .Range(1, 65535)
            .Chosen("two levels, 16 servers a switch at most")
            .Recorded()
            .Example("4x4x3"),
        SizesParameter("parents", "uplinks of a switch of each level but the top one")
            .Range(1, 65535)
            .Chosen("as many as children")
            .Recorded()
            .Example("2x1"),
        detail::Planes(),
    };
    f.sizedBy = {"children"};
    f.part = "pod";
    f.tiers = {"tier 1", "tier 2", "tier 3", "tier 4", "tier 5", "tier 6"};
    f.noCycles = true;
    f.make = MakeXgft;
    return f;
}

const RegisteredFamily g_xgft(Xgft());

} // namespace

} // namespace topo
