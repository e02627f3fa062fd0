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
using ibtest::Has;
using ibtest::Tree;
using ibtest::What;
using namespace rdma;

/// A channel between switches: (switch, out port).
using Channel = std::pair<uint32_t, uint32_t>;

/// Links between switches of the shortest path, by a search of its own.
std::vector<std::vector<uint32_t>>
AllDistances(const IbSubnet& subnet)
{
    const auto& switches = subnet.Switches();
    std::vector<std::vector<uint32_t>> all(switches.size());
    for (uint32_t from = 0; from < switches.size(); ++from)
    {
        auto& distance = all[from];
        distance.assign(switches.size(), kIbNone);
        distance[from] = 0;
        std::vector<uint32_t> queue{from};
        for (size_t i = 0; i < queue.size(); ++i)
        {
            for (const auto& peer : switches[queue[i]].peers)
            {
                if (peer.live && peer.switchIndex != kIbNone &&
                    distance[peer.switchIndex] == kIbNone)
                {
                    distance[peer.switchIndex] = distance[queue[i]] + 1;
                    queue.push_back(peer.switchIndex);
                }
            }
        }
    }
    return all;
}

/// Every pair of host ports, every LID: a path, and if `minimal` one of the fewest links. Returns
/// the channels' loads in paths.
std::map<Channel, uint32_t>
CheckAllPairs(const IbSubnet& subnet, const IbTables& tables, bool minimal)
{
    std::map<Channel, uint32_t> load;
    const auto distances = AllDistances(subnet);
    std::vector<IbHop> hops;
    for (uint32_t from = 0; from < subnet.Endpoints().size(); ++from)
    {
        for (const auto& to : subnet.Endpoints())
        {
            const auto& source = subnet.Endpoints()[from];
            if (&to == &source || !to.reached || !source.reached)
            {
                continue;
            }
            for (uint32_t o = 0; o < (1u << to.lmc); ++o)
            {
                const bool there = IbTracePath(subnet, tables, from, to.lid + o, hops);
                EXPECT_TRUE(there) << tables.engine << " " << from << " to LID " << to.lid + o;
                if (!there)
                {
                    return load;
                }
                if (minimal)
                {
                    EXPECT_EQ(hops.size(), distances[source.switchIndex][to.switchIndex] + 1);
                }
                for (size_t i = 0; i + 1 < hops.size(); ++i)
                {
                    ++load[{hops[i].switchIndex, hops[i].out}];
                }
            }
        }
    }
    return load;
}

/// Most packets on one channel when host i sends to host i + shift.
uint32_t
ShiftContention(const IbSubnet& subnet,
                const IbTables& tables,
                const std::vector<uint32_t>& order,
                uint32_t shift)
{
    std::map<Channel, uint32_t> load;
    uint32_t most = 0;
    std::vector<IbHop> hops;
    const uint32_t n = static_cast<uint32_t>(order.size());
    for (uint32_t i = 0; i < n; ++i)
    {
        const uint32_t to = order[(i + shift) % n];
        EXPECT_TRUE(IbTracePath(subnet, tables, order[i], subnet.Endpoints()[to].lid, hops));
        for (const IbHop& hop : hops)
        {
            most = std::max(most, ++load[{hop.switchIndex, hop.out}]);
        }
    }
    return most;
}

std::vector<uint32_t>
Identity(size_t n)
{
    std::vector<uint32_t> order(n);
    std::iota(order.begin(), order.end(), 0);
    return order;
}

TEST(IbRouting, EnginesByName)
{
    EXPECT_STREQ(IbRoutingEngines()[0].name, "minhop");
    for (const auto& engine : IbRoutingEngines())
    {
        EXPECT_EQ(&IbFindRoutingEngine(engine.name), &engine);
        EXPECT_FALSE(std::string(engine.description).empty());
    }
    EXPECT_EQ(What<std::invalid_argument>([] { IbFindRoutingEngine("fattree"); }),
              "IbRoute: no routing engine is called \"fattree\"; there are minhop, updn, ftree, "
              "torus, dfsssp");
    const IbSubnet subnet = DiscoverIbSubnet(ibtest::FatTree(4).fabric);
    EXPECT_THROW(IbRoute(subnet, {}), std::invalid_argument);
    EXPECT_THROW(IbRoute(subnet, {"minhop", "nonsense"}), std::invalid_argument);
    IbRoutingOptions options;
    options.vls = 16;
    EXPECT_THROW(IbRoute(subnet, {"minhop"}, options), std::invalid_argument);
    options.vls = 0;
    EXPECT_THROW(IbRoute(subnet, {"ftree"}, options), std::invalid_argument);
}

TEST(IbRouting, FatTreesReachAllOnMinimalUpDownPaths)
{
    for (uint32_t k = 4; k <= 16; k += 2)
    {
        const Tree tree = ibtest::FatTree(k);
        const IbSubnet subnet = DiscoverIbSubnet(tree.fabric);
        for (const char* engine : {"ftree", "updn", "minhop", "dfsssp"})
        {
            const IbTables tables = IbRoute(subnet, {engine});
            EXPECT_EQ(tables.engine, engine);
            EXPECT_EQ(tables.note, "");
            const IbCheck check = IbCheckTables(subnet, tables);
            const uint64_t hosts = k * k * k / 4;
            EXPECT_EQ(check.paths, hosts * (hosts - 1));
            EXPECT_TRUE(check.Good()) << engine << " " << k << " " << check.firstBroken;
            EXPECT_EQ(check.vls, 1);
            if (k <= 8)
            {
                CheckAllPairs(subnet, tables, true);
            }
        }
    }
}

TEST(IbRouting, FatTreeShiftsHaveNoContention)
{
    // Zahavi 2010: with d-mod-k on a tree of full bisection no two packets of a shift
    // permutation use one channel, in either direction.
    for (const uint32_t k : {4, 6, 8})
    {
        const Tree tree = ibtest::FatTree(k);
        const IbSubnet subnet = DiscoverIbSubnet(tree.fabric);
        const IbTables tables = IbRoute(subnet, {"ftree"});
        const uint32_t n = k * k * k / 4;
        for (uint32_t shift = 1; shift < n; ++shift)
        {
            EXPECT_EQ(ShiftContention(subnet, tables, Identity(n), shift), 1u)
                << "k " << k << " shift " << shift;
        }
    }
}

TEST(IbRouting, FatTreeDoesNotDependOnTheOrderOfNodes)
{
    // With switches numbered at random there still is an order of hosts, that of the leaves in the
    // engine's eyes, in which shifts have no contention. Which one: hosts of a leaf are together,
    // so are leaves of a pod; destinations of one residue take the same parent everywhere.
    for (uint32_t seed = 1; seed <= 5; ++seed)
    {
        const Tree tree = ibtest::FatTree(6, seed);
        const IbSubnet subnet = DiscoverIbSubnet(tree.fabric);
        const IbTables tables = IbRoute(subnet, {"ftree"});
        const auto load = CheckAllPairs(subnet, tables, true);
        // All up-links of a tier carry the same: of a leaf's 3 hosts x 51 destinations on other
        // leaves a third each = 51; of a middle switch 3 leaves x 3 hosts x 45 destinations in
        // other pods, a ninth each = 45; down the same by symmetry.
        std::set<uint32_t> loads;
        for (const auto& [channel, paths] : load)
        {
            loads.insert(paths);
        }
        EXPECT_EQ(loads, (std::set<uint32_t>{45, 51})) << seed;
    }
}

TEST(IbRouting, FatTreeLoadsOfUpLinksAreEqual)
{
    for (const uint32_t k : {4, 8})
    {
        const Tree tree = ibtest::FatTree(k);
        const IbSubnet subnet = DiscoverIbSubnet(tree.fabric);
        const IbTables tables = IbRoute(subnet, {"ftree"});
        // LIDs of hosts per up-port: at a leaf those of other leaves over k/2 ports; at a middle
        // switch those of other pods.
        const uint32_t hosts = k * k * k / 4;
        for (uint32_t s = 0; s < subnet.Switches().size(); ++s)
        {
            std::map<uint32_t, uint32_t> lids;
            for (uint32_t lid = 1; lid <= hosts; ++lid)
            {
                ++lids[tables.OutPort(s, lid)];
            }
            const uint32_t tier = s < k * k / 2 ? 0 : s < k * k ? 1 : 2;
            for (const auto& [port, count] : lids)
            {
                const bool up = tier < 2 && port > k / 2;
                const uint32_t down = tier == 0 ? 1 : tier == 1 ? k / 2 : k * k / 4;
                const uint32_t above =
                    tier == 0 ? (hosts - k / 2) / (k / 2) : (hosts - k * k / 4) / (k / 2);
                EXPECT_EQ(count, up ? above : down) << "switch " << s << " port " << port;
            }
        }
    }
}

TEST(IbRouting, OversubscribedAndParallelCables)
{
    // 4 hosts a leaf, 2 middle switches: 2:1. A leaf sends half of the other LIDs up each port.
    {
        const Tree tree = ibtest::MakeTree(3, 4, 2, 3, 4);
        const IbSubnet subnet = DiscoverIbSubnet(tree.fabric);
        const IbTables tables = IbRoute(subnet, {"ftree"});
        EXPECT_TRUE(IbCheckTables(subnet, tables).Good());
        const auto load = CheckAllPairs(subnet, tables, true);
        // Up from a leaf: 4 hosts x 44 other LIDs / 2 ports = 88. Down to one: its 2 LIDs of this
        // parity x 44 sources = 88. Up from a middle switch: 16 hosts x (of 16 LIDs with its parity
        // in other pods 5 or 6 for each of 3 tops) = 80 or 96. Down from a top: (of 8 such LIDs of
        // a pod 2 or 3) x 32 sources = 64 or 96.
        std::set<uint32_t> loads;
        for (const auto& [channel, paths] : load)
        {
            loads.insert(paths);
        }
        EXPECT_EQ(loads, (std::set<uint32_t>{64, 80, 88, 96}));
    }
    // Two cables from each of 4 leaves to each of 2 spines: full bisection, so no contention.
    {
        const Tree tree = ibtest::MakeTree(1, 4, 2, 0, 4, 2);
        const IbSubnet subnet = DiscoverIbSubnet(tree.fabric);
        const IbTables tables = IbRoute(subnet, {"ftree"});
        EXPECT_TRUE(IbCheckTables(subnet, tables).Good());
        for (uint32_t shift = 1; shift < 16; ++shift)
        {
            EXPECT_EQ(ShiftContention(subnet, tables, Identity(16), shift), 1u) << shift;
        }
    }
}

TEST(IbRouting, PartlyFilledFatTrees)
{
    // The first n servers of a k = 6 tree, all switches there: empty leaves and pods are no tiers.
    for (const uint32_t n : {1, 2, 3, 4, 9, 10, 20, 31})
    {
        Tree tree = ibtest::FatTree(6);
        IbFabric fabric = tree.fabric;
        fabric.endpoints.resize(n);
        std::vector<RouteLink> links;
        for (const RouteLink& link : fabric.links)
        {
            if (!fabric.isHost[link.a] || link.a < n)
            {
                links.push_back(link);
            }
        }
        fabric.links = links;
        const IbSubnet subnet = DiscoverIbSubnet(fabric);
        for (const char* engine : {"ftree", "updn"})
        {
            const IbTables tables = IbRoute(subnet, {engine});
            const IbCheck check = IbCheckTables(subnet, tables);
            EXPECT_EQ(check.paths, n * (n - 1));
            EXPECT_TRUE(check.Good()) << engine << " " << n << " " << check.firstBroken;
            CheckAllPairs(subnet, tables, true);
        }
        // Whole leaves: a shift among the hosts of 3 leaves (one pod) or more meets no other
        // packet.
        if (n == 9)
        {
            const IbTables tables = IbRoute(subnet, {"ftree"});
            for (uint32_t shift = 1; shift < n; ++shift)
            {
                EXPECT_EQ(ShiftContention(subnet, tables, Identity(n), shift), 1u);
            }
        }
    }
}

TEST(IbRouting, FatTreeSaysWhyNot)
{
    const auto why = [](const IbFabric& fabric, IbRoutingOptions options = {}) {
        const IbSubnet subnet = DiscoverIbSubnet(fabric);
        return What<IbRoutingError>([&] { IbRoute(subnet, {"ftree"}, options); });
    };
    EXPECT_EQ(why(ibtest::MakeTorus({5}, 1).fabric),
              "ftree cannot route: not a fat-tree: s0 and s1 are linked, but both have hosts: "
              "neither is above the other");
    // Two spines joined.
    Builder b;
    const uint32_t leaf[2] = {b.Switch("l0"), b.Switch("l1")};
    const uint32_t spine[2] = {b.Switch("sp0"), b.Switch("sp1")};
    for (const uint32_t l : leaf)
    {
        b.Link(b.Host("h"), l);
        for (const uint32_t s : spine)
        {
            b.Link(l, s);
        }
    }
    EXPECT_EQ(why(b.fabric), "no error");
    b.Link(spine[0], spine[1]);
    EXPECT_TRUE(Has(why(b.fabric), "sp0 and sp1 are linked, but both are 1 link from"));

    IbRoutingOptions options;
    const Tree tree = ibtest::FatTree(4);
    options.roots = tree.tops;
    EXPECT_EQ(why(tree.fabric, options), "no error");
    options.roots = {tree.leaves[0]};
    EXPECT_TRUE(Has(why(tree.fabric, options), "have hosts but are"));
    options.roots = {0};
    const IbSubnet subnet = DiscoverIbSubnet(tree.fabric);
    EXPECT_EQ(What<std::invalid_argument>([&] { IbRoute(subnet, {"ftree"}, options); }),
              "IbRoute: root 0 is not a switch");
}

TEST(IbRouting, FallbackOnlyIfAskedAndThenSaid)
{
    const auto torus = ibtest::MakeTorus({5}, 1);
    const IbSubnet subnet = DiscoverIbSubnet(torus.fabric);
    EXPECT_THROW(IbRoute(subnet, {"ftree"}), IbRoutingError);
    const IbTables tables = IbRoute(subnet, {"ftree", "minhop"});
    EXPECT_EQ(tables.engine, "minhop");
    EXPECT_TRUE(Has(tables.note, "routed by minhop: ftree cannot route: not a fat-tree: s0"))
        << tables.note;
}

TEST(IbRouting, EverySingleLinkOfAFatTree)
{
    const Tree tree = ibtest::FatTree(4);
    IbFabric fabric = tree.fabric;
    const IbSubnet before = DiscoverIbSubnet(fabric);
    for (const char* engine : {"ftree", "updn", "minhop", "dfsssp"})
    {
        const IbTables tables = IbRoute(before, {engine});
        for (uint32_t l = 0; l < fabric.links.size(); ++l)
        {
            fabric.linkDown.assign(fabric.links.size(), false);
            fabric.linkDown[l] = true;
            IbSubnetOptions options;
            options.unreached = IbUnreached::kList;
            options.smNode = tree.tops[0]; // a link of its own host may go too
            const IbSubnet after = DiscoverIbSubnet(fabric, options, &before);
            const bool hostLink = l < 16;
            EXPECT_EQ(after.UnreachedEndpoints(),
                      hostLink ? std::vector<uint32_t>{l} : std::vector<uint32_t>{});
            EXPECT_TRUE(after.UnreachedSwitches().empty());
            for (uint32_t e = 0; e < 16; ++e)
            {
                EXPECT_EQ(after.Endpoints()[e].lid, before.Endpoints()[e].lid);
            }
            for (uint32_t s = 0; s < 20; ++s)
            {
                EXPECT_EQ(after.Switches()[s].lid, before.Switches()[s].lid);
            }
            const IbTables now = IbRoute(after, {engine});
            const IbCheck check = IbCheckTables(after, now);
            EXPECT_EQ(check.paths, hostLink ? 15 * 14u : 16 * 15u);
            EXPECT_TRUE(check.Good()) << engine << " link " << l << ": " << check.firstBroken;
            const IbTableChanges changes = IbCompare(after, tables, now);
            EXPECT_GT(changes.entries, 0u);
            EXPECT_EQ(changes.blocks, changes.switches); // 36 LIDs are one block
            if (hostLink && engine == std::string("ftree"))
            {
                // Only that LID is gone, from all 20 switches.
                EXPECT_EQ(changes.entries, 20u);
                EXPECT_EQ(now.OutPort(3, before.Endpoints()[l].lid), kIbNoPort);
            }
        }
        // Repaired: the tables of before.
        fabric.linkDown.assign(fabric.links.size(), false);
        const IbSubnet again = DiscoverIbSubnet(fabric, {}, &before);
        const IbTableChanges none = IbCompare(again, tables, IbRoute(again, {engine}));
        EXPECT_EQ(none.entries + none.slToVlRows + none.pathRecords, 0u);
    }
}

TEST(IbRouting, SwitchesOfAFatTreeDown)
{
    const Tree tree = ibtest::FatTree(6);
    const IbSubnet before = DiscoverIbSubnet(tree.fabric);
    for (const uint32_t dead : {tree.tops[0], tree.tops[8], tree.middles[0], tree.leaves[4]})
    {
        IbFabric fabric = tree.fabric;
        fabric.nodeDown.assign(fabric.isHost.size(), false);
        fabric.nodeDown[dead] = true;
        IbSubnetOptions options;
        options.unreached = IbUnreached::kList;
        const IbSubnet after = DiscoverIbSubnet(fabric, options, &before);
        EXPECT_EQ(after.UnreachedSwitches(), std::vector<uint32_t>{dead});
        EXPECT_EQ(after.UnreachedEndpoints().size(), dead == tree.leaves[4] ? 3u : 0u);
        for (const char* engine : {"ftree", "updn", "minhop", "dfsssp"})
        {
            EXPECT_TRUE(IbCheckTables(after, IbRoute(after, {engine})).Good()) << engine;
        }
    }
    // A leaf without any of its links left: a part of its own. Listed, or with a manager of its
    // own; two hosts on it then still reach each other, by any engine.
    IbFabric fabric = tree.fabric;
    fabric.linkDown.assign(fabric.links.size(), false);
    for (uint32_t l = 0; l < fabric.links.size(); ++l)
    {
        fabric.linkDown[l] = fabric.links[l].a == tree.leaves[0];
    }
    IbSubnetOptions options;
    options.unreached = IbUnreached::kOwnSubnet;
    const IbSubnet parts = DiscoverIbSubnet(fabric, options, &before);
    for (const char* engine : {"ftree", "updn", "minhop", "dfsssp"})
    {
        const IbCheck check = IbCheckTables(parts, IbRoute(parts, {engine}));
        EXPECT_EQ(check.paths, 3 * 2u + 51 * 50u);
        EXPECT_TRUE(check.Good()) << engine << " " << check.firstBroken;
    }
}

TEST(IbRouting, FatTreeTooBrokenFallsBack)
{
    // Leaf 0 keeps its link to spine 0 only, leaf 1 that to spine 1 only; leaf 2 has both. From
    // leaf 0 to leaf 1 one has to go down to leaf 2 and up again.
    Builder b;
    uint32_t leaf[3];
    uint32_t spine[2];
    for (uint32_t& s : spine)
    {
        s = b.Switch("spine");
    }
    std::vector<uint32_t> cut;
    for (uint32_t i = 0; i < 3; ++i)
    {
        leaf[i] = b.Switch("leaf-" + std::to_string(i));
        b.Link(b.Host("h"), leaf[i]);
        for (uint32_t j = 0; j < 2; ++j)
        {
            const uint32_t l = b.Link(leaf[i], spine[j]);
            if (i < 2 && i != j)
            {
                cut.push_back(l);
            }
        }
    }
    b.fabric.linkDown.assign(b.fabric.links.size(), false);
    for (const uint32_t l : cut)
    {
        b.fabric.linkDown[l] = true;
    }
    const IbSubnet subnet = DiscoverIbSubnet(b.fabric);
    EXPECT_TRUE(Has(What<IbRoutingError>([&] { IbRoute(subnet, {"ftree"}); }),
                    "no path from leaf-1 to leaf-0 goes up, then down"))
        << What<IbRoutingError>([&] { IbRoute(subnet, {"ftree"}); });
    for (const char* engine : {"updn", "minhop", "dfsssp"})
    {
        const IbTables tables = IbRoute(subnet, {"ftree", engine});
        EXPECT_EQ(tables.engine, engine);
        EXPECT_TRUE(IbCheckTables(subnet, tables).Good());
        CheckAllPairs(subnet, tables, true); // there is one path each
    }
    // updn with those two spines as roots is the same impossible task.
    IbRoutingOptions options;
    options.roots = {spine[0], spine[1]};
    EXPECT_TRUE(Has(What<IbRoutingError>([&] { IbRoute(subnet, {"updn"}, options); }),
                    "with these roots every path from leaf-1 to leaf-0 would go up again"));
}

TEST(IbRouting, LmcUsesDifferentPorts)
{
    // Over 2^LMC LIDs of a host port a leaf uses min(2^LMC, k/2) different up-ports, each equally.
    const Tree tree = ibtest::FatTree(8);
    for (const uint8_t lmc : {1, 2, 3})
    {
        IbSubnetOptions so;
        so.lmc = lmc;
        const IbSubnet subnet = DiscoverIbSubnet(tree.fabric, so);
        for (const char* engine : {"ftree", "updn", "minhop"})
        {
            const IbTables tables = IbRoute(subnet, {engine});
            EXPECT_TRUE(IbCheckTables(subnet, tables).Good());
            EXPECT_EQ(IbCheckTables(subnet, tables).paths, (128u * 127u) << lmc);
            for (uint32_t s = 0; s < 32; ++s) // leaves
            {
                for (const auto& e : subnet.Endpoints())
                {
                    std::map<uint32_t, uint32_t> uses;
                    for (uint32_t o = 0; o < (1u << lmc); ++o)
                    {
                        ++uses[tables.OutPort(s, e.lid + o)];
                    }
                    if (e.switchIndex == s)
                    {
                        EXPECT_EQ(uses.size(), 1u);
                        continue;
                    }
                    EXPECT_EQ(uses.size(), std::min(1u << lmc, 4u)) << engine;
                    for (const auto& [port, count] : uses)
                    {
                        EXPECT_EQ(count, (1u << lmc) / uses.size());
                    }
                }
            }
        }
        EXPECT_TRUE(IbCheckTables(subnet, IbRoute(subnet, {"dfsssp"})).Good());
    }
    // Over different neighbours before different cables: ports 1 and 2 of each leaf lead to one
    // spine, 3 and 4 to the other.
    Builder b;
    const uint32_t leaf[2] = {b.Switch("leaf-0"), b.Switch("leaf-1")};
    for (uint32_t i = 0; i < 2; ++i)
    {
        const uint32_t spine = b.Switch("spine");
        for (uint32_t cable = 0; cable < 2; ++cable)
        {
            b.Link(leaf[0], spine);
            b.Link(leaf[1], spine);
        }
    }
    b.Link(b.Host("h0"), leaf[0]);
    b.Link(b.Host("h1"), leaf[1]);
    IbSubnetOptions so;
    so.lmc = 1;
    const IbSubnet subnet = DiscoverIbSubnet(b.fabric, so);
    for (const char* engine : {"ftree", "updn", "minhop"})
    {
        const IbTables tables = IbRoute(subnet, {engine});
        const uint16_t lid = subnet.Endpoints()[1].lid;
        const auto& peers = subnet.Switches()[0].peers;
        EXPECT_NE(peers[tables.OutPort(0, lid)].switchIndex,
                  peers[tables.OutPort(0, lid + 1)].switchIndex)
            << engine;
    }
}

TEST(IbRouting, MinHopAndUpDownBalancePorts)
{
    // 6 leaves, 4 spines, 4 hosts a leaf: 20 LIDs of other leaves over 4 up-ports, 5 each.
    const IbSubnet subnet = DiscoverIbSubnet(ibtest::MakeTree(1, 6, 4, 0, 4).fabric);
    for (const char* engine : {"minhop", "updn", "dfsssp"})
    {
        const IbTables tables = IbRoute(subnet, {engine});
        for (uint32_t s = 0; s < 6; ++s)
        {
            std::map<uint32_t, uint32_t> lids;
            for (uint32_t lid = 1; lid <= 24; ++lid)
            {
                ++lids[tables.OutPort(s, lid)];
            }
            for (uint32_t port = 5; port <= 8; ++port)
            {
                EXPECT_EQ(lids[port], 5u) << engine;
            }
        }
    }
}

TEST(IbRouting, UpDownNeverGoesUpAfterDownAndIsAsLongAsItSays)
{
    for (uint32_t seed = 1; seed <= 40; ++seed)
    {
        const IbSubnet subnet =
            DiscoverIbSubnet(ibtest::RandomFabric(5 + seed % 15, seed % 19, 12, seed));
        const IbSwitchGraph graph = IbSwitchGraph::Of(subnet);
        IbRoutingOptions options;
        options.roots = {subnet.Switches()[seed % 5].node};
        const IbTables tables = IbRoute(subnet, {"updn"}, options);
        IbUpDownSearch search(graph, IbOrderFromRoots(graph, {seed % 5}));
        // Ranks by a search of the test's own; ties by index, as by GUID.
        const auto rank = AllDistances(subnet)[seed % 5];
        const auto isUp = [&](uint32_t from, uint32_t to) {
            return std::make_pair(rank[to], to) < std::make_pair(rank[from], from);
        };
        std::vector<IbHop> hops;
        for (const auto& to : subnet.Endpoints())
        {
            search.Search(to.switchIndex);
            for (uint32_t e = 0; e < subnet.Endpoints().size(); ++e)
            {
                ASSERT_TRUE(IbTracePath(subnet, tables, e, to.lid, hops));
                if (subnet.Endpoints()[e].lid == to.lid)
                {
                    continue;
                }
                EXPECT_EQ(hops.size(), search.Distance(subnet.Endpoints()[e].switchIndex) + 1);
                bool down = false;
                for (size_t i = 0; i + 1 < hops.size(); ++i)
                {
                    const bool up = isUp(hops[i].switchIndex, hops[i + 1].switchIndex);
                    EXPECT_FALSE(up && down) << seed;
                    down = !up;
                }
            }
        }
    }
}

TEST(IbRouting, ToriTakeMinimalPathsWithoutCycle)
{
    const std::vector<std::vector<uint32_t>> shapes = {{3},
                                                       {4},
                                                       {5},
                                                       {6},
                                                       {7},
                                                       {8},
                                                       {3, 3},
                                                       {4, 4},
                                                       {5, 5},
                                                       {4, 6},
                                                       {7, 3},
                                                       {8, 8},
                                                       {3, 4, 5},
                                                       {4, 4, 4},
                                                       {5, 5, 5},
                                                       {3, 3, 3},
                                                       {6, 4, 2}};
    for (const auto& sizes : shapes)
    {
        for (const bool wraps : {true, false})
        {
            for (const bool given : {true, false})
            {
                // Unknown coordinates: switches numbered at random.
                const auto torus = ibtest::MakeTorus(sizes, 2, wraps, given ? 0 : 7);
                const IbSubnet subnet = DiscoverIbSubnet(torus.fabric);
                IbRoutingOptions options;
                options.vls = 2;
                bool long4 = false;
                for (const uint32_t n : sizes)
                {
                    // A ring of 4 that has to be found is 2 x 2 lines.
                    long4 = long4 || (wraps && n > (given ? 3 : 4));
                }
                if (given)
                {
                    options.torus.sizes = sizes;
                    options.torus.wraps.assign(sizes.size(), wraps);
                    options.torus.positions = torus.positions;
                }
                const IbTables tables = IbRoute(subnet, {"torus"}, options);
                EXPECT_EQ(tables.vls, long4 ? 2 : 1);
                const IbCheck check = IbCheckTables(subnet, tables);
                EXPECT_TRUE(check.Good()) << check.firstBroken << check.CycleText(subnet);
                const auto distances = AllDistances(subnet);
                for (uint32_t a = 0; a < subnet.Switches().size(); ++a)
                {
                    EXPECT_EQ(distances[0][a], torus.Distance(0, a, wraps));
                }
                CheckAllPairs(subnet, tables, true);

                // Dimension order: a path's dimensions never come back.
                std::vector<IbHop> hops;
                for (uint32_t e = 1; given && e < subnet.Endpoints().size(); ++e)
                {
                    ASSERT_TRUE(IbTracePath(subnet, tables, 0, subnet.Endpoints()[e].lid, hops));
                    uint32_t dimension = 0;
                    for (size_t i = 0; i + 1 < hops.size(); ++i)
                    {
                        uint32_t d = 0;
                        while (torus.positions[hops[i].switchIndex * sizes.size() + d] ==
                               torus.positions[hops[i + 1].switchIndex * sizes.size() + d])
                        {
                            ++d;
                        }
                        EXPECT_GE(d, dimension);
                        dimension = d;
                    }
                }
            }
        }
    }
}

TEST(IbRouting, TorusLanesAreDatelineBits)
{
    // Ring of 6, one host a switch, nodes 0..5 in order. From 4 to 1: 4, 5, 0, 1 crosses the
    // dateline 5-0, so all its links are on VL 1; from 1 to 4 (3 links as well): 1 is odd and so
    // goes back: 1, 0, 5, 4, VL 1 too; from 1 to 3: VL 0.
    const auto torus = ibtest::MakeTorus({6}, 1);
    const IbSubnet subnet = DiscoverIbSubnet(torus.fabric);
    IbRoutingOptions options;
    options.torus = {{6}, {true}, torus.positions};
    const IbTables tables = IbRoute(subnet, {"torus"}, options);
    const auto path = [&](uint32_t from, uint32_t to) {
        std::vector<IbHop> hops;
        EXPECT_TRUE(IbTracePath(subnet, tables, from, subnet.Endpoints()[to].lid, hops));
        std::string text =
            "SL " +
            std::to_string(IbQueryPath(subnet, tables, from, subnet.Endpoints()[to].lid)->sl);
        for (const IbHop& hop : hops)
        {
            text += " " + std::to_string(hop.switchIndex) + "/" + std::to_string(hop.vl);
        }
        return text;
    };
    EXPECT_EQ(path(4, 1), "SL 1 4/1 5/1 0/1 1/0");
    EXPECT_EQ(path(1, 4), "SL 1 1/1 0/1 5/1 4/0");
    EXPECT_EQ(path(1, 3), "SL 0 1/0 2/0 3/0");
    EXPECT_EQ(path(2, 5), "SL 0 2/0 3/0 4/0 5/0");
    // SL bit 3 is a second level of QoS: VL + 4.
    const uint8_t out = tables.OutPort(4, subnet.Endpoints()[1].lid);
    EXPECT_EQ(tables.Vl(subnet, 4, 0, out, 9), 5);
    EXPECT_EQ(tables.Vl(subnet, 4, 0, out, 8), 4);
}

TEST(IbRouting, TorusGoesTheLongWayRoundACut)
{
    const auto torus = ibtest::MakeTorus({6, 5}, 1);
    IbRoutingOptions options;
    options.torus = {{6, 5}, {true, true}, torus.positions};
    options.vls = 2;
    const IbSubnet before = DiscoverIbSubnet(torus.fabric);
    const IbTables whole = IbRoute(before, {"torus"}, options);
    for (uint32_t l = 0; l < 60; ++l)
    {
        IbFabric fabric = torus.fabric;
        fabric.linkDown.assign(fabric.links.size(), false);
        fabric.linkDown[l] = true;
        const IbSubnet after = DiscoverIbSubnet(fabric, {}, &before);
        for (const bool given : {true, false})
        {
            IbRoutingOptions how = options;
            how.torus = given ? options.torus : IbTorusShape{};
            const IbTables tables = IbRoute(after, {"torus"}, how);
            const IbCheck check = IbCheckTables(after, tables);
            EXPECT_TRUE(check.Good()) << l << check.firstBroken << check.CycleText(after);
            if (given)
            {
                const IbTableChanges changes = IbCompare(after, whole, tables);
                EXPECT_GT(changes.entries, 0u);
                EXPECT_EQ(changes.slToVlRows, 0u);
            }
        }
    }
    // A switch down: what would turn there has no path. Said, with dfsssp as the way out.
    IbFabric fabric = torus.fabric;
    fabric.nodeDown.assign(fabric.isHost.size(), false);
    fabric.nodeDown[8] = true;
    IbSubnetOptions so;
    so.unreached = IbUnreached::kList;
    const IbSubnet after = DiscoverIbSubnet(fabric, so, &before);
    EXPECT_TRUE(Has(What<IbRoutingError>([&] { IbRoute(after, {"torus"}, options); }),
                    "no path in dimension order leads from "));
    options.vls = 8;
    const IbTables tables = IbRoute(after, {"torus", "dfsssp"}, options);
    EXPECT_EQ(tables.engine, "dfsssp");
    EXPECT_TRUE(IbCheckTables(after, tables).Good());
}

TEST(IbRouting, TorusSaysWhyNot)
{
    const auto why = [](const IbFabric& fabric, IbRoutingOptions options = {}) {
        const IbSubnet subnet = DiscoverIbSubnet(fabric);
        return What<IbSubnetError>([&] { IbRoute(subnet, {"torus"}, options); });
    };
    EXPECT_TRUE(Has(why(ibtest::FatTree(4).fabric), "not a torus or mesh"));
    EXPECT_TRUE(Has(why(ibtest::FatTree(40).fabric), "has more than 16 neighbours"));
    for (uint32_t seed = 1; seed <= 20; ++seed)
    {
        // More cables than a grid can have.
        EXPECT_TRUE(Has(why(ibtest::RandomFabric(9, 14, 4, seed)), "not a torus or mesh")) << seed;
    }
    auto torus = ibtest::MakeTorus({5, 5}, 1);
    IbRoutingOptions options;
    options.vls = 1;
    EXPECT_EQ(why(torus.fabric, options),
              "torus cannot route: rings of 4 switches or more need 2 virtual lanes, ports have 1");
    options.vls = 2;
    options.torus = {{5, 5}, {true, false}, torus.positions};
    EXPECT_TRUE(Has(why(torus.fabric, options), "are not neighbours along one dimension"));
    options.torus.wraps[1] = true;
    EXPECT_EQ(why(torus.fabric, options), "no error");
    const IbSubnet subnet = DiscoverIbSubnet(torus.fabric);
    const auto bad = [&](const IbTorusShape& shape) {
        options.torus = shape;
        return What<std::invalid_argument>([&] { IbRoute(subnet, {"torus"}, options); });
    };
    IbTorusShape shape{{5, 5}, {true, true}, torus.positions};
    shape.positions[3] = 5;
    EXPECT_EQ(bad(shape), "IbRoute: s1 lies at 5 of a dimension of 5");
    shape.positions = torus.positions;
    shape.positions[2] = 0;
    EXPECT_EQ(bad(shape), "IbRoute: s0 and s1 have the same position in the torus");
    shape.positions.pop_back();
    EXPECT_TRUE(Has(bad(shape), "`positions` for each switch"));
}

TEST(IbRouting, RandomGraphsUpDownAndDfssspNeverCycle)
{
    uint32_t moreLanes = 0;
    uint32_t minhopCycles = 0;
    for (uint32_t seed = 1; seed <= 60; ++seed)
    {
        const uint32_t switches = 2 + seed % 17;
        const IbFabric fabric = ibtest::RandomFabric(switches, seed % 23, 2 + seed % 13, seed);
        IbSubnetOptions so;
        so.lmc = seed % 3;
        const IbSubnet subnet = DiscoverIbSubnet(fabric, so);
        for (const char* engine : {"updn", "dfsssp", "minhop"})
        {
            const IbTables tables = IbRoute(subnet, {engine});
            const IbCheck check = IbCheckTables(subnet, tables);
            EXPECT_EQ(check.broken, 0u) << engine << " " << seed << " " << check.firstBroken;
            CheckAllPairs(subnet, tables, engine != std::string("updn"));
            if (engine == std::string("minhop"))
            {
                minhopCycles += !check.cycle.empty();
                continue;
            }
            EXPECT_TRUE(check.cycle.empty()) << engine << " " << seed << check.CycleText(subnet);
            EXPECT_LE(check.vls, tables.vls);
            moreLanes += tables.vls > 1;
        }
    }
    // Or nothing was shown.
    EXPECT_GT(moreLanes, 5u);
    EXPECT_GT(minhopCycles, 5u);
}

TEST(IbRouting, DfssspWithTooFewLanes)
{
    const IbSubnet subnet = DiscoverIbSubnet(ibtest::MakeTorus({6}, 1).fabric);
    IbRoutingOptions options;
    options.vls = 1;
    EXPECT_EQ(What<IbRoutingError>([&] { IbRoute(subnet, {"dfsssp"}, options); }),
              "dfsssp cannot route: shortest paths need more than 1 virtual lanes to be free of "
              "deadlock");
    options.vls = 2; // a ring's two halves
    EXPECT_EQ(IbRoute(subnet, {"dfsssp"}, options).vls, 2);
    // Less balance for fewer lanes, and it is said.
    const IbSubnet torus = DiscoverIbSubnet(ibtest::MakeTorus({5, 4, 3}, 2).fabric);
    options.vls = 8;
    const IbTables exact = IbRoute(torus, {"dfsssp"}, options);
    EXPECT_GT(exact.vls, 2);
    EXPECT_EQ(exact.note, "");
    std::string notes;
    for (options.vls = exact.vls - 1; options.vls >= 2; --options.vls)
    {
        const IbTables tables = IbRoute(torus, {"dfsssp"}, options);
        EXPECT_LE(tables.vls, options.vls);
        EXPECT_TRUE(
            Has(tables.note, "virtual lanes are too few to keep spread paths free of circles"));
        EXPECT_TRUE(IbCheckTables(torus, tables).Good());
        CheckAllPairs(torus, tables, true);
        notes += tables.note;
    }
    EXPECT_TRUE(Has(notes, "less evenly"));
    EXPECT_TRUE(Has(notes, "does not spread"));
}

TEST(IbRouting, UpDownRootsAndTurns)
{
    // A ring of 6 with root 2: ranks 2 1 0 1 2 3. No path may pass the turn at switch 5 (the
    // lowest): from 0 to 4 it is 0 1 2 3 4, although 0 5 4 is shorter.
    const auto torus = ibtest::MakeTorus({6}, 1);
    const IbSubnet subnet = DiscoverIbSubnet(torus.fabric);
    IbRoutingOptions options;
    options.roots = {2};
    const IbTables tables = IbRoute(subnet, {"updn"}, options);
    EXPECT_TRUE(IbCheckTables(subnet, tables).Good());
    std::vector<IbHop> hops;
    ASSERT_TRUE(IbTracePath(subnet, tables, 0, subnet.Endpoints()[4].lid, hops));
    EXPECT_EQ(hops.size(), 5u);
    ASSERT_TRUE(IbTracePath(subnet, tables, 0, subnet.Endpoints()[5].lid, hops));
    EXPECT_EQ(hops.size(), 2u);

    // "Down if possible" has its price: switches 1 - 2 - 3 - 4 in a row below root 0, all linked to
    // it. 1 has a way down to 4 along the row, and takes its 3 links, not the 2 over the root,
    // because what the root sends down to 1 could not go up again. 4 has none to 1 and goes over
    // the root.
    Builder b;
    uint32_t row[5];
    for (uint32_t i = 0; i < 5; ++i)
    {
        row[i] = b.Switch("s" + std::to_string(i));
        b.Link(b.Host("h"), row[i]);
        if (i > 0)
        {
            b.Link(row[i], row[0]);
        }
        if (i > 1)
        {
            b.Link(row[i], row[i - 1]);
        }
    }
    const IbSubnet below = DiscoverIbSubnet(b.fabric);
    options.roots = {row[0]};
    const IbTables down = IbRoute(below, {"updn"}, options);
    EXPECT_TRUE(IbCheckTables(below, down).Good());
    EXPECT_EQ(IbQueryPath(below, down, 1, below.Endpoints()[4].lid)->hops, 4);
    EXPECT_EQ(IbQueryPath(below, down, 4, below.Endpoints()[1].lid)->hops, 3);
    const IbSwitchGraph graph = IbSwitchGraph::Of(below);
    IbUpDownSearch toFour(graph, {0, 1, 2, 3, 4});
    toFour.Search(4);
    EXPECT_EQ(toFour.Distance(1), 3u);
    EXPECT_EQ(toFour.Distance(0), 1u);
}

TEST(IbRouting, HostsWithSeveralPortsAndRails)
{
    // Two planes, each a k = 4 tree, every host with a port in both.
    Builder b;
    std::vector<uint32_t> hosts;
    for (uint32_t h = 0; h < 8; ++h)
    {
        hosts.push_back(b.Host("h" + std::to_string(h)));
    }
    for (uint32_t plane = 0; plane < 2; ++plane)
    {
        uint32_t leaf[4];
        uint32_t spine[2];
        for (uint32_t& s : spine)
        {
            s = b.Switch("spine");
        }
        for (uint32_t& l : leaf)
        {
            l = b.Switch("leaf");
            for (const uint32_t s : spine)
            {
                b.Link(l, s);
            }
        }
        for (uint32_t h = 0; h < 8; ++h)
        {
            b.Link(hosts[h], leaf[h / 2]);
        }
    }
    IbSubnetOptions so;
    so.unreached = IbUnreached::kOwnSubnet;
    const IbSubnet planes = DiscoverIbSubnet(b.fabric, so);
    for (const char* engine : {"ftree", "updn", "minhop", "dfsssp"})
    {
        const IbTables tables = IbRoute(planes, {engine});
        const IbCheck check = IbCheckTables(planes, tables);
        EXPECT_EQ(check.paths, 2 * 8 * 7u);
        EXPECT_TRUE(check.Good()) << engine;
        EXPECT_FALSE(IbQueryPath(planes, tables, 0, planes.Endpoints()[9].lid)); // other plane
    }
    // Both ports of a host on one switch: separate destinations, and one can send to the other.
    Builder c;
    const uint32_t s = c.Switch("s");
    const uint32_t h = c.Host("two ports");
    c.Link(h, s);
    c.Link(h, s);
    c.Link(c.Host("one"), s);
    const IbSubnet one = DiscoverIbSubnet(c.fabric);
    for (const char* engine : {"ftree", "updn", "minhop", "dfsssp", "torus"})
    {
        const IbTables tables = IbRoute(one, {engine});
        EXPECT_EQ(IbCheckTables(one, tables).paths, 6u);
        EXPECT_TRUE(IbCheckTables(one, tables).Good()) << engine;
        EXPECT_EQ(IbQueryPath(one, tables, 0, one.Endpoints()[1].lid)->hops, 1);
    }
}

TEST(IbRouting, NoSwitchAtAll)
{
    Builder b;
    const uint32_t first = b.Host("a");
    b.Link(first, b.Host("b"));
    const IbSubnet subnet = DiscoverIbSubnet(b.fabric);
    for (const auto& engine : IbRoutingEngines())
    {
        const IbTables tables = IbRoute(subnet, {engine.name});
        const auto record = IbQueryPath(subnet, tables, 0, 2);
        ASSERT_TRUE(record);
        EXPECT_EQ(record->hops, 0);
        EXPECT_EQ(record->slid, 1);
        EXPECT_EQ(record->dlid, 2);
        EXPECT_EQ(IbCheckTables(subnet, tables).paths, 2u);
        EXPECT_TRUE(IbCheckTables(subnet, tables).Good());
        EXPECT_TRUE(IbRoute(DiscoverIbSubnet({}), {engine.name}).lft.empty());
    }
}

TEST(IbRouting, SwitchesCanBeReachedFromHosts)
{
    // The manager's own packets to port 0.
    const IbSubnet subnet = DiscoverIbSubnet(ibtest::FatTree(4).fabric);
    for (const char* engine : {"ftree", "updn", "minhop", "dfsssp"})
    {
        const IbTables tables = IbRoute(subnet, {engine});
        for (uint32_t e = 0; e < 16; ++e)
        {
            for (const auto& s : subnet.Switches())
            {
                EXPECT_TRUE(IbQueryPath(subnet, tables, e, s.lid)) << engine << " " << e;
            }
        }
    }
}

TEST(IbRouting, SameInputSameTables)
{
    const IbFabric fabric = ibtest::RandomFabric(40, 60, 30, 3);
    const IbSubnet a = DiscoverIbSubnet(fabric);
    const IbSubnet b = DiscoverIbSubnet(fabric);
    for (const char* engine : {"minhop", "updn", "dfsssp"})
    {
        const IbTables x = IbRoute(a, {engine});
        const IbTables y = IbRoute(b, {engine});
        EXPECT_EQ(x.lft, y.lft);
        EXPECT_EQ(x.pathSl, y.pathSl);
    }
}

} // namespace
