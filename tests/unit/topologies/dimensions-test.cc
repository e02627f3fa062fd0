/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Networks as a product of dimensions: their text, ASTRA-sim's words and files, links, NICs, ways.
 */
#include "topologies/dimensions.h"
#include "topologies/families/dims.h"
#include "topologies/family.h"
#include "topologies/formats/astra-format.h"
#include "topologies/routes.h"

#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <set>
#include <string>

namespace topo
{

namespace
{

std::string
Problem(const std::string& text)
{
    std::string problem;
    return ParseDimensions(text, &problem) ? "" : problem;
}

TopologyResult
Made(const std::string& dims)
{
    TopologyRequest request;
    request.family = "dims";
    request.parameters.SetText("dims", dims);
    return MakeTopology(request);
}

TEST(Dimensions, TextIsReadAndWritten)
{
    std::string problem;
    const auto all =
        ParseDimensions("ring:4@2400Gbps,50ns+FC:8@100GBps+torus:2x3+mesh:5@1Tbps,0ns+switch:1",
                        &problem);
    ASSERT_TRUE(all) << problem;
    EXPECT_EQ(DimensionsText(*all),
              "ring:4@2.4 Tb/s,50 ns+fc:8@800 Gb/s+ring:2+ring:3+line:5@1 Tb/s,0 ps+switch:1");
    EXPECT_EQ(DimensionSizes(*all), "4x8x2x3x5x1");
    EXPECT_EQ(NodesOf(*all), 4U * 8 * 2 * 3 * 5);
    // A ring of 2 is one link; rows of n have n - 1; the ends of a line, too, have two NICs.
    std::vector<uint32_t> ports;
    for (const Dimension& one : *all)
    {
        ports.push_back(one.Ports());
    }
    EXPECT_EQ(ports, (std::vector<uint32_t>{2, 7, 1, 2, 2, 0}));
}

// What is written reads back as the same, with the same numbers.
TEST(Dimensions, TextReadsBack)
{
    std::mt19937 random(80);
    const auto some = [&random](uint64_t least, uint64_t most) {
        return std::uniform_int_distribution<uint64_t>(least, most)(random);
    };
    for (int run = 0; run < 300; ++run)
    {
        std::vector<Dimension> all;
        for (uint64_t d = some(1, 6); d-- > 0;)
        {
            Dimension one;
            one.kind = static_cast<DimensionKind>(some(0, 3));
            one.size = static_cast<uint32_t>(some(1, 65535));
            one.rate = rdma::BitRate(some(0, 2) ? some(1000, 1000000000000) : 0);
            if (one.rate.bps && some(0, 1))
            {
                one.delay = rdma::Duration(static_cast<int64_t>(some(0, 1000000000)));
            }
            all.push_back(one);
        }
        std::string problem;
        const auto back = ParseDimensions(DimensionsText(all), &problem);
        ASSERT_TRUE(back) << DimensionsText(all) << ": " << problem;
        for (std::size_t d = 0; d < all.size(); ++d)
        {
            EXPECT_EQ((*back)[d].kind, all[d].kind);
            EXPECT_EQ((*back)[d].size, all[d].size);
            EXPECT_EQ((*back)[d].rate.bps, all[d].rate.bps);
            EXPECT_EQ((*back)[d].delay, all[d].delay);
        }
    }
}

TEST(Dimensions, WhatIsWrongIsSaid)
{
    EXPECT_EQ(Problem("rign:4"),
              "names no kind of dimension: \"rign\" (did you mean ring?); allowed: ring, line, fc, "
              "switch, torus or mesh");
    EXPECT_NE(Problem("ring"), "");
    EXPECT_NE(Problem("ring:0"), "");
    EXPECT_NE(Problem("ring:4x4"), "");
    EXPECT_NE(Problem("ring:4@"), "");
    EXPECT_NE(Problem("ring:4@100Gbps,1us,1us"), "");
    EXPECT_NE(Problem("ring:4@100"), "");
    EXPECT_NE(Problem("ring:4@1bps"), "");
    EXPECT_NE(Problem("ring:4@100Gbps,1h"), "");
    EXPECT_NE(Problem("ring:4++fc:4"), "");
    EXPECT_NE(Problem(""), "");
    EXPECT_NE(Problem("torus:2x2x2x2x2x2x2"), "");
    EXPECT_NE(Problem("ring:1+ring:1+ring:1+ring:1+ring:1+ring:1+ring:1"), "");
    EXPECT_FALSE(Made("fc:67").topology);
    EXPECT_FALSE(Made("ring:1").topology);
    EXPECT_FALSE(Made("torus:1024x1024x1024").topology);
}

TEST(Dimensions, AstraSimsWordsAndFiles)
{
    EXPECT_TRUE(IsAstraWords("Ring_FullyConnected_Switch"));
    EXPECT_TRUE(IsAstraWords("Ring"));
    EXPECT_FALSE(IsAstraWords("ring"));
    EXPECT_FALSE(IsAstraWords("Ring_"));
    TopologyRequest request;
    request.family = "Ring_Switch";
    request.parameters.SetText("npus-count", "4,2")
        .SetText("bandwidth", "100,50")
        .SetText("latency", "500,936.25");
    const TopologyResult made = MakeTopology(request);
    ASSERT_TRUE(made.topology);
    const auto& dimensions = made.topology->About().dimensions;
    ASSERT_EQ(dimensions.size(), 2U);
    EXPECT_EQ(dimensions[0].rate.bps, 100ULL * 8 << 30); // GB are 2^30 bytes
    EXPECT_EQ(dimensions[1].delay->ps, 936250);

    std::string why;
    const std::string text = *AstraTopologyText(dimensions, &why);
    EXPECT_EQ(text,
              "topology: [ Ring, Switch ]\nnpus_count: [ 4, 2 ]\n"
              "bandwidth: [ 100, 50 ]  # GB/s, 2^30 bytes\nlatency: [ 500, 936.25 ]  # ns\n");
    const std::string path = testing::TempDir() + "astra.yml";
    std::ofstream(path) << "# a remark\n" << text;
    EXPECT_TRUE(IsAstraTopology(path));
    request = {};
    request.family = FamilyOfFile(path).name;
    EXPECT_EQ(request.family, "astra");
    request.file = path;
    const TopologyResult read = MakeTopology(request);
    ASSERT_TRUE(read.topology);
    EXPECT_EQ(DimensionsText(read.topology->About().dimensions), DimensionsText(dimensions));
    EXPECT_FALSE(AstraTopologyText({{DimensionKind::kLine, 3}}, &why));

    // Lists on lines of their own; and what is wrong names its line.
    std::ofstream(path) << "topology:\n  - Ring\n  - \"Switch\"\nnpus_count:\n  - 4\n  - 2\n"
                           "bandwidth: [ 1, 1 ]\nlatency: [ 1, 1 ]\n";
    EXPECT_TRUE(MakeTopology(request).topology);
    std::ofstream(path) << "topology: [ Ring ]\nnpus_count: [ 4, 2 ]\nbandwidth: [ 1 ]\n"
                           "latency: [ 1 ]\n";
    ASSERT_EQ(MakeTopology(request).errors.size(), 1U);
    EXPECT_EQ(MakeTopology(request).errors[0].where, path + ":2");
}

// Of random networks: routes lead from each router to each NIC in as many links as the way by
// dimensions has, which begins and ends at the NICs that DimensionGrid::Ends names.
TEST(Dimensions, WaysGoByDimensions)
{
    std::mt19937 random(8);
    const auto some = [&random](uint32_t least, uint32_t most) {
        return std::uniform_int_distribution<uint32_t>(least, most)(random);
    };
    for (int run = 0; run < 60; ++run)
    {
        std::vector<Dimension> all;
        for (uint32_t d = some(1, 3); d-- > 0;)
        {
            Dimension one;
            one.kind = static_cast<DimensionKind>(some(0, 3));
            one.size = some(all.empty() ? 2 : 1, 5);
            all.push_back(one);
        }
        const TopologyResult made = Made(DimensionsText(all));
        ASSERT_TRUE(made.topology) << DimensionsText(all);
        const Topology& t = *made.topology;
        const DimensionGrid grid(t.About().dimensions);
        const rdma::EcmpRoutes routes = ComputeRoutes(t);
        for (uint32_t from = 0; from < grid.Nodes(); ++from)
        {
            for (uint32_t to = 0; to < grid.Nodes(); ++to)
            {
                if (from == to)
                {
                    continue;
                }
                const DimensionGrid::Hop ends = grid.Ends(from, to);
                ASSERT_LT(ends.nic, grid.Ports());
                ASSERT_LT(ends.there, grid.Ports());
                EXPECT_EQ(ends.to, to);
                const EndpointId endpoint = t.EndpointOf(to, static_cast<PortId>(ends.there));
                const NodeId host = t.Hosts()[to];
                NodeId at = t.Peer(t.Hosts()[from], static_cast<PortId>(ends.nic));
                uint32_t links = 0;
                std::set<std::size_t> done;
                while (t.Peer(host, 0) != at)
                {
                    const auto ports = routes.NextHops(at, endpoint);
                    ASSERT_EQ(ports.size, 1U) << DimensionsText(all);
                    at = t.Peer(at, ports[0]);
                    ASSERT_LE(++links, 30U);
                }
                EXPECT_EQ(links, ends.links) << DimensionsText(all) << " " << from << " " << to;
            }
        }
    }
}

} // namespace

} // namespace topo
