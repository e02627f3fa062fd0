/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Networks from GraphML, DOT, ibnetdiscover and a run's topology.json: what they become, what is
 * wrong with them, and that no damaged file does harm.
 */
#include "contrib/rdma/core/unit-strings.h"
#include "results-of.h"
#include "topologies/formats/dot-format.h"
#include "topologies/formats/graphml-format.h"
#include "topologies/formats/ibnet-format.h"
#include "topologies/formats/run-format.h"
#include "topologies/formats/xml-reader.h"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <string>

namespace topo
{

namespace
{

constexpr rdma::Duration kDelay = rdma::Microseconds(3);

const char* const kDot = R"(// two racks
graph "fabric" {
  rankdir=LR; /* looks */
  edge [rate="400Gbps", delay="1us"]
  node [kind=switch] leaf0; leaf1 [color=red]; spine;
  node [kind=host]
  leaf0 -- spine -- leaf1
  subgraph rack { edge [rate="100Gbps"] leaf0 -- {a; b:n} }
  leaf1 -- c [rate="50" + "GBps", delay=250ns label=<<b>x</b>>];
}
)";

const char* const kGraphml = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE graphml [ <!ELEMENT x (y)> ]>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">
  <key id="d0" for="node" attr.name="type" attr.type="string"/>
  <key id="d1" for="edge" attr.name="Bandwidth" attr.type="string"><default>400Gbps</default></key>
  <key id="d2" for="edge" attr.name="delay_us" attr.type="double"/>
  <key id="d3" for="node" yfiles.type="nodegraphics"/>
  <graph edgedefault="undirected">
    <!-- a rack -->
    <node id="n0"><data key="d0">Switch</data>
      <data key="d3"><y:ShapeNode><y:Fill color="#FF"/><y:NodeLabel>leaf &amp; 0</y:NodeLabel>
        <y:Shape type="rectangle"/></y:ShapeNode></data></node>
    <node id="n1"><data key="d0">host</data>
      <data key="d3"><y:NodeLabel>a</y:NodeLabel></data></node>
    <node id="n2"><data key="d0">server</data>
      <data key="d3"><y:NodeLabel><![CDATA[b]]></y:NodeLabel></data></node>
    <edge source="n1" target="n0"><data key="d1">100Gbps</data><data key="d2">0.5</data></edge>
    <edge source="n0" target="n2"/>
  </graph>
</graphml>
)";

const char* const kIbnet = R"(#
# Topology file: generated on Mon Dec 18 12:34:08 2023
#
# Initiated from node 506b4b030043f9e2 port 506b4b030043f9e2

vendid=0x2c9
devid=0xcb20
sysimgguid=0xec0d9a0300ec8240
switchguid=0xec0d9a0300ec8240(ec0d9a0300ec8240)
Switch	36 "S-ec0d9a0300ec8240"		# "MF0;leaf 1/U1" base port 0 lid 48 lmc 0
[1]	"H-0000000000000010"[1](11) 		# "node10 mlx5_0" lid 67 4xHDR
[2]	"H-0000000000000021"[1](21) 		# "node2 mlx5_1" lid 69 2xHDR
[3]	"H-0000000000000020"[1](20) 		# "node2 mlx5_0" lid 68 4xHDR
[4][ext 2]	"S-ec0d9a0300ec8241"[4]		# "spine" lid 49 4xNDR s=1 w=2 v=3
[36]	"H-00000000000000aa"[1](aa) 		# "Mellanox Technologies Aggregation Node" lid 7 4xHDR

vendid=0x2c9
Switch	36 "S-ec0d9a0300ec8241"		# "spine" base port 0 lid 49 lmc 0
[4]	"S-ec0d9a0300ec8240"[4]		# "MF0;leaf 1/U1" lid 48 4xNDR

caguid=0x10
Ca	1 "H-0000000000000010"		# "node10 mlx5_0"
[1](11) 	"S-ec0d9a0300ec8240"[1]		# lid 67 lmc 0 "MF0;leaf 1/U1" lid 48 4xHDR

Ca	1 "H-0000000000000020"		# "node2 mlx5_0"
[1](20) 	"S-ec0d9a0300ec8240"[3]		# lid 68 lmc 0 "MF0;leaf 1/U1" lid 48 4xHDR
)";

const char* const kRun = R"({"schema_version": 1, "name": "x", "tiers": ["leaf"],
"nodes": [
{"name": "server-0", "kind": "host", "tier": 0},
{"name": "server-1", "kind": "host", "tier": 0},
{"name": "leaf-0", "kind": "switch", "tier": 1, "coordinates": [0]}
],
"links": [
{"link": "server-0->leaf-0", "a": 0, "b": 2, "rate_gbps": 100, "delay_us": 1},
{"link": "server-1->leaf-0", "a": 1, "b": 2, "rate_gbps": 12.5, "delay_us": 0.02}
],
"hosts_of_servers": [0, 1]
}
)";

std::string
InFile(const std::string& text)
{
    const std::string path = testing::TempDir() + "drawn-network";
    std::ofstream(path) << text;
    return path;
}

TopologyResult
Dot(const std::string& text)
{
    return ReadDotTopology(text, "net.dot", kDelay);
}

TopologyResult
Graphml(const std::string& text)
{
    return ReadGraphmlTopology(text, "net.graphml", kDelay);
}

TopologyResult
Ibnet(const std::string& text)
{
    return ReadIbnetTopology(text, "net.txt", kDelay);
}

/// "a->leaf0 100 Gb/s 1 us"
std::string
LinkText(const Topology& t, LinkId link)
{
    return t.LinkName(link, true) + " " + rdma::ToString(t.Links()[link].rate) + " " +
           rdma::ToString(t.Links()[link].delay);
}

TEST(DrawnFormats, FilesAreToldApartByTheirContent)
{
    EXPECT_EQ(FamilyOfFile(InFile(kDot)).name, "dot");
    EXPECT_EQ(FamilyOfFile(InFile("strict DIGRAPH{a->b}")).name, "dot");
    EXPECT_EQ(FamilyOfFile(InFile(kGraphml)).name, "graphml");
    EXPECT_EQ(FamilyOfFile(InFile(kIbnet)).name, "ibnet");
    EXPECT_EQ(FamilyOfFile(InFile(kRun)).name, "run");
    EXPECT_EQ(FamilyOfFile(InFile("{\"nodes\": [], \"schema_version\": 1}")).name, "graph");
    EXPECT_EQ(FamilyOfFile(InFile("4 1 3\n0\n")).name, "hpcc");
    // A file of no kind: one line names all kinds.
    TopologyRequest request;
    request.file = InFile("graphics of a network\n");
    request.family = FamilyOfFile(request.file).name;
    const std::string errors = ErrorsOf(MakeTopology(request));
    for (const char* kind : {"GraphML", "DOT", "ibnetdiscover", "JSON", "HPCC", "ASTRA-sim"})
    {
        EXPECT_NE(errors.find(kind), std::string::npos) << errors;
    }
    EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 1);
}

TEST(DrawnFormats, Dot)
{
    const TopologyResult result = Dot(kDot);
    ASSERT_TRUE(result.topology) << ErrorsOf(result);
    const Topology& t = *result.topology;
    EXPECT_EQ(t.Hosts().size(), 3U);
    EXPECT_EQ(t.SwitchCount(), 3U);
    ASSERT_EQ(t.Links().size(), 5U);
    EXPECT_EQ(LinkText(t, 0), "leaf0->spine 400 Gb/s 1 us");
    EXPECT_EQ(LinkText(t, 1), "spine->leaf1 400 Gb/s 1 us");
    EXPECT_EQ(LinkText(t, 3), "leaf0->b 100 Gb/s 1 us");
    EXPECT_EQ(LinkText(t, 4), "leaf1->c 400 Gb/s 250 ns");
    EXPECT_EQ(t.Nodes()[*t.FindNode("spine")].tier, 2);

    // Without kinds, who has one link is a host; of a directed graph both directions are one link.
    const TopologyResult bare = Dot("digraph { edge [bandwidth_gbps=100] a->s s->a b->s }");
    ASSERT_TRUE(bare.topology) << ErrorsOf(bare);
    EXPECT_EQ(bare.topology->Hosts().size(), 2U);
    EXPECT_EQ(bare.topology->Links().size(), 2U);
    EXPECT_EQ(LinkText(*bare.topology, 1), "b->s 100 Gb/s 3 us");
    const TopologyResult shapes = Dot("graph{node[shape=box] s node[shape=oval] a b\n"
                                      "a--s--b [rate=\"1Gbps\"] a--s [rate=\"1Gbps\"]}");
    ASSERT_TRUE(shapes.topology);
    EXPECT_EQ(shapes.topology->Hosts().size(), 2U);
    EXPECT_EQ(shapes.topology->Links().size(), 3U); // two are parallel
}

TEST(DrawnFormats, WhatIsWrongInDotHasItsLine)
{
    EXPECT_EQ(ErrorsOf(Dot("graph {\n a -- b\n}")),
              "net.dot:3: the link from \"a\" to \"b\" has no rate; allowed: an attribute "
              "rate=\"400Gbps\" (or bandwidth, capacity, speed), 1kbps to 1000Tbps\n");
    EXPECT_NE(ErrorsOf(Dot("graph {\n a -- a [rate=\"1Gbps\"]}")).find("linked with itself"),
              std::string::npos);
    EXPECT_NE(ErrorsOf(Dot("graph { a -- b [rate=400] }")).find("\"400\" is no rate"),
              std::string::npos);
    EXPECT_NE(ErrorsOf(Dot("graph { a [kind=swich] b [kind=host] }")).find("did you mean switch"),
              std::string::npos);
    EXPECT_NE(ErrorsOf(Dot("graph { a [kind=host]; b }")).find("\"b\" has no kind"),
              std::string::npos);
    EXPECT_NE(ErrorsOf(Dot("graph { a -- b [rate=\"1Gbps\"]")).find("the end of the file"),
              std::string::npos);
    EXPECT_NE(ErrorsOf(Dot("digraph { a->s [rate=\"1Gbps\"] s->a [rate=\"2Gbps\"] }"))
                  .find("another rate or delay"),
              std::string::npos);
    const std::string deep(100000, '{');
    EXPECT_NE(ErrorsOf(Dot("graph " + deep)).find("too deep"), std::string::npos);
}

TEST(DrawnFormats, Graphml)
{
    const TopologyResult result = Graphml(kGraphml);
    ASSERT_TRUE(result.topology) << ErrorsOf(result);
    const Topology& t = *result.topology;
    ASSERT_EQ(t.Links().size(), 2U);
    EXPECT_EQ(LinkText(t, 0), "a->leaf---0 100 Gb/s 500 ns"); // yEd's labels are names
    EXPECT_EQ(LinkText(t, 1), "leaf---0->b 400 Gb/s 3 us");
    EXPECT_EQ(t.Hosts().size(), 2U);

    const auto errors = [](const std::string& from, const std::string& to) {
        return ErrorsOf(Graphml(Edited(kGraphml, from, to)));
    };
    EXPECT_NE(errors("target=\"n2\"", "target=\"n9\"").find("\"n9\", which is not there"),
              std::string::npos);
    EXPECT_NE(errors("id=\"n2\"", "id=\"n1\"").find("two nodes \"n1\""), std::string::npos);
    EXPECT_NE(errors("&amp;", "&bomb;").find("unknown entity"), std::string::npos);
    EXPECT_NE(errors("</graphml>", "").find("ends before"), std::string::npos);
    EXPECT_NE(errors("</graph>", "</node>").find("is needed"), std::string::npos);
    EXPECT_NE(errors("100Gbps", "fast").find("\"fast\" is no rate"), std::string::npos);
    EXPECT_NE(errors("<edge source=\"n0\"", "<hyperedge").find("hyperedge"), std::string::npos);
    std::string deep = "<graphml>";
    for (int i = 0; i < 100000; ++i)
    {
        deep += "<graph>";
    }
    EXPECT_NE(ErrorsOf(Graphml(deep)).find("deeper than 256"), std::string::npos);
}

TEST(DrawnFormats, Ibnetdiscover)
{
    const TopologyResult result = Ibnet(kIbnet);
    ASSERT_TRUE(result.topology) << ErrorsOf(result);
    const Topology& t = *result.topology;
    // node2 has two adapters and comes before node10. HDR is 200 Gb/s of data on 4 lanes, NDR 400.
    ASSERT_EQ(t.Hosts().size(), 2U);
    EXPECT_EQ(t.Nodes()[t.Hosts()[0]].name, "node2");
    EXPECT_EQ(t.Nodes()[t.Hosts()[0]].ports.size(), 2U);
    EXPECT_EQ(t.Nodes()[t.Hosts()[1]].name, "node10");
    ASSERT_EQ(t.Links().size(), 4U);
    EXPECT_EQ(t.Links()[t.Nodes()[t.Hosts()[0]].ports[0]].rate.bps, 200000000000ULL); // mlx5_0
    EXPECT_EQ(t.Links()[t.Nodes()[t.Hosts()[0]].ports[1]].rate.bps, 100000000000ULL); // mlx5_1
    const auto between = t.FindLink("MF0-leaf-1-U1->spine");
    ASSERT_TRUE(between);
    EXPECT_EQ(t.Links()[between->link].rate.bps, 400000000000ULL);
    EXPECT_EQ(t.Links()[0].delay.ps, kDelay.ps);
    ASSERT_EQ(result.notes.size(), 2U);
    EXPECT_NE(result.notes[0].find("1 aggregation node"), std::string::npos);

    EXPECT_NE(ErrorsOf(Ibnet(Edited(kIbnet, "2xHDR", "2xABC"))).find("\"2xABC\" is no width"),
              std::string::npos);
    EXPECT_NE(ErrorsOf(Ibnet(Edited(kIbnet, " 4xNDR s=1", ""))).find("has no width and speed"),
              std::string::npos);
    EXPECT_NE(ErrorsOf(Ibnet("[1]\t\"H-1\"[1]\t# 4xHDR\n")).find("net.txt:1"), std::string::npos);
}

TEST(DrawnFormats, TopologyOfARun)
{
    const TopologyResult result = ReadRunTopology(kRun, "topology.json");
    ASSERT_TRUE(result.topology) << ErrorsOf(result);
    ASSERT_EQ(result.topology->Links().size(), 2U);
    EXPECT_EQ(LinkText(*result.topology, 1), "server-1->leaf-0 12.5 Gb/s 20 ns");
    EXPECT_NE(ErrorsOf(ReadRunTopology(Edited(kRun, "\"b\": 2", "\"b\": 3"), "t")).find("/links/0"),
              std::string::npos);
    // With dimensions it is the network of these.
    TopologyRequest request;
    request.file = InFile(Edited(kRun,
                                 "\"tiers\"",
                                 "\"dimensions\": [{\"kind\": \"ring\", \"size\": 4, "
                                 "\"rate_gbps\": 2400, \"delay_us\": 0.05}], \"tiers\""));
    request.family = FamilyOfFile(request.file).name;
    const TopologyResult dims = MakeTopology(request);
    ASSERT_TRUE(dims.topology) << ErrorsOf(dims);
    EXPECT_EQ(DimensionsText(dims.topology->About().dimensions), "ring:4@2.4 Tb/s,50 ns");
    EXPECT_EQ(FamilyOfFile(request.file).portsOfHost(request), 2U);
}

TEST(DrawnFormats, DamagedFilesDoNoHarm)
{
    ExpectNoCrashOfRandomEdits(kDot, 6, 20, "{}[]\"<>-;=\\/*#", Dot);
    ExpectNoCrashOfRandomEdits(kGraphml, 6, 40, "<>/\"&;![]-?", Graphml);
    ExpectNoCrashOfRandomEdits(kIbnet, 6, 30, "[]()\"#x-\n", Ibnet);
    ExpectNoCrashOfRandomEdits(kRun, 4, 20, "{}[]\",:-", [](const std::string& text) {
        return ReadRunTopology(text, "topology.json");
    });
}

} // namespace

} // namespace topo
