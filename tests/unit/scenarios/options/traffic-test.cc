/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Patterns, randomness, and traffic's scenarios from them.
 */
#include "scenarios/dry-run/estimate.h"
#include "scenarios/dry-run/plan-text.h"
#include "scenarios/network/validate.h"
#include "scenarios/startup/parse.h"
#include "scenarios/traffic/patterns.h"
#include "scenarios/traffic/random.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <set>

using namespace scenario;

namespace
{

ParseResult<TrafficScenario>
Traffic(std::vector<std::string> args)
{
    args.insert(args.begin(), {"traffic", "--dry-run"});
    std::vector<const char*> argv;
    for (const auto& a : args)
    {
        argv.push_back(a.c_str());
    }
    return ParseAs<TrafficScenario>(static_cast<int>(argv.size()), argv.data());
}

std::string
TrafficError(const std::vector<std::string>& args)
{
    const auto result = Traffic(args);
    EXPECT_FALSE(result.scenario);
    EXPECT_EQ(result.errors.size(), 1u);
    return result.errors.empty() ? "" : result.errors[0].Text();
}

} // namespace

TEST(TrafficPatterns, PermutationSendsAndReceivesOnce)
{
    for (uint32_t n = 2; n < 40; ++n)
    {
        for (uint32_t offset = 1; offset < n; ++offset)
        {
            std::set<uint32_t> from;
            std::set<uint32_t> to;
            for (const auto& [s, d] : Permutation(n, offset))
            {
                EXPECT_NE(s, d);
                EXPECT_EQ(d, (s + offset) % n);
                from.insert(s);
                to.insert(d);
            }
            EXPECT_EQ(from.size(), n);
            EXPECT_EQ(to.size(), n);
        }
    }
}

TEST(TrafficPatterns, RandomPermutationHasNoFixedPointAndFollowsTheSeed)
{
    for (uint32_t n = 2; n < 40; ++n)
    {
        for (uint64_t seed = 0; seed < 20; ++seed)
        {
            std::set<uint32_t> to;
            for (const auto& [s, d] : RandomPermutation(n, seed))
            {
                EXPECT_NE(s, d);
                to.insert(d);
            }
            EXPECT_EQ(to.size(), n);
            EXPECT_EQ(RandomPermutation(n, seed), RandomPermutation(n, seed));
        }
    }
    EXPECT_NE(RandomPermutation(30, 1), RandomPermutation(30, 2));
}

TEST(TrafficPatterns, IncastAndAllToAll)
{
    const auto incast = Incast(10, 4, 8);
    EXPECT_EQ(incast, (std::vector<HostPair>{{9, 8}, {0, 8}, {1, 8}, {2, 8}}));
    std::set<HostPair> pairs;
    for (const auto& p : AllToAll(7))
    {
        EXPECT_NE(p.first, p.second);
        EXPECT_TRUE(pairs.insert(p).second);
    }
    EXPECT_EQ(pairs.size(), 42u);
}

TEST(TrafficPatterns, StartsAscendWithinTheJitter)
{
    for (const auto s : StartTimes(5, rdma::Duration(0), 1))
    {
        EXPECT_EQ(s.ps, 0);
    }
    const auto starts = StartTimes(10000, rdma::Microseconds(10), 1);
    EXPECT_TRUE(std::is_sorted(starts.begin(), starts.end()));
    EXPECT_GE(starts.front().ps, 0);
    EXPECT_LT(starts.back().ps, 10000000);
    double mean = 0;
    for (const auto s : starts)
    {
        mean += static_cast<double>(s.ps) / 10000;
    }
    EXPECT_NEAR(mean, 5e6, 1e5); // uniform: 5e6, standard error 2.9e4
}

TEST(TrafficRandom, NumbersAreFixedForever)
{
    // The engine's 10,000th draw from its default seed is in the C++ standard ([rand.predef]); ours
    // adds plain arithmetic.
    Random random(1, 0);
    std::vector<uint64_t> draws;
    for (int i = 0; i < 4; ++i)
    {
        draws.push_back(random.Below(1000));
    }
    std::mt19937_64 engine(0x9E3779B97F4A7C15ULL);
    for (const uint64_t d : draws)
    {
        EXPECT_EQ(d, engine() % 1000);
    }
    std::vector<int> count(7);
    for (int i = 0; i < 70000; ++i)
    {
        ++count[random.Below(7)];
    }
    for (const int c : count)
    {
        EXPECT_NEAR(c, 10000, 400); // four standard deviations
    }
}

TEST(TrafficScenario, TheRunThatSpeedIsMeasuredWith)
{
    const auto result = Traffic({"--topology=fat-tree",
                                 "--k=8",
                                 "--pattern=permutation",
                                 "--offset=16",
                                 "--bytes=40MB",
                                 "--ack-every=1"});
    ASSERT_TRUE(result.scenario);
    const auto& s = *result.scenario;
    EXPECT_EQ(s.flows.size(), 128u);
    EXPECT_EQ(s.flows[120].src, 120u);
    EXPECT_EQ(s.flows[120].dst, 8u);
    EXPECT_EQ(s.flows[120].bytes, 40000000u);
    EXPECT_EQ(s.topologyName, "fat-tree k=8");
    EXPECT_EQ(s.fabric.mtu, 4096u);
    EXPECT_EQ(s.fabric.nicRate, rdma::Gbps(100));
    const Estimate e = EstimateRun(s);
    // 9,766 packets a flow, as many ACKs, 6 links between pods.
    EXPECT_DOUBLE_EQ(e.dataPackets, 128.0 * 9766);
    EXPECT_DOUBLE_EQ(e.ackPackets, 128.0 * 9766);
    EXPECT_DOUBLE_EQ(e.frameHops, 128.0 * 9766 * 2 * 6);
    EXPECT_DOUBLE_EQ(e.meanHops, 6);
    // 40 MB and 82 B a packet at 100 Gb/s.
    EXPECT_NEAR(e.busiestPortSeconds, (40e6 + 9766 * 82) * 8 / 100e9, 1e-9);
    const std::string plan = PlanText(s);
    EXPECT_NE(plan.find("128 hosts, 32 + 32 + 16 switches, 384 links"), std::string::npos) << plan;
    EXPECT_NE(plan.find("15 million"), std::string::npos) << plan;
    EXPECT_NE(plan.find("assumed"), std::string::npos) << plan;
}

TEST(TrafficScenario, DefaultsAndWhatFollowsFromOthers)
{
    EXPECT_EQ(Traffic({}).scenario->flows.size(), 128u);
    EXPECT_EQ(Traffic({"--k=4"}).scenario->flows[0].dst, 4u); // one pod
    EXPECT_EQ(Traffic({"--hosts=20"}).scenario->topologyName,
              "fat-tree k=6"); // the smallest that fits
    EXPECT_EQ(Traffic({"--hosts=20"}).scenario->flows[0].dst, 9u);
    EXPECT_EQ(Traffic({"--topology=single-switch"}).scenario->flows.size(),
              16u); // to the other half
    EXPECT_EQ(Traffic({"--topology=single-switch"}).scenario->flows[0].dst, 8u);
    EXPECT_EQ(Traffic({"--pattern=incast", "--topology=single-switch"}).scenario->flows.size(),
              15u);
    const auto sizes = Traffic({"--bytes=1MB,64KiB", "--topology=single-switch"});
    EXPECT_EQ(sizes.scenario->flows[0].bytes, 1000000u);
    EXPECT_EQ(sizes.scenario->flows[1].bytes, 65536u);
    EXPECT_EQ(sizes.scenario->flows[2].bytes, 1000000u);
    const auto jitter = Traffic({"--start-jitter=10us", "--priority=5"});
    EXPECT_GT(jitter.scenario->flows.back().start.ps, 0);
    EXPECT_EQ(jitter.scenario->flows.back().priority, 5);
}

TEST(TrafficScenario, MistakesAreOneErrorEach)
{
    EXPECT_EQ(TrafficError({"--offset=128"}), "--offset=128: allowed: 1 to 127, for 128 hosts");
    EXPECT_EQ(TrafficError({"--offset=0"}), "--offset=0: allowed: a whole number, 1 to 4294967295");
    EXPECT_EQ(TrafficError({"--pattern=incast", "--fan-in=128"}),
              "--fan-in=128: allowed: 1 to 127, the other hosts of the network");
    EXPECT_EQ(TrafficError({"--pattern=incast", "--target=128"}),
              "--target=128: allowed: 0 to 127");
    EXPECT_EQ(
        TrafficError({"--pattern=incast", "--offset=3"}),
        "--offset=3: cannot be combined with --pattern=incast. It needs --pattern=permutation.");
    EXPECT_EQ(TrafficError({"--target=3"}),
              "--target=3: needs --pattern=incast. This run has --pattern=permutation.");
    EXPECT_EQ(TrafficError({"--pattern=permuttion"}),
              "--pattern=permuttion: unknown pattern; allowed: permutation, random-permutation, "
              "incast, all-to-all, poisson, on-off; did you mean 'permutation'?");
    EXPECT_EQ(TrafficError({"--bytes=4MM"}),
              "--bytes=4MM: allowed: a size in whole bytes such as 4096, 40MB (10^6), 25MiB (2^20) "
              "or 1M, 1m (2^20, as nccl-tests), from 1 to 10^15 bytes");
    EXPECT_EQ(TrafficError({"--bytes=1MB,0"}),
              "--bytes=0: allowed: a size in whole bytes such as 4096, 40MB (10^6), 25MiB (2^20) "
              "or 1M, 1m (2^20, as nccl-tests), from 1 to 10^15 bytes");
    EXPECT_EQ(TrafficError({"--flows=/nowhere/flow.txt"}),
              "--flows=/nowhere/flow.txt: cannot be read: No such file or directory");
    EXPECT_EQ(TrafficError({"--topology=/nowhere/fat.txt"}),
              "--topology=/nowhere/fat.txt: cannot be read: No such file or directory");
    EXPECT_EQ(
        TrafficError({"--flows=/nowhere/flow.txt", "--pattern=incast"}),
        "--pattern=incast: cannot be combined with --flows=/nowhere/flow.txt. Use one of them.");
    EXPECT_EQ(TrafficError({"--ecn-kmin=2MB"}),
              "--ecn-kmin=2MB: allowed: at most ecn-kmax, 1600kB");
    EXPECT_EQ(TrafficError({"--window=100"}),
              "--window=100: allowed: 0 (unlimited), or at least one packet of 4096 B");
    EXPECT_EQ(TrafficError({"--pcap=server-200"})
                  .find("--pcap=server-200: is no node, port or link of this network"),
              0u);
}

TEST(TrafficScenario, CapturesNameNodesPortsAndLinks)
{
    const auto result =
        Traffic({"--k=4", "--pcap=server-3,edge-0-1:2,edge-0-1-agg-0-0,server-3->edge-0-1"});
    ASSERT_TRUE(result.scenario) << result.errors[0].Text();
    EXPECT_EQ(result.scenario->run.pcap.size(), 4u);
    EXPECT_EQ(TrafficError({"--k=4", "--pcap=edge-0-1:4"}),
              "--pcap=edge-0-1:4: has no such port; allowed: edge-0-1:0 to :3");
    EXPECT_EQ(TrafficError({"--k=4", "--pcap=server-0-server-1"}),
              "--pcap=server-0-server-1: server-0 and server-1 are no neighbours: there is no link "
              "server-0->server-1");
}

TEST(TrafficScenario, CaptureNamesAreThoseThatTheCaptureKnows)
{
    // A number that is not spelt as ports are is no port's name, wherever it stands.
    for (const char* port : {"01", "+1", "00", "", "0x1", "4"})
    {
        const std::string name = std::string("edge-0-1:") + port;
        EXPECT_EQ(TrafficError({"--k=4", "--pcap=" + name}),
                  "--pcap=" + name + ": has no such port; allowed: edge-0-1:0 to :3");
    }
    EXPECT_EQ(TrafficError({"--k=4", "--pcap=server-0:00"}),
              "--pcap=server-0:00: has no such port; allowed: server-0:0");
    EXPECT_EQ(TrafficError({"--k=4", "--pcap=all", "--pcap-flow=server-0:00->server-1"}),
              "--pcap-flow=server-0:00->server-1: 'server-0:00' is no port; allowed: server-0:0");
    EXPECT_EQ(TrafficError({"--k=4", "--pcap=server-0->server-1"}),
              "--pcap=server-0->server-1: server-0 and server-1 are no neighbours: there is no "
              "link server-0->server-1");
}

TEST(TrafficScenario, NothingIsSelectedTwiceOrInVain)
{
    EXPECT_EQ(TrafficError({"--k=4", "--pcap=server-3,all"})
                  .find("--pcap=all: is every port, so nothing can stand beside it"),
              0u);
    EXPECT_EQ(TrafficError({"--k=4", "--trace-qps=all,server-1"})
                  .find("--trace-qps=all: is every queue pair, so nothing"),
              0u);
    EXPECT_EQ(TrafficError({"--k=4", "--trace-qps=server-1->*,*->*"})
                  .find("--trace-qps=*->*: is every queue pair"),
              0u);
    EXPECT_EQ(TrafficError({"--k=4", "--pcap=edge-0-1-agg-0-0,edge-0-1->agg-0-0"}),
              "--pcap=edge-0-1->agg-0-0: means the same as edge-0-1-agg-0-0; allowed: each node, "
              "port and link once");
    EXPECT_EQ(TrafficError(
                  {"--k=4", "--pcap=all", "--pcap-flow=server-1->server-0,server-1:0->server-0"}),
              "--pcap-flow=server-1:0->server-0: means the same as server-1->server-0; allowed: "
              "each flow once");
    EXPECT_EQ(TrafficError({"--k=4", "--trace-qps=server-1,server-1->*"}),
              "--trace-qps=server-1->*: means the same as server-1; allowed: each once");
    for (const char* option : {"--pcap", "--pcap-flow", "--trace-qps"})
    {
        const std::string one = std::string(option) == "--pcap" ? "server-1" : "server-1->server-0";
        std::vector<std::string> arguments{"--k=4", option + ("=" + one) + "," + one};
        if (std::string(option) == "--pcap-flow")
        {
            arguments.push_back("--pcap=all");
        }
        EXPECT_NE(TrafficError(arguments).find("names " + one + " twice"), std::string::npos)
            << option;
    }
    EXPECT_EQ(
        TrafficError({"--k=4", "--pcap=all", "--pcap-flow=server-1->server-1"}),
        "--pcap-flow=server-1->server-1: is from a host to itself; allowed: SRC->DST of two hosts");
    EXPECT_EQ(
        TrafficError({"--k=4", "--trace-qps=server-1->server-1"}),
        "--trace-qps=server-1->server-1: is from a host to itself; allowed: SRC->DST of two hosts");
}

TEST(TrafficScenario, ANameThatMayMeanTwoThingsIsRefused)
{
    const std::string file = testing::TempDir() + "ambiguous.json";
    std::ofstream(file)
        << R"({"defaults": {"rate": "100Gbps", "delay": "1us"}, "nodes": [{"name": "a", "kind": "host"},
        {"name": "a:0", "kind": "host"}, {"name": "a-s", "kind": "host"}, {"name": "s", "kind": "switch"}],
        "links": [{"from": "a", "to": "s"}, {"from": "a:0", "to": "s"}, {"from": "a-s", "to": "s"}]})";
    const std::string net = "--topology=" + file;
    EXPECT_EQ(TrafficError({net, "--pcap=a:0"})
                  .find("--pcap=a:0: may mean node a:0 or port 0 of a; allowed: "),
              0u);
    EXPECT_EQ(TrafficError({net, "--pcap=a-s"})
                  .find("--pcap=a-s: may mean node a-s or the link from a to s; allowed: "),
              0u);
    EXPECT_EQ(TrafficError({net, "--pcap=all", "--pcap-flow=a:0->a-s"})
                  .find("--pcap-flow=a:0->a-s: 'a:0' may mean node a:0 or port 0 of a; "),
              0u);
    EXPECT_EQ(
        TrafficError({net, "--trace-qps=a->a-s"}).find("--trace-qps=a->a-s: 'a' may mean hosts "),
        0u);
    for (const char* right : {"a", "a:0:0", "a->s", "a-s:0", "a-s->s"})
    {
        EXPECT_TRUE(Traffic({net, std::string("--pcap=") + right}).scenario) << right;
    }
}

// Whichever order a pattern lists its flows in, a host sends, and is sent to, by all its ports
// alike: with n flows and p ports each port has n / p, rounded either way, or one more or less (the
// port that is best for one side need not be for the other). Turns by numbers of flows gave all
// flows of a host one of two planes where the number of hosts was even.
TEST(TrafficScenario, PortsOfAHostHaveAsManyFlows)
{
    for (const std::string& pattern : {"all-to-all", "incast", "random-permutation"})
    {
        for (const char* network : {"--topology=dual-plane", "--topology=rail-optimized"})
        {
            for (const uint32_t hosts : {5, 8, 12, 13, 26, 27})
            {
                std::vector<std::string> options{
                    network,
                    "--pattern=" + pattern,
                    "--bytes=1kB",
                    "--hosts-per-" + std::string(network[11] == 'd' ? "leaf=7" : "rail=7"),
                    "--hosts=" + std::to_string(hosts)};
                if (pattern == "incast")
                {
                    options.push_back("--fan-in=" + std::to_string(hosts - 1));
                }
                const auto result = Traffic(options);
                ASSERT_TRUE(result.scenario) << result.errors[0].Text();
                const topo::Topology& topology = result.scenario->topology;
                std::map<topo::NodeId, std::vector<uint32_t>> sent;
                std::map<topo::NodeId, std::vector<uint32_t>> received;
                for (const auto& flow : result.scenario->flows)
                {
                    const auto count = [&](auto& counts, topo::EndpointId end) {
                        const topo::Endpoint& at = topology.Endpoints()[end];
                        counts[at.host].resize(topology.Nodes()[at.host].ports.size());
                        ++counts[at.host][at.port];
                    };
                    count(sent, flow.src);
                    count(received, flow.dst);
                }
                for (const auto* side : {&sent, &received})
                {
                    for (const auto& [host, counts] : *side)
                    {
                        const auto [least, most] =
                            std::minmax_element(counts.begin(), counts.end());
                        EXPECT_LE(*most - *least, 2U)
                            << pattern << " " << network << " of " << hosts << " at "
                            << topology.Nodes()[host].name;
                    }
                }
            }
        }
    }
}

TEST(TrafficScenario, ARunThatEndsBeforeItMeasuresIsRefused)
{
    const std::vector<std::string> load{"--k=4",
                                        "--pattern=poisson",
                                        "--duration=100us",
                                        "--warm-up=200us"};
    const auto error = [&](const std::string& more) {
        auto all = load;
        all.push_back(more);
        return TrafficError(all);
    };
    EXPECT_EQ(error("--stop-after=150us")
                  .find("--stop-after=150us: ends the run within --warm-up=200us, so nothing would "
                        "be measured"),
              0u);
    EXPECT_EQ(
        error("--stop-after=200us").find("--stop-after=200us: ends the run within --warm-up=200us"),
        0u)
        << "the end itself is too late";
    auto later = load;
    later.push_back("--stop-after=1ms");
    EXPECT_TRUE(Traffic(later).scenario);
    EXPECT_TRUE(Traffic({"--k=4", "--stop-after=1ns"}).scenario) << "flows start at 0";
}

TEST(TrafficScenario, ThePartsOfATimeThatIsNotTheReceiversAreRefused)
{
    EXPECT_EQ(TrafficError({"--k=4", "--completion=sender", "--attribution=1"})
                  .find("--attribution=1: takes a flow apart"),
              0u);
    EXPECT_TRUE(Traffic({"--k=4", "--completion=sender"}).scenario);
    setenv("OMPI_COMM_WORLD_SIZE", "3", 1);
    setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    EXPECT_EQ(TrafficError({"--k=4", "--attribution=1"}),
              "--attribution=1: a frame's journey does not cross processes; allowed: 0, or without "
              "mpirun -np 3");
    EXPECT_TRUE(Traffic({"--k=4"}).scenario);
    EXPECT_TRUE(Traffic({"--k=4", "--attribution=0"}).scenario);
    unsetenv("OMPI_COMM_WORLD_SIZE");
    unsetenv("OMPI_COMM_WORLD_RANK");
}

TEST(TrafficScenario, HpccFilesTogether)
{
    // Hosts 0 and 3, switches 1 and 2: ids of the file are not those of hosts.
    const std::string folder = testing::TempDir();
    std::ofstream(folder + "t.topo")
        << "4 2 3\n1 2\n0 1 25Gbps 1000ns 0\n1 2 100Gbps 0.001ms 0\n3 2 25Gbps 1000ns 0";
    std::ofstream(folder + "f.flow")
        << "2\n0 3 3 100 1000 2\n3 0 4 100 2000 2.5\n\nFirst line: # of flows\n";
    const auto result =
        Traffic({"--topology=" + folder + "t.topo", "--flows=" + folder + "f.flow"});
    ASSERT_TRUE(result.scenario) << result.errors[0].Text();
    const auto& s = *result.scenario;
    ASSERT_EQ(s.flows.size(), 2u);
    EXPECT_EQ(s.flows[0].src, 0u);
    EXPECT_EQ(s.flows[0].dst, 1u); // endpoint of node 3, the second host
    EXPECT_EQ(s.flows[1].start.ps, 2500000000000);
    EXPECT_EQ(s.flows[1].priority, 4);
    EXPECT_EQ(s.fabric.nicRate, rdma::Gbps(25));
    EXPECT_EQ(EstimateRun(s).meanHops, 3);

    std::ofstream(folder + "bad.flow") << "1\n0 1 3 100 1000 2\n";
    EXPECT_EQ(TrafficError({"--topology=" + folder + "t.topo", "--flows=" + folder + "bad.flow"}),
              folder +
                  "bad.flow:2: dst 1 is not a host: it is a switch; read as HPCC's flow format");
    EXPECT_EQ(TrafficError({"--topology=" + folder + "t.topo", "--nic=100GbE"}),
              "--nic=100GbE: cannot be combined with --topology=" + folder +
                  "t.topo. It needs a topology by name: a file has the rate and delay of each "
                  "link.");
    // On any other network the same flow file counts hosts.
    const auto counted = Traffic({"--k=4", "--flows=" + folder + "f.flow"});
    ASSERT_TRUE(counted.scenario);
    EXPECT_EQ(counted.scenario->flows[0].dst, 3u);

    std::ofstream(folder + "g.json") << R"({"defaults": {"rate": "40Gbps", "delay": "1us"},
        "nodes": [{"name": "a", "kind": "host"}, {"name": "s", "kind": "switch"}, {"name": "b", "kind": "host"}],
        "links": [{"from": "a", "to": "s"}, {"from": "s", "to": "b"}]})";
    const auto graph = Traffic({"--topology=" + folder + "g.json", "--bytes=1kB"});
    ASSERT_TRUE(graph.scenario) << graph.errors[0].Text();
    EXPECT_EQ(graph.scenario->flows.size(), 2u);
    EXPECT_EQ(graph.scenario->fabric.nicRate, rdma::Gbps(40));
}

TEST(TrafficScenario, MatricesOfHtsim)
{
    const std::string folder = testing::TempDir();
    const std::string file = folder + "m.cm";
    std::ofstream(file) << "Nodes 5\nConnections 3\n3->0 id 1 start 2000 size 9\n"
                           "1->2 id 2 start 0 size 8 prio 1\n4->2 start 1000 size 7\n";
    const auto result = Traffic({"--k=4", "--flows=" + file});
    ASSERT_TRUE(result.scenario) << result.errors[0].Text();
    const auto& flows = result.scenario->flows;
    ASSERT_EQ(flows.size(), 3u);
    // By start.
    EXPECT_EQ(flows[0].src, 1u);
    EXPECT_EQ(flows[1].start.ps, 1000);
    EXPECT_EQ(flows[2].dst, 0u);
    EXPECT_EQ(flows[2].bytes, 9u);
    EXPECT_TRUE(std::any_of(result.notes.begin(), result.notes.end(), [](const auto& note) {
        return note.find("prio") != std::string::npos;
    }));
    std::ofstream(file) << "Nodes 17\nConnections 1\n3->0 id 1 start 2000 size 9\n";
    EXPECT_NE(TrafficError({"--k=4", "--flows=" + file}).find("has 17 nodes; allowed: at most"),
              std::string::npos);
    std::ofstream(file) << "Nodes 5\nConnections 1\nTriggers 1\n3->0 id 1 trigger 1 size 9\n"
                           "trigger id 1 oneshot\n";
    EXPECT_NE(TrafficError({"--k=4", "--flows=" + file}).find("m.cm:4: a flow that waits"),
              std::string::npos);
}

TEST(TrafficScenario, ConfigurationAsRunReadsBack)
{
    const std::vector<std::vector<std::string>> commands = {
        {},
        {"--pattern=random-permutation", "--seed=9", "--hosts=20", "--start-jitter=3us"},
        {"--pattern=incast",
         "--topology=single-switch",
         "--hosts=65",
         "--fan-in=64",
         "--bytes=1MB,2kB"},
        {"--pattern=all-to-all",
         "--topology=leaf-spine",
         "--oversubscription=2",
         "--cc=none",
         "--no-pfc",
         "--pcap=all"},
        {"--cc-preset=sigcomm15", "--ns3::RdmaSwitch::X=3", "--fabric-rate=400Gbps"},
    };
    for (const auto& command : commands)
    {
        const auto first = Traffic(command);
        ASSERT_TRUE(first.scenario) << first.errors[0].Text();
        const auto second = ValidateTraffic(
            ReadScenarioText(TrafficOptionTable(), first.scenario->run.asRun.dump(), "again.json"));
        ASSERT_TRUE(second.scenario) << second.errors[0].Text();
        EXPECT_EQ(first.scenario->run.asRun, second.scenario->run.asRun);
        ASSERT_EQ(first.scenario->flows.size(), second.scenario->flows.size());
        for (size_t i = 0; i < first.scenario->flows.size(); ++i)
        {
            EXPECT_EQ(first.scenario->flows[i].src, second.scenario->flows[i].src);
            EXPECT_EQ(first.scenario->flows[i].dst, second.scenario->flows[i].dst);
            EXPECT_EQ(first.scenario->flows[i].bytes, second.scenario->flows[i].bytes);
            EXPECT_EQ(first.scenario->flows[i].start, second.scenario->flows[i].start);
        }
    }
}
