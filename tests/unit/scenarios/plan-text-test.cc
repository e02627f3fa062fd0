/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What --dry-run says of a training step.
 */
#include "parse-words.h"
#include "scenarios/dry-run/assumed-speed.h"
#include "scenarios/dry-run/plan-text.h"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <string>

using namespace scenario;

// --dry-run with --layers is of the whole model: FLOPs, times and bytes alike. 8 of 80 blocks
// extended are what all 80 say, within what is no straight line (embedding and head are not alike).
TEST(PlanOfFewerLayers, IsExtendedToAll)
{
    const std::string job = "--model=llama2-70b --servers=6 --gpus-per-server=4 --tp=4 --zero=3 "
                            "--micro-batch=1 --seq=2048 --network=analytic ";
    const auto value = [](const std::string& plan, const std::string& before) {
        const std::size_t at = plan.find(before, plan.find("One step"));
        EXPECT_NE(at, std::string::npos) << before << " in\n" << plan;
        return at == std::string::npos ? 0 : std::stod(plan.substr(at + before.size()));
    };
    const auto all = ParseWords<TrainingScenario>(job);
    const auto few = ParseWords<TrainingScenario>(job + "--layers=8");
    ASSERT_TRUE(all.scenario && few.scenario);
    const std::string whole = PlanText(*all.scenario);
    const std::string part = PlanText(*few.scenario);
    EXPECT_NE(part.find("8 of 80 blocks are simulated, then 5 and 3"), std::string::npos) << part;
    EXPECT_EQ(whole.find("blocks are simulated"), std::string::npos);
    for (const char* of : {"TFLOP (", "all_gather ", "busiest NIC "})
    {
        EXPECT_NEAR(value(part, of), value(whole, of), 0.02 * value(whole, of)) << of;
    }
}

// Networks without packets say what a run will take, as networks with packets do.
TEST(PlanOfMessages, HasWallTimeAndMemory)
{
    for (const char* network : {"packet", "analytic", "fluid"})
    {
        const auto read = ParseWords<CollperfScenario>(
            std::string("--servers=64 --gpus-per-server=1 --op=alltoall --network=") + network);
        ASSERT_TRUE(read.scenario);
        const std::string plan = PlanText(*read.scenario);
        for (const char* line : {"\n  wall time       about ", "\n  host memory     "})
        {
            EXPECT_NE(plan.find(line), std::string::npos) << network << plan;
        }
    }
    SpeedNeeds needs;
    needs.packets = false;
    const AssumedSpeed speed = AssumeSpeed(needs);
    EXPECT_LT(speed[WorkKind::kAnalyticMessage].seconds, speed[WorkKind::kFluidMessage].seconds);
}

// What the server's CPU takes for the optimizer is known before: 28 B a parameter over the rate of
// its memory, whatever shares the GPUs have (host-work.h).
TEST(PlanOfOffload, CpuIsInTheLowerBound)
{
    const auto of = [](const std::string& more) {
        const auto read = ParseWords<TrainingScenario>(
            "--model=gpt3-13b --servers=1 --gpus-per-server=4 --zero=2 --micro-batch=1 "
            "--ignore-memory " +
            more);
        EXPECT_TRUE(read.scenario);
        return read.scenario ? PlanText(*read.scenario) : "";
    };
    const std::string plan = of("--offload=optimizer");
    const std::size_t at = plan.find("lower bound");
    ASSERT_NE(at, std::string::npos);
    const std::string line = plan.substr(at, plan.find('\n', at) - at);
    EXPECT_NE(line.find("the server's CPU and PCIe"), std::string::npos) << line;
    // 12.85e9 x 28 B / 100 GB/s = 3.6 s are the largest of all.
    EXPECT_NE(line.find(" 3.6"), std::string::npos) << line;
    EXPECT_EQ(of("").find("the server's CPU"), std::string::npos);
}

// Measured times are of what a GPU has: with groups that share layers out, that is said.
TEST(MeasuredLayers, AreOfAGpusShare)
{
    const std::string file = testing::TempDir() + "plan-text-profile.json";
    std::ofstream(file) << R"({"layers": {"block *": {"forward_us": 900, "backward_us": 1800}}})";
    for (const auto& [more, told] :
         {std::pair{"", false}, std::pair{"--tp=2", true}, std::pair{"--cp=2", true}})
    {
        const auto read = ParseWords<TrainingScenario>(
            "--model=gpt2 --servers=3 --gpus-per-server=2 --micro-batch=1 --profile=" + file + " " +
            more);
        ASSERT_TRUE(read.scenario) << more;
        const auto& notes = read.notes;
        EXPECT_EQ(std::any_of(notes.begin(),
                              notes.end(),
                              [](const std::string& note) {
                                  return note.find("must be of a GPU's share") != std::string::npos;
                              }),
                  told)
            << more;
    }
}

// Every priority of RDMA's flows is lossless, whatever the switches' own default says; the plan
// says which, and how to have a lossy one.
TEST(PlanOfTraffic, NamesTheLosslessPriorities)
{
    const auto line = [](const std::string& options) {
        const auto read =
            ParseWords<TrafficScenario>("--hosts=4 --topology=single-switch " + options);
        EXPECT_TRUE(read.scenario) << options;
        const std::string plan = read.scenario ? PlanText(*read.scenario) : "";
        const std::size_t at = plan.find("  lossless");
        return at == std::string::npos ? "" : plan.substr(at, plan.find('\n', at) - at);
    };
    EXPECT_EQ(line(""), "  lossless        priority 3, the one of flows");
    EXPECT_EQ(line("--pattern=incast"), line(""));
    EXPECT_NE(line("--priority=5")
                  .find("priorities 3, 5: 3 and those of flows; "
                        "--ns3::RdmaSwitch::LosslessPriorities=8 leaves all but 3 "
                        "lossy"),
              std::string::npos)
        << line("--priority=5");
    EXPECT_NE(line("--priority=5 --ns3::RdmaSwitch::LosslessPriorities=8")
                  .find("by ns3::RdmaSwitch::LosslessPriorities=8, a bit a priority"),
              std::string::npos);
    EXPECT_EQ(line("--priority=5 --no-pfc"), "");
    EXPECT_EQ(line("--priority=5 --fabric=ib"), "");
    EXPECT_EQ(line("--protocol=tcp"), ""); // of 0, a lossy one
}
