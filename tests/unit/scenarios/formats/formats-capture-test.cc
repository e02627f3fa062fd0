/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/core/block-sizes.h"
#include "scenarios/formats/capture/capture-findings.h"
#include "scenarios/formats/capture/capture.h"
#include "scenarios/formats/trace/trace.h"
#include "scenarios/models/kernel.h"
#include "scenarios/training/layer-kernels.h"
#include "scenarios/training/spec/kernel-time.h"
#include "tests/unit/scenarios/one-step.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <iomanip>
#include <optional>
#include <sstream>
#include <string>

using namespace formats;
using training::TaskKind;

namespace
{

const char* const kMeta =
    R"({"format": "dltrain-capture", "version": 1, "world": 4, "gpus_per_server": 2,
        "ranks": [0, 3], "role_of": [0, 0, 0, 3],
        "groups": [{"name": "world", "groups": [[0, 1, 2, 3]]},
                   {"name": "pair", "groups": [[0, 1], [2, 3]]}],
        "steps": {"count": 2, "take": [1]},
        "gpu": {"name": "A100"}, "mistakes": [], "notes": ["loss is not known"]})";

/// Ranks 0 to 2, and 3, whose kernel is another one.
std::string
RankText(int rank, const std::string& more = "")
{
    return R"({"kind": "rank", "rank": )" + std::to_string(rank) +
           R"(, "streams": ["default", "nccl world", "side"]}
{"id": 0, "kind": "gemm", "name": "old", "step": 0, "stream": 0, "m": 8, "n": 8, "k": 8}
{"id": 1, "kind": "gemm", "name": "aten::mm", "step": 1, "phase": "forward", "stream": 0, "batch": 1, "m": 1024, "n": 1024, "k": 1024, "flops": 2147483648, "read": 4194304, "written": 2097152, "dtype": "f16", "after": [0], "line": "train.py:7"}
{"id": 2, "kind": "collective", "name": "all_reduce", "op": "all_reduce", "bytes": 1000000, "group": 0, "step": 1, "phase": "backward", "stream": 1, "after": [1]}
{"id": 3, "kind": "pointwise", "name": "aten::add", "step": 1, "stream": 0, "read": 1000000, "written": 1000000, "dtype": "f32"}
{"id": 4, "kind": "sync", "step": 1, "after": [2]}
{"id": 5, "kind": "host", "us": 100, "step": 1}
{"id": 6, "kind": "optimizer", "name": "step", "step": 1, "phase": "optimizer", "stream": 0, "read": 3000000, "written": 1000000, "dtype": "f32"}
)" + more;
}

class Folder
{
  public:
    Folder()
    {
        char name[] = "/tmp/capture-XXXXXX";
        path = ::mkdtemp(name);
        Write("meta.json", kMeta);
        Write("rank-0.jsonl", RankText(0));
        Write("rank-3.jsonl", RankText(3));
    }

    ~Folder()
    {
        EXPECT_EQ(std::system(("rm -r " + path).c_str()), 0);
    }

    void Write(const std::string& name, const std::string& text) const
    {
        std::ofstream(path + "/" + name) << text;
    }

    std::optional<training::TrainingPlan> Read(std::string* error = nullptr,
                                               const Places& places = {},
                                               const char* gpuName = "A100",
                                               std::vector<std::string>* notes = nullptr) const
    {
        const training::GpuSpec gpu = *training::FindGpu(gpuName);
        std::vector<topo::Error> errors;
        EXPECT_TRUE(IsCapture(path));
        const auto trace = ReadTrace(
            path,
            [](double, double) { return rdma::Duration(0); },
            {gpu, 25e9},
            errors);
        if (trace && notes)
        {
            *notes = trace->notes;
        }
        auto plan = trace ? PlanOf(*trace, path, places, errors) : std::nullopt;
        EXPECT_EQ(plan.has_value(), errors.empty());
        EXPECT_LE(errors.size(), 1U);
        const std::string text = errors.empty() ? "" : errors[0].Sentence();
        if (error)
        {
            *error = text;
        }
        else
        {
            EXPECT_EQ(text, "");
        }
        return plan;
    }

    std::string path;
};

} // namespace

TEST(Capture, TasksOfTheStep)
{
    const Folder folder;
    const auto plan = folder.Read();
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->ranks, 4U);
    EXPECT_EQ(plan->roles.size(), 2U);
    EXPECT_EQ(plan->roleOf, (std::vector<uint32_t>{0, 0, 0, 1}));
    const auto& graph = plan->roles[0];
    ASSERT_EQ(graph.tasks.size(), 6U);
    const training::GpuSpec gpu = training::InTraining(*training::FindGpu("A100"));
    training::Kernel product;
    product.kind = training::KernelClass::kMatrix;
    product.rows = product.columns = product.inner = 1024;
    product.flops = 2147483648;
    product.bytes = 6291456;
    const double seconds = training::Seconds(product, gpu, training::Dtype::kFp16);
    EXPECT_NEAR(static_cast<double>(graph.tasks[0].duration.ps), seconds * 1e12, 1);
    EXPECT_EQ(graph.tasks[0].name, "aten::mm train.py:7");
    EXPECT_EQ(graph.tasks[0].phase, training::Phase::kForward);
    EXPECT_TRUE(graph.tasks[0].after.empty()); // what it waits for is of the step before
    EXPECT_EQ(graph.tasks[1].op, coll::Op::kAllReduce);
    // 1 MB read and 1 MB written at the bandwidth of pointwise kernels, and a launch.
    EXPECT_NEAR(static_cast<double>(graph.tasks[2].duration.ps),
                (gpu.rates.launch + 2e6 / (gpu.memoryBandwidth * gpu.rates.pointwise)) * 1e12,
                1);
    EXPECT_NEAR(static_cast<double>(graph.tasks[5].duration.ps),
                (gpu.rates.launch + 4e6 / (gpu.memoryBandwidth * gpu.rates.optimizer)) * 1e12,
                1);
    // The product; the collective, 5 us and 20 ps a byte, beside which the addition is hidden;
    // then the program works for 100 us, and the optimizer comes behind that.
    const auto step = onestep::Run(*plan);
    EXPECT_EQ(step.ended, step.tasks);
    EXPECT_EQ(step.time,
              graph.tasks[0].duration.ps + 5000000 + 20 * 1000000 + 100000000 +
                  graph.tasks[5].duration.ps);
}

// A convolution on tensor cores (TF32, 16 bits) whose pictures lie channel by channel moves them
// three times: of 30 MB that it reads and writes 20 MB are pictures, so 70 MB. In fp32, and on a
// GPU without TF32, nothing is turned round.
// Ranks 0 to 2 do a product of 2^31 FLOPs forward in f16 and two backward in f32; rank 3 computes
// it once more. The model's FLOPs are at most three times those of forward.
TEST(Capture, WorkOfTheStep)
{
    const Folder folder;
    std::string meta = kMeta;
    meta.insert(1, R"("work": {"samples": 32, "tokens": 4096}, )");
    folder.Write("meta.json", meta);
    const auto product = [](int id, const char* dtype) {
        return R"({"id": )" + std::to_string(id) +
               R"(, "kind": "gemm", "name": "aten::mm", "step": 1, "phase": "backward", "stream": 0,
 "batch": 1, "m": 1024, "n": 1024, "k": 1024, "dtype": ")" +
               dtype + "\"}\n";
    };
    const auto oneLine = [](std::string text) {
        text.erase(std::remove(text.begin(), text.end() - 1, '\n'), text.end() - 1);
        return text;
    };
    const std::string two = oneLine(product(7, "f32")) + oneLine(product(8, "f32"));
    folder.Write("rank-0.jsonl", RankText(0, two));
    folder.Write("rank-3.jsonl", RankText(3, two + oneLine(product(9, "f16"))));
    const auto plan = folder.Read();
    ASSERT_TRUE(plan);
    const double flops = 2147483648.0;
    EXPECT_DOUBLE_EQ(plan->flopsPerGpuPerStep, 3 * flops);
    EXPECT_EQ(plan->samplesPerStep, 32U);
    EXPECT_EQ(plan->tokensPerStep, 4096U);
    const training::GpuSpec gpu = *training::FindGpu("A100");
    const double half = flops / gpu.Peak(training::Dtype::kFp16);
    const double single = flops / gpu.Peak(training::Dtype::kFp32);
    const double seconds = (3 * (half + 2 * single) + 3.0 / 4 * (2 * half + 2 * single)) / 4;
    EXPECT_NEAR(plan->peakFlops, 3 * flops / seconds, 1e-9 * plan->peakFlops);
    // Without it nothing is known of samples.
    folder.Write("meta.json", kMeta);
    EXPECT_EQ(folder.Read()->samplesPerStep, 0U);
}

TEST(Capture, PicturesThatAreTurnedRound)
{
    const Folder folder;
    std::string lines;
    int id = 7;
    for (const char* dtype : {"tf32", "bf16", "f32"})
    {
        for (const char* turned : {"", R"(, "channels_first": 20000000)"})
        {
            lines += R"({"id": )" + std::to_string(id++) +
                     R"(, "kind": "conv", "name": "conv", "step": 1, "stream": 0, "m": 1024, )"
                     R"("n": 64, "k": 576, "read": 20000000, "written": 10000000, "dtype": ")" +
                     dtype + "\"" + turned + "}\n";
        }
    }
    folder.Write("rank-0.jsonl", RankText(0, lines));
    for (const char* name : {"A100", "V100"})
    {
        const training::GpuSpec gpu = training::InTraining(*training::FindGpu(name));
        std::vector<std::string> notes;
        const auto plan = folder.Read(nullptr, {}, name, &notes);
        ASSERT_TRUE(plan);
        training::Kernel kernel;
        kernel.kind = training::KernelClass::kConvolution;
        kernel.rows = 1024;
        kernel.columns = 64;
        kernel.inner = 576;
        kernel.flops = 2.0 * 1024 * 64 * 576;
        const auto expect = [&](std::size_t task, training::Dtype dtype, double bytes) {
            kernel.bytes = bytes;
            EXPECT_NEAR(static_cast<double>(plan->roles[0].tasks[task].duration.ps),
                        training::Seconds(kernel, gpu, dtype) * 1e12,
                        1)
                << name << " " << task;
        };
        using training::Dtype;
        const bool old = std::string(name) == "V100";
        expect(6, old ? Dtype::kFp32 : Dtype::kTf32, 30e6);
        expect(7, old ? Dtype::kFp32 : Dtype::kTf32, old ? 30e6 : 70e6);
        expect(8, old ? Dtype::kFp16 : Dtype::kBf16, 30e6);
        expect(9, old ? Dtype::kFp16 : Dtype::kBf16, 70e6);
        expect(10, Dtype::kFp32, 30e6);
        expect(11, Dtype::kFp32, 30e6);
        // That V100 has no bf16 is said.
        const auto said = std::count_if(notes.begin(), notes.end(), [](const std::string& note) {
            return note.find("has no bf16: such kernels take the times of fp16") !=
                   std::string::npos;
        });
        EXPECT_EQ(said, old ? 1 : 0);
    }
}

TEST(Capture, ProductsOfEightBits)
{
    // At the rate of fp8 where the GPU has one; else at that of fp16, which a note says.
    const Folder folder;
    folder.Write("rank-0.jsonl",
                 RankText(0,
                          R"({"id": 7, "kind": "gemm", "name": "aten::_scaled_mm", "step": 1, )"
                          R"("stream": 0, "m": 4096, "n": 4096, "k": 4096, "read": 33554432, )"
                          R"("written": 33554432, "dtype": "f8"})"
                          "\n"));
    for (const char* name : {"H100", "A100"})
    {
        const training::GpuSpec gpu = training::InTraining(*training::FindGpu(name));
        const bool old = gpu.Peak(training::Dtype::kFp8) <= 0;
        EXPECT_EQ(old, std::string(name) == "A100");
        std::vector<std::string> notes;
        const auto plan = folder.Read(nullptr, {}, name, &notes);
        ASSERT_TRUE(plan);
        training::Kernel kernel;
        kernel.kind = training::KernelClass::kMatrix;
        kernel.batch = 1;
        kernel.rows = kernel.columns = kernel.inner = 4096;
        kernel.flops = 2.0 * 4096 * 4096 * 4096;
        kernel.bytes = 2 * 33554432.0;
        kernel.casts = false; // a script has them as lines of their own
        const training::Dtype dtype = old ? training::Dtype::kFp16 : training::Dtype::kFp8;
        EXPECT_NEAR(static_cast<double>(plan->roles[0].tasks[6].duration.ps),
                    training::Seconds(kernel, gpu, dtype) * 1e12,
                    1)
            << name;
        const auto said = std::count_if(notes.begin(), notes.end(), [](const std::string& note) {
            return note.find("has no fp8: such kernels take the times of fp16") !=
                   std::string::npos;
        });
        EXPECT_EQ(said, old ? 1 : 0);
    }
}

TEST(Capture, MessagesAndSideStreams)
{
    const Folder folder;
    // Grouped: each rank of a pair sends to the other and receives from it.
    const auto exchange = [](int peer) {
        return R"({"id": 7, "kind": "send", "name": "isend", "step": 1, "stream": 1, "bytes": 4096, "group": 1, "peer": )" +
               std::to_string(peer) + R"(, "batch": 1, "after": [6]}
{"id": 8, "kind": "recv", "name": "irecv", "step": 1, "stream": 1, "bytes": 4096, "group": 1, "peer": )" +
               std::to_string(peer) + R"(, "batch": 1, "after": [6]}
{"id": 9, "kind": "gemm", "name": "side", "step": 1, "stream": 2, "m": 4096, "n": 4096, "k": 4096, "dtype": "bf16"}
{"id": 10, "kind": "memcpy", "name": "copy", "step": 1, "stream": 0, "bytes": 25000, "direction": "to-gpu", "after": [8]}
)";
    };
    folder.Write("meta.json",
                 R"({"format": "dltrain-capture", "version": 1, "world": 2,
                     "ranks": [0, 1], "role_of": [0, 1],
                     "groups": [{"name": "world", "groups": [[0, 1]]},
                                {"name": "pair", "groups": [[0, 1]]}],
                     "steps": {"count": 2, "take": [1]}})");
    folder.Write("rank-0.jsonl", RankText(0, exchange(1)));
    folder.Write("rank-1.jsonl", RankText(1, exchange(-1)));
    const auto plan = folder.Read();
    ASSERT_TRUE(plan);
    const auto& tasks = plan->roles[0].tasks;
    ASSERT_EQ(tasks.size(), 10U);
    EXPECT_EQ(tasks[6].kind, TaskKind::kSend);
    EXPECT_NE(tasks[6].stream, tasks[7].stream); // they start together
    EXPECT_EQ(tasks[6].peerOffset, 1);
    EXPECT_NE(tasks[8].stream, 0);
    // 25 kB at 25 GB/s, begun as a kernel is.
    const double launch = training::FindGpu("A100")->rates.launch;
    EXPECT_NEAR(static_cast<double>(tasks[9].duration.ps), 1000000 + launch * 1e12, 1);
    const auto step = onestep::Run(*plan);
    EXPECT_EQ(step.ended, step.tasks);
}

TEST(Capture, UnevenAllToAll)
{
    const Folder folder;
    const auto line = [](const std::string& sends) {
        return R"({"id": 7, "kind": "collective", "name": "a2a", "op": "alltoallv", "bytes": 6, "group": 1, "step": 1, "stream": 1, "sends": )" +
               sends + "}\n";
    };
    folder.Write("rank-0.jsonl", RankText(0, line("[1, 5]")));
    folder.Write("rank-3.jsonl", RankText(3, line("[2, 4]")));
    const auto plan = folder.Read();
    ASSERT_TRUE(plan);
    // Ranks 0, 1 and 2 have 1 for the first and 5 for the second of their pair, 3 has 2 and 4.
    for (coll::Rank rank = 0; rank < 4; ++rank)
    {
        const auto& task = plan->roles[plan->roleOf[rank]].tasks.back();
        ASSERT_TRUE(task.blocks);
        EXPECT_EQ(task.blocks->Bytes(0, 1), 5U);
        EXPECT_EQ(task.blocks->Bytes(1, 0), rank < 2 ? 1U : 2U);
        EXPECT_EQ(task.bytes, 6U);
    }
    folder.Write("rank-3.jsonl", RankText(3));
    std::string error;
    EXPECT_FALSE(folder.Read(&error));
    EXPECT_NE(error.find("rank 3 has no sizes"), std::string::npos) << error;
}

/// Two ranks of a server (gpus_per_server), on servers of three GPUs: each server's last one does
/// nothing, and groups follow their ranks.
TEST(Capture, RanksOfServersStayApart)
{
    const Folder folder;
    const auto plan = folder.Read(nullptr, {9, 3});
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->ranks, 9U);
    EXPECT_EQ(plan->roleOf, (std::vector<uint32_t>{0, 0, 2, 0, 1, 2, 2, 2, 2}));
    EXPECT_TRUE(plan->roles[2].tasks.empty());
    EXPECT_EQ(plan->groupKinds[0].groups, (std::vector<std::vector<coll::Rank>>{{0, 1, 3, 4}}));
    EXPECT_EQ(plan->groupKinds[1].groups, (std::vector<std::vector<coll::Rank>>{{0, 1}, {3, 4}}));
    EXPECT_EQ(onestep::Run(*plan).time, onestep::Run(*folder.Read()).time);
}

TEST(Capture, Findings)
{
    const Folder folder;
    EXPECT_FALSE(ReadFindings("/no/such/folder"));
    auto found = ReadFindings(folder.path);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->world, 4U);
    EXPECT_EQ(found->steps, 2U);
    EXPECT_TRUE(found->mistakes.empty());
    EXPECT_EQ(WhyNotSimulated(*found), "");
    // What is not as it should be is left out.
    folder.Write("meta.json",
                 R"({"format": "dltrain-capture", "world": "many", "captured": [0, 5],
                     "steps": [], "memory": [1, {"rank": 0, "peak_reserved_bytes": 5},
                     {"rank": 5, "peak_reserved_bytes": 7, "peak_allocated_bytes": 6}],
                     "mistakes": [7, {"kind": "unused-parameters", "ranks": [0, -1, "x"],
                                      "lines": ["train.py:3", 4], "text": "unused"}]})");
    found = ReadFindings(folder.path);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->world, 0U);
    EXPECT_EQ(found->captured, 2U);
    EXPECT_EQ(found->memoryRank, 5U);
    EXPECT_EQ(found->reservedBytes, 7U);
    EXPECT_EQ(found->allocatedBytes, 6U);
    ASSERT_EQ(found->mistakes.size(), 1U);
    EXPECT_EQ(found->mistakes[0].ranks, (std::vector<uint64_t>{0}));
    EXPECT_EQ(found->mistakes[0].lines, (std::vector<std::string>{"train.py:3"}));
    EXPECT_EQ(WhyNotSimulated(*found), ""); // slower, but it runs
    for (const char* kind : {"mismatch", "order", "missing", "unmatched"})
    {
        found->mistakes.push_back({kind, {1}, {}, "they wait"});
        EXPECT_NE(WhyNotSimulated(*found).find(kind), std::string::npos);
        // Its text is printed with the mistakes.
        EXPECT_EQ(WhyNotSimulated(*found).find("they wait"), std::string::npos);
        found->mistakes.pop_back();
    }
    folder.Write("meta.json", R"({"format": "dltrain-capture", "exit_status": 5})");
    EXPECT_EQ(WhyNotSimulated(*ReadFindings(folder.path)),
              "not simulated: the script failed (status 5)");
    folder.Write("meta.json", R"({"format": "other"})");
    EXPECT_FALSE(ReadFindings(folder.path));
    folder.Write("meta.json", "{");
    EXPECT_FALSE(ReadFindings(folder.path));
}

TEST(Capture, Errors)
{
    const Folder folder;
    const auto expect =
        [&](const std::string& file, const std::string& text, const std::string& part) {
            folder.Write("meta.json", kMeta);
            folder.Write("rank-0.jsonl", RankText(0));
            folder.Write(file, text);
            std::string error;
            EXPECT_FALSE(folder.Read(&error)) << text;
            EXPECT_NE(error.find(part), std::string::npos) << error;
        };
    expect("meta.json", "[]", "meta.json: is no JSON object");
    // Where it is no JSON any more, by line and column; a key twice would be one that is ignored.
    expect("meta.json", "{\n\"a\": 1", "meta.json:2:7: malformed JSON: ");
    expect("meta.json", "{\"a\": 1,\n \"a\": 2}", "meta.json:2:2: the key \"a\" stands twice");
    expect("meta.json", R"({"version": 2})", "version 2; allowed: 1");
    expect("meta.json", R"({"version": 1, "world": 0})", "world is 0");
    expect("meta.json", R"({"version": 1, "world": 2, "groups": [{"groups": [[0, 2]]}]})", "rank");
    expect("meta.json",
           R"({"version": 1, "world": 2, "groups": [], "ranks": [0], "role_of": [0, 1]})",
           "role_of names rank 1");
    expect("meta.json",
           R"({"version": 1, "world": 2, "groups": [], "ranks": [0], "role_of": [0]})",
           "role_of has 1 ranks");
    for (const auto& [work, part] :
         {std::pair{"[]", "work is no JSON object"}, std::pair{R"({"samples": -1})", "samples"}})
    {
        std::string meta = kMeta;
        meta.insert(1, R"("work": )" + std::string(work) + ", ");
        expect("meta.json", meta, part);
    }
    expect("rank-0.jsonl", RankText(0) + "{\n", "rank-0.jsonl:9:2: malformed JSON: ");
    expect("rank-0.jsonl", RankText(0) + "[]\n", "rank-0.jsonl:9: is no JSON object");
    expect("rank-0.jsonl",
           RankText(0, R"({"id": 7, "step": 1, "kind": "gem"})"),
           "kind is \"gem\"");
    // Ids count the tasks, and none may be missing.
    for (const char* id : {"6", "8"})
    {
        expect("rank-0.jsonl",
               RankText(0, R"({"step": 1, "kind": "host", "id": )" + std::string(id) + "}"),
               "id is " + std::string(id) + "; allowed: 7");
    }
    for (const char* tasks : {"6", "8"})
    {
        std::string text = RankText(0);
        text.insert(1, R"("tasks": )" + std::string(tasks) + ", ");
        expect("rank-0.jsonl", text, "7 tasks, of " + std::string(tasks));
    }
    expect("rank-0.jsonl", RankText(3), "rank is not that of the file's name, 0");
    expect("rank-0.jsonl", "", "rank-0.jsonl: has no line of the rank");
    expect("rank-0.jsonl", RankText(0).substr(RankText(0).find('\n') + 1), "first line");
    // Nothing that counts is taken for 0, nothing unknown for something else.
    const std::pair<const char*, const char*> kWrong[] = {
        {R"("kind": "gemm", "stream": 0, "m": 8, "n": 8)", "k is missing"},
        {R"("kind": "pointwise", "read": 8)", "stream is missing"},
        {R"("kind": "pointwise", "stream": 0, "flops": -1)",
         "flops is no number that is allowed: 0 to 1e+21"},
        {R"("kind": "pointwise", "stream": 0, "launches": "x")",
         "launches is no number that is allowed: 0 to 1000000000"},
        {R"("kind": "pointwise", "stream": 0, "dtype": "f17")", "dtype is \"f17\""},
        {R"("kind": "pointwise", "stream": 0, "pass": "back")", "pass is \"back\""},
        {R"("kind": "memcpy", "stream": 0, "bytes": 8, "direction": "to-gpu", "blocking": 1)",
         "blocking is neither true nor false"},
        {R"("kind": "pointwise", "stream": 0, "phase": "back")", "phase is \"back\""},
        {R"("kind": "memcpy", "stream": 0, "bytes": 8, "direction": "up")", "direction is \"up\""},
        {R"("kind": "collective", "op": "all_reduce", "stream": 1, "group": 0)",
         "bytes is missing"},
        {R"("kind": "collective", "op": "all_reduce", "stream": 1, "bytes": 8)",
         "group is missing"},
        {R"("kind": "collective", "op": "all_reduce", "stream": 1, "bytes": 8, "group": 0, "reduce": "all")",
         "reduce is \"all\""},
        {R"("kind": "collective", "op": "all_reduce", "stream": 1, "bytes": 8, "group": 0, "sequence": -1)",
         "sequence is no whole number"},
    };
    for (const auto& [line, part] : kWrong)
    {
        expect("rank-0.jsonl",
               RankText(0, R"({"id": 7, "step": 1, )" + std::string(line) + "}"),
               part);
    }
    const auto meta = [](const std::string& key, const std::string& value) {
        return R"({")" + key + "\": " + value + ", " + std::string(kMeta).substr(1);
    };
    expect("meta.json", meta("exit_status", "\"no\""), "exit_status");
    expect("meta.json", meta("memory", R"([{"rank": 0, "peak_reserved_bytes": -1}])"), "peak_res");
    expect("meta.json", R"({"format": "x", "version": 1})", "format is \"x\"");
    expect("meta.json",
           R"({"version": 1, "world": 2, "groups": [{"name": "all", "groups": [[0]]}],
               "ranks": [0], "role_of": [0, 0], "steps": {"take": [1]}})",
           "rank 1 plays rank-0.jsonl, and is in no group of \"all\"");
    expect("meta.json",
           R"({"version": 1, "world": 1, "groups": [], "ranks": [0], "role_of": [0],
               "steps": {"count": 2, "take": [2]}})",
           "take has step 2 of 2; allowed: 0 to 1");
    expect("meta.json",
           R"({"version": 1, "world": 2, "groups": [{"name": "world", "groups": [[0, 1]]}],
               "ranks": [0, 1], "role_of": [0, 1], "steps": {"take": [1]}})",
           "rank-1.jsonl: is missing");
    expect("rank-0.jsonl",
           RankText(0, R"({"id": 7, "step": 1, "kind": "host", "after": [7]})"),
           "smaller than its own");
    expect("rank-0.jsonl",
           RankText(0, R"({"id": 7, "step": 1, "kind": "collective", "op": "all_reduse"})"),
           "no collective");
    expect("rank-0.jsonl",
           RankText(0,
                    R"({"id": 7, "step": 1, "kind": "send", "stream": 1, "bytes": 1, )"
                    R"("peer": 0, "group": 0})"),
           "peer is no other");
    expect("rank-0.jsonl",
           RankText(0,
                    R"({"id": 7, "step": 1, "kind": "send", "stream": 1, "peer": 1, "group": 1, )"
                    R"("bytes": 1})"),
           "");
}

// Fused attention of a capture takes what the zoo's takes, forward and backward, causal (GPT-2) or
// not (BERT): the same products (2, and 2.5 times that as scores are computed anew), of which the
// record has half where causal.
TEST(Capture, AttentionIsTheZoos)
{
    const Folder folder;
    for (const char* model : {"gpt2", "bert-large"})
    {
        training::TrainingOptions o;
        o.model = *training::FindModel(model);
        o.gpu = *training::FindGpu("A100");
        o.microBatch = 3;
        o.sequence = 1024;
        o.fusedAttention = true;
        for (const bool forward : {true, false})
        {
            std::optional<training::Kernel> zoo;
            for (const auto& part : o.model.layers[1].parts)
            {
                for (const auto& op : part.operators)
                {
                    const auto pass =
                        forward ? training::Pass::kForward : training::Pass::kBackwardInput;
                    for (const auto& kernel : training::KernelsOf(op, part, pass, o))
                    {
                        if (kernel.kind == training::KernelClass::kAttention)
                        {
                            zoo = kernel;
                        }
                    }
                }
            }
            ASSERT_TRUE(zoo);
            const double scores = zoo->heads * zoo->queries * zoo->keys * zoo->headSize;
            const double flops = scores * (forward ? 4 : 10) * (zoo->causal ? 0.5 : 1);
            std::ostringstream line;
            line << std::setprecision(17) << R"({"id": 7, "kind": "attention", "name": "mine", )"
                 << R"("step": 1, "stream": 0, "dtype": "bf16", "heads": )" << zoo->heads
                 << R"(, "queries": )" << zoo->queries << R"(, "keys": )" << zoo->keys
                 << R"(, "head_size": )" << zoo->headSize << R"(, "flops": )" << flops
                 << R"(, "read": )" << 2 * zoo->elements << R"(, "causal": )"
                 << (zoo->causal ? "true" : "false") << R"(, "pass": ")"
                 << (forward ? "forward" : "backward") << "\"}\n";
            folder.Write("rank-0.jsonl", RankText(0, line.str()));
            const auto plan = folder.Read();
            ASSERT_TRUE(plan);
            const auto gpu = training::InTraining(o.gpu);
            EXPECT_NEAR(plan->roles[0].tasks[6].duration.ps,
                        1e12 * training::Seconds(*zoo, gpu, training::Dtype::kBf16),
                        1)
                << model << " " << forward;
        }
    }
}

TEST(Capture, KernelsWithTimes)
{
    // Of programs of C++: what a kernel takes is told, on any GPU.
    const Folder folder;
    const std::string begin = R"({"id": 7, "kind": "kernel", "name": "mine", "step": 1, )"
                              R"("stream": 0, "grid": [4, 1, 1])";
    folder.Write("rank-0.jsonl", RankText(0, begin + ", \"us\": 12.5}\n"));
    const auto plan = folder.Read();
    ASSERT_TRUE(plan);
    const auto& tasks = plan->roles[0].tasks;
    ASSERT_EQ(tasks.size(), 7U);
    EXPECT_EQ(tasks[6].kind, TaskKind::kCompute);
    EXPECT_EQ(tasks[6].duration.ps, 12500000);
    std::string error;
    folder.Write("rank-0.jsonl", RankText(0, begin + "}\n"));
    EXPECT_FALSE(folder.Read(&error));
    EXPECT_NE(error.find("rank-0.jsonl:9"), std::string::npos) << error;
    EXPECT_NE(error.find("us is missing"), std::string::npos) << error;
}
