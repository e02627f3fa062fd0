/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "results-of.h"
#include "topologies/graph.h"
#include "topologies/routes.h"

#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

namespace
{

using topo::Topology;

const std::string kTwoRacks = R"({
  "description": "two racks, a trunk of two links",
  "defaults": {"rate": "100Gbps", "delay": "1us"},
  "nodes": [
    {"name": "a", "kind": "host"},
    {"name": "left", "kind": "switch", "tier": 1},
    {"name": "b", "kind": "host"},
    {"name": "right", "kind": "switch"}
  ],
  "links": [
    {"from": "a", "to": "left"},
    {"from": "left", "to": "right", "rate": "25Gbps", "delay": "2.5us", "bit_error_rate": 1e-12, "count": 2},
    {"from": "right", "to": "b"},
    {"from": "b", "to": "left", "rate": "54.54Gb/s"}
  ]
})";

std::string
Errors(const std::string& text)
{
    return ErrorsOf(topo::ReadGraph(text, "net.json"));
}

/// The valid file with one text replaced by another.
std::string
Edited(const std::string& from, const std::string& to)
{
    return ::Edited(kTwoRacks, from, to);
}

/// Errors of that.
std::string
ErrorsOfEdited(const std::string& from, const std::string& to)
{
    return Errors(Edited(from, to));
}

TEST(Graph, Reads)
{
    const auto result = topo::ReadGraph(kTwoRacks, "net.json");
    ASSERT_TRUE(result.topology);
    const Topology& t = *result.topology;
    ASSERT_EQ(t.Nodes().size(), 4u);
    EXPECT_EQ(t.Nodes()[1].tier, 1);
    EXPECT_EQ(t.Nodes()[3].tier, 0);
    ASSERT_EQ(t.Links().size(), 5u) << "count 2 makes two";
    EXPECT_EQ(t.Links()[0].rate, rdma::Gbps(100));
    EXPECT_EQ(t.Links()[0].delay, rdma::Microseconds(1));
    EXPECT_EQ(t.Links()[2].rate, rdma::Gbps(25));
    EXPECT_EQ(t.Links()[2].delay, rdma::Nanoseconds(2500));
    EXPECT_EQ(t.Links()[2].bitErrorRate, 1e-12);
    EXPECT_EQ(t.Links()[4].rate.bps, 54540000000u);
    EXPECT_EQ(t.Endpoints().size(), 3u) << "a has one port, b two";
    const auto r = topo::ComputeRoutes(t);
    EXPECT_EQ(r.NextHops(1, t.EndpointOf(1, 0)).size, 2u) << "b's first port is behind the trunk";
    EXPECT_EQ(r.Hops(0, 1), 3u);
    EXPECT_EQ(r.Hops(0, 2), 2u);
}

TEST(Graph, EveryErrorHasItsPath)
{
    EXPECT_EQ(ErrorsOfEdited("54.54Gb/s", "54.54Gbs"),
              "net.json: /links/3/rate: \"54.54Gbs\" is not a rate such as 100Gbps, 25Gb/s, 400G "
              "or 50GBps (bytes), "
              "1kbps to 1000Tbps\n");
    EXPECT_EQ(ErrorsOfEdited("\"25Gbps\"", "25"),
              "net.json: /links/1/rate: 25 is not a rate such as 100Gbps, 25Gb/s, 400G or 50GBps "
              "(bytes), "
              "1kbps to 1000Tbps\n");
    EXPECT_EQ(ErrorsOfEdited("\"25Gbps\"", "\"0Gbps\""),
              "net.json: /links/1/rate: \"0Gbps\" is not a rate such as 100Gbps, 25Gb/s, 400G or "
              "50GBps (bytes), "
              "1kbps to 1000Tbps\n");
    EXPECT_EQ(ErrorsOfEdited("\"25Gbps\"", "\"2147483648Gbps\""),
              "net.json: /links/1/rate: \"2147483648Gbps\" is not a rate such as 100Gbps, 25Gb/s, "
              "400G or 50GBps "
              "(bytes), 1kbps to 1000Tbps\n");
    EXPECT_NE(ErrorsOfEdited("\"25Gbps\"", "\"999bps\""), "");
    EXPECT_EQ(ErrorsOfEdited("\"25Gbps\"", "\"1000Tbps\""), "");
    EXPECT_EQ(ErrorsOfEdited("2.5us", "10s"), "");
    EXPECT_EQ(ErrorsOfEdited("1e-12", "0.001"), "");
    EXPECT_NE(ErrorsOfEdited("1e-12", "0.00101"), "");
    EXPECT_EQ(ErrorsOfEdited("2.5us", "-2us"),
              "net.json: /links/1/delay: \"-2us\" is not a time such as 500ns, 1us, 2.5ms or 1s\n");
    EXPECT_EQ(ErrorsOfEdited("2.5us", "5000s"),
              "net.json: /links/1/delay: \"5000s\" is more than 10s\n");
    EXPECT_EQ(ErrorsOfEdited("1e-12", "1.0"),
              "net.json: /links/1/bit_error_rate: 1.0 is not a number from 0 to 0.001\n");
    EXPECT_EQ(ErrorsOfEdited("\"count\": 2", "\"count\": 0"),
              "net.json: /links/1/count: 0 is not a whole number from 1 to 1024\n");
    EXPECT_EQ(ErrorsOfEdited("\"count\": 2", "\"cont\": 2"),
              "net.json: /links/1/cont: unknown key (did you mean count?); allowed are from, to, "
              "rate, delay, "
              "bit_error_rate, count, set_from or set_to\n");
    EXPECT_EQ(ErrorsOfEdited("\"to\": \"right\"", "\"to\": \"rigth\""),
              "net.json: /links/1/to: \"rigth\" is not the name of a node (did you mean right?)\n");
    EXPECT_EQ(ErrorsOfEdited("\"to\": \"right\"", "\"to\": \"left\""),
              "net.json: /links/1/to: \"left\" is the node the link comes from\n");
    EXPECT_EQ(ErrorsOfEdited("\"from\": \"a\", ", ""), "net.json: /links/0/from: is missing\n");
    EXPECT_EQ(ErrorsOfEdited("\"defaults\": {\"rate\": \"100Gbps\", \"delay\": \"1us\"},", ""),
              "net.json: /links/0/rate: is missing\nnet.json: /links/0/delay: is missing\n"
              "net.json: /links/2/rate: is missing\nnet.json: /links/2/delay: is missing\n"
              "net.json: /links/3/delay: is missing\n");
    EXPECT_EQ(ErrorsOfEdited("\"b\", \"kind\"", "\"a\", \"kind\""),
              "net.json: /nodes/2/name: \"a\" is the name of an earlier node, too\n");
    EXPECT_EQ(ErrorsOfEdited("\"kind\": \"switch\"}", "\"kind\": \"Swich\"}"),
              "net.json: /nodes/3/kind: \"Swich\" is not host, switch or circuit-switch (did you "
              "mean switch?)\n");
    EXPECT_EQ(ErrorsOfEdited("\"name\": \"left\"", "\"name\": \"le,ft\""),
              "net.json: /nodes/1/name: \"le,ft\" is not a name: 1 to 64 letters, digits, '_', "
              "'.', ':' or '-'\n");
    EXPECT_EQ(ErrorsOfEdited("\"tier\": 1", "\"tier\": 1, \"tier\": 2"),
              "net.json:6:51: the key \"tier\" stands twice in one object\n");
    // What reads a name or a number from it would stop there; its escape is behind `    {"name":
    // "le`.
    EXPECT_EQ(ErrorsOfEdited("\"name\": \"left\"", "\"name\": \"le\\u0000x\""),
              "net.json:6:17: the string \"le\\u0000x\" has a NUL character; allowed: strings "
              "without\n");
    EXPECT_EQ(Errors("{}"), "net.json: /nodes: is missing\nnet.json: /links: is missing\n");
    EXPECT_EQ(Errors("{\"nodes\": {}, \"links\": []}"),
              "net.json: /nodes: an object is not a list\n");
    EXPECT_EQ(ErrorsOfEdited("\"kind\": \"host\"},", "\"kind\": \"host\",}")
                  .find("net.json:5:34: malformed JSON: syntax error while parsing object key"),
              0u);
    EXPECT_EQ(Errors("{\n}}").find("net.json:2:2: malformed JSON: "), 0u);
    EXPECT_EQ(Errors("\n\n x").find("net.json:3:2: malformed JSON: "), 0u);
    EXPECT_EQ(Errors("").find("net.json:1:1: malformed JSON: "), 0u);
    EXPECT_EQ(Errors("{\n\"a\": 1e999}").find("net.json:2:6: malformed JSON: the number '1e999'"),
              0u);
    // The 101st bracket in the object is the one too many: behind 5 characters and 100 others.
    EXPECT_EQ(Errors("{\"a\":" + std::string(102, '[') + std::string(102, ']') + "}")
                  .find("net.json:1:106: more than 100 objects and lists within each other"),
              0u);
    EXPECT_NE(Errors(std::string(200000, '[')).find("malformed JSON"), std::string::npos);
    EXPECT_NE(ErrorsOfEdited("\"tier\": 1", "\"tier\": 1e999").find("malformed JSON"),
              std::string::npos);
}

TEST(Graph, ManyErrorsStopAtTwentyOrSo)
{
    std::string text = "{\"nodes\": [";
    for (int i = 0; i < 1000; ++i)
    {
        text += "{\"name\": 3},";
    }
    text += "1], \"links\": []}";
    const auto result = topo::ReadGraph(text, "net.json");
    EXPECT_GE(result.errors.size(), 20u);
    EXPECT_LE(result.errors.size(), 25u);
}

/// A file that goes away again.
struct TemporaryFile
{
    std::string path;

    explicit TemporaryFile(const std::string& text)
    {
        char name[] = "/tmp/graph-test-XXXXXX";
        const int fd = mkstemp(name);
        close(fd);
        path = name;
        std::ofstream(path) << text;
    }

    ~TemporaryFile()
    {
        std::remove(path.c_str());
    }
};

std::string
FamilyErrors(const std::string& path, uint32_t hosts, uint32_t nics)
{
    topo::TopologyRequest r;
    r.family = "graph";
    r.file = path;
    r.hosts = hosts;
    r.nicsPerServer = nics;
    const auto result = topo::MakeTopology(r);
    EXPECT_NE(result.topology.has_value(), !result.errors.empty());
    return result.errors.empty() ? "" : result.errors[0].Sentence();
}

TEST(Graph, Family)
{
    const TemporaryFile file(kTwoRacks);
    EXPECT_EQ(FamilyErrors(file.path, 2, 1), "");
    EXPECT_EQ(FamilyErrors(file.path, 0, 1), "");
    EXPECT_EQ(FamilyErrors(file.path, 3, 1),
              "hosts: 3 servers are needed, but \"" + file.path + "\" has 2 hosts");
    EXPECT_EQ(FamilyErrors(file.path, 2, 2),
              "nicsPerServer: 2 is more than the 1 link of host a in \"" + file.path +
                  "\", which a server takes its NICs from; allowed: at most 1");
    EXPECT_EQ(FamilyErrors("/no/such/file", 2, 1),
              "file: \"/no/such/file\" cannot be read: No such file or directory");
    EXPECT_EQ(FamilyErrors("", 2, 1), "file: the path of a file is missing");
    EXPECT_NE(FamilyErrors("/", 2, 1), "");

    const TemporaryFile lonely(Edited("{\"from\": \"a\", \"to\": \"left\"},", ""));
    EXPECT_EQ(FamilyErrors(lonely.path, 0, 1), "file: \"" + lonely.path + "\" host a has no link");
    const TemporaryFile apart(R"({"defaults": {"rate": "1Gbps", "delay": "0"},
        "nodes": [{"name": "a", "kind": "host"}, {"name": "b", "kind": "host"},
                  {"name": "s", "kind": "switch"}, {"name": "t", "kind": "switch"}],
        "links": [{"from": "a", "to": "s"}, {"from": "b", "to": "t"}]})");
    EXPECT_EQ(FamilyErrors(apart.path, 0, 1), "") << "whether they must talk is not known here";
    const TemporaryFile direct(
        R"({"nodes": [{"name": "a", "kind": "host"}, {"name": "b", "kind": "host"}],
        "links": [{"from": "a", "to": "b", "rate": "1Gbps", "delay": "0"}]})");
    EXPECT_EQ(FamilyErrors(direct.path, 2, 1), "") << "no switch at all";
}

TEST(Graph, RandomEditsNeverCrash)
{
    ExpectNoCrashOfRandomEdits(kTwoRacks, 6, 20, "0123456789{}[]\",:.e-", [](const auto& text) {
        return topo::ReadGraph(text, "net.json");
    });
}

TEST(Graph, TiersHaveNamesAndPlacesSettings)
{
    std::string text = Edited("\"tier\": 1}", "\"tier\": \"leaf\", \"set\": {\"ecn\": false}}");
    text.replace(text.find("\"right\", \"kind\": \"switch\""),
                 25,
                 "\"right\", \"kind\": \"switch\", \"tier\": \"top\"");
    text.replace(text.find("\"count\": 2"), 10, "\"count\": 2, \"set_to\": {\"x\": 4}");
    const auto result = topo::ReadGraph(text, "net.json");
    ASSERT_TRUE(result.topology) << Errors(text);
    const Topology& t = *result.topology;
    // Both have a link to a host: in the order of the file.
    EXPECT_EQ(t.About().tiers, (std::vector<std::string>{"leaf", "top"}));
    EXPECT_EQ(t.Nodes()[1].tier, 1);
    EXPECT_EQ(t.Nodes()[3].tier, 2);
    const auto& settings = t.About().settings;
    ASSERT_EQ(settings.size(), 3u); // one, and one for each of two links
    EXPECT_EQ(settings[0].where, "net.json: /nodes/1/set/ecn");
    EXPECT_EQ(settings[0].value, "false");
    EXPECT_FALSE(settings[0].ofEnd);
    EXPECT_EQ(settings[0].at, 1u);
    EXPECT_EQ(settings[2].where, "net.json: /links/1/set_to/x");
    EXPECT_TRUE(settings[2].ofEnd);
    EXPECT_EQ(settings[2].at, 2 * 2 + 1u);
    EXPECT_NE(Errors(Edited("\"name\": \"right\", \"kind\": \"switch\"",
                            "\"name\": \"right\", \"kind\": \"switch\", \"tier\": \"x\""))
                  .find("/nodes/3/tier"),
              std::string::npos);
    // A switch without a tier behind such a mixture has nothing to be blamed for.
    EXPECT_NE(Errors(R"({"nodes": [{"name": "s", "kind": "switch", "tier": "x"},
                                   {"name": "t", "kind": "switch", "tier": 2},
                                   {"name": "u", "kind": "switch"}], "links": []})")
                  .find("/nodes/1/tier"),
              std::string::npos);
    for (const char* taken : {"all", "hosts"})
    {
        EXPECT_NE(Errors(Edited("\"tier\": 1", std::string("\"tier\": \"") + taken + "\""))
                      .find("is no name for a tier"),
                  std::string::npos);
    }
    EXPECT_NE(Errors(Edited("\"tier\": 1", "\"tier\": 1, \"set\": 1")).find("/nodes/1/set"),
              std::string::npos);
    EXPECT_NE(Errors(Edited("\"tier\": 1", "\"set\": {\"a\": []}")).find("/nodes/1/set/a"),
              std::string::npos);
}

// a and b on leaf s, c on leaf t; spines u and v.
std::string
WithRoutes(const std::string& routes)
{
    return R"({"defaults": {"rate": "100Gbps", "delay": "1us"},
        "nodes": [{"name": "a", "kind": "host"}, {"name": "b", "kind": "host"},
                  {"name": "c", "kind": "host"}, {"name": "s", "kind": "switch"},
                  {"name": "t", "kind": "switch"}, {"name": "u", "kind": "switch"},
                  {"name": "v", "kind": "switch"}],
        "links": [{"from": "a", "to": "s"}, {"from": "b", "to": "s"}, {"from": "c", "to": "t"},
                  {"from": "s", "to": "u"}, {"from": "s", "to": "v"}, {"from": "u", "to": "t"},
                  {"from": "v", "to": "t"}],
        "routes": )" +
           routes + "}";
}

TEST(Graph, RoutesAreNextHopsOfOnesOwn)
{
    const auto hops = [](const Topology& t, const std::string& at, uint32_t endpoint) {
        std::string names;
        const rdma::EcmpRoutes routes = topo::ComputeRoutes(t);
        for (const uint16_t port : routes.NextHops(*t.FindNode(at), endpoint))
        {
            names += t.Nodes()[t.Peer(*t.FindNode(at), port)].name;
        }
        return names;
    };
    const auto plain = topo::ReadGraph(WithRoutes("[]"), "net.json");
    ASSERT_TRUE(plain.topology) << Errors(WithRoutes("[]"));
    EXPECT_EQ(hops(*plain.topology, "s", 2), "uv");
    const std::string one = R"([{"at": "s", "to": "c", "via": ["v"]},
                                {"at": "t", "to": ["a", "b:0"], "via": "u"}])";
    const auto result = topo::ReadGraph(WithRoutes(one), "net.json");
    ASSERT_TRUE(result.topology) << Errors(WithRoutes(one));
    const Topology& t = *result.topology;
    ASSERT_EQ(t.About().routes.size(), 3u);
    EXPECT_EQ(hops(t, "s", 2), "v");
    EXPECT_EQ(hops(t, "t", 0), "u");
    EXPECT_EQ(hops(t, "t", 1), "u");
    EXPECT_EQ(hops(t, "u", 2), "t"); // as the shortest path has it
    // A longer way: s -> u -> t for what hangs on s itself would go in a circle.
    const auto refuses = [](const std::string& routes, const std::vector<std::string>& words) {
        const std::string errors = Errors(WithRoutes(routes));
        for (const std::string& word : words)
        {
            EXPECT_NE(errors.find(word), std::string::npos) << routes << ": " << errors;
        }
    };
    refuses(R"([{"at": "s", "to": "a", "via": "u"}])",
            {"/routes/0", "frames for a", "s -> u -> s", "in a circle"});
    refuses(R"([{"at": "s", "to": "c", "via": "b"}])", {"/routes/0", "end at host b"});
    refuses(R"([{"at": "a", "to": "c", "via": "s"}])", {"/routes/0/at", "do not forward"});
    refuses(R"([{"at": "s", "to": "x", "via": "u"}])", {"/routes/0/to", "no host"});
    refuses(R"([{"at": "s", "to": "c:1", "via": "u"}])", {"/routes/0/to", "no host"});
    refuses(R"([{"at": "s", "to": "c", "via": "t"}])", {"/routes/0/via", "has no link"});
    refuses(R"([{"at": "s", "to": "c", "via": ["u", "u"]}])", {"/routes/0/via", "twice"});
    refuses(R"([{"at": "s", "to": ["c", "c"], "via": "u"}])", {"/routes/0/to", "already"});
    refuses(R"([{"at": "s", "to": [], "via": "u"}])", {"/routes/0/to", "names nothing"});
    refuses(R"([{"at": "s", "to": "c", "via": 3}])", {"/routes/0/via", "not a text"});
    refuses(R"([{"at": "s", "to": "c"}])", {"/routes/0/via", "missing"});
}

} // namespace
