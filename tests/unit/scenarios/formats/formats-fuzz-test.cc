/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Readers of foreign files get files that are damaged at random: each is read, or is one error that
 * names the file and can be printed; and what is read runs to its end. Here a sample of each; all
 * of them, 100,000 of each reader, with sanitizers, by the commands in tests/fuzz/README.md.
 */
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/formats/chakra/chakra-json.h"
#include "scenarios/formats/chakra/chakra-wire.h"
#include "scenarios/formats/chakra/chakra.h"
#include "scenarios/formats/goal/goal.h"
#include "scenarios/formats/goal/htsim-trace.h"
#include "scenarios/formats/input-file.h"
#include "scenarios/formats/kineto/kineto.h"
#include "scenarios/formats/layer-text.h"
#include "scenarios/formats/nccl/nccl-output.h"
#include "scenarios/formats/recorded/recorded-plan.h"
#include "scenarios/formats/trace/trace.h"
#include "scenarios/training/graphs/training-plan.h"
#include "tests/unit/scenarios/example-options.h"
#include "tests/unit/scenarios/one-step.h"

#include <cstdlib>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <random>
#include <sstream>

using namespace formats;

namespace
{

uint32_t
Cases()
{
    const char* const given = std::getenv("DLTRAIN_FORMATS_FUZZ");
    return given ? static_cast<uint32_t>(std::strtoul(given, nullptr, 10)) : 1500;
}

/// Damages a text in one to four places: bytes, pieces, numbers.
std::string
Damaged(std::string text, std::mt19937_64& random)
{
    static const std::vector<std::string> kWords = {"-1",
                                                    "0",
                                                    "18446744073709551615",
                                                    "99999999999999999999999",
                                                    "1e308",
                                                    "{",
                                                    "}",
                                                    "[",
                                                    "\"",
                                                    "null",
                                                    "requires",
                                                    "rank",
                                                    "\n",
                                                    std::string(1, '\0'),
                                                    "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"};
    const auto below = [&](std::size_t n) { return n == 0 ? 0 : random() % n; };
    for (auto times = 1 + below(4); times > 0 && !text.empty(); --times)
    {
        const std::size_t at = below(text.size());
        const std::size_t length = 1 + below(std::min<std::size_t>(40, text.size() - at));
        switch (below(7))
        {
        case 0:
            text[at] = static_cast<char>(random());
            break;
        case 1:
            text.erase(at, length);
            break;
        case 2:
            text.insert(at, text.substr(below(text.size()), length));
            break;
        case 3:
            text.insert(at, kWords[below(kWords.size())]);
            break;
        case 4:
            text.resize(at);
            break;
        case 5: // a number
            if (const std::size_t digit = text.find_first_of("0123456789", at);
                digit != std::string::npos)
            {
                const std::size_t end = text.find_first_not_of("0123456789", digit);
                text.replace(digit,
                             (end == std::string::npos ? text.size() : end) - digit,
                             below(2) ? std::to_string(below(12)) : kWords[below(5)]);
            }
            break;
        default:
            text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        }
    }
    return text;
}

rdma::Duration
NoTime(double, double)
{
    return rdma::Duration(0);
}

using Plan = std::optional<training::TrainingPlan>;
using Read = std::function<Plan(const std::string&, std::vector<topo::Error>&)>;

/// Of a recording, if there is one.
Plan
PlanOf(const std::optional<Recording>& recording, std::vector<topo::Error>& errors)
{
    return recording ? MakePlan(*recording, "f", 0, errors) : std::nullopt;
}

/// \param runs what is read is run, too; \param share one of how many of the cases there are here
/// \return how many were read and run
uint32_t
Fuzz(const std::string& seed,
     uint64_t number,
     const Read& read,
     uint32_t share = 1,
     bool runs = true)
{
    std::mt19937_64 random(number);
    uint32_t fine = 0;
    for (uint32_t i = 0; i < Cases() / share; ++i)
    {
        const std::string text = Damaged(seed, random);
        std::vector<topo::Error> errors;
        const auto plan = read(text, errors);
        EXPECT_EQ(plan.has_value(), errors.empty()) << i;
        EXPECT_LE(errors.size(), 1U) << i;
        for (const topo::Error& error : errors)
        {
            EXPECT_FALSE(error.problem.empty());
            EXPECT_EQ(error.file.compare(0, 1, "f"), 0) << error.Sentence();
            EXPECT_LT(error.Sentence().size(), 3000U);
            EXPECT_EQ(rdma::Printable(error.Sentence()), error.Sentence()) << i;
        }
        if (plan)
        {
            ++fine;
            std::size_t tasks = 0;
            for (const uint32_t role : plan->roleOf)
            {
                tasks += plan->roles[role].tasks.size();
            }
            const auto step = runs ? onestep::Run(*plan) : onestep::Result{0, tasks, tasks};
            EXPECT_EQ(step.ended, tasks) << "ranks wait for ever\n" << text;
            EXPECT_TRUE(training::MessageMatch(*plan).Problems().empty()) << text;
            EXPECT_TRUE(training::MessageMatch(*plan).Unmatched().empty()) << text;
        }
        if (testing::Test::HasFailure())
        {
            ADD_FAILURE() << "case " << i << ":\n" << rdma::Shown(text, 2000);
            break;
        }
    }
    return fine;
}

std::string
SmallGoal()
{
    std::string text = "num_ranks 4\n";
    for (int rank = 0; rank < 4; ++rank)
    {
        text += "rank " + std::to_string(rank) + " {\na: calc 100\nb: calc 30 cpu 1\n";
        for (int other = 0; other < 4; ++other)
        {
            if (other != rank)
            {
                const std::string n = std::to_string(other);
                text += "s" + n + ": send 64b to " + n + " tag 3\ns" + n + " requires a\n";
                text += "r" + n + ": recv 64b from " + n + " tag 3 cpu 0 nic 0\n";
            }
        }
        text += "c: calc 9 // end\nc requires r" + std::to_string((rank + 1) % 4) +
                "\nc irequires b\n}\n";
    }
    return text;
}

training::TrainingPlan
TwoStages()
{
    training::TrainingOptions o = OptionsOf("gpt2", 2, 0, 2);
    o.pipeline = 2;
    return training::MakePlan(o);
}

/// The traces of two ranks, all in one file: rank 0's, damaged, beside rank 1's.
Read
ChakraReader(bool json, std::string other)
{
    const std::string groups = GroupsText(TwoStages());
    return [json, other, groups](const std::string& text, std::vector<topo::Error>& errors) {
        const auto read = json ? ReadChakraJson : ReadChakraWire;
        std::vector<std::vector<ChakraNode>> nodes(2);
        if (!read(text, "f.0", &nodes[0], errors) || !read(other, "f.1", &nodes[1], errors))
        {
            return Plan();
        }
        return PlanOf(RecordingOfNodes(nodes, {"f.0", "f.1", "f.g"}, groups, NoTime, errors),
                      errors);
    };
}

std::string
ChakraText(bool json, coll::Rank rank)
{
    std::vector<ChakraNode> nodes = ChakraNodes(TwoStages(), rank);
    // A piece of it, small enough to be damaged where it matters.
    ChakraNode all;
    all.id = 9999;
    all.name = "all";
    all.type = ChakraType::kCollective;
    ChakraValue size;
    size.whole = 4096;
    all.attributes["comm_size"] = size;
    all.attributes["comm_type"] = ChakraValue(); // 0: an all-reduce
    nodes.insert(nodes.begin(), all);
    std::ostringstream os;
    (json ? WriteChakraJson : WriteChakraWire)(nodes, os);
    return os.str();
}

} // namespace

TEST(FormatsFuzz, Goal)
{
    const uint32_t fine =
        Fuzz(SmallGoal(), 1, [](const std::string& text, std::vector<topo::Error>& errors) {
            return PlanOf(ReadGoal(text, "f", errors), errors);
        });
    // Some damage leaves it in order: remarks, times, sizes of both ends.
    EXPECT_GT(fine, 0U);
    EXPECT_LT(fine, Cases());
}

TEST(FormatsFuzz, ChakraOfTheWire)
{
    const uint32_t fine = Fuzz(ChakraText(false, 0), 2, ChakraReader(false, ChakraText(false, 1)));
    EXPECT_GT(fine, 0U);
    EXPECT_LT(fine, Cases());
}

TEST(FormatsFuzz, ChakraJson)
{
    const uint32_t fine = Fuzz(ChakraText(true, 0), 3, ChakraReader(true, ChakraText(true, 1)));
    EXPECT_GT(fine, 0U);
    EXPECT_LT(fine, Cases());
}

TEST(FormatsFuzz, FlatJson)
{
    const std::string seed =
        R"({"workload_graph": [{"Id": 1, "Name": "c", "NodeType": 4, "ctrlDeps": [],)"
        R"( "data_deps": [], "runtime": 7, "is_cpu_op": false}, {"Id": 2, "Name": "s",)"
        R"( "NodeType": 7, "ctrlDeps": [1], "data_deps": [1], "comm_type": 2, "comm_size": 64}]})";
    EXPECT_GT(Fuzz(seed, 4, ChakraReader(true, seed)), 0U);
}

TEST(FormatsFuzz, HtsimMatrices)
{
    const std::string seed = "Nodes 5\nConnections 4\nTriggers 2\n"
                             "0->1 id 1 start 2000 size 1000 recv_done_trigger 1\n"
                             "1->2 id 2 trigger 1 size 2000 send_done_trigger 2\n"
                             "3->2 id 3 start 7 size 10 recv_done_trigger 2\n"
                             "2->4 id 4 trigger 2 size 100\n"
                             "trigger id 1 oneshot\ntrigger id 2 barrier count 2\n";
    const auto read = [](const std::string& text, std::vector<topo::Error>& errors) {
        return PlanOf(ReadHtsimTrace(text, "f", errors), errors);
    };
    const uint32_t fine = Fuzz(seed, 6, read);
    EXPECT_GT(fine, 0U);
    EXPECT_LT(fine, Cases());
}

TEST(FormatsFuzz, ListsOfLayers)
{
    // {text, GPUs}
    const std::vector<std::pair<std::string, uint32_t>> seeds = {
        {"HYBRID_DATA_MODEL\t\t\n2\na -1 10 ALLGATHER 64 10 ALLREDUCE 64 10 ALLREDUCE 64 3\n"
         "b\t-1\t10\tALLTOALL\t64\t10\tREDUCESCATTER\t64\t10\tNONE\t0\t3\n",
         6},
        {"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 1 all_gpus: 8 "
         "checkpoints: 1 0 checkpoint_initiates: 1 1 pp_comm: 8.0\n2\n"
         "a -1 10 ALLTOALL_EP 64 10 ALLREDUCE 64 10 REDUCESCATTER_DP_EP 64 3\n"
         "b -1 10 ALLGATHER 64 10 BROADCAST 64 10 ALLREDUCE 64 3\n",
         0},
        {"HYBRID_DLRM 1\n3\ne -1 1 ALLTOALL 64 1 ALLTOALL 64 1 NONE 0 3\n"
         "b -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 3\nt -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 3\n",
         4},
        {"HYBRID_CUSTOMIZED\n1\na -1 1 ALLGATHER 8 1 NONE 0 1 ALLREDUCE 8 1 HYBRID_MODEL_DATA\n",
         4}};
    for (std::size_t i = 0; i < seeds.size(); ++i)
    {
        const uint32_t gpus = seeds[i].second;
        const auto read = [gpus](const std::string& text, std::vector<topo::Error>& errors) {
            auto layers = ReadLayerText(text, "f", {gpus, 2}, errors);
            return layers && layers->plan.ranks <= 64 ? Plan(std::move(layers->plan))
                   : layers                           ? Plan(training::TrainingPlan())
                                                      : Plan();
        };
        const uint32_t fine = Fuzz(seeds[i].first, 7 + i, read, 4);
        EXPECT_GT(fine, 0U);
        EXPECT_LT(fine, Cases() / 4);
    }
}

TEST(FormatsFuzz, TracesOfKineto)
{
    const auto make = [](int rank) {
        return R"({"schemaVersion": 1, "distributedInfo": {"rank": )" + std::to_string(rank) +
               R"(, "world_size": 2, "pg_config": [{"pg_name": "0", "ranks": [0, 1]}]},
"traceEvents": [
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 5.5, "dur": 1, "args": {"correlation": 1}},
{"ph": "X", "cat": "kernel", "name": "k", "ts": 7, "dur": 10, "args": {"correlation": 1, "stream": 7}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 8, "dur": 1, "args": {"correlation": 2}},
{"ph": "X", "cat": "kernel", "name": "nccl", "ts": 17, "dur": 10, "args": {"correlation": 2, "stream": 20, "Collective name": "all_to_allv", "In msg nelems": 30, "Out msg nelems": 30, "dtype": "Float", "Process Group Name": "0", "Process Group Ranks": "[0, ..., 1]", "In split size": "[1, 2]"}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaStreamWaitEvent", "ts": 9, "dur": 1, "args": {"correlation": 3}},
{"ph": "X", "cat": "cuda_sync", "name": "w", "ts": 9, "dur": 1, "args": {"correlation": 3, "stream": 7, "wait_on_stream": 20, "wait_on_cuda_event_record_corr_id": 3}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "ts": 10, "dur": 17, "args": {"correlation": 9}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 28, "dur": 1, "args": {"correlation": 4}},
{"ph": "X", "cat": "kernel", "name": "m", "ts": 29, "dur": 10, "args": {"correlation": 4, "stream": 7}},
{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "ts": 1, "dur": 90}]})";
    };
    const std::string other = make(1);
    const auto read = [&other](const std::string& text, std::vector<topo::Error>& errors) {
        return PlanOf(RecordingOfKineto({text, other}, {"f.0", "f.1"}, {}, errors), errors);
    };
    std::vector<topo::Error> errors;
    ASSERT_TRUE(read(make(0), errors)) << errors[0].Sentence();
    const uint32_t fine = Fuzz(make(0), 11, read);
    EXPECT_GT(fine, 0U);
    EXPECT_LT(fine, Cases());
}

TEST(FormatsFuzz, Captures)
{
    // A folder of files, so fewer. Not run: that ranks do not call the same collectives, the
    // capture itself finds (docs/capture.md), and a run, which stops and says who waits.
    const std::string meta =
        R"({"format": "dltrain-capture", "version": 1, "world": 3, "gpus_per_server": 2,
 "ranks": [0, 2], "role_of": [0, 0, 2], "groups": [{"name": "world", "groups": [[0, 1, 2]]}],
 "steps": {"count": 2, "take": [1]}, "gpu": {"name": "A100"}, "mistakes": [], "notes": []})";
    const std::string rank = R"({"kind": "rank", "rank": 0, "streams": ["default", "nccl world"]}
{"id": 0, "kind": "gemm", "name": "old", "step": 0, "stream": 0, "m": 8, "n": 8, "k": 8}
{"id": 1, "kind": "gemm", "name": "mm", "step": 1, "phase": "forward", "stream": 0, "batch": 1, "m": 10, "n": 10, "k": 10, "flops": 2000, "read": 419, "written": 209, "dtype": "f16", "after": [0]}
{"id": 2, "kind": "collective", "name": "all_reduce", "op": "all_reduce", "bytes": 1000, "group": 0, "step": 1, "stream": 1, "after": [1]}
{"id": 3, "kind": "sync", "step": 1, "after": [2]}
{"id": 4, "kind": "host", "us": 100, "step": 1}
)";
    std::string other = rank;
    other.replace(other.find("\"rank\": 0"), 9, "\"rank\": 2");
    char name[] = "/tmp/f-XXXXXX";
    const std::string folder = ::mkdtemp(name);
    const auto write = [&folder](const std::string& file, const std::string& text) {
        std::ofstream(folder + "/" + file, std::ios::binary) << text;
    };
    const training::GpuSpec gpu = *training::FindGpu("A100");
    for (const bool inMeta : {true, false})
    {
        write("meta.json", meta);
        write("rank-0.jsonl", rank);
        write("rank-2.jsonl", other);
        const auto read = [&](const std::string& text, std::vector<topo::Error>& errors) {
            write(inMeta ? "meta.json" : "rank-0.jsonl", text);
            if (!IsCapture(folder))
            {
                errors.push_back(rdma::ErrorAt("", "is no capture"));
                errors.back().file = "f";
                return Plan();
            }
            const auto trace = ReadTrace(folder, NoTime, {gpu, 25e9}, errors);
            Plan plan = trace ? formats::PlanOf(*trace, "f", {}, errors) : std::nullopt;
            for (topo::Error& error : errors)
            {
                error.file = "f" + error.file; // the folder's name is this test's own
            }
            return plan;
        };
        const uint32_t fine = Fuzz(inMeta ? meta : rank, inMeta ? 12 : 13, read, 10, false);
        EXPECT_GT(fine, 0U);
        EXPECT_LT(fine, Cases() / 10);
    }
    EXPECT_EQ(std::system(("rm -r " + folder).c_str()), 0);
}

TEST(FormatsFuzz, TablesOfNcclTests)
{
    const std::string seed =
        "# Collective test starting: all_reduce_perf\n"
        "#  Rank  0 Group  0 Pid 10 on one device  0 [0x07] NVIDIA A100\n"
        "#  Rank  1 Group  0 Pid 11 on two device  1 [0x0f] NVIDIA A100\n"
        "# all_reduce, algorithm ring; 2 ranks on 2 servers, single-switch\n"
        "#       size   count    type   redop    root     time   algbw   busbw #wrong\n"
        "[1,0]<stdout>:        1024  256   float  sum  -1    15.50    0.07    0.10      0\n"
        "0: 2048           512     float     sum      -1    16.25    0.13    0.19      0\n";
    std::mt19937_64 random(14);
    uint32_t fine = 0;
    for (uint32_t i = 0; i < Cases(); ++i)
    {
        const std::string text = Damaged(seed, random);
        std::vector<topo::Error> errors;
        const auto output = ReadNcclOutput(text, "f", errors);
        ASSERT_EQ(output.has_value(), errors.empty()) << i;
        ASSERT_LE(errors.size(), 1U) << i;
        for (const topo::Error& error : errors)
        {
            ASSERT_EQ(error.file.compare(0, 1, "f"), 0) << i;
            ASSERT_LT(error.Sentence().size(), 3000U) << i;
            ASSERT_EQ(rdma::Printable(error.Sentence()), error.Sentence()) << i;
        }
        for (const auto& [bytes, us] : output ? output->time : std::map<uint64_t, double>())
        {
            ASSERT_GT(bytes, 0U) << i;
            ASSERT_GT(us, 0) << i;
        }
        fine += output.has_value();
    }
    EXPECT_GT(fine, 0U);
    EXPECT_LT(fine, Cases());
}

TEST(FormatsFuzz, PackedFiles)
{
    // "hello\n" by gzip -n.
    const std::string packed("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\xcd\xc9\xc9\xe7\x02"
                             "\x00\x20\x30\x3a\x36\x06\x00\x00\x00",
                             26);
    std::mt19937_64 random(5);
    for (uint32_t i = 0; i < Cases(); ++i)
    {
        std::vector<topo::Error> errors;
        const auto text = Unpacked(Damaged(packed, random), "f", errors);
        ASSERT_EQ(text.has_value(), errors.empty()) << i;
    }
}
