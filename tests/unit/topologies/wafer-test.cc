/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Wafers: what is read, what is built, and of random dead dies and links: everyone reaches
 * everyone, and no messages can wait for each other in a circle.
 */
#include "results-of.h"
#include "topologies/dimensions.h"
#include "topologies/families/wafer-plan.h"
#include "topologies/family.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

namespace topo
{

namespace
{

TopologyRequest
Asked(const std::string& wafer, const std::string& dead = "", const std::string& deadLinks = "")
{
    TopologyRequest request;
    request.family = "wafer";
    request.parameters.SetText("wafer", wafer);
    if (!dead.empty())
    {
        request.parameters.SetText("dead", dead);
    }
    if (!deadLinks.empty())
    {
        request.parameters.SetText("dead-links", deadLinks);
    }
    return request;
}

/// The port out of each switch (node) towards each host; UINT16_MAX: none.
using Table = std::vector<std::vector<PortId>>;

Table
TableOf(const Topology& t)
{
    Table table(t.Nodes().size(), std::vector<PortId>(t.Hosts().size(), UINT16_MAX));
    std::vector<uint32_t> hostOf;
    for (uint32_t h = 0; h < t.Hosts().size(); ++h)
    {
        hostOf.insert(hostOf.end(), t.Nodes()[t.Hosts()[h]].ports.size(), h);
    }
    for (const StaticRoute& route : t.About().routes)
    {
        EXPECT_EQ(route.out.size(), 1U);
        PortId& port = table[route.at][hostOf[route.to]];
        EXPECT_TRUE(port == UINT16_MAX || port == route.out[0]) << "each NIC the same way";
        port = route.out[0];
    }
    return table;
}

/// A direction of a link: 2 x link, and 1 more from b.
uint32_t
ChannelOf(const Topology& t, NodeId at, PortId port)
{
    const LinkId link = t.Nodes()[at].ports[port];
    return 2 * link + (t.Links()[link].a == at ? 0 : 1);
}

/// Every pair has a way, and the channels of all ways depend on each other in no circle.
void
ExpectWaysWithoutCircles(const Topology& t)
{
    const Table table = TableOf(t);
    std::vector<std::vector<uint32_t>> follows(2 * t.Links().size());
    std::vector<uint32_t> before(follows.size(), 0);
    for (uint32_t to = 0; to < t.Hosts().size(); ++to)
    {
        const NodeId last = t.Peer(t.Hosts()[to], 0);
        for (uint32_t from = 0; from < t.Hosts().size(); ++from)
        {
            NodeId at = t.Peer(t.Hosts()[from], 0);
            for (std::size_t steps = 0; at != last; ++steps)
            {
                ASSERT_NE(table[at][to], UINT16_MAX) << t.Nodes()[at].name << " " << to;
                ASSERT_LT(steps, t.Nodes().size()) << "a circle";
                at = t.Peer(at, table[at][to]);
            }
        }
        for (NodeId at = 0; at < t.Nodes().size(); ++at)
        {
            const NodeId next =
                at != last && table[at][to] != UINT16_MAX ? t.Peer(at, table[at][to]) : last;
            if (next != last)
            {
                const uint32_t then = ChannelOf(t, next, table[next][to]);
                follows[ChannelOf(t, at, table[at][to])].push_back(then);
                ++before[then];
            }
        }
    }
    // Channels that wait for none are taken away until there are no more (Kahn).
    std::vector<uint32_t> free;
    for (uint32_t c = 0; c < before.size(); ++c)
    {
        if (before[c] == 0)
        {
            free.push_back(c);
        }
    }
    for (std::size_t i = 0; i < free.size(); ++i)
    {
        for (const uint32_t then : follows[free[i]])
        {
            if (--before[then] == 0)
            {
                free.push_back(then);
            }
        }
    }
    EXPECT_EQ(free.size(), follows.size()) << "channels in a circle";
}

// 5x4 without dies 3 and 11: 18 hosts, and 31 - 3 - 4 links of the mesh (4 x 4 + 5 x 3 = 31; die 3
// is at the edge and has 3, die 11 has 4).
TEST(Wafer, DeadDiesAreNoHostsAndHaveNoLinks)
{
    const TopologyResult made = MakeTopology(Asked("5x4@750GBps,20ns", "3,11"));
    ASSERT_TRUE(made.topology) << ErrorsOf(made);
    const Topology& t = *made.topology;
    EXPECT_EQ(t.Hosts().size(), 18U);
    EXPECT_EQ(t.SwitchCount(), 18U);
    EXPECT_EQ(t.Links().size(), 18U * 4 + 24);
    EXPECT_FALSE(t.FindNode("r-0-3"));
    EXPECT_FALSE(t.FindNode("r-2-1"));
    EXPECT_EQ(t.Nodes()[t.Peer(t.Hosts()[3], 0)].name, "r-0-4"); // the fourth living die is die 4
    EXPECT_TRUE(t.FindLink("r-0-4->r-1-4"));
    EXPECT_EQ(t.Links().back().rate.bps, 6000000000000ULL);
    EXPECT_EQ(t.Links().back().delay.ps, 20000);
    EXPECT_EQ(t.About().name, "wafer 5x4, 2 dead");
    ExpectWaysWithoutCircles(t);
}

// Living dies that are a box are the product of two lines, as --dims builds it.
TEST(Wafer, BoxesAreDimensions)
{
    const TopologyResult whole = MakeTopology(Asked("5x4@750GBps,20ns"));
    ASSERT_TRUE(whole.topology);
    EXPECT_EQ(DimensionSizes(whole.topology->About().dimensions), "5x4");
    EXPECT_EQ(whole.topology->About().name, "wafer 5x4");
    // Row 0 and column 0 are dead.
    const TopologyResult some = MakeTopology(Asked("5x4@750GBps,20ns", "0,1,2,3,4,5,10,15"));
    ASSERT_TRUE(some.topology);
    EXPECT_EQ(DimensionSizes(some.topology->About().dimensions), "4x3");
    const TopologyResult cut = MakeTopology(Asked("5x4@750GBps,20ns", "", "0-1"));
    ASSERT_TRUE(cut.topology);
    EXPECT_TRUE(cut.topology->About().dimensions.empty());
    EXPECT_TRUE(cut.topology->About().noCircles);
}

TEST(Wafer, WhatIsWrongIsTold)
{
    const auto errors = [](const TopologyRequest& request) {
        return ErrorsOf(MakeTopology(request));
    };
    EXPECT_NE(errors(Asked("")).find("is needed"), std::string::npos);
    EXPECT_NE(errors(Asked("5x4x3")).find("is no wafer"), std::string::npos);
    EXPECT_NE(errors(Asked("dojo-tie")).find("did you mean dojo-tile"), std::string::npos);
    EXPECT_NE(errors(Asked("5x4@750")).find("has no rate behind @"), std::string::npos);
    EXPECT_NE(errors(Asked("5x4", "20")).find("allowed: 0 to 19"), std::string::npos);
    EXPECT_NE(errors(Asked("5x4", "3,,4")).find("names no die: \"\""), std::string::npos);
    EXPECT_NE(errors(Asked("2x1", "0,1")).find("leaves no die alive"), std::string::npos);
    EXPECT_NE(errors(Asked("5x4", "", "4-5")).find("no neighbours"), std::string::npos); // two rows
    EXPECT_NE(errors(Asked("5x4", "", "4")).find("names no link"), std::string::npos);
    // Dies 1 and 5 cut the corner die 0 off.
    EXPECT_NE(errors(Asked("5x4", "1,5")).find("cuts die 2 and 16 others off from die 0"),
              std::string::npos);
    EXPECT_NE(errors(Asked("3x1", "", "1-2")).find("cuts die 2 off from die 0"), std::string::npos);
    TopologyRequest request = Asked("5x4", "3");
    request.hosts = 20;
    EXPECT_NE(errors(request).find("more than the 19 living dies"), std::string::npos);
    request = Asked("5x4");
    request.parameters.SetCount("wafers", 2);
    EXPECT_NE(errors(request).find("joined by their I/O ports"), std::string::npos);
}

// FRED's 18 ports on a 5x4 wafer: one at each of the 2 x (5 + 4) places, so that corners have two.
TEST(Wafer, PortsJoinWafersAndAreSpreadRoundTheEdge)
{
    TopologyRequest request = Asked("fred-baseline");
    request.parameters.SetCount("wafers", 2);
    std::vector<Error> errors;
    const auto plan = ReadWafer(request, &errors);
    ASSERT_TRUE(plan);
    std::vector<uint32_t> ports(20, 0);
    for (uint32_t port = 0; port < 18; ++port)
    {
        ++ports[plan->DieOfPort(port)];
    }
    EXPECT_EQ(ports,
              (std::vector<uint32_t>{2, 1, 1, 1, 2, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 2, 1, 1, 1, 2}));
    const TopologyResult made = MakeTopology(request);
    ASSERT_TRUE(made.topology) << ErrorsOf(made);
    const Topology& t = *made.topology;
    EXPECT_EQ(t.Hosts().size(), 40U);
    EXPECT_EQ(t.SwitchCount(), 40U + 18);
    EXPECT_EQ(t.Nodes()[t.Hosts()[0]].ports.size(), 6U); // 4 of the mesh, 2 of I/O
    EXPECT_EQ(t.Nodes()[*t.FindNode("io-17")].ports.size(), 2U);
    ExpectWaysWithoutCircles(t);
}

/// The NIC of a link between neighbours, by the sender's place: +x, -x, +y, -y.
uint32_t
NicTowards(const Topology& t, NodeId from, NodeId to)
{
    const auto a = t.Coordinates(from); // y, x
    const auto b = t.Coordinates(to);
    return b[1] > a[1] ? 0 : b[1] < a[1] ? 1 : b[0] > a[0] ? 2 : 3;
}

TEST(Wafer, MessagesLeaveAndArriveByTheLinksOfTheirWay)
{
    const TopologyResult made = MakeTopology(Asked("5x4", "7,12"));
    ASSERT_TRUE(made.topology);
    const Topology& t = *made.topology;
    const Table table = TableOf(t);
    for (uint32_t from = 0; from < t.Hosts().size(); ++from)
    {
        for (uint32_t to = 0; to < t.Hosts().size(); ++to)
        {
            const NodeId last = t.Peer(t.Hosts()[to], 0);
            NodeId at = t.Peer(t.Hosts()[from], 0);
            if (from == to)
            {
                continue;
            }
            const PairNics::Ends ends = t.About().nics->At(from, to);
            EXPECT_EQ(ends.from, NicTowards(t, at, t.Peer(at, table[at][to])));
            NodeId before = at;
            while (at != last)
            {
                before = at;
                at = t.Peer(at, table[at][to]);
            }
            EXPECT_EQ(ends.to, NicTowards(t, last, before));
        }
    }
}

/// A request with random sizes, dead dies and dead links.
TopologyRequest
RandomWafer(std::mt19937* random)
{
    const auto some = [random](uint32_t least, uint32_t most) {
        return std::uniform_int_distribution<uint32_t>(least, most)(*random);
    };
    const uint32_t columns = some(1, 6);
    const uint32_t rows = some(2, 5);
    const uint32_t wafers = some(0, 9) ? 1 : some(2, 3);
    std::string dead;
    std::string links;
    const uint32_t rarity = some(4, 20);
    for (uint32_t die = 0; die < columns * rows * wafers; ++die)
    {
        const auto add = [](std::string* list, const std::string& text) {
            *list += (list->empty() ? "" : ",") + text;
        };
        if (some(1, rarity) == 1)
        {
            add(&dead, std::to_string(die));
        }
        if (some(1, 2 * rarity) == 1 && die % columns + 1 < columns)
        {
            add(&links, std::to_string(die) + "-" + std::to_string(die + 1));
        }
    }
    TopologyRequest request =
        Asked(std::to_string(columns) + "x" + std::to_string(rows), dead, links);
    request.parameters.SetCount("wafers", wafers);
    request.parameters.SetText("wafer-io", std::to_string(some(1, 9)));
    return request;
}

// 10,000 wafers whose living dies are joined; each refused one says who is cut off, or that fewer
// than two are left.
TEST(Wafer, RandomHolesAreRoutedAround)
{
    std::mt19937 random(80);
    uint32_t made = 0;
    uint32_t withHoles = 0;
    for (uint32_t run = 0; made < 10000; ++run)
    {
        ASSERT_LT(run, 40000U);
        const TopologyRequest request = RandomWafer(&random);
        const TopologyResult result = MakeTopology(request);
        SCOPED_TRACE(request.parameters.Text("wafer") + " dead " + request.parameters.Text("dead") +
                     " links " + request.parameters.Text("dead-links"));
        if (!result.topology)
        {
            const std::string why = ErrorsOf(result);
            ASSERT_TRUE(why.find("cuts die") != std::string::npos ||
                        why.find("leaves no die alive") != std::string::npos ||
                        why.find("a single GPU") != std::string::npos)
                << why;
            continue;
        }
        ++made;
        withHoles += result.topology->About().nics ? 1 : 0;
        ASSERT_NO_FATAL_FAILURE(ExpectWaysWithoutCircles(*result.topology));
        if (testing::Test::HasFailure())
        {
            return;
        }
    }
    EXPECT_GT(withHoles, 5000U);
}

} // namespace

} // namespace topo
