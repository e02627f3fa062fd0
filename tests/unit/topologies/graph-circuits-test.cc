/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "results-of.h"
#include "topologies/graph.h"

#include <gtest/gtest.h>

namespace
{

using topo::CircuitPlan;
using Links = std::vector<uint32_t>;

/// Four racks of one host, an uplink each to o; a second switch p at the first two.
std::string
WithCircuits(const std::string& circuits)
{
    return R"({"defaults": {"rate": "100Gbps", "delay": "1us"}, "nodes": [
      {"name": "h0", "kind": "host"}, {"name": "h1", "kind": "host"},
      {"name": "h2", "kind": "host"}, {"name": "h3", "kind": "host"},
      {"name": "t0", "kind": "switch"}, {"name": "t1", "kind": "switch"},
      {"name": "t2", "kind": "switch"}, {"name": "t3", "kind": "switch"},
      {"name": "o", "kind": "circuit-switch"}, {"name": "p", "kind": "circuit-switch"}],
     "links": [
      {"from": "h0", "to": "t0"}, {"from": "h1", "to": "t1"},
      {"from": "h2", "to": "t2"}, {"from": "h3", "to": "t3"},
      {"from": "t0", "to": "o", "delay": "300ns", "set_from": {"ecn_kmin": "1MB"}},
      {"from": "o", "to": "t1", "rate": "40Gbps", "delay": "200ns"},
      {"from": "t2", "to": "o"}, {"from": "t3", "to": "o"},
      {"from": "t0", "to": "p"}, {"from": "t1", "to": "p"}],
     "circuits": )" +
           circuits + "}";
}

std::string
Errors(const std::string& circuits)
{
    return ErrorsOf(topo::ReadGraph(WithCircuits(circuits), "net.json"));
}

TEST(GraphCircuits, EachPairOfFibresIsALink)
{
    const std::string text = R"({"dark": "10us", "drain": "5us", "changes": [
        {"at": "0s", "switch": "o", "connect": [["t0", "t1"], ["o:2", "t3"]]},
        {"at": "5ms", "switch": "o", "connect": [["t0", "t2"]]},
        {"at": "7ms", "connect": [["p:0", "p:1"], ["t3", "o:0"]], "disconnect": ["t2"]}]})";
    const auto result = topo::ReadGraph(WithCircuits(text), "net.json");
    ASSERT_TRUE(result.topology) << Errors(text);
    const topo::Topology& t = *result.topology;
    EXPECT_EQ(t.Nodes().size(), 8u) << "circuit switches forward nothing";
    ASSERT_EQ(t.Links().size(), 4u + 5u); // t0-t1, t2-t3, t0-t2, p's t0-t1, t3-t0
    EXPECT_EQ(t.LinkName(4, true), "t0->t1");
    EXPECT_EQ(t.Links()[4].rate.bps, 40000000000u) << "the slower fibre";
    EXPECT_EQ(t.Links()[4].delay.ps, 500000) << "both fibres";
    EXPECT_EQ(t.LinkName(7, true), "t0->t1#1");
    EXPECT_EQ(t.LinkName(8, true), "t0->t3") << "by ports, not as written";
    const CircuitPlan& plan = *t.About().circuits;
    EXPECT_EQ(plan.switches, (std::vector<std::string>{"o", "p"}));
    EXPECT_EQ(plan.links, (Links{4, 5, 6, 7, 8}));
    ASSERT_EQ(plan.changes.size(), 3u);
    EXPECT_EQ(plan.changes[0].up, (Links{4, 5}));
    EXPECT_EQ(plan.changes[1].up, (Links{6})) << "t2 leaves t3, t0 leaves t1";
    EXPECT_EQ(plan.changes[2].up, (Links{7, 8}));
    EXPECT_EQ(plan.dark.ps, 10000000);
    EXPECT_EQ(plan.drain.ps, 5000000);
    EXPECT_EQ(plan.again, 3u);
    // Settings of a fibre are those of all its circuits: links 4, 6 and 8 begin at t0's port of o.
    Links ends;
    for (const topo::PlaceSetting& s : t.About().settings)
    {
        ends.push_back(s.at);
    }
    EXPECT_EQ(ends, (Links{8, 12, 16}));
}

TEST(GraphCircuits, APeriodBeginsWithWhatTheLastOneLeft)
{
    const std::string text = R"({"every": "300us", "until": "1ms", "changes": [
        {"at": "100us", "switch": "o", "connect": [["t0", "t1"]]},
        {"at": "200us", "switch": "o", "connect": [["t2", "t3"]]}]})";
    const auto result = topo::ReadGraph(WithCircuits(text), "net.json");
    ASSERT_TRUE(result.topology) << Errors(text);
    const CircuitPlan& plan = *result.topology->About().circuits;
    ASSERT_EQ(plan.changes.size(), 4u);
    EXPECT_EQ(plan.again, 2u);
    EXPECT_EQ(plan.changes[0].up, (Links{4})) << "t2-t3 is not there yet";
    EXPECT_EQ(plan.changes[2].up, (Links{4, 5}));
    EXPECT_EQ(plan.changes[2].at.ps, 400000000);
}

TEST(GraphCircuits, SaysWhatIsWrong)
{
    const auto refuses = [](const std::string& circuits, const std::vector<std::string>& words) {
        const std::string errors = Errors(circuits);
        for (const std::string& word : words)
        {
            EXPECT_NE(errors.find(word), std::string::npos) << circuits << ": " << errors;
        }
    };
    const auto first = [&](const std::string& change, const std::vector<std::string>& words) {
        refuses("{\"changes\": [" + change + "]}", words);
    };
    first(R"({"at": "0s", "connect": [["t0", "t2"]]})",
          {"/circuits/changes/0/connect/0/0", "t0 has 2 fibres", "o:0"});
    first(R"({"at": "0s", "connect": [["o:0", "p:1"]]})", {"o with one of p"});
    first(R"({"at": "0s", "connect": [["o:0", "o:4"]]})", {"o has 4 ports"});
    first(R"({"at": "0s", "connect": [["t2", "t9"]]})", {"/0/1", "t9 is no port"});
    first(R"({"at": "0s", "connect": [["t2", "t3"], ["t3", "o:0"]]})", {"second time"});
    first(R"({"at": "0s", "connect": [["t2"]]})", {"list of two ports"});
    first(R"({"at": "0s", "switch": "q", "connect": []})", {"no circuit switch"});
    first(R"({"at": "0s"})", {"changes nothing"});
    first(R"({"connect": [["t2", "t3"]]})", {"/circuits/changes/0/at", "missing"});
    first(R"({"at": "0s", "disconnect": ["t2"]})", {"connect nothing"});
    refuses(R"({"changes": []})", {"is empty"});
    const std::string two = R"("changes": [{"at": "0s", "connect": [["t2", "t3"]]},
                                           {"at": "9us", "disconnect": ["t2"]}])";
    refuses(R"({"dark": "5us", "drain": "5us", )" + two + "}",
            {"/circuits/changes/1", "9 us after the change before", "10 us or more"});
    refuses(R"({"every": "9us", "until": "1s", )" + two + "}",
            {"/circuits/changes/1/at", "period"});
    refuses(R"({"every": "12us", "until": "1s", "dark": "4us", )" + two + "}",
            {"/circuits/changes/0", "one period"});
    refuses(R"({"every": "20us", )" + two + "}", {"every and until"});
    refuses(R"({"every": "20us", "until": "100s", )" + two + "}", {"more than a million"});
    refuses(R"({"evry": "20us", )" + two + "}", {"did you mean"});
    // Fibres.
    const auto edited = [](const std::string& from, const std::string& to) {
        const std::string good = WithCircuits(R"({"changes": [
            {"at": "0s", "connect": [["t2", "t3"]]}]})");
        return ErrorsOf(topo::ReadGraph(Edited(good, from, to), "net.json"));
    };
    EXPECT_NE(edited("\"from\": \"t3\"", "\"from\": \"h3\"").find("is a host; allowed"),
              std::string::npos);
    EXPECT_NE(edited("\"from\": \"t3\"", "\"from\": \"p\"").find("is a circuit switch, too"),
              std::string::npos);
    EXPECT_NE(edited("\"circuits\"", "\"routes\": [], \"circuit\"").find("/circuit"),
              std::string::npos);
    EXPECT_NE(edited("{\"name\": \"o\", \"kind\": \"circuit-switch\"",
                     "{\"name\": \"o\", \"kind\": \"circuit-switch\", \"tier\": 1")
                  .find("is of switches that forward"),
              std::string::npos);
}

} // namespace
