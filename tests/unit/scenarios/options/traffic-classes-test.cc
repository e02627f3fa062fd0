/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Traffic classes: of --class, --flow-class and columns of a flow file, and what follows for
 * switches.
 */
#include "scenarios/network/traffic-classes.h"
#include "tests/unit/scenarios/parse-words.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace scenario;

namespace
{

/// A file of flows or jobs that lives as long as this.
class FlowFile
{
  public:
    explicit FlowFile(const std::string& text)
        : m_name(testing::TempDir() + "traffic-classes-test-" + std::to_string(getpid()) + "-" +
                 std::to_string(s_made++) + ".csv")
    {
        std::ofstream(m_name) << text;
    }

    ~FlowFile()
    {
        std::remove(m_name.c_str());
    }

    const std::string& Name() const
    {
        return m_name;
    }

    ParseResult<TrafficScenario> With(const std::string& options) const
    {
        return ParseWords<TrafficScenario>("--topology=single-switch --hosts=4 --flows=" + m_name +
                                           " " + options);
    }

  private:
    inline static int s_made = 0; ///< tests run at the same time, and have several
    std::string m_name;
};

std::string
Attribute(const TrafficScenario& s, const std::string& wanted)
{
    std::string is;
    for (const auto& [name, value] : s.run.optionAttributes)
    {
        is = name == "ns3::RdmaSwitch::" + wanted ? value : is;
    }
    return is;
}

} // namespace

TEST(TrafficClasses, GoOverWhatTheNetworkHas)
{
    const auto result = ParseWords<TrafficScenario>(
        "--k=4 --cc=timely --class=a:cc=hpcc,rate=40Gbps --class=b:transport=irn,priority=5 "
        "--flow-class=b");
    ASSERT_TRUE(result.scenario);
    const auto& classes = result.scenario->fabric.classes;
    ASSERT_EQ(classes.size(), 2U);
    EXPECT_EQ(TrafficClassText(classes[0]), "a: hpcc (sigcomm19), rc, at most 40Gbps");
    EXPECT_EQ(TrafficClassText(classes[1]), "b: timely (timely15), irn, priority 5");
    EXPECT_EQ(classes[0].lossRecovery, "");
    EXPECT_EQ(classes[1].lossRecovery, "selective-repeat");
    for (const Flow& flow : result.scenario->flows)
    {
        EXPECT_EQ(flow.trafficClass, 2);
        EXPECT_EQ(flow.priority, 5);
    }
    // IRN is for queues without PFC; 3 stays as it is.
    EXPECT_EQ(result.scenario->LosslessPriorities(), 1U << 3);
}

TEST(TrafficClasses, FlowsWithOneWishAreOfOneClass)
{
    const FlowFile file("start_ns,src,dst,bytes,class,cc,rate,priority\n"
                        "0,0,1,1000,,hpcc,,4\n"
                        "0,0,2,1000,,,,\n"
                        "0,1,2,1000,,hpcc,,5\n"
                        "0,2,1,1000,slow,,,\n"
                        "0,2,3,1000,slow,swift,,\n"
                        "0,3,1,1000,default,,5Gbps,\n");
    const auto result = file.With("--class=slow:rate=1Gbps,priority=2");
    ASSERT_TRUE(result.scenario);
    const TrafficScenario& s = *result.scenario;
    std::vector<std::string> names;
    for (const TrafficClass& of : s.fabric.classes)
    {
        names.push_back(of.name);
    }
    EXPECT_EQ(names, (std::vector<std::string>{"slow", "hpcc", "slow-swift", "default-5Gbps"}));
    std::vector<std::pair<int, int>> flows;
    for (const Flow& flow : s.flows)
    {
        flows.emplace_back(flow.trafficClass, flow.priority);
    }
    EXPECT_EQ(flows,
              (std::vector<std::pair<int, int>>{{2, 4}, {0, 3}, {2, 5}, {1, 2}, {3, 2}, {4, 3}}));
    EXPECT_EQ(s.fabric.classes[2].rate.bps, 1000000000U);
    EXPECT_EQ(s.LosslessPriorities(), 1U << 2 | 1U << 3 | 1U << 4 | 1U << 5);
    EXPECT_EQ(Attribute(s, "TelemetryOfQueue"), "true");
}

TEST(TrafficClasses, AWishIsNoClassThatHappensToHaveItsName)
{
    const auto laws = [](const ParseResult<TrafficScenario>& result) {
        std::vector<std::string> all;
        for (const Flow& flow : result.scenario->flows)
        {
            const TrafficClass& of = result.scenario->fabric.classes.at(flow.trafficClass - 1U);
            all.push_back(of.name + ": " + of.cc + ", " + of.transport);
        }
        return all;
    };
    using Words = std::vector<std::string>;
    const std::string head = "start_ns,src,dst,bytes,class,cc,transport\n";
    const FlowFile law(head + "0,0,1,1000,,hpcc,\n0,0,2,1000,hpcc,,\n0,1,2,1000,,hpcc,\n");
    EXPECT_EQ(laws(law.With("--class=hpcc:cc=swift")),
              (Words{"hpcc-2: hpcc, rc", "hpcc: swift, rc", "hpcc-2: hpcc, rc"}));
    EXPECT_EQ(laws(law.With("--class=hpcc:cc=hpcc")),
              (Words{"hpcc: hpcc, rc", "hpcc: hpcc, rc", "hpcc: hpcc, rc"}));
    EXPECT_EQ(laws(law.With("--class=hpcc:cc=swift --class=hpcc-2:cc=timely")).front(),
              "hpcc-3: hpcc, rc");
    const FlowFile transport(head + "0,0,1,1000,,,irn\n");
    EXPECT_EQ(laws(transport.With("--class=irn:rate=10Gbps")), (Words{"irn-2: dcqcn, irn"}));
    const FlowFile over(head + "0,0,1,1000,a,swift,\n");
    EXPECT_EQ(laws(over.With("--class=a:cc=hpcc --class=a-swift:cc=timely")),
              (Words{"a-swift-2: swift, rc"}));
    const FlowFile joined(head + "0,0,1,1000,theta,powertcp,\n0,0,2,1000,,theta-powertcp,\n");
    EXPECT_EQ(laws(joined.With("--class=theta:rate=10Gbps")),
              (Words{"theta-powertcp: powertcp, rc", "theta-powertcp-2: theta-powertcp, rc"}));
}

TEST(TrafficClasses, MarksAreThoseOfWhoHearsThem)
{
    const std::string head = "start_ns,src,dst,bytes,cc,priority\n";
    const FlowFile apart(head + "0,0,1,1000,,3\n0,0,2,1000,dctcp,4\n0,1,2,1000,hpcc,4\n");
    const auto result = apart.With("--cc=dcqcn");
    ASSERT_TRUE(result.scenario);
    // DCTCP's preset for 100 Gb/s; HPCC hears of no marks, and DCQCN's are those of the switches.
    EXPECT_EQ(Attribute(*result.scenario, "EcnOfPriority"), "4:300kB-300kB-1");
    EXPECT_EQ(Attribute(*apart.With("--cc=dcqcn --ecn-kmin=1MB").scenario, "EcnOfPriority"), "");
    EXPECT_EQ(Attribute(*apart.With("--cc=dcqcn --ecn=0").scenario, "EcnOfPriority"), "");

    const auto marker = apart.With("--cc=dcqcn --marker=pie");
    ASSERT_EQ(marker.errors.size(), 1U);
    EXPECT_NE(marker.errors[0].Text().find("--marker=pie: marks all priorities alike, and dctcp"),
              std::string::npos)
        << marker.errors[0].Text();
    EXPECT_TRUE(apart.With("--cc=dctcp --marker=pie").scenario);
    EXPECT_TRUE(apart.With("--cc=dcqcn --marker=pie --ecn-pmax=0.5").scenario);

    const FlowFile together(head + "0,0,1,1000,,3\n0,0,2,1000,dctcp,3\n");
    const auto wrong = together.With("--cc=dcqcn");
    ASSERT_EQ(wrong.errors.size(), 1U);
    EXPECT_NE(wrong.errors[0].Text().find("classes default and dctcp share priority 3"),
              std::string::npos)
        << wrong.errors[0].Text();
    EXPECT_TRUE(together.With("--cc=dcqcn --ecn-pmax=0.5").scenario);
}

TEST(TrafficClasses, LossesAreToldAgainToWhoGoesByThem)
{
    const std::string lossy = "--k=4 --no-pfc --no-ecn --cc=none --flow-class=a --class=a:cc=";
    const auto interval = [](const ParseResult<TrafficScenario>& result) {
        std::string is;
        for (const auto& [name, value] : result.scenario->run.optionAttributes)
        {
            is = name == "ns3::RdmaNic::NakInterval" ? value : is;
        }
        return is;
    };
    // What --cc=loss-rate has: see ChooseLossLaw.
    const auto usual = ParseWords<TrafficScenario>(lossy + "loss-rate");
    EXPECT_EQ(interval(usual), "10us");
    EXPECT_EQ(usual.scenario->run.asRun["fabric"]["nak_interval"], "10us");
    const auto without = ParseWords<TrafficScenario>(lossy + "swift");
    for (const char* other :
         {"loss-rate --nak-interval=0", "loss-rate --pfc", "loss-rate,transport=irn"})
    {
        EXPECT_EQ(interval(ParseWords<TrafficScenario>(lossy + other)), interval(without)) << other;
    }
    EXPECT_EQ(interval(ParseWords<TrafficScenario>(lossy + "loss-rate --nak-interval=20us")),
              "20000000ps");
}

TEST(TrafficClasses, OfJobsAreNamedAndDecideAsThoseOfFlows)
{
    const auto jobs = [](const std::string& cc, const std::string& options) {
        const FlowFile file(R"({"jobs": [{"name": "one", "hosts": [0, 1], "cc": ")" + cc +
                            R"(", "collective": {"op": "all_reduce", "bytes": "1MB"}}]})");
        return ParseWords<TrainingScenario>(
            "--topology=single-switch --gpus-per-server=1 --jobs=" + file.Name() + " " + options);
    };
    const auto named = jobs("hpcc", "--class=hpcc:cc=swift");
    ASSERT_TRUE(named.scenario) << named.errors.at(0).Text();
    EXPECT_EQ(TrafficClassText(named.scenario->fabric.classes.at(1)),
              "hpcc-2: hpcc (sigcomm19), rc");
    // So that the configuration as run is the same run.
    const auto interval = [&jobs](const std::string& cc, const std::string& options) {
        const auto result = jobs(cc, "--no-pfc --no-ecn " + options);
        return result.scenario->run.asRun["fabric"]["nak_interval"];
    };
    EXPECT_EQ(interval("loss-rate", "--cc=none"), "10us");
    EXPECT_EQ(interval("swift", "--cc=none"), "0ns");
    EXPECT_EQ(interval("swift", "--cc=loss-rate"), "10us");
    EXPECT_EQ(interval("loss-rate", "--cc=none --nak-interval=20us"), "20us");
}

TEST(TrafficClasses, TransportsThatTrimAreTheNetworks)
{
    const FlowFile file("start_ns,src,dst,bytes,transport,cc\n0,0,1,1000,rc,dcqcn\n");
    const auto result = file.With("--transport=uet");
    ASSERT_TRUE(result.scenario);
    const TrafficClass& of = result.scenario->fabric.classes.front();
    // REPS sends each packet its own way.
    EXPECT_EQ(of.lossRecovery, "out-of-order");
    EXPECT_EQ(of.cc, "dcqcn");
    EXPECT_TRUE(of.hearsMarks);
    const FlowFile other("start_ns,src,dst,bytes,transport\n0,0,1,1000,ndp\n");
    ASSERT_EQ(other.With("").errors.size(), 1U);
    EXPECT_NE(other.With("").errors[0].Text().find("--transport=ndp"), std::string::npos);
}

TEST(TrafficClasses, HaveTheChecksOfTheNetworksLaw)
{
    const auto error = [](const std::string& options) {
        const auto result = ParseWords<TrafficScenario>("--k=4 --flow-class=a " + options);
        return result.errors.size() == 1 ? result.errors[0].Text() : "";
    };
    for (const std::string transport : {"ndp", "eqds", "uet", "homa"})
    {
        const std::string network = "--transport=" + transport + " --class=a:";
        EXPECT_NE(error(network + "cc=hpcc").find("cc=hpcc: has no part in"), std::string::npos)
            << error(network + "cc=hpcc");
        EXPECT_EQ(error(network + "cc=none"), "");
        EXPECT_EQ(error(network + "cc=hpcc,transport=rc"), "");
    }
    EXPECT_NE(error("--transport=homa --class=a:priority=4").find("chooses it for each packet"),
              std::string::npos);

    const auto warns = [](const std::string& options, const std::string& of) {
        const auto result = ParseWords<TrafficScenario>("--k=4 --flow-class=a " + options);
        return std::any_of(result.notes.begin(), result.notes.end(), [&of](const auto& note) {
            return note.find("warning: ") == 0 && note.find(of) != std::string::npos;
        });
    };
    EXPECT_TRUE(warns("--class=a:cc=hpcc --load-balancer=spray", "hpcc of class a with"));
    EXPECT_TRUE(warns("--class=a:cc=powertcp,transport=rc --transport=uet", "powertcp of class a"));
    EXPECT_FALSE(warns("--class=a:cc=hpcc", "hpcc of class a with"));
    EXPECT_FALSE(warns("--class=a:cc=swift --load-balancer=spray", "of class a"));
    EXPECT_TRUE(warns("--cc=swift --no-ecn --class=a:cc=dcqcn", "no ECN marks"));
    EXPECT_FALSE(warns("--cc=swift --class=a:cc=dcqcn", "no ECN marks"));
}

TEST(TrafficClasses, SayWhereTheyHaveNoEffect)
{
    EXPECT_TRUE(ParseWords<TrafficScenario>("--k=4 --class=a:cc=hpcc --protocol=udp")
                    .scenario->fabric.classes.empty());
    const auto none = ParseWords<TrafficScenario>("--k=4 --class=a:cc=none --flow-class=a");
    EXPECT_EQ(TrafficClassText(none.scenario->fabric.classes[0]), "a: none, rc");
    const auto fast = ParseWords<TrafficScenario>("--k=4 --class=a:rate=400Gbps --flow-class=a");
    EXPECT_NE(std::find(fast.notes.begin(),
                        fast.notes.end(),
                        "class a: rate=400Gbps has no effect: NICs have 100Gbps; allowed: less"),
              fast.notes.end());
    const auto beside = ParseWords<TrainingScenario>(
        "--servers=2 --class=a:cc=hpcc --background=pattern=permutation,flow-class=a,protocol=udp");
    ASSERT_EQ(beside.errors.size(), 1U);
    EXPECT_NE(beside.errors[0].Text().find("is of RDMA's queue pairs"), std::string::npos)
        << beside.errors[0].Text();
    const auto homa = ParseWords<TrainingScenario>(
        "--servers=2 --transport=homa --background=pattern=permutation,priority=4");
    ASSERT_EQ(homa.errors.size(), 1U);
    EXPECT_NE(homa.errors[0].Text().find("chooses it for each packet"), std::string::npos)
        << homa.errors[0].Text();
}

TEST(TrafficClasses, ARunWithoutThemIsAsBefore)
{
    const auto result = ParseWords<TrafficScenario>("--k=4");
    ASSERT_TRUE(result.scenario);
    EXPECT_TRUE(result.scenario->fabric.classes.empty());
    EXPECT_TRUE(TrafficClassesOf(result.scenario->fabric).empty());
    EXPECT_EQ(Attribute(*result.scenario, "EcnOfPriority"), "");
    EXPECT_EQ(Attribute(*result.scenario, "TelemetryOfQueue"), "");
}
