/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Places of a network, and which setting of a place wins.
 */
#include "scenarios/network/places-as-run.h"
#include "scenarios/network/places.h"
#include "scenarios/network/switch-values.h"
#include "scenarios/startup/parse.h"
#include "topologies/family.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <unistd.h>

using namespace scenario;

namespace
{

ParseResult<TrafficScenario>
Read(std::vector<std::string> args)
{
    args.insert(args.begin(), {"traffic", "--dry-run", "--topology=fat-tree", "--k=4"});
    std::vector<const char*> argv;
    for (const auto& a : args)
    {
        argv.push_back(a.c_str());
    }
    return ParseAs<TrafficScenario>(static_cast<int>(argv.size()), argv.data());
}

std::string
Errors(const ParseResult<TrafficScenario>& result)
{
    std::string all;
    for (const auto& e : result.errors)
    {
        all += (all.empty() ? "" : "\n") + e.Text();
    }
    return all;
}

topo::Topology
FatTree()
{
    topo::TopologyRequest request;
    request.family = "fat-tree";
    request.parameters.SetCount("k", 4);
    return *topo::MakeTopology(request).topology;
}

/// kmin of a switch as a run has it.
uint64_t
KminOf(const TrafficScenario& s, const std::string& name)
{
    return SwitchesOf(s.fabric, s.topology).Of(*s.topology.FindNode(name)).kmin;
}

/// A scenario file with this text under /fabric/set.
class ScenarioFile
{
  public:
    explicit ScenarioFile(const std::string& set)
        : m_path("/tmp/places-test-" + std::to_string(::getpid()) + ".json")
    {
        std::ofstream(m_path) << "{\"fabric\": {\"set\": " << set << "}}";
    }

    ~ScenarioFile()
    {
        ::unlink(m_path.c_str());
    }

    std::string Argument() const
    {
        return "--scenario=" + m_path;
    }

  private:
    std::string m_path;
};

TEST(Places, AreTiersNodesPatternsAndPorts)
{
    const topo::Topology t = FatTree();
    const Places places(t);
    EXPECT_EQ(places.TierNames(), "edge, aggregation, core");

    struct Case
    {
        std::string text;
        PlaceLevel level;
        std::size_t nodes;
        std::size_t ends;
    };

    // k = 4: 16 hosts, 8 edge, 8 aggregation and 4 core switches, 48 links.
    const std::vector<Case> cases{{"*", PlaceLevel::kAll, 36, 0},
                                  {"all", PlaceLevel::kAll, 36, 0},
                                  {"core", PlaceLevel::kTier, 4, 0},
                                  {"Aggregation", PlaceLevel::kTier, 8, 0},
                                  {"agg", PlaceLevel::kTier, 8, 0},
                                  {"tier-1", PlaceLevel::kTier, 8, 0},
                                  {"hosts", PlaceLevel::kTier, 16, 0},
                                  {"edge-0-*", PlaceLevel::kPattern, 2, 0},
                                  {"*-0-*", PlaceLevel::kPattern, 4, 0},
                                  {"core-3", PlaceLevel::kName, 1, 0},
                                  {"core-3:1", PlaceLevel::kPort, 0, 1},
                                  {"edge-0-0->agg-0-1", PlaceLevel::kPort, 0, 1},
                                  {"core-*:0", PlaceLevel::kPattern, 0, 4},
                                  {"agg-*->core-*", PlaceLevel::kPattern, 0, 16},
                                  {"core-*->*", PlaceLevel::kPattern, 0, 16}};
    for (const Case& c : cases)
    {
        std::string problem;
        std::string nearest;
        const auto place = places.Find(c.text, &problem, &nearest);
        ASSERT_TRUE(place) << c.text << " " << problem;
        EXPECT_EQ(place->level, c.level) << c.text;
        EXPECT_EQ(place->nodes.size(), c.nodes) << c.text;
        EXPECT_EQ(place->ends.size(), c.ends) << c.text;
        EXPECT_TRUE(std::is_sorted(place->nodes.begin(), place->nodes.end())) << c.text;
    }
    // An end is the port itself: core-3's port 1.
    std::string problem;
    std::string nearest;
    const uint32_t end = places.Find("core-3:1", &problem, &nearest)->ends[0];
    const topo::Link& link = t.Links()[end / 2];
    EXPECT_EQ(t.Nodes()[end % 2 ? link.b : link.a].name, "core-3");
    EXPECT_EQ(end % 2 ? link.portB : link.portA, 1);
    for (const char* wrong : {"cora", "core-4", "core-3:9", "edge-0-0->core-0", "x-*", "core-*:9"})
    {
        EXPECT_FALSE(places.Find(wrong, &problem, &nearest)) << wrong;
        EXPECT_NE(problem.find("edge, aggregation, core"), std::string::npos) << problem;
    }
    EXPECT_FALSE(places.Find("cora", &problem, &nearest));
    EXPECT_EQ(nearest, "core");
}

// all < tier < pattern < name, then file < command line, then the later: any subset in any order.
TEST(Places, TheNarrowestWinsThenTheCommandLineThenTheLater)
{
    const std::array<std::string, 4> places{"*", "core", "core-*", "core-1"};
    std::mt19937 random(1);
    for (int round = 0; round < 60; ++round)
    {
        struct Given
        {
            std::size_t level;
            bool onLine;
            uint64_t value;
        };

        std::vector<Given> file;
        std::vector<Given> line;
        std::string list;
        std::vector<std::string> args;
        for (uint64_t i = 0; i < 6; ++i)
        {
            const Given given{random() % 4, random() % 2 == 1, 100000 + i};
            const std::string text =
                places[given.level] + ":ecn-kmin=" + std::to_string(given.value);
            if (given.onLine)
            {
                args.push_back("--set=" + text);
                line.push_back(given);
            }
            else
            {
                list += (list.empty() ? "\"" : ", \"") + text + "\"";
                file.push_back(given);
            }
        }
        const ScenarioFile scenario("[" + list + "]");
        args.push_back(scenario.Argument());
        std::vector<Given> all = file;
        all.insert(all.end(), line.begin(), line.end());
        uint64_t expected = 0;
        uint64_t ofOthers = 400000; // of core-2, which core-1 is not
        for (std::size_t level = 0; level < 4; ++level)
        {
            for (const Given& given : all)
            {
                expected = given.level == level ? given.value : expected;
                ofOthers = given.level == level && level < 3 ? given.value : ofOthers;
            }
        }
        const auto result = Read(args);
        ASSERT_TRUE(result.scenario) << Errors(result);
        EXPECT_EQ(KminOf(*result.scenario, "core-1"), expected ? expected : 400000) << list;
        EXPECT_EQ(KminOf(*result.scenario, "core-2"), ofOthers) << list;
    }
}

TEST(Places, JsonAndTheCommandLineAreTheSame)
{
    const ScenarioFile file(R"({"core": {"ecn_kmin": "1MB", "ecn": false, "ecn_pmax": 0.5},
                                "edge-0-0": {"ns3::RdmaSwitch::Alpha": 4}})");
    const auto byFile = Read({file.Argument()});
    const auto byLine = Read({"--set=core:ecn=false",
                              "--set=core:ecn-kmin=1MB",
                              "--set=core:ecn_pmax=0.5",
                              "--set=edge-0-0:ns3::RdmaSwitch::Alpha=4"});
    ASSERT_TRUE(byFile.scenario) << Errors(byFile);
    ASSERT_TRUE(byLine.scenario) << Errors(byLine);
    const auto& a = byFile.scenario->fabric.places;
    const auto& b = byLine.scenario->fabric.places;
    ASSERT_EQ(a.size(), 4u);
    ASSERT_EQ(b.size(), 4u);
    for (std::size_t i = 0; i < 4; ++i)
    {
        EXPECT_EQ(a[i].attribute, b[i].attribute);
        EXPECT_EQ(a[i].value, b[i].value);
        EXPECT_EQ(a[i].nodes, b[i].nodes);
    }
    // As run it reads back, in its order.
    const auto again =
        ReadScenarioText(TrafficOptionTable(), byLine.scenario->run.asRun.dump(), "again.json");
    EXPECT_TRUE(again.errors.empty());
    EXPECT_EQ(byLine.scenario->run.asRun["fabric"]["set"].size(), 4u);
    EXPECT_EQ(byLine.scenario->run.asRun["fabric"]["set"][3], "edge-0-0:ns3::RdmaSwitch::Alpha=4");
}

TEST(Places, WordsOfSonicHaveItsUnits)
{
    const auto result = Read({"--set=core:green_min_threshold=1048576",
                              "--set=core:green_max_threshold=3145728",
                              "--set=core:green_drop_probability=5",
                              "--set=core:dynamic_th=-3",
                              "--set=core:pfc_enable=3,4",
                              "--set=core:size=33554432",
                              "--set=core-1:2:pir=3:1250000000,4:125000000:16384"});
    ASSERT_TRUE(result.scenario) << Errors(result);
    const TrafficScenario& s = *result.scenario;
    const SwitchValues& core = SwitchesOf(s.fabric, s.topology).Of(*s.topology.FindNode("core-0"));
    EXPECT_EQ(core.kmin, 1048576u);
    EXPECT_FALSE(core.per100G);
    EXPECT_EQ(core.KminAt(rdma::Gbps(400)), 1048576);
    EXPECT_EQ(core.pmax, 0.05);
    EXPECT_EQ(core.alpha, 0.125); // 2^-3
    EXPECT_EQ(core.ofSwitch, 33554432u);
    const auto mask =
        std::find_if(s.fabric.places.begin(), s.fabric.places.end(), [](const auto& p) {
            return p.attribute == "ns3::RdmaSwitch::LosslessPriorities";
        });
    ASSERT_NE(mask, s.fabric.places.end());
    EXPECT_EQ(mask->value, "24"); // 2^3 + 2^4
    // Bytes per second, and SONiC's own burst unless pbs says another.
    EXPECT_EQ(s.fabric.places.back().attribute, "ns3::RdmaSwitch::Shaper");
    EXPECT_EQ(s.fabric.places.back().value, "3:10000000000bps:8192B,4:1000000000bps:16384B");
    for (const char* wrong :
         {"green_drop_probability=101", "dynamic_th=7", "pfc_enable=3,8", "pir=9:1", "pir=3"})
    {
        EXPECT_NE(Errors(Read({std::string("--set=core:") + wrong})).find("allowed for"),
                  std::string::npos)
            << wrong;
    }
}

TEST(Places, MistakesNameThePlaceTheKeyAndTheValue)
{
    const auto refuses = [](const std::string& argument, const std::vector<std::string>& words) {
        const std::string error = Errors(Read({argument}));
        for (const std::string& word : words)
        {
            EXPECT_NE(error.find(word), std::string::npos) << argument << ": " << error;
        }
    };
    refuses("--set=cora:ecn-kmin=1MB", {"cora", "edge, aggregation, core", "did you mean 'core'?"});
    refuses("--set=core:ecn-kmn=1MB", {"ecn-kmn", "did you mean 'ecn-kmin'?"});
    refuses("--set=core:ecn-kmin=1XB", {"ecn-kmin", "1XB"});
    refuses("--set=core:cc=hpcc", {"cc", "is no setting of a place"});
    refuses("--set=core:fecn-threshold=3", {"fecn-threshold", "--fabric=roce"});
    refuses("--set=core", {"PLACE:KEY=VALUE"});
    refuses("--set=core:ns3::Alpha=1", {"is no attribute"});
    refuses("--tier-rate=cora:1Gbps", {"cora:1Gbps", "edge, aggregation, core", "'core'"});
    refuses("--tier-rate=core:fast", {"core:fast", "TIER:RATE"});
    refuses("--tier-rate=core:1Gbps,core:2Gbps", {"a second time"});
    refuses("--tier-rate=edge:1Gbps", {"edge:1Gbps", "--nic"});
    refuses("--tier-delay=core:1h", {"core:1h", "TIER:TIME"});
    const ScenarioFile file(R"({"core": 1})");
    refuses(file.Argument(), {"/fabric/set/core", "must be an object"});
}

TEST(Places, ListsOfObjectsNeedTheirKeys)
{
    const ScenarioFile good(R"([{"place": "core", "key": "ecn-kmin", "value": 300000},
                                {"value": false, "key": "ecn", "place": "agg", "where": "lies"}])");
    const auto read = Read({good.Argument()});
    ASSERT_TRUE(read.scenario) << Errors(read);
    EXPECT_EQ(KminOf(*read.scenario, "core-1"), 300000u);
    for (const PlacedSetting& setting : read.scenario->fabric.places)
    {
        EXPECT_NE(setting.where.find(": /fabric/set/"), std::string::npos) << setting.where;
    }
    const std::vector<std::pair<std::string, std::string>> wrong{
        {R"([{"key": "ecn", "value": true}])", "/fabric/set/0="},
        {R"([{"place": "core", "value": true}])", "has no key"},
        {R"([{"place": "core", "key": "ecn"}])", "has no value"},
        {R"([{"place": "core", "key": "ecn", "valu": 1}])", "did you mean 'value'?"},
        {R"([{"place": 1, "key": "ecn", "value": 1}])", "/fabric/set/0/place"},
        {R"([{"place": "core", "key": "", "value": 1}])", "/fabric/set/0/key"},
        {R"([{"place": "core", "key": "ecn", "value": []}])", "/fabric/set/0/value"},
        {R"([{}])", "has no place"},
        {R"([1])", "core:ecn-kmin=1MB"},
        {"true", R"({"core": {"ecn_kmin": "1MB"}})"},
        {R"({"core": {"ecn_kmin": "1MB", "ecn-kmin": "2MB"}})", "another spelling of"}};
    for (const auto& [text, words] : wrong)
    {
        const ScenarioFile file(text);
        const std::string error = Errors(Read({file.Argument()}));
        EXPECT_NE(error.find(words), std::string::npos) << text << ": " << error;
    }
}

TEST(Places, TiersHaveLinksOfTheirOwn)
{
    const auto result = Read({"--tier-rate=core:800Gbps", "--tier-delay=core:2us,edge:300ns"});
    ASSERT_TRUE(result.scenario) << Errors(result);
    const topo::Topology& t = result.scenario->topology;
    for (const topo::Link& link : t.Links())
    {
        const uint8_t upper = std::max(t.Nodes()[link.a].tier, t.Nodes()[link.b].tier);
        EXPECT_EQ(link.rate.bps, upper == 3 ? 800000000000u : 100000000000u);
        EXPECT_EQ(link.delay.ps, upper == 3 ? 2000000 : upper == 1 ? 300000 : 1000000);
    }
    const auto as = MakePlacesAsRun(result.scenario->fabric, t);
    ASSERT_TRUE(as);
    ASSERT_EQ(as->tiers.size(), 3u);
    EXPECT_EQ(as->tiers[2].rate->bps, 800000000000u);
    EXPECT_EQ(as->tiers[2].switches, 4u);
    EXPECT_FALSE(MakePlacesAsRun(Read({}).scenario->fabric, t));
}

} // namespace
