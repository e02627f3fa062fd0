/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ib-fabrics.h"

#include <gtest/gtest.h>
#include <set>

namespace
{

using ibtest::Builder;
using ibtest::Has;
using ibtest::What;
using namespace rdma;

IbSubnetOptions
With(uint8_t lmc, IbUnreached unreached = IbUnreached::kError)
{
    IbSubnetOptions options;
    options.lmc = lmc;
    options.unreached = unreached;
    return options;
}

TEST(IbSubnet, LidsAreHostPortsThenSwitches)
{
    const auto tree = ibtest::FatTree(4); // 16 hosts are nodes 0..15, 20 switches 16..35
    const IbSubnet subnet = DiscoverIbSubnet(tree.fabric);
    ASSERT_EQ(subnet.Endpoints().size(), 16u);
    ASSERT_EQ(subnet.Switches().size(), 20u);
    for (uint32_t e = 0; e < 16; ++e)
    {
        EXPECT_EQ(subnet.Endpoints()[e].lid, e + 1);
        EXPECT_EQ(subnet.OwnerOf(e + 1).endpoint, e);
        EXPECT_EQ(subnet.OwnerOf(e + 1).switchIndex, kIbNone);
        EXPECT_EQ(subnet.Endpoints()[e].switchIndex, e / 2);
    }
    for (uint32_t s = 0; s < 20; ++s)
    {
        EXPECT_EQ(subnet.Switches()[s].lid, 17 + s);
        EXPECT_EQ(subnet.Switches()[s].node, 16 + s);
        EXPECT_EQ(subnet.SwitchOfNode(16 + s), s);
        EXPECT_EQ(subnet.OwnerOf(17 + s).switchIndex, s);
    }
    EXPECT_EQ(subnet.TopLid(), 36);
    EXPECT_EQ(subnet.OwnerOf(0).endpoint, kIbNone);
    EXPECT_EQ(subnet.OwnerOf(37).endpoint, kIbNone);
    EXPECT_EQ(subnet.SwitchOfNode(3), kIbNone);
}

TEST(IbSubnet, LmcGivesAlignedRangesThatNeverMeet)
{
    const auto tree = ibtest::FatTree(4);
    for (uint8_t lmc = 0; lmc <= 7; ++lmc)
    {
        for (const bool enhanced : {false, true})
        {
            IbSubnetOptions options = With(lmc);
            options.enhancedSwitchPort0 = enhanced;
            const IbSubnet subnet = DiscoverIbSubnet(tree.fabric, options);
            std::set<uint32_t> lids;
            const auto take = [&](uint16_t lid, uint8_t mask) {
                EXPECT_EQ(lid % (1u << mask), 0u);
                for (uint32_t o = 0; o < (1u << mask); ++o)
                {
                    EXPECT_TRUE(lids.insert(lid + o).second);
                }
            };
            for (const auto& e : subnet.Endpoints())
            {
                EXPECT_EQ(e.lmc, lmc);
                take(e.lid, lmc);
            }
            for (const auto& s : subnet.Switches())
            {
                EXPECT_EQ(s.lmc, enhanced ? lmc : 0);
                take(s.lid, s.lmc);
            }
            EXPECT_GE(*lids.begin(), kIbFirstLid);
            EXPECT_EQ(*lids.rbegin(), subnet.TopLid());
            // First fit wastes nothing but what alignment leaves at the bottom: the ranges of hosts
            // begin at 2^LMC, and base switches fill 1..2^LMC - 1 before they go on above.
            const uint32_t hosts = 17u << lmc; // 16 ranges above the first multiple
            const uint32_t below = (1u << lmc) - 1;
            EXPECT_EQ(subnet.TopLid(),
                      enhanced ? (37u << lmc) - 1 : hosts - 1 + (20 > below ? 20 - below : 0));
        }
    }
}

TEST(IbSubnet, LidsRunOut)
{
    const auto tree = ibtest::FatTree(4);
    IbSubnetOptions options = With(2);
    options.lastLid = 17 * 4 - 1 + 17; // hosts end at 67, three switches are below 4, 17 above
    EXPECT_EQ(DiscoverIbSubnet(tree.fabric, options).TopLid(), 84);
    --options.lastLid;
    const std::string what = What<IbSubnetError>([&] { DiscoverIbSubnet(tree.fabric, options); });
    EXPECT_TRUE(Has(what, "no LID is left for top-3")) << what;
    EXPECT_TRUE(Has(what, "16 host ports of 4 LIDs (LMC 2) and 20 switches do not fit into 83"))
        << what;

    // All of the unicast LIDs: 383 x 128 = 49,024 and 128 below fill 1..0xBFFF (49,151).
    Builder b;
    const uint32_t s[2] = {b.Switch("a"), b.Switch("b")};
    b.Link(s[0], s[1]);
    for (uint32_t h = 0; h < 383; ++h)
    {
        b.Link(b.Host("h"), s[h % 2]);
    }
    const IbSubnet full = DiscoverIbSubnet(b.fabric, With(7));
    EXPECT_EQ(full.TopLid(), kIbLastUnicastLid);
    b.Link(b.Host("h"), s[0]);
    EXPECT_THROW(DiscoverIbSubnet(b.fabric, With(7)), IbSubnetError);
}

TEST(IbSubnet, WalksPortByPortBreadthFirst)
{
    Builder b;
    const uint32_t h0 = b.Host("h0");
    const uint32_t s1 = b.Switch("s1");
    const uint32_t s2 = b.Switch("s2");
    const uint32_t s3 = b.Switch("s3");
    const uint32_t h4 = b.Host("h4");
    const uint32_t h5 = b.Host("h5");
    b.Link(s1, s3); // port 1 of s1
    b.Link(h0, s1); // port 2
    b.Link(s2, s1); // port 3
    b.Link(h4, s1); // port 4
    b.Link(s3, h5);
    b.Link(s2, s3);
    const IbSubnet subnet = DiscoverIbSubnet(b.fabric);
    EXPECT_EQ(subnet.DiscoveryOrder(), (std::vector<uint32_t>{h0, s1, s3, s2, h4, h5}));
    IbSubnetOptions options;
    options.smNode = s2;
    EXPECT_EQ(DiscoverIbSubnet(b.fabric, options).DiscoveryOrder(),
              (std::vector<uint32_t>{s2, s1, s3, h0, h4, h5}));
    // Wherever the manager is, LIDs are the same: they go by GUID.
    EXPECT_EQ(DiscoverIbSubnet(b.fabric, options).Switches()[1].lid, subnet.Switches()[1].lid);
    const auto& s1Peers = subnet.Switches()[0].peers;
    EXPECT_EQ(s1Peers[1].node, s3);
    EXPECT_EQ(s1Peers[1].port, 1);
    EXPECT_EQ(s1Peers[1].switchIndex, 2u);
    EXPECT_EQ(s1Peers[2].endpoint, 0u);
    EXPECT_EQ(subnet.Switches()[0].ports, 4);
}

TEST(IbSubnet, GuidsAreLocalAndUnique)
{
    const auto tree = ibtest::FatTree(6);
    const IbSubnet subnet = DiscoverIbSubnet(tree.fabric);
    std::set<uint64_t> guids;
    for (const auto& s : subnet.Switches())
    {
        EXPECT_TRUE(guids.insert(s.guid).second);
    }
    for (const auto& e : subnet.Endpoints())
    {
        EXPECT_TRUE(guids.insert(e.guid).second);
    }
    for (const uint64_t guid : guids)
    {
        EXPECT_EQ(guid >> 56, 0x02u); // EUI-64's bit for "locally administered", not a group
    }
}

/// Two rails: every host has a port in each, and hosts do not forward.
Builder
Rails()
{
    Builder b;
    const uint32_t rail0 = b.Switch("rail-0");
    const uint32_t rail1 = b.Switch("rail-1");
    for (uint32_t i = 0; i < 3; ++i)
    {
        const uint32_t h = b.Host("h" + std::to_string(i));
        b.Link(h, rail0);
        b.Link(h, rail1);
    }
    return b;
}

TEST(IbSubnet, HostsDoNotForwardSoRailsAreSubnets)
{
    const Builder b = Rails();
    const std::string what = What<IbSubnetError>([&] { DiscoverIbSubnet(b.fabric); });
    EXPECT_TRUE(Has(what, "4 switches or host ports are out of")) << what; // rail-1 and 3 ports
    EXPECT_TRUE(Has(what, "the first at rail-1")) << what;

    const IbSubnet listed = DiscoverIbSubnet(b.fabric, With(0, IbUnreached::kList));
    EXPECT_EQ(listed.UnreachedSwitches(), (std::vector<uint32_t>{1}));
    EXPECT_EQ(listed.UnreachedEndpoints(), (std::vector<uint32_t>{1, 3, 5}));
    EXPECT_EQ(listed.TopLid(), 4); // three ports and a switch
    EXPECT_EQ(listed.Endpoints()[1].lid, 0);
    EXPECT_EQ(listed.Switches()[1].lid, 0);

    const IbSubnet both = DiscoverIbSubnet(b.fabric, With(0, IbUnreached::kOwnSubnet));
    EXPECT_TRUE(both.UnreachedSwitches().empty());
    EXPECT_TRUE(both.UnreachedEndpoints().empty());
    EXPECT_EQ(both.TopLid(), 8);

    IbSubnetOptions options = With(0, IbUnreached::kList);
    options.smNode = 3; // h1
    options.smPort = 1; // in rail-1
    EXPECT_EQ(DiscoverIbSubnet(b.fabric, options).UnreachedSwitches(), (std::vector<uint32_t>{0}));
}

TEST(IbSubnet, HostToHostWithoutSwitch)
{
    Builder b;
    const uint32_t first = b.Host("a");
    b.Link(first, b.Host("b"));
    const IbSubnet subnet = DiscoverIbSubnet(b.fabric, With(1));
    EXPECT_EQ(subnet.Endpoints()[0].lid, 2);
    EXPECT_EQ(subnet.Endpoints()[1].lid, 4);
    EXPECT_EQ(subnet.Endpoints()[0].direct, 1u);
    EXPECT_EQ(subnet.Endpoints()[1].direct, 0u);
    EXPECT_EQ(subnet.DiscoveryOrder(), (std::vector<uint32_t>{0, 1}));
}

TEST(IbSubnet, PortsWithoutAdapterOrCable)
{
    Builder b;
    const uint32_t s = b.Switch("s");
    b.Link(b.Host("a"), s);
    b.Link(b.Host("no adapter"), s);
    b.fabric.endpoints.pop_back();
    b.fabric.endpoints.push_back({1, 3}); // a second port of a, not wired
    const IbSubnet subnet = DiscoverIbSubnet(b.fabric, With(0, IbUnreached::kList));
    EXPECT_EQ(subnet.UnreachedEndpoints(), (std::vector<uint32_t>{1}));
    EXPECT_FALSE(subnet.Switches()[0].peers[2].live);
    EXPECT_EQ(subnet.TopLid(), 2);
    EXPECT_THROW(DiscoverIbSubnet(b.fabric), IbSubnetError);
}

TEST(IbSubnet, LaterSweepsKeepLids)
{
    const auto tree = ibtest::FatTree(4);
    IbFabric fabric = tree.fabric;
    fabric.nodeDown.assign(fabric.isHost.size(), false);
    fabric.linkDown.assign(fabric.links.size(), false);
    fabric.nodeDown[tree.leaves[2]] = true; // hosts 4 and 5
    const IbSubnet first = DiscoverIbSubnet(fabric, With(1, IbUnreached::kList));
    EXPECT_EQ(first.UnreachedEndpoints(), (std::vector<uint32_t>{4, 5}));
    EXPECT_EQ(first.Endpoints()[4].lid, 0);

    // That leaf comes up, another goes down: everybody keeps what he had, the new ones get the
    // rest.
    fabric.nodeDown[tree.leaves[2]] = false;
    fabric.nodeDown[tree.leaves[3]] = true;
    const IbSubnet second = DiscoverIbSubnet(fabric, With(1, IbUnreached::kList), &first);
    EXPECT_EQ(second.UnreachedEndpoints(), (std::vector<uint32_t>{6, 7}));
    std::set<uint16_t> lids;
    for (uint32_t e = 0; e < 16; ++e)
    {
        EXPECT_TRUE(lids.insert(second.Endpoints()[e].lid).second);
        if (e != 4 && e != 5)
        {
            EXPECT_EQ(second.Endpoints()[e].lid, first.Endpoints()[e].lid);
        }
    }
    for (uint32_t s = 0; s < 20; ++s)
    {
        if (first.Switches()[s].reached)
        {
            EXPECT_EQ(second.Switches()[s].lid, first.Switches()[s].lid);
        }
        EXPECT_TRUE(lids.insert(second.Switches()[s].lid).second);
    }
    EXPECT_EQ(lids.count(0), 0u);

    EXPECT_THROW(DiscoverIbSubnet(fabric, With(2, IbUnreached::kList), &first),
                 std::invalid_argument);
    EXPECT_THROW(DiscoverIbSubnet(ibtest::FatTree(6).fabric, With(1), &first),
                 std::invalid_argument);
}

TEST(IbSubnet, BadInputIsNamed)
{
    const auto good = ibtest::FatTree(4).fabric;
    const auto error = [&](const auto& change) {
        IbFabric fabric = good;
        IbSubnetOptions options;
        change(fabric, options);
        return What<std::invalid_argument>([&] { DiscoverIbSubnet(fabric, options); });
    };
    EXPECT_EQ(error([](IbFabric& f, IbSubnetOptions&) { f.links[3].b = 999; }),
              "IbSubnet: a link names a node that does not exist");
    EXPECT_EQ(error([](IbFabric& f, IbSubnetOptions&) { f.links[20].portA = f.links[21].portA; }),
              "IbSubnet: two links on one port of node 24");
    EXPECT_EQ(error([](IbFabric& f, IbSubnetOptions&) { f.endpoints[2].host = 17; }),
              "IbSubnet: endpoint 2 is not on a host");
    EXPECT_EQ(error([](IbFabric& f, IbSubnetOptions&) { f.endpoints[2] = f.endpoints[1]; }),
              "IbSubnet: endpoints 1 and 2 are the same port");
    EXPECT_EQ(error([](IbFabric&, IbSubnetOptions& o) { o.lmc = 8; }),
              "IbSubnet: an LMC of 8, at most 7");
    EXPECT_EQ(error([](IbFabric&, IbSubnetOptions& o) { o.lastLid = 0xC000; }),
              "IbSubnet: a last LID of 49152, unicast ones end at 49151");
    EXPECT_EQ(error([](IbFabric&, IbSubnetOptions& o) { o.smNode = 99; }),
              "IbSubnet: the manager's node does not exist");
    EXPECT_EQ(error([](IbFabric& f, IbSubnetOptions&) { f.names.pop_back(); }),
              "IbSubnet: names are not one a node");
    EXPECT_EQ(error([](IbFabric& f, IbSubnetOptions&) { f.linkDown.assign(1, true); }),
              "IbSubnet: linkDown is not one a link");

    IbFabric wide = good;
    wide.links[0].portB = 254;
    EXPECT_EQ(What<IbSubnetError>([&] { DiscoverIbSubnet(wide); }),
              "IbSubnet: port 254 of leaf-0: an InfiniBand node has 254 ports at most");
    wide.links[0].portB = 253;
    EXPECT_EQ(DiscoverIbSubnet(wide).Endpoints()[0].switchPort, 254);

    IbFabric down = good;
    down.nodeDown.assign(down.isHost.size(), false);
    down.nodeDown[16] = true;
    IbSubnetOptions options;
    options.smNode = 16;
    EXPECT_EQ(What<IbSubnetError>([&] { DiscoverIbSubnet(down, options); }),
              "IbSubnet: the manager's node leaf-0 is down");
    options.smNode = 0;
    EXPECT_EQ(What<IbSubnetError>([&] { DiscoverIbSubnet(down, options); }),
              "IbSubnet: the manager's node host-0 has no port that is wired and up");
}

TEST(IbSubnet, EmptyAndTiny)
{
    EXPECT_EQ(DiscoverIbSubnet({}).TopLid(), 0);
    Builder b;
    b.Switch("alone");
    EXPECT_EQ(DiscoverIbSubnet(b.fabric).Switches()[0].lid, 1);
    Builder loop;
    const uint32_t s = loop.Switch("loop");
    loop.Link(s, s);
    EXPECT_FALSE(DiscoverIbSubnet(loop.fabric).Switches()[0].peers[1].live);
}

} // namespace
