/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/ib/ib-routing.h"
#include "ib-fabrics.h"

#include <gtest/gtest.h>
#include <map>
#include <set>

namespace
{

using ibtest::Builder;
using namespace rdma;

/// (switch, out port, VL)
using Node = std::array<uint32_t, 3>;

struct Reference
{
    std::map<Node, std::set<Node>> after;
    uint64_t broken = 0;
    uint64_t dependencies = 0;
    bool cyclic = false;
};

/// Path by path, and a cycle by taking away channels that depend on nothing (Kahn).
Reference
ByHand(const IbSubnet& subnet, const IbTables& tables)
{
    Reference reference;
    std::vector<IbHop> hops;
    for (uint32_t e = 0; e < subnet.Endpoints().size(); ++e)
    {
        for (const auto& to : subnet.Endpoints())
        {
            if (&to == &subnet.Endpoints()[e])
            {
                continue;
            }
            for (uint32_t o = 0; o < (1u << to.lmc); ++o)
            {
                const bool good = IbTracePath(subnet, tables, e, to.lid + o, hops);
                reference.broken += !good;
                for (size_t i = 0; i < hops.size(); ++i)
                {
                    const auto& peers = subnet.Switches()[hops[i].switchIndex].peers;
                    if (hops[i].out == 0 || peers[hops[i].out].switchIndex == kIbNone ||
                        hops[i].vl == kIbDropVl)
                    {
                        break;
                    }
                    const Node node{hops[i].switchIndex, hops[i].out, hops[i].vl};
                    reference.after[node];
                    if (i > 0)
                    {
                        reference.after[{hops[i - 1].switchIndex, hops[i - 1].out, hops[i - 1].vl}]
                            .insert(node);
                    }
                }
            }
        }
    }
    for (const auto& [node, next] : reference.after)
    {
        reference.dependencies += next.size();
    }
    auto left = reference.after;
    bool more = true;
    while (more)
    {
        more = false;
        for (auto it = left.begin(); it != left.end();)
        {
            bool sink = true;
            for (const Node& next : it->second)
            {
                sink = sink && left.count(next) == 0;
            }
            more = more || sink;
            it = sink ? left.erase(it) : std::next(it);
        }
    }
    reference.cyclic = !left.empty();
    return reference;
}

/// The cycle is one: real links, each the next one's beginning, and all dependencies of some path.
void
CheckCycle(const IbSubnet& subnet, const IbTables& tables, const std::vector<IbChannel>& cycle)
{
    const Reference reference = ByHand(subnet, tables);
    std::set<Node> seen;
    for (size_t i = 0; i < cycle.size(); ++i)
    {
        const IbChannel& c = cycle[i];
        const IbChannel& next = cycle[(i + 1) % cycle.size()];
        const auto& peer = subnet.Switches()[c.fromSwitch].peers[c.fromPort];
        EXPECT_EQ(peer.switchIndex, c.toSwitch);
        EXPECT_EQ(peer.port, c.toPort);
        EXPECT_EQ(c.toSwitch, next.fromSwitch);
        const Node node{c.fromSwitch, c.fromPort, c.vl};
        const Node after{next.fromSwitch, next.fromPort, next.vl};
        EXPECT_TRUE(seen.insert(node).second);
        EXPECT_EQ(reference.after.at(node).count(after), 1u);
    }
}

TEST(IbDeadlock, MinHopOnRings)
{
    // On a ring of n every path of 2 links makes one channel depend on the next. From n = 5 on all
    // shortest paths of 2 links are the only ones, so both directions close; a ring of 3 has no
    // such path. On 4 both ways of 2 links are as short, and it is up to the balance of ports.
    for (uint32_t n = 3; n <= 12; ++n)
    {
        const auto torus = ibtest::MakeTorus({n}, 1);
        const IbSubnet subnet = DiscoverIbSubnet(torus.fabric);
        const IbTables tables = IbRoute(subnet, {"minhop"});
        const IbCheck check = IbCheckTables(subnet, tables);
        EXPECT_EQ(check.broken, 0u);
        EXPECT_EQ(check.cycle.empty(), !ByHand(subnet, tables).cyclic);
        if (n != 4)
        {
            EXPECT_EQ(check.cycle.size(), n < 4 ? 0 : n);
        }
        CheckCycle(subnet, tables, check.cycle);
    }
    // With two hosts a switch the ring of 4 has one.
    const auto torus = ibtest::MakeTorus({4}, 2);
    const IbSubnet subnet = DiscoverIbSubnet(torus.fabric);
    const IbTables tables = IbRoute(subnet, {"minhop"});
    const IbCheck check = IbCheckTables(subnet, tables);
    EXPECT_EQ(check.cycle.size(), 4u);
    CheckCycle(subnet, tables, check.cycle);
}

TEST(IbDeadlock, TheCycleIsNamed)
{
    const auto torus = ibtest::MakeTorus({5}, 1);
    const IbSubnet subnet = DiscoverIbSubnet(torus.fabric);
    const IbCheck check = IbCheckTables(subnet, IbRoute(subnet, {"minhop"}));
    EXPECT_EQ(check.CycleText(subnet),
              "s0->s1 on VL 0 waits for s1->s2 on VL 0 waits for s2->s3 on VL 0 waits for "
              "s3->s4 on VL 0 waits for s4->s0 on VL 0");
    EXPECT_FALSE(check.Good());
}

TEST(IbDeadlock, ToriWithOneLaneHaveACycleWithTwoNot)
{
    // Dimension order on one VL: a ring of 5 or more has paths of 2 links all the way round; on 4
    // with two hosts a switch both ways of half the ring are used from everywhere.
    for (const auto& sizes : std::vector<std::vector<uint32_t>>{{3},
                                                                {4},
                                                                {5},
                                                                {8},
                                                                {3, 3},
                                                                {4, 3},
                                                                {5, 5},
                                                                {6, 3},
                                                                {3, 3, 3},
                                                                {4, 4, 4},
                                                                {3, 3, 5}})
    {
        uint32_t longest = 0;
        for (const uint32_t n : sizes)
        {
            longest = std::max(longest, n);
        }
        const auto torus = ibtest::MakeTorus(sizes, 2);
        const IbSubnet subnet = DiscoverIbSubnet(torus.fabric);
        IbRoutingOptions options;
        options.torus.sizes = sizes;
        options.torus.wraps.assign(sizes.size(), true);
        options.torus.positions = torus.positions;
        options.vls = 1;
        options.unsafe = true;
        const IbTables one = IbRoute(subnet, {"torus"}, options);
        const IbCheck bad = IbCheckTables(subnet, one);
        EXPECT_EQ(bad.broken, 0u);
        EXPECT_EQ(bad.cycle.empty(), longest < 4);
        // In dimension order a cycle stays on one ring.
        EXPECT_TRUE(bad.cycle.empty() ||
                    std::count(sizes.begin(), sizes.end(), bad.cycle.size()) > 0);
        CheckCycle(subnet, one, bad.cycle);
        EXPECT_EQ(ByHand(subnet, one).cyclic, longest > 3);
        options.vls = 2;
        options.unsafe = false;
        const IbTables two = IbRoute(subnet, {"torus"}, options);
        const IbCheck good = IbCheckTables(subnet, two);
        EXPECT_TRUE(good.Good()) << good.CycleText(subnet);
        EXPECT_FALSE(ByHand(subnet, two).cyclic);
        EXPECT_EQ(one.lft, two.lft); // the same paths
        EXPECT_EQ(good.vls, longest > 3 ? 2 : 1);
    }
}

TEST(IbDeadlock, AgreesWithPathByPath)
{
    uint32_t cyclic = 0;
    uint32_t broken = 0;
    for (uint32_t seed = 1; seed <= 150; ++seed)
    {
        IbSubnetOptions so;
        so.lmc = seed % 2;
        const IbSubnet subnet =
            DiscoverIbSubnet(ibtest::RandomFabric(2 + seed % 7, seed % 9, 2 + seed % 6, seed), so);
        IbTables tables = IbRoute(subnet, {seed % 3 ? "minhop" : "updn"});
        // Damage: entries, SLs and VLs at random.
        std::mt19937 random(seed);
        for (uint32_t i = 0; i < seed % 5; ++i)
        {
            auto& table = tables.lft[random() % tables.lft.size()];
            table[random() % table.size()] = static_cast<uint8_t>(random() % 6);
        }
        if (seed % 2)
        {
            tables.rows.push_back({1, 0, 2, 15, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
            tables.pathSl.assign(tables.lft.size(), std::vector<uint8_t>(subnet.TopLid() + 1u));
            tables.rowOf.resize(tables.lft.size());
            for (uint32_t s = 0; s < tables.lft.size(); ++s)
            {
                for (uint8_t& sl : tables.pathSl[s])
                {
                    sl = random() % (seed % 4 == 1 ? 3 : 4); // 3: VL 15, dropped, or VL 3
                }
                tables.rowOf[s].resize((subnet.Switches()[s].ports + 1u) *
                                       (subnet.Switches()[s].ports + 1u));
                for (uint16_t& row : tables.rowOf[s])
                {
                    row = random() % 2;
                }
            }
        }
        const Reference reference = ByHand(subnet, tables);
        const IbCheck check = IbCheckTables(subnet, tables);
        EXPECT_EQ(check.broken, reference.broken) << seed << " " << check.firstBroken;
        EXPECT_EQ(check.firstBroken.empty(), check.broken == 0);
        EXPECT_EQ(check.dependencies, reference.dependencies) << seed;
        EXPECT_EQ(check.channels, reference.after.size()) << seed;
        EXPECT_EQ(!check.cycle.empty(), reference.cyclic) << seed;
        CheckCycle(subnet, tables, check.cycle);
        cyclic += reference.cyclic;
        broken += reference.broken > 0;
    }
    EXPECT_GT(cyclic, 20u);
    EXPECT_GT(broken, 20u);
}

TEST(IbDeadlock, BrokenPathsAreNamed)
{
    Builder b;
    const uint32_t s[2] = {b.Switch("s0"), b.Switch("s1")};
    b.Link(s[0], s[1]);
    b.Link(b.Host("h0"), s[0]);
    b.Link(b.Host("h1"), s[1]);
    b.Link(b.Host("h2"), s[1]);
    const IbSubnet subnet = DiscoverIbSubnet(b.fabric);
    const IbTables good = IbRoute(subnet, {"minhop"});
    const auto broken = [&](uint32_t at, uint32_t lid, uint8_t port) {
        IbTables tables = good;
        tables.lft[at][lid] = port;
        const IbCheck check = IbCheckTables(subnet, tables);
        EXPECT_EQ(check.cycle.empty(), !ByHand(subnet, tables).cyclic);
        EXPECT_EQ(check.broken, ByHand(subnet, tables).broken);
        return std::to_string(check.broken) + ": " + check.firstBroken;
    };
    EXPECT_EQ(broken(0, 2, kIbNoPort), "1: h0 port 1 to LID 2 (h1): s0 has no port for it");
    EXPECT_EQ(broken(0, 2, 2),
              "1: h0 port 1 to LID 2 (h1): s0 sends it to port 2, which is not its way");
    EXPECT_EQ(broken(0, 2, 0),
              "1: h0 port 1 to LID 2 (h1): s0 sends it to port 0, which is not its way");
    EXPECT_EQ(broken(0, 2, 9),
              "1: h0 port 1 to LID 2 (h1): s0 sends it to port 9, which is not its way");
    // s1 sends back what s0 sends on. Both sources are lost; s1 is the first to see it again on the
    // same port.
    EXPECT_EQ(broken(1, 2, 1),
              "2: h0 port 1 to LID 2 (h1): its path ends at or goes round through s1");
    IbTables tables = good;
    tables.rows[0][0] = kIbDropVl;
    EXPECT_EQ(IbCheckTables(subnet, tables).broken, 6u);
    EXPECT_EQ(IbCheckTables(subnet, tables).firstBroken,
              "h1 port 1 to LID 1 (h0): SL 0 is dropped there");
}

TEST(IbDeadlock, FatTreeOf1024HostsIsChecked)
{
    const IbSubnet subnet = DiscoverIbSubnet(ibtest::FatTree(16).fabric);
    const IbCheck check = IbCheckTables(subnet, IbRoute(subnet, {"ftree"}));
    EXPECT_TRUE(check.Good());
    EXPECT_EQ(check.paths, 1024u * 1023u);
    EXPECT_EQ(check.channels, 2u * (1024 + 1024)); // leaf to middle, middle to top, both ways
}

} // namespace
