// SPDX-License-Identifier: GPL-2.0-only
#include "scenarios/network/fault-options.h"
#include "tests/unit/scenarios/parse-words.h"

#include <gtest/gtest.h>

namespace scenario
{
namespace
{

std::string
ErrorOf(const std::string& options)
{
    const auto result = ParseWords<TrafficScenario>(options);
    EXPECT_EQ(result.errors.size(), 1u) << options;
    return result.errors.empty() ? "" : result.errors[0].Text();
}

void
ExpectError(const std::string& options, const std::vector<std::string>& words)
{
    const std::string text = ErrorOf(options);
    for (const std::string& word : words)
    {
        EXPECT_NE(text.find(word), std::string::npos) << options << "\n" << text;
    }
}

FaultPlan
PlanOf(const std::string& options)
{
    const auto result = ParseWords<TrafficScenario>(options);
    for (const Error& error : result.errors)
    {
        ADD_FAILURE() << error.Text();
    }
    return result.scenario ? result.scenario->run.faults : FaultPlan();
}

TEST(Faults, HelpNamesEveryKey)
{
    const Option& fault = *TrafficOptionTable().Find("fault");
    for (const std::string& key : fault.keys)
    {
        const bool first = key == "what"; // which needs no name
        EXPECT_NE((fault.placeholder + fault.help).find(first ? "WHAT" : key + "="),
                  std::string::npos)
            << key;
    }
}

TEST(Faults, NoneByDefault)
{
    EXPECT_TRUE(PlanOf("").faults.empty());
}

TEST(Faults, SeveralInOrder)
{
    const FaultPlan plan = PlanOf("--fault=link-down,at=1ms,on=edge-0-0-agg-0-1 "
                                  "--fault=rate,at=20us,on=agg-0-1:0,to=50Gbps,for=3us "
                                  "--convergence=5ms");
    ASSERT_EQ(plan.faults.size(), 2u);
    EXPECT_EQ(plan.faults[0].kind, FaultKind::kLinkDown);
    EXPECT_EQ(plan.faults[0].at.ps, 1000000000);
    EXPECT_EQ(plan.faults[0].length.ps, 0);
    ASSERT_EQ(plan.faults[0].ends.size(), 2u);
    EXPECT_EQ(plan.faults[0].ends[0] ^ 1, plan.faults[0].ends[1]);
    EXPECT_TRUE(plan.faults[0].dead.empty());
    EXPECT_EQ(plan.faults[1].rate.bps, 50000000000u);
    EXPECT_EQ(plan.faults[1].length.ps, 3000000);
    EXPECT_EQ(plan.detection.ps, 10000000); // its default
    EXPECT_EQ(plan.convergence.ps, 5000000000);
}

// Three cables between a rail's switch of three hosts and its only spine (rail-optimized, 1:1).
TEST(Faults, OneOfSeveralCables)
{
    const std::string network = "--topology=rail-optimized --rails=2 --hosts-per-rail=3 --hosts=9 ";
    const auto on = [&network](const std::string& where) {
        return PlanOf(network + "--fault=link-down,at=0ns,on=" + where).faults.at(0);
    };
    const Fault all = on("rail-0-0-spine-0");
    ASSERT_EQ(all.cables, 3u);
    ASSERT_EQ(all.ends.size(), 6u);
    std::vector<uint32_t> together;
    for (const std::string& number : {"#0", "#1", "#2"})
    {
        const Fault one = on("rail-0-0-spine-0" + number);
        EXPECT_EQ(one.cables, 1u);
        ASSERT_EQ(one.ends.size(), 2u);
        EXPECT_EQ(one.ends[0] / 2, one.ends[1] / 2);
        together.insert(together.end(), one.ends.begin(), one.ends.end());
    }
    EXPECT_EQ(together, all.ends);
    EXPECT_EQ(PlanOf(network + "--fault=ber,at=0ns,on=rail-0-0->spine-0#1,to=1e-6")
                  .faults.at(0)
                  .ends.size(),
              1u);
    const std::string begin = network + "--fault=link-down,at=0ns,on=";
    ExpectError(begin + "rail-0-0-spine-0#3", {"no such cable", "#0 to #2"});
    // 2^32 + 1 is not 1, and 2^64 not 0.
    ExpectError(begin + "rail-0-0-spine-0#4294967297", {"no such cable", "#0 to #2"});
    ExpectError(begin + "rail-0-0-spine-0#18446744073709551616", {"no such cable", "#0 to #2"});
    ExpectError(begin + "rail-0-0-spine-0#00", {"rail-0-0-spine-0#00"});
    ExpectError(begin + "server-0-rail-0-0#1", {"but one"});
    ExpectError(begin + "rail-0-0:1#1", {"is no link between two nodes"});
}

// HDR100 has two lanes and 25GbE one, by their names.
TEST(Faults, LanesThatThereAre)
{
    const std::string network = "--topology=single-switch --hosts=3 ";
    const std::string fault = " --fault=lane-down,at=0ns,on=server-0-switch-0,to=";
    EXPECT_EQ(PlanOf(network + "--nic=HDR100" + fault + "1").faults.at(0).value, 0.5);
    EXPECT_EQ(PlanOf(network + "--nic=HDR" + fault + "3").faults.at(0).value, 0.75);
    EXPECT_EQ(PlanOf(network + "--nic=400GbE" + fault + "3").faults.at(0).value, 0.75);
    ExpectError(network + "--nic=HDR100" + fault + "2", {"2 lanes", "allowed: 1"});
    ExpectError(network + "--nic=25GbE" + fault + "1", {"1 lane;", "link-down"});
}

TEST(Faults, PlacesAreEndsOfCables)
{
    // A switch of a fat-tree k = 4 has four cables, both ends of each; its own are dead.
    const FaultPlan of = PlanOf("--topology=fat-tree --k=4 --fault=switch-down,at=0ns,on=core-0 "
                                "--fault=ber,at=0ns,on=server-3->edge-0-1,to=1e-6 "
                                "--fault=ber,at=0ns,on=server-3-edge-0-1,to=1e-6 "
                                "--fault=drop,at=0ns,on=all,to=0.5 "
                                "--fault=nic-down,at=0ns,on=server-3 "
                                "--fault=pause-storm,at=0ns,on=server-3,for=1us");
    ASSERT_EQ(of.faults.size(), 6u);
    EXPECT_EQ(of.faults[0].ends.size(), 8u);
    EXPECT_EQ(of.faults[0].dead.size(), 4u);
    ASSERT_EQ(of.faults[1].ends.size(), 1u); // who receives
    EXPECT_EQ(of.faults[2].ends.size(), 2u);
    EXPECT_EQ(of.faults[3].ends.size(), 2 * 48u); // 16 + 16 + 16 cables
    ASSERT_EQ(of.faults[4].dead.size(), 1u);
    // The host's end: not the one that receives from it.
    EXPECT_EQ(of.faults[4].dead[0], of.faults[1].ends[0] ^ 1);
    EXPECT_EQ(of.faults[5].ends, of.faults[4].dead);
}

TEST(Faults, WrongOnes)
{
    ExpectError("--fault=lnk-down,at=1ms,on=all", {"--fault=lnk-down", "did you mean 'link-down'"});
    ExpectError("--fault=link-down,on=core-0:1", {"needs at=TIME"});
    ExpectError("--fault=link-down,at=1ms", {"needs on=WHERE", "a-b"});
    ExpectError("--fault=link-down,at=1,on=core-0:1", {"--fault: at=1", "allowed"});
    ExpectError("--fault=link-down,at=1ms,on=core-0:1,to=3", {"to=3", "takes no to="});
    ExpectError("--fault=link-down,at=1ms,on=core-0:1,till=3", {"'till' is no key", "at, on"});
    ExpectError("--fault=link-down,at=1ms,at=2ms,on=core-0:1", {"at= twice"});
    ExpectError("--fault=link-down,at=1ms,on=cor-0", {"on=cor-0", "did you mean 'core-0'"});
    ExpectError("--fault=link-down,at=1ms,on=core-0", {"is a switch", "a link (a-b)"});
    ExpectError("--fault=link-down,at=1ms,on=core-0->agg-0-0", {"is one direction"});
    ExpectError("--fault=port-down,at=1ms,on=core-0-agg-0-0", {"is a link", "a port (a:2)"});
    ExpectError("--fault=nic-down,at=1ms,on=core-0:0", {"is a port of a switch", "a host"});
    ExpectError("--fault=switch-down,at=1ms,on=server-0", {"is a host", "a switch"});
    ExpectError("--fault=flap,at=1ms,on=core-0:0,period=1us", {"needs for=TIME"});
    ExpectError("--fault=flap,at=1ms,on=core-0:0,period=1ns,for=1s", {"a million times"});
    ExpectError("--fault=flap,at=1ms,on=core-0:0,period=1us,for=1ms,duty=1", {"duty=1", "below 1"});
    ExpectError("--fault=rate,at=1ms,on=core-0:0", {"needs to=VALUE", "50Gbps"});
    ExpectError("--fault=rate,at=1ms,on=core-0:0,to=200Gbps", {"to=200Gbps", "at most its 100"});
    ExpectError("--fault=rate,at=1ms,on=core-0:0,to=0.5", {"to=0.5", "50Gbps"});
    ExpectError("--fault=lane-down,at=1ms,on=core-0:0,to=4", {"to=4", "1, 2 or 3"});
    ExpectError("--fault=ber,at=1ms,on=core-0:0,to=1", {"to=1", "at most 0.001"});
    ExpectError("--fault=drop,at=1ms,on=core-0:0,to=1.1", {"to=1.1", "at most 1"});
    ExpectError("--fault=pause-storm,at=1ms,on=core-0:0,for=1ms --no-pfc", {"--no-pfc"});
    ExpectError("--fault=pause-storm,at=1ms,on=core-0:0,for=1ms --fabric=ib --nic=EDR",
                {"--fabric=roce"});
    ExpectError("--fault=gpu-slow,at=1ms,on=gpu-0,to=2", {"GPUs that compute", "dltrain"});
    ExpectError("--fault=link-down,at=1ms,on=core-0:0 --network=analytic", {"--network=packet"});
    ExpectError("--fault=link-down,at=1ms,on=core-0:0 --mpi-ranks=2", {"one process", "without"});
    ExpectError("--convergence=1ms", {"--convergence=1ms", "needs --fault=link-down, "});
    ExpectError("--fault=rate,at=0ns,on=all,to=50Gbps --fault-detection=1ms",
                {"--fault-detection=1ms", "cannot be combined with --fault="});
    ExpectError("--fault=", {"--fault"});
}

TEST(Faults, JsonIsTheSame)
{
    const auto read = [](const std::string& text) {
        const ReadResult values = ReadScenarioText(TrafficOptionTable(), text, "s.json");
        auto result = ValidateTraffic(values);
        result.errors.insert(result.errors.begin(), values.errors.begin(), values.errors.end());
        return result;
    };
    const auto good = read(R"({"faults": [
        {"what": "ber", "on": "all", "at": "1us", "to": 1e-9},
        {"what": "link-down", "on": "core-0:1", "at": "1us", "for": "2us"}],
        "network": {"fault_detection": "3us"}})");
    for (const Error& error : good.errors)
    {
        ADD_FAILURE() << error.Text();
    }
    ASSERT_TRUE(good.scenario);
    EXPECT_EQ(good.scenario->run.faults.faults.size(), 2u);
    EXPECT_EQ(good.scenario->run.faults.faults[0].value, 1e-9);
    EXPECT_EQ(good.scenario->run.faults.detection.ps, 3000000);
    // The configuration as run reads back as itself.
    const auto again = read(good.scenario->run.asRun.dump());
    ASSERT_TRUE(again.scenario);
    EXPECT_EQ(again.scenario->run.asRun, good.scenario->run.asRun);
    EXPECT_EQ(again.scenario->run.faults.faults.size(), 2u);

    const auto wrong = [&](const std::string& text, const std::vector<std::string>& words) {
        const auto result = read(text);
        ASSERT_EQ(result.errors.size(), 1u) << text;
        for (const std::string& word : words)
        {
            EXPECT_NE(result.errors[0].Text().find(word), std::string::npos)
                << result.errors[0].Text();
        }
    };
    wrong(R"({"faults": {"what": "ber"}})", {"s.json: /faults", "list of objects"});
    wrong(R"({"faults": ["ber"]})", {"s.json: /faults/0", "needs at=TIME"});
    wrong(R"({"faults": [1]})", {"s.json: /faults/0", "object"});
    EXPECT_EQ(read(R"({"faults": ["ber,on=all,at=1us,to=1e-9"]})").errors.size(), 0u);
    wrong(R"({"faults": [{"what": "ber", "on": "all", "at": "1us", "too": 1}]})",
          {"s.json: /faults/0", "'too' is no key", "did you mean 'to'"});
    wrong(R"({"faults": [{"what": "ber", "on": "all", "at": true, "to": 1e-9}]})",
          {"s.json: /faults/0/at", "string or a number"});
    wrong(R"({"faults": [{"what": "drop", "on": "all", "at": "1us", "to": 2}]})",
          {"s.json: /faults/0: to=2", "at most 1"});
    wrong(R"({"faults": [{"on": "all", "at": "1us"}]})", {"s.json: /faults/0", "needs a what"});
}

TEST(Faults, GpusByRankOrByServer)
{
    const auto result = ParseWords<TrainingScenario>(
        "--servers=2 --gpus-per-server=4 --model=gpt2 "
        "--fault=gpu-slow,at=1ms,on=gpu-5,to=2,for=1ms --fault=gpu-stop,at=3ms,on=server-1:gpu-3");
    for (const Error& error : result.errors)
    {
        ADD_FAILURE() << error.Text();
    }
    ASSERT_TRUE(result.scenario);
    const auto& speeds = result.scenario->plan.speeds;
    ASSERT_EQ(speeds.size(), 2u);
    // 1 ms as ever, then half as fast: 1.5 ms of work take 2 ms.
    EXPECT_EQ(speeds.at(5).EndOf(0, 1500000000), 2000000000);
    EXPECT_EQ(speeds.at(7).EndOf(0, 3000000001), training::SpeedProfile::NEVER);
    for (const auto& [on, words] : {std::pair<std::string, std::string>{"gpu-8", "gpu-0 to gpu-7"},
                                    {"server-1:gpu-4", ":gpu-3"},
                                    {"server-9:gpu-0", "no server of this job"},
                                    {"server-0", "is no GPU"}})
    {
        const auto wrong =
            ParseWords<TrainingScenario>("--servers=2 --gpus-per-server=4 --model=gpt2 "
                                         "--fault=gpu-stop,at=1ms,on=" +
                                         on);
        ASSERT_EQ(wrong.errors.size(), 1u) << on;
        EXPECT_NE(wrong.errors[0].Text().find(words), std::string::npos) << wrong.errors[0].Text();
    }
}

} // namespace
} // namespace scenario
