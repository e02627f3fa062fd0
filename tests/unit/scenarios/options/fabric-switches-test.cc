/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Which runs have switches between servers that add up, and what is said where they have none.
 */
#include "scenarios/collective/collective-options.h"
#include "scenarios/collective/fabric-switches.h"
#include "scenarios/network/cluster-options.h"
#include "tests/unit/scenarios/parse-words.h"

#include <gtest/gtest.h>
#include <numeric>
#include <set>

using namespace scenario;

namespace
{

template <class T>
T
Runs(const std::string& options)
{
    const auto result = ParseWords<T>(options);
    EXPECT_TRUE(result.scenario) << options << ": " << result.errors.at(0).Text();
    return *result.scenario;
}

std::string
NotesOf(const std::string& options)
{
    const auto result = ParseWords<CollperfScenario>(options);
    EXPECT_TRUE(result.scenario) << options << ": " << result.errors.at(0).Text();
    return Join(result.notes, "\n");
}

/// The algorithms of a run's sizes, by its table's choice.
std::set<std::string>
Chosen(const CollperfScenario& s)
{
    std::set<std::string> names;
    for (const uint64_t bytes : s.sizes)
    {
        const coll::Choice choice =
            ChoiceOf(s.collectives, s.CollectiveOf(bytes), RankPlacement(s.cluster));
        names.insert(choice.algorithm->Name());
    }
    return names;
}

} // namespace

TEST(FabricSwitches, AreThereIfACollectiveOfTheRunUsesThem)
{
    const std::string servers = "--ranks=6 --topology=leaf-spine ";
    const std::string h100 = "--servers=2 --server=dgx-h100 -b 64M ";
    for (const std::string& asked : {servers + "--algorithm=sharp",
                                     servers + "--algorithm=all_reduce=sharp,all_gather=ring",
                                     servers + "--algorithm=all_reduce=sharp@64K- -b 1K -e 64K",
                                     servers + "--compare=ring,sharp",
                                     servers + "--op=all_reduce --algorithm=ring --compare=sharp",
                                     h100 + "--algorithm=nvls",
                                     h100 + "--nccl-env=NCCL_ALGO=CollnetDirect",
                                     h100 + "--nccl-env=NCCL_ALGO=allreduce:CollnetChain",
                                     h100 + "--nccl-env=NCCL_ALGO=NVLS"})
    {
        EXPECT_TRUE(Runs<CollperfScenario>(asked).cluster.aggregators) << asked;
    }
    for (const std::string& without :
         {servers,
          servers + "--op=all_gather --algorithm=all_reduce=sharp",
          servers + "--algorithm=all_reduce=sharp@64K- -b 1K -e 32K",
          servers + "--algorithm=all_reduce=sharp@0-64K;ring@0- -b 1K",
          servers + "--algorithm=all_reduce=auto,sharp",
          servers + "--compare=ring,double-binary-tree",
          servers + "--algorithm=sharp --aggregation-groups=0",
          h100 + "--algorithm=nvls-tree",
          h100 + "--nccl-env=NCCL_ALGO=Ring,NVLS",
          h100 + "--nccl-env=NCCL_ALGO=^Ring",
          h100 + "--nccl-env=NCCL_ALGO=Ring,CollnetChain", // of which it takes the ring
          h100 + "--nccl-env=NCCL_ALGO=CollnetDirect --algorithm=ring",
          h100 + "--op=all_gather --nccl-env=NCCL_ALGO=ring;allreduce:CollnetDirect",
          std::string("--servers=1 --server=dgx-h100 --algorithm=nvls")})
    {
        const auto s = Runs<CollperfScenario>(without);
        EXPECT_FALSE(s.cluster.aggregators) << without;
        for (const topo::Node& node : s.cluster.topology.Nodes())
        {
            EXPECT_FALSE(node.isUnit) << without;
        }
    }
}

TEST(FabricSwitches, OfAStepAreThoseOfItsOperations)
{
    for (const int zero : {0, 1, 2, 3})
    {
        const std::string step = "--model=gpt2 --seq=256 --servers=3 --gpus-per-server=1 --zero=" +
                                 std::to_string(zero) + " ";
        const auto s = Runs<TrainingScenario>(step + "--algorithm=all_reduce=sharp");
        bool reduces = false;
        for (const auto& task : s.plan.roles.at(0).tasks)
        {
            reduces = reduces || (task.kind == training::TaskKind::kCollective &&
                                  task.op == coll::Op::kAllReduce);
        }
        EXPECT_EQ(s.cluster.aggregators != nullptr, reduces) << "ZeRO " << zero;
        EXPECT_TRUE(zero != 0 || reduces) << "stage 0 has nothing else";
    }
}

TEST(FabricSwitches, NcclAskedForThemAndGetsThem)
{
    for (const auto& [nccl, ours] : {std::pair("CollnetDirect", "collnet-direct"),
                                     std::pair("CollnetChain", "collnet-chain"),
                                     std::pair("NVLS", "nvls")})
    {
        const std::string line = "--servers=3 --server=dgx-h100 -b 1K -e 256M -f 16 --nccl-env=";
        const std::string algo = std::string("NCCL_ALGO=") + nccl;
        EXPECT_EQ(Chosen(Runs<CollperfScenario>(line + algo)), std::set<std::string>{ours});
        // As with what auto may choose from where there are no such switches.
        EXPECT_EQ(Chosen(Runs<CollperfScenario>(line + algo + " --aggregation-groups=0")),
                  Chosen(Runs<CollperfScenario>(line + "NCCL_DEBUG=INFO")));
        // NVLS does not ask where something else is left.
        const std::string none = algo == "NCCL_ALGO=NVLS" ? "" : " --aggregation-groups=0";
        EXPECT_EQ(Chosen(Runs<CollperfScenario>(line + algo + ",Ring" + none)),
                  std::set<std::string>{"ring"});
    }
}

TEST(FabricSwitches, OptionsOfThemWithoutThemAreRefusedOnTheCommandLine)
{
    const std::string line = "--ranks=4 -b 1M ";
    for (const std::string& option : {std::string("--aggregation-delay=1us"),
                                      std::string("--aggregation-memory=64KiB"),
                                      std::string("--aggregation-groups=3"),
                                      std::string("--aggregation-groups=8"), // the default
                                      std::string("--aggregation-groups=0")})
    {
        for (const char* asked : {"--algorithm=ring ",
                                  "",
                                  "--compare=ring,auto ",
                                  "--nccl-env=NCCL_ALGO=Ring ",
                                  "--op=all_gather --algorithm=all_reduce=sharp "})
        {
            const auto refused = ParseWords<CollperfScenario>(line + asked + option);
            ASSERT_EQ(refused.errors.size(), 1U) << asked << option;
            const std::string text = refused.errors[0].Text();
            EXPECT_EQ(text.find(option + ": has no effect: "), 0U) << text;
            EXPECT_NE(text.find("collnet-chain, collnet-direct, nvls, sharp"), std::string::npos)
                << text;
        }
        for (const char* asked : {"--algorithm=sharp ", "--compare=ring,sharp "})
        {
            EXPECT_EQ(NotesOf(line + asked + option).find("no effect"), std::string::npos);
        }
    }
    // What is wrong with the algorithm is all that is said.
    const auto wrong =
        ParseWords<CollperfScenario>(line + "--algorithm=shrap --aggregation-groups=3");
    ASSERT_EQ(wrong.errors.size(), 1U);
    EXPECT_EQ(wrong.errors[0].Text().find("--algorithm="), 0U) << wrong.errors[0].Text();
    // A single server has no switches beside it.
    EXPECT_EQ(ParseWords<CollperfScenario>(
                  "--servers=1 --server=dgx-h100 --algorithm=nvls -b 64M --aggregation-groups=3")
                  .errors.size(),
              1U);
    // The same of a training step.
    const std::string step = "--model=gpt2 --seq=256 --servers=3 --gpus-per-server=1 ";
    EXPECT_EQ(ParseWords<TrainingScenario>(step + "--aggregation-memory=64KiB").errors.size(), 1U);
    Runs<TrainingScenario>(step +
                           "--zero=0 --algorithm=all_reduce=sharp --aggregation-memory=64KiB");
}

TEST(FabricSwitches, OptionsOfThemInConfigurationsAreNotes)
{
    // Of runs with such switches, run again; and with another algorithm.
    for (const std::string& option : {std::string(),
                                      std::string("--aggregation-delay=1us"),
                                      std::string("--aggregation-memory=64KiB"),
                                      std::string("--aggregation-groups=3")})
    {
        auto configuration =
            Runs<CollperfScenario>("--ranks=4 -b 1M --algorithm=sharp " + option).run.asRun;
        for (const char* algorithm : {"sharp", "ring"})
        {
            configuration["collectives"]["algorithm"] = algorithm;
            const auto again = ValidateCollperf(
                ReadScenarioText(CollperfOptionTable(), configuration.dump(), "again.json"));
            ASSERT_TRUE(again.scenario) << option << ": " << again.errors.at(0).Text();
            const bool told = !option.empty() && algorithm == std::string("ring");
            EXPECT_EQ(Join(again.notes, "\n").find(" has no effect: ") != std::string::npos, told)
                << option << " " << algorithm;
        }
    }
}

TEST(FabricSwitches, ThatServeNobodyAreToldOnce)
{
    // However many choices ask.
    const std::string none =
        NotesOf("--ranks=4 -b 1M --algorithm=sharp --compare=sharp,ring --aggregation-groups=0");
    const std::string said = "--aggregation-groups=0: switches between servers serve nobody";
    EXPECT_NE(none.find(said), std::string::npos) << none;
    EXPECT_EQ(none.find(said), none.rfind(said)) << none;
}

TEST(FabricSwitches, AreLeftOutWhereAListOfNcclsHasSomethingFaster)
{
    // Wherever they are, something uses them, and where something does, they are.
    uint32_t with = 0;
    uint32_t without = 0;
    for (const char* list : {"CollnetDirect,Ring", "Ring,CollnetChain", "Tree,CollnetDirect"})
    {
        for (const char* size : {"8", "4K", "1M", "64M", "1G"})
        {
            for (const char* servers : {"2", "5"})
            {
                const std::string line = std::string("--server=dgx-h100 --servers=") + servers +
                                         " -b " + size + " -e " + size +
                                         " --nccl-env=NCCL_ALGO=" + list;
                const auto s = Runs<CollperfScenario>(line);
                const std::string chosen = *Chosen(s).begin();
                const bool uses = chosen.rfind("collnet", 0) == 0;
                EXPECT_EQ(s.cluster.aggregators != nullptr, uses) << line << ": " << chosen;
                for (const topo::Node& node : s.cluster.topology.Nodes())
                {
                    EXPECT_TRUE(uses || !node.isUnit) << line;
                }
                (uses ? with : without) += 1;
            }
        }
    }
    EXPECT_GT(with, 0U);
    EXPECT_GT(without, 0U);
}

TEST(FabricSwitches, AreWhatAnExclusionLeaves)
{
    const std::string line = "--server=dgx-h100 --servers=3 -b 1M -e 256M -f 16 --nccl-env=";
    EXPECT_EQ(Chosen(Runs<CollperfScenario>(line + "NCCL_ALGO=^Ring,Tree,NVLS,NVLSTree,PAT")),
              Chosen(Runs<CollperfScenario>(line + "NCCL_ALGO=CollnetDirect,CollnetChain")));
    EXPECT_EQ(Chosen(Runs<CollperfScenario>(
                  line + "NCCL_ALGO=^Ring,Tree,NVLS,NVLSTree,PAT,CollnetDirect")),
              std::set<std::string>{"collnet-chain"});
    // Nothing is left of all of them.
    EXPECT_FALSE(ParseWords<CollperfScenario>(
                     line + "NCCL_ALGO=^Ring,Tree,NVLS,NVLSTree,PAT,CollnetDirect,CollnetChain")
                     .scenario);
}
