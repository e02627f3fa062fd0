/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * NCCL's variables as presets of options.
 */
#include "collectives/core/registry.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/collective/nccl-environment.h"
#include "scenarios/collective/nccl-variables.h"
#include "scenarios/dry-run/plan-text.h"
#include "scenarios/network/cluster-options.h"
#include "scenarios/startup/parse.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <unistd.h>

using namespace scenario;

namespace
{

template <class T>
ParseResult<T>
Parse(std::vector<std::string> args)
{
    args.insert(args.begin(), "program");
    args.emplace_back("--dry-run");
    std::vector<const char*> argv;
    for (const auto& a : args)
    {
        argv.push_back(a.c_str());
    }
    return ParseAs<T>(static_cast<int>(argv.size()), argv.data());
}

ParseResult<CollperfScenario>
Perf(const std::vector<std::string>& args)
{
    return Parse<CollperfScenario>(args);
}

/// The scenario, which must be one.
CollperfScenario
Runs(const std::vector<std::string>& args)
{
    const auto result = Perf(args);
    EXPECT_TRUE(result.scenario) << result.errors[0].Text();
    return *result.scenario;
}

std::string
ErrorOf(const std::vector<std::string>& args)
{
    const auto result = Perf(args);
    EXPECT_EQ(result.errors.size(), 1u) << "of --nccl-env";
    return result.errors.empty() ? "" : result.errors[0].Text();
}

std::string
NotesOf(const std::vector<std::string>& args)
{
    const auto result = Perf(args);
    EXPECT_TRUE(result.scenario) << result.errors[0].Text();
    return Join(result.notes, "\n");
}

coll::Choice
ChoiceAt(const CollperfScenario& s, uint64_t bytes)
{
    return ChoiceOf(s.collectives, s.CollectiveOf(bytes), RankPlacement(s.cluster));
}

/// What is chosen over sizes from 8 B to 1 GiB.
std::set<std::string>
Chosen(const CollperfScenario& s)
{
    std::set<std::string> names;
    for (uint64_t bytes = 8; bytes <= 1U << 30; bytes *= 4)
    {
        names.insert(ChoiceText(ChoiceAt(s, bytes)));
    }
    return names;
}

void
ExpectIn(const std::string& text, const std::vector<std::string>& words)
{
    for (const std::string& word : words)
    {
        EXPECT_NE(text.find(word), std::string::npos) << "\"" << word << "\" in: " << text;
    }
}

} // namespace

TEST(NcclEnvironment, VariablesAreSplitWhereTheNextOneBegins)
{
    std::string problem;
    const NcclVariables expected = {{"NCCL_ALGO", "ring,tree;allreduce:^tree"},
                                    {"NCCL_DEBUG", ""},
                                    {"NCCL_SOCKET_IFNAME", "=eth0,eth1"},
                                    {"NCCL_PROTO", "LL,Simple"}};
    EXPECT_EQ(SplitNcclVariables("NCCL_ALGO=ring,tree;allreduce:^tree,NCCL_DEBUG=,"
                                 "NCCL_SOCKET_IFNAME==eth0,eth1,NCCL_PROTO=LL,Simple",
                                 &problem),
              expected);
    EXPECT_EQ(problem, "");
    for (const std::string& wrong :
         {std::string("NCCL_ALGO"), std::string("=ring"), std::string("NCCL_ALGO=ring,NCCL_PROTO")})
    {
        problem.clear();
        SplitNcclVariables(wrong, &problem);
        EXPECT_NE(problem, "") << wrong;
    }
}

TEST(NcclEnvironment, FilesAreLinesOfThem)
{
    std::string problem;
    const NcclVariables expected = {{"NCCL_ALGO", "Ring"}, {"NCCL_SOCKET_IFNAME", "=ens1f0"}};
    EXPECT_EQ(ParseNcclFile("# of the cluster\n\nNCCL_ALGO=Ring\r\n  "
                            "NCCL_SOCKET_IFNAME==ens1f0\n",
                            &problem),
              expected);
    EXPECT_EQ(problem, "");
    EXPECT_EQ(ParseNcclFile("\xEF\xBB\xBFNCCL_ALGO=Ring\nNCCL_SOCKET_IFNAME==ens1f0", &problem),
              expected);
    EXPECT_EQ(problem, "");
    ParseNcclFile("NCCL_ALGO=Ring\n\nNCCL_PROTO\n", &problem);
    ExpectIn(problem, {"line 3", "NCCL_PROTO"});
    problem.clear();
    ParseNcclFile(std::string(kLargestNcclFile, '\n'), &problem);
    EXPECT_EQ(problem, "");
    EXPECT_TRUE(ParseNcclFile(std::string(kLargestNcclFile + 1, '\n'), &problem).empty());
    ExpectIn(problem, {"larger than 1 MiB"});
}

TEST(NcclEnvironment, ErrorsEnd)
{
    std::string list;
    for (uint32_t i = 0; i < 1000; ++i)
    {
        list += (i ? ",NCCL_X" : "NCCL_X") + std::to_string(i) + "=1";
    }
    EXPECT_EQ(Perf({"--nccl-env=" + list}).errors.size(), 20u);
}

TEST(NcclEnvironment, AListAFileAndTheEnvironmentMeanTheSame)
{
    const auto file = std::filesystem::temp_directory_path() /
                      ("nccl-environment-test-" + std::to_string(getpid()));
    std::ofstream(file) << "# x\nNCCL_ALGO=tree\nNCCL_PROTO=Simple\n";
    // The environment is read whole: nothing else of NCCL's may be in it.
    for (const NcclVariable& variable : AllNcclVariables())
    {
        unsetenv(variable.name.c_str());
    }
    setenv("NCCL_ALGO", "tree", 1);
    setenv("NCCL_PROTO", "Simple", 1);
    const std::string list = "NCCL_ALGO=tree,NCCL_PROTO=Simple";
    const auto expected = Runs({"--ranks=6", "--nccl-env=" + list});
    for (const std::string& other : {file.string(), std::string("environment")})
    {
        const auto s = Runs({"--ranks=6", "--nccl-env=" + other});
        EXPECT_EQ(s.run.asRun, expected.run.asRun) << other;
        EXPECT_EQ(s.run.asRun["collectives"]["nccl_env"], list);
        EXPECT_EQ(Chosen(s), std::set<std::string>{"double-binary-tree, simple"});
    }
    unsetenv("NCCL_ALGO");
    unsetenv("NCCL_PROTO");
    std::filesystem::remove(file);
    ExpectIn(NotesOf({"--nccl-env=environment"}), {"has no variable of NCCL"});
    ExpectIn(ErrorOf({"--nccl-env=" + file.string()}), {"--nccl-env", "a file, or environment"});
}

TEST(NcclEnvironment, AlgorithmsAndProtocolsAreChosenAmong)
{
    const std::vector<std::string> all = {"--ranks=16", "--server=dgx-h100"};
    const auto with = [&](const std::string& env, const std::string& op = "all_reduce") {
        auto args = all;
        args.push_back("--op=" + op);
        args.push_back("--nccl-env=" + env);
        return Chosen(Runs(args));
    };
    const auto free = Chosen(Runs(all));
    // All that there are leave what is chosen anyway.
    EXPECT_EQ(with("NCCL_ALGO=Ring,Tree"), free);
    EXPECT_EQ(with("NCCL_PROTO=ll,ll128,simple"), free);
    for (const std::string& name : with("NCCL_ALGO=Tree"))
    {
        EXPECT_EQ(name.rfind("double-binary-tree", 0), 0u) << name;
    }
    // Excluding one of two is naming the other.
    EXPECT_EQ(with("NCCL_ALGO=^tree"), with("NCCL_ALGO=ring"));
    EXPECT_EQ(with("NCCL_ALGO=^ring"), with("NCCL_ALGO=tree"));
    EXPECT_EQ(with("NCCL_PROTO=^LL128"), with("NCCL_PROTO=Simple,LL"));
    // Later lists, of functions, win over the first.
    EXPECT_EQ(with("NCCL_ALGO=tree;allreduce:ring"), with("NCCL_ALGO=ring"));
    EXPECT_EQ(with("NCCL_ALGO=allgather:^ring"), free);
    EXPECT_EQ(with("NCCL_PROTO=LL;AllGather:Simple", "all_gather"),
              std::set<std::string>{"ring, simple"});
    EXPECT_EQ(with("NCCL_PROTO=LL;AllGather:Simple", "reduce_scatter"),
              std::set<std::string>{"ring, ll"});
}

TEST(NcclEnvironment, WhatLeavesNothingIsAnError)
{
    ExpectIn(ErrorOf({"--op=all_gather", "--nccl-env=NCCL_ALGO=Tree"}),
             {"NCCL_ALGO leaves no algorithm for all_gather", "Ring"});
    ExpectIn(ErrorOf({"--op=broadcast", "--nccl-env=NCCL_ALGO=^ring"}),
             {"NCCL_ALGO leaves no algorithm for broadcast"});
    // Variables that contradict each other.
    const std::string h100 = "--server=dgx-h100";
    const std::string one = "--servers=1";
    ExpectIn(ErrorOf({h100, one, "--nccl-env=NCCL_NVLS_ENABLE=0,NCCL_ALGO=NVLS"}),
             {"NCCL_ALGO with NCCL_NVLS_ENABLE leaves no algorithm for all_reduce"});
    ExpectIn(ErrorOf({h100, one, "--nccl-env=NCCL_ALGO=NVLS,NCCL_PROTO=LL"}),
             {"NCCL_ALGO with NCCL_PROTO leaves no algorithm for all_reduce"});
    EXPECT_EQ(Chosen(Runs({h100, one, "--nccl-env=NCCL_ALGO=NVLS,Ring,NCCL_PROTO=LL"})),
              std::set<std::string>{"ring, ll"});
    EXPECT_EQ(
        Chosen(Runs({h100, one, "--nccl-env=NCCL_ALGO=NVLS,NCCL_PROTO=LL", "--protocol=simple"})),
        Chosen(Runs({h100, one, "--nccl-env=NCCL_ALGO=NVLS"})));
    // Which protocol it is says the option alone, also to auto.
    EXPECT_EQ(Chosen(Runs({h100, one, "--nccl-env=NCCL_PROTO=LL", "--protocol=simple"})),
              Chosen(Runs({h100, one, "--protocol=simple"})));
    EXPECT_EQ(Chosen(Runs({h100, one, "--protocol=simple"})).count("nvls, simple"), 1u);
    for (const std::string& text : Chosen(Runs({h100, one, "--protocol=ll"})))
    {
        ExpectIn(text, {", ll"}); // so no nvls, which has Simple only
    }
    EXPECT_EQ(Chosen(Runs({h100, one, "--nccl-env=NCCL_ALGO=NVLS,Tree,NCCL_NVLS_ENABLE=0"})),
              Chosen(Runs({h100, one, "--nccl-env=NCCL_ALGO=Tree"})));
    // What the machine cannot do is an error of the variable.
    ExpectIn(ErrorOf({"--server=dgx-a100", one, "--nccl-env=NCCL_ALGO=NVLS"}),
             {"--nccl-env=NCCL_ALGO=NVLS: nvls all_reduce", "do not add up (no NVLS)"});
    ExpectIn(ErrorOf({"--server=dgx-h100",
                      "--servers=1",
                      "--algorithm=auto",
                      "--nccl-env=NCCL_ALGO=CollnetChain,NCCL_IB_TIMEOUT=20"}),
             {"--nccl-env=NCCL_ALGO=CollnetChain: collnet-chain all_reduce: "});
    ExpectIn(ErrorOf({"--nccl-env=NCCL_ALGO=rings"}), {"'rings' is none of NCCL's", "Ring"});
    ExpectIn(ErrorOf({"--nccl-env=NCCL_PROTO=LL64"}), {"'LL64' is none of NCCL's", "LL128"});
    ExpectIn(ErrorOf({"--nccl-env=NCCL_ALGO=ring;tree"}), {"needs its FUNCTION:"});
    ExpectIn(ErrorOf({"--nccl-env=NCCL_ALGO=ring;allreduces:tree"}),
             {"'allreduces' is no function", "AllReduce"});
    ExpectIn(ErrorOf({"--nccl-env=NCCL_ALGOS=ring"}), {"no such variable", "NCCL_ALGO"});
    ExpectIn(ErrorOf({"--nccl-env=MY_ALGO=ring"}), {"begin with NCCL_"});
    ExpectIn(ErrorOf({"--nccl-env=NCCL_ALGO=ring,NCCL_ALGO=tree"}), {"given twice"});
    // What would change times and is not simulated.
    ExpectIn(ErrorOf({"--nccl-env=NCCL_IB_QPS_PER_CONNECTION=129"}),
             {"NCCL_IB_QPS_PER_CONNECTION", "129", "1 to 128"});
    ExpectIn(ErrorOf({"--nccl-env=NCCL_IB_SPLIT_DATA_ON_QPS=2"}),
             {"NCCL_IB_SPLIT_DATA_ON_QPS", "0 to 1"});
    ExpectIn(ErrorOf({"--nccl-env=NCCL_P2P_DISABLE=1"}), {"allowed: 0"});
    ExpectIn(ErrorOf({"--nccl-env=NCCL_NET=Socket"}), {"allowed: IB"});
    for (const char* timeout : {"0", "32", "x", ""})
    {
        ExpectIn(ErrorOf({std::string("--nccl-env=NCCL_IB_TIMEOUT=") + timeout}),
                 {"NCCL_IB_TIMEOUT", "1 to 31"});
    }
}

TEST(NcclEnvironment, AlgorithmsThatAreNotThereAreNamed)
{
    // Whichever of NCCL's there are: all names are known, and an error says ours.
    for (const auto& [nccl, ours] :
         std::vector<std::pair<std::string, std::string>>{{"NVLS", "nvls"},
                                                          {"NVLSTree", "nvls-tree"},
                                                          {"CollnetDirect", "collnet-direct"},
                                                          {"CollnetChain", "collnet-chain"},
                                                          {"PAT", "pat"}})
    {
        const bool known =
            std::any_of(coll::AllOps().begin(), coll::AllOps().end(), [ours = ours](coll::Op op) {
                return coll::Find(op, ours) != nullptr;
            });
        const auto result = Perf({"--op=alltoall", "--nccl-env=NCCL_ALGO=" + nccl});
        EXPECT_EQ(result.errors.empty(), known) << nccl;
        if (!known)
        {
            ExpectIn(result.errors[0].Text(), {"--algorithm=" + ours, "does not have"});
        }
        // Nothing has to be there to be left out.
        EXPECT_TRUE(Perf({"--nccl-env=NCCL_ALGO=^" + nccl}).errors.empty()) << nccl;
    }
}

TEST(NcclEnvironment, ChannelsAreBounded)
{
    const auto channels = [](const std::string& env, const std::string& op = "all_reduce") {
        const auto s =
            Runs({"--server=dgx-a100", "--servers=2", "--op=" + op, "--nccl-env=" + env});
        const coll::Placement placement = RankPlacement(s.cluster);
        return coll::Find(s.op, s.op == coll::Op::kAllToAll ? "direct" : "ring")
            ->Make(s.CollectiveOf(1 << 20), placement, s.collectives.OptionsFor(s.op))
            ->Lanes(0);
    };
    const auto own = channels("NCCL_DEBUG=WARN");
    ASSERT_GT(own, 2); // one a NIC
    EXPECT_EQ(channels("NCCL_MIN_NCHANNELS=1"), own);
    EXPECT_EQ(channels("NCCL_MIN_NCHANNELS=" + std::to_string(own + 5)), own + 5);
    EXPECT_EQ(channels("NCCL_MAX_CTAS=2"), 2);
    EXPECT_EQ(channels("NCCL_MAX_CTAS=64"), own);
    // Of two names the most restrictive counts; an old one only without its newer one.
    EXPECT_EQ(channels("NCCL_MAX_CTAS=3,NCCL_MAX_NCHANNELS=2"), 2);
    EXPECT_EQ(channels("NCCL_MIN_CTAS=20,NCCL_MIN_NCHANNELS=30"), 30);
    EXPECT_EQ(channels("NCCL_MAX_NRINGS=1,NCCL_MAX_NCHANNELS=2"), 2);
    EXPECT_EQ(channels("NCCL_MAX_NRINGS=1"), 1);
    // NVLS has channels of its own, not one a NIC.
    const auto ofNvls = [](const std::string& env) {
        const auto s = Runs({"--server=dgx-h100", "--servers=1", "--nccl-env=" + env});
        const coll::Placement placement = RankPlacement(s.cluster);
        const auto schedule = coll::Find(s.op, "nvls")
                                  ->Make(s.CollectiveOf(uint64_t{1} << 32),
                                         placement,
                                         s.collectives.OptionsFor(s.op));
        return schedule->Steps(0, 0);
    };
    const auto ownSteps = ofNvls("NCCL_DEBUG=WARN");
    EXPECT_EQ(ofNvls("NCCL_MIN_CTAS=4"), ownSteps);
    EXPECT_EQ(ofNvls("NCCL_MAX_CTAS=16"), ownSteps);
    EXPECT_LT(ofNvls("NCCL_MIN_CTAS=32"), ownSteps);
    EXPECT_GT(ofNvls("NCCL_MAX_CTAS=8"), ownSteps);
    // Sends and receives have theirs from other variables.
    EXPECT_EQ(channels("NCCL_MAX_CTAS=2", "alltoall"), channels("NCCL_DEBUG=WARN", "alltoall"));
    ExpectIn(ErrorOf({"--nccl-env=NCCL_MIN_CTAS=4,NCCL_MAX_CTAS=3"}),
             {"NCCL_MIN_CTAS=4", "NCCL_MAX_CTAS, 3"});
    ExpectIn(ErrorOf({"--nccl-env=NCCL_MIN_CTAS=65"}), {"1 to 64"});
}

TEST(NcclEnvironment, OptionsOfOursWinAndAreTold)
{
    const auto timeouts = Runs({"--nccl-env=NCCL_IB_TIMEOUT=22,NCCL_IB_RETRY_CNT=3"});
    EXPECT_EQ(timeouts.fabric.timeoutExponent, 22u);
    EXPECT_EQ(timeouts.run.asRun["fabric"]["retry_count"], 3);
    const std::vector<std::string> args = {"--nccl-env=NCCL_IB_TIMEOUT=22,NCCL_ALGO=tree,"
                                           "NCCL_PROTO=LL,NCCL_MIN_CTAS=4",
                                           "--timeout-exponent=12",
                                           "--algorithm=ring",
                                           "--protocol=simple",
                                           "--channels=1"};
    const auto s = Runs(args);
    EXPECT_EQ(s.fabric.timeoutExponent, 12u);
    EXPECT_EQ(Chosen(s), std::set<std::string>{"ring, simple"});
    EXPECT_EQ(s.collectives.OptionsFor(s.op).channels, 1u);
    ExpectIn(NotesOf(args),
             {"--timeout-exponent=12 wins over NCCL_IB_TIMEOUT=22",
              "--algorithm wins over NCCL_ALGO",
              "--protocol=simple wins over NCCL_PROTO=LL",
              "--channels=1 wins over NCCL_MIN_CTAS=4"});
    ExpectIn(PlanText(s), {"NCCL_IB_TIMEOUT=22", "wins over NCCL_PROTO=LL"});
    const std::vector<std::string> notes = {"--server=dgx-h100",
                                            "--servers=1",
                                            "--algorithm=nvls",
                                            "--nccl-env=NCCL_NVLS_ENABLE=0"};
    ExpectIn(NotesOf(notes), {"--algorithm wins over NCCL_NVLS_ENABLE=0 for all_reduce"});
    // auto is no choice: it leaves it to the variables.
    EXPECT_EQ(
        Chosen(Runs(
            {"--nccl-env=NCCL_ALGO=tree,NCCL_PROTO=LL", "--algorithm=auto", "--protocol=auto"})),
        std::set<std::string>{"double-binary-tree, ll"});
}

TEST(NcclEnvironment, WhatHasNoEffectIsTold)
{
    ExpectIn(NotesOf({"--nccl-env=NCCL_DEBUG=INFO,NCCL_BUFFSIZE=8388608,NCCL_SOCKET_IFNAME=^lo"}),
             {"without meaning here: NCCL_DEBUG, NCCL_SOCKET_IFNAME",
              "NCCL_BUFFSIZE has no effect here: ",
              "--pipeline"});
    ExpectIn(NotesOf({"--op=alltoall", "--nccl-env=NCCL_ALGO=ring"}), {"not those of alltoall"});
    EXPECT_EQ(NotesOf({"--nccl-env=NCCL_MAX_NCHANNELS=2"}).find("no function"), std::string::npos);
    ExpectIn(NotesOf({"--op=alltoall", "--nccl-env=NCCL_MAX_NCHANNELS=2"}),
             {"channels of NCCL's variables are not those of alltoall"});
}

TEST(NcclEnvironment, SwitchesAreAskedForByAlgorithmsThatNeedThem)
{
    const auto limits = [](const std::vector<std::string>& only) {
        NcclLimits l;
        l.ofOp[coll::Op::kAllReduce].only = only;
        return l;
    };
    const coll::Op op = coll::Op::kAllReduce;
    EXPECT_FALSE(NcclAsksForSwitches({}, op));
    EXPECT_FALSE(NcclAsksForSwitches(limits({"ring", "nvls-tree"}), op));
    EXPECT_TRUE(NcclAsksForSwitches(limits({"ring", "collnet-direct"}), op));
    EXPECT_FALSE(NcclAsksForSwitches(limits({"ring", "collnet-direct"}), coll::Op::kAllGather));
    // NVLS of several servers needs them, too, but not where something else is left.
    EXPECT_TRUE(NcclAsksForSwitches(limits({"nvls"}), op));
    EXPECT_FALSE(NcclAsksForSwitches(limits({"nvls", "nvls-tree"}), op));
    NcclLimits off = limits({"ring", "collnet-direct"});
    off.except = {"collnet-direct", "collnet-chain", "sharp"}; // NCCL_COLLNET_ENABLE=0
    EXPECT_FALSE(NcclAsksForSwitches(off, op));
}

TEST(NcclEnvironment, TheConfigurationReadsBack)
{
    for (const std::string& env :
         {std::string("NCCL_ALGO=ring,tree;allgather:ring,NCCL_PROTO=^LL,NCCL_MAX_CTAS=2"),
          std::string("NCCL_IB_TIMEOUT=19,NCCL_DEBUG=WARN,NCCL_NVLS_ENABLE=0")})
    {
        const auto first = Runs({"--ranks=8", "--nccl-env=" + env});
        const auto again = ValidateCollperf(
            ReadScenarioText(CollperfOptionTable(), first.run.asRun.dump(), "again.json"));
        ASSERT_TRUE(again.scenario) << again.errors[0].Text();
        EXPECT_EQ(again.scenario->run.asRun, first.run.asRun);
        EXPECT_EQ(Chosen(*again.scenario), Chosen(first));
    }
}

// Any value of any known variable is taken, told of or refused, and none is silent.
TEST(NcclEnvironment, NoVariableIsSilent)
{
    for (const NcclVariable& variable : AllNcclVariables())
    {
        EXPECT_EQ(variable.name.rfind("NCCL_", 0), 0u);
        EXPECT_NE(Describe(variable), "") << variable.name;
        // 99 queue pairs are a number of them.
        const std::string value = variable.use == NcclUse::kQueuePairs ? "=999" : "=99";
        const auto result = Perf({"--nccl-env=" + variable.name + value});
        const bool told = !result.errors.empty() || !result.notes.empty();
        EXPECT_TRUE(told) << variable.name;
    }
}
