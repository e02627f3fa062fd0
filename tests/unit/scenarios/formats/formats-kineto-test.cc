/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Traces of PyTorch's profiler, made here. Times by the rules of one-step.h: a collective takes 5
 * us and 20 ps a byte from its last rank on, a message 1 us and 10 ps a byte.
 */
#include "collectives/core/block-sizes.h"
#include "scenarios/formats/kineto/kineto.h"
#include "scenarios/formats/recorded/recorded-plan.h"
#include "tests/unit/scenarios/one-step.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

using namespace formats;
using nlohmann::ordered_json;

namespace
{

constexpr int64_t kUs = 1000000;

/// A trace of one rank. Launches have the correlations 1, 2, ...
class Trace
{
  public:
    Trace(int rank, int world)
    {
        m_trace["schemaVersion"] = 1;
        m_trace["distributedInfo"] = {{"backend", "nccl"}, {"rank", rank}, {"world_size", world}};
        m_trace["traceEvents"] = ordered_json::array();
    }

    void Add(const char* category,
             const std::string& name,
             double begin,
             double duration,
             ordered_json args)
    {
        m_trace["traceEvents"].push_back({{"ph", "X"},
                                          {"cat", category},
                                          {"name", name},
                                          {"ts", 1e9 + begin},
                                          {"dur", duration},
                                          {"args", std::move(args)}});
    }

    /// What is launched at `at` and runs from `begin` on.
    void Kernel(const std::string& name,
                double at,
                double begin,
                double duration,
                int stream = 7,
                ordered_json args = ordered_json::object())
    {
        ++m_correlation;
        Add("cuda_runtime", "cudaLaunchKernel", at, 1, {{"correlation", m_correlation}});
        args["correlation"] = m_correlation;
        args["stream"] = stream;
        Add("kernel", name, begin, duration, args);
    }

    void Collective(const std::string& call,
                    double at,
                    double begin,
                    double duration,
                    int64_t in,
                    int64_t out,
                    const std::string& ranks,
                    ordered_json args = ordered_json::object(),
                    int stream = 20)
    {
        args["Collective name"] = call;
        args["In msg nelems"] = in;
        args["Out msg nelems"] = out;
        args["dtype"] = "Float";
        args["Process Group Name"] = "0";
        args["Process Group Ranks"] = ranks;
        Kernel("ncclDevKernel_" + call, at, begin, duration, stream, args);
    }

    void Call(const std::string& name, double begin, double duration, int64_t correlation = 0)
    {
        Add("cuda_runtime", name, begin, duration, {{"correlation", correlation}});
    }

    ordered_json& Json()
    {
        return m_trace;
    }

    std::string Text() const
    {
        return m_trace.dump();
    }

  private:
    ordered_json m_trace;
    int m_correlation = 0;
};

std::optional<training::TrainingPlan>
PlanOf(const std::vector<std::string>& texts,
       std::string* error = nullptr,
       const KinetoRanks& ranks = {})
{
    std::vector<std::string> files;
    for (std::size_t i = 0; i < texts.size(); ++i)
    {
        files.push_back("t" + std::to_string(i) + ".json");
    }
    std::vector<topo::Error> errors;
    const auto recording = RecordingOfKineto(texts, files, ranks, errors);
    auto plan = recording ? MakePlan(*recording, "t", 0, errors) : std::nullopt;
    EXPECT_EQ(plan.has_value(), errors.empty());
    EXPECT_LE(errors.size(), 1U);
    const std::string said = errors.empty() ? "" : errors[0].Sentence();
    if (error)
    {
        *error = said;
    }
    else
    {
        EXPECT_EQ(said, "");
    }
    return plan;
}

std::string
ErrorOf(const std::vector<std::string>& texts, const KinetoRanks& ranks = {})
{
    std::string error;
    EXPECT_FALSE(PlanOf(texts, &error, ranks));
    return error;
}

/// a; an all-reduce of 4 MB behind it, beside b; c waits for it; the program waits for c, and
/// launches d 5 us later.
Trace
Step(int rank, int world, bool waits = true)
{
    Trace trace(rank, world);
    trace.Kernel("a", 10, 12, 100);
    trace.Collective("allreduce", 20, 112, 40, 1000000, 1000000, "[0, 1]");
    trace.Kernel("b", 30, 112, 50);
    if (waits)
    {
        trace.Call("cudaStreamWaitEvent", 40, 1);
    }
    trace.Kernel("c", 50, 162, 10);
    trace.Call("cudaStreamSynchronize", 60, 115);
    trace.Kernel("d", 180, 181, 7);
    return trace;
}

} // namespace

TEST(Kineto, StreamsLaunchesAndWaits)
{
    const int64_t shared = 5 * kUs + 20 * 4000000; // 85 us
    for (const bool waits : {true, false})
    {
        const auto plan = PlanOf({Step(0, 2, waits).Text(), Step(1, 2, waits).Text()});
        ASSERT_TRUE(plan);
        EXPECT_EQ(plan->roles.size(), 1U);
        // a is launched at once; b is over at 150, the all-reduce at 100 + 85. c has 10, and d
        // comes 5 behind it: the program waited for c (and, in the trace, for the all-reduce, which
        // was over by then).
        const int64_t c = (waits ? 100 * kUs + shared : 150 * kUs) + 10 * kUs;
        const int64_t waited = std::max(c, 100 * kUs + shared);
        EXPECT_EQ(onestep::Run(*plan).time, waited + (5 + 7) * kUs) << waits;
    }
}

TEST(Kineto, WaitsOfStreamsAsTheTraceHasThem)
{
    // With cuda_sync events nothing is inferred: b (not c) waits for the all-reduce, and the
    // all-reduce, whose stream waits for nothing, begins with its launch, 10 us behind the first.
    const auto make = [](int rank) {
        Trace trace = Step(rank, 2, true);
        trace.Call("cudaEventRecord", 25, 1, 101);
        trace.Call("cudaStreamWaitEvent", 26, 1, 102);
        trace.Add("cuda_sync",
                  "Stream Wait Event",
                  26,
                  0,
                  {{"stream", 7},
                   {"wait_on_stream", 20},
                   {"correlation", 102},
                   {"wait_on_cuda_event_record_corr_id", 101}});
        return trace.Text();
    };
    const auto plan = PlanOf({make(0), make(1)});
    ASSERT_TRUE(plan);
    const int64_t shared = 10 * kUs + 5 * kUs + 20 * 4000000;
    const int64_t b = std::max(100 * kUs, shared) + 50 * kUs;
    EXPECT_EQ(onestep::Run(*plan).time, b + (10 + 5 + 7) * kUs);
}

TEST(Kineto, TheLastStepOfAllRanks)
{
    // Three steps of 1000 us; rank 1 has not ended the third.
    const auto make = [](int rank) {
        Trace trace(rank, 2);
        for (int step = 0; step < 3 - rank; ++step)
        {
            const double begin = 1000 * step;
            trace.Add("user_annotation",
                      "ProfilerStep#" + std::to_string(step + 4),
                      begin,
                      900,
                      ordered_json::object());
            trace.Kernel("k", begin + 30, begin + 40, 10 * (step + 1));
        }
        return trace.Text();
    };
    const auto plan = PlanOf({make(0), make(1)});
    ASSERT_TRUE(plan);
    // 30 us of the program, the second step's kernel of 20.
    EXPECT_EQ(onestep::Run(*plan).time, 50 * kUs);
}

// Names of c10d before and since PyTorch 2.14: the same collectives and bytes.
TEST(Kineto, NamesOfCollectives)
{
    const auto bytesOf = [](const std::string& name, int in, int out) {
        std::vector<std::string> texts;
        for (int rank = 0; rank < 2; ++rank)
        {
            Trace trace(rank, 2);
            trace.Kernel("k", 1, 2, 3);
            trace.Collective(name, 2, 10, 5, in, out, "[0, 1]");
            texts.push_back(trace.Text());
        }
        const auto plan = PlanOf(texts);
        std::pair<coll::Op, uint64_t> found{coll::Op::kBarrier, 0};
        for (const auto& task : plan->roles[0].tasks)
        {
            if (task.kind == training::TaskKind::kCollective)
            {
                found = {task.op, task.bytes};
            }
        }
        return found;
    };
    for (const char* name : {"_allgather_base",
                             "all_gather_single",
                             "all_gather_single_coalesced",
                             "all_gather_into_tensor_coalesced"})
    {
        EXPECT_EQ(bytesOf(name, 100, 200), std::pair(coll::Op::kAllGather, uint64_t{800})) << name;
    }
    for (const char* name :
         {"_reduce_scatter_base", "reduce_scatter_single", "reduce_scatter_single_coalesced"})
    {
        EXPECT_EQ(bytesOf(name, 200, 100), std::pair(coll::Op::kReduceScatter, uint64_t{800}))
            << name;
    }
    EXPECT_EQ(bytesOf("all_to_all_single", 30, 30), std::pair(coll::Op::kAllToAll, uint64_t{120}));
}

TEST(Kineto, BytesAndGroups)
{
    // 3 ranks, groups {0, 2} (with a name alone) and all; 4 B an element.
    std::vector<std::string> texts;
    for (int rank = 0; rank < 3; ++rank)
    {
        Trace trace(rank, 3);
        trace.Json()["distributedInfo"]["pg_config"] = ordered_json::parse(
            R"([{"pg_name": "0", "ranks": [0, 1, 2]}, {"pg_name": "5", "ranks": [0, 2]}])");
        trace.Kernel("k", 1, 2, 3);
        trace.Collective("_allgather_base", 2, 10, 5, 100, 300, "[0, 1, 2]");
        trace.Collective("_reduce_scatter_base", 3, 20, 5, 600, 200, "[0, 1, 2]");
        trace.Collective("all_to_allv", 4, 30, 5, 30, 30, "[0, 1, 2]");
        trace.Collective("all_to_allv",
                         5,
                         40,
                         5,
                         60,
                         60,
                         "[0, 1, 2]",
                         {{"In split size", rank == 0 ? "[1, 2, 3]" : "[2, 2, 2]"}});
        trace.Collective("barrier", 6, 50, 5, 1, 1, "[0, 1, 2]");
        trace.Collective("broadcast", 7, 55, 5, 8, 8, "[0, 1, ..., 2]", {{"Group size", 3}});
        if (rank != 1)
        {
            trace.Collective("allreduce",
                             8,
                             60,
                             5,
                             7,
                             7,
                             "[0, ..., 2]",
                             {{"Process Group Name", "5"}, {"Group size", 2}});
            // The other of both.
            const int peer = 2 - rank;
            trace.Collective(rank == 0 ? "send" : "recv",
                             9,
                             70,
                             5,
                             25,
                             25,
                             "[0, 1, 2]",
                             {{rank == 0 ? "Dst Rank" : "Src Rank", peer}});
        }
        texts.push_back(trace.Text());
    }
    // Collective() writes the name of the group behind: the pair's is told again.
    for (std::string& text : texts)
    {
        auto json = ordered_json::parse(text);
        for (auto& event : json["traceEvents"])
        {
            if (event["args"].value("Process Group Ranks", "") == "[0, ..., 2]")
            {
                event["args"]["Process Group Name"] = "5";
            }
        }
        text = json.dump();
    }
    const auto plan = PlanOf(texts);
    ASSERT_TRUE(plan);
    std::map<std::string, const training::Task*> tasks;
    for (const auto& task : plan->roles[plan->roleOf[0]].tasks)
    {
        tasks[task.name + (task.blocks ? " uneven" : "")] = &task;
    }
    const auto bytes = [&](const std::string& name) {
        return tasks.at("ncclDevKernel_" + name)->bytes;
    };
    EXPECT_EQ(bytes("_allgather_base"), 1200U);
    EXPECT_EQ(bytes("_reduce_scatter_base"), 2400U);
    EXPECT_EQ(bytes("all_to_allv"), 120U);
    EXPECT_EQ(bytes("barrier"), 0U);
    EXPECT_EQ(bytes("broadcast"), 32U);
    EXPECT_EQ(bytes("allreduce"), 28U);
    EXPECT_EQ(bytes("send"), 100U);
    const auto* uneven = tasks.at("ncclDevKernel_all_to_allv uneven");
    EXPECT_EQ(uneven->blocks->Bytes(0, 2), 3 * 10 * 4U);
    EXPECT_EQ(uneven->blocks->Bytes(1, 0), 2 * 10 * 4U);
    const auto& pair = plan->groupKinds[tasks.at("ncclDevKernel_allreduce")->group].groups;
    EXPECT_EQ(pair, (std::vector<std::vector<coll::Rank>>{{0, 2}}));
    EXPECT_EQ(onestep::Run(*plan).ended, onestep::Run(*plan).tasks);
}

TEST(Kineto, GroupsOfExecutionTraces)
{
    std::vector<std::string> texts;
    for (int rank = 0; rank < 2; ++rank)
    {
        Trace trace(rank, 2);
        trace.Kernel("k", 1, 2, 3);
        trace.Collective("allreduce", 2, 10, 5, 100, 100, "[0, ..., 1]");
        texts.push_back(trace.Text());
    }
    EXPECT_NE(ErrorOf(texts).find("the ranks of its group \"0\" are missing"), std::string::npos);
    texts.emplace_back(
        R"({"schema": "1.1.1-chakra.0.0.4", "pid": 5, "nodes": [{"id": 3,
            "name": "## process_group:init ##", "inputs": {"values":
            ["[{\"pg_name\": \"0\", \"ranks\": [], \"group_size\": 2}]"]}}]})");
    const auto plan = PlanOf(texts);
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->groupKinds[0].groups[0].size(), 2U);
}

TEST(Kineto, WhatIsMissingIsOneError)
{
    const auto without = [](const std::string& part, const std::string& text) {
        std::string out = text;
        for (std::size_t at = 0; (at = out.find(part, at)) != std::string::npos;)
        {
            out.replace(at, part.size(), "\"x\"");
        }
        return out;
    };
    const std::string zero = Step(0, 2).Text();
    const std::string one = Step(1, 2).Text();
    EXPECT_NE(ErrorOf({zero}).find("t0.json: there is no trace of rank 1; \"world_size\" is 2"),
              std::string::npos);
    EXPECT_NE(ErrorOf({zero, zero}).find("is of rank 0, as t0.json is"), std::string::npos);
    EXPECT_NE(ErrorOf({zero, Step(2, 3).Text()}).find("no trace of rank 1, but this one of rank 2"),
              std::string::npos);
    EXPECT_NE(ErrorOf({zero, without("\"rank\"", one)}).find("does not say its rank"),
              std::string::npos);
    for (const auto& [part, said] : std::vector<std::pair<std::string, std::string>>{
             {"\"Collective name\"",
              "t0.json: ts 1000000112.000: \"ncclDevKernel_allreduce\" has no \"Collective name\""},
             {"\"dtype\"", "do not say its bytes"},
             {"\"In msg nelems\"", "do not say its bytes"},
             {"\"Process Group Ranks\"", "the ranks of its group \"0\" are missing"},
             {"\"cuda_runtime\"", "has no launch"},
             {"\"allreduce\"", "is \"x\"; allowed: send, recv, allreduce"},
             {"\"traceEvents\"", "t0.json: has no \"traceEvents\""}})
    {
        const std::string error = ErrorOf({without(part, zero), without(part, one)});
        EXPECT_NE(error.find(said), std::string::npos) << part << ": " << error;
    }
    EXPECT_NE(ErrorOf({zero.substr(0, 200)}).find("t0.json: byte 20"), std::string::npos);
    EXPECT_NE(ErrorOf({R"({"traceEvents": [{"ts": 1e999}]})"}).find("t0.json: byte 24: is no JSON"),
              std::string::npos);
    // An event by its place in the list, though those before it do not count.
    const std::string events = R"({"traceEvents": [{"ph": "M"}, {"ph": "X", "cat": "cpu_op"},)"
                               R"({"ph": "X", "cat": "kernel", "name": "k", )";
    EXPECT_NE(ErrorOf({events + R"("ts": "soon", "dur": 1, "args": {}}]})"})
                  .find("t0.json: /traceEvents/2: \"k\": \"ts\" and \"dur\" are not times"),
              std::string::npos);
    EXPECT_NE(ErrorOf({events + R"("ts": 1, "dur": -1, "args": {}}]})"}).find("/traceEvents/2: "),
              std::string::npos);
    EXPECT_NE(ErrorOf({events + R"("ts": 1, "dur": 1}]})"}).find("/traceEvents/2: \"k\" has no"),
              std::string::npos);
    for (const char* no : {"7", "null", "\"x\"", "[]"})
    {
        EXPECT_NE(ErrorOf({R"({"traceEvents": [{"ph": "M"}, )" + std::string(no) + "]}"})
                      .find("/traceEvents/1: is no JSON object"),
                  std::string::npos)
            << no;
    }
    EXPECT_NE(ErrorOf({R"({"traceEvents": [], "traceEvents": []})"}).find("stands twice"),
              std::string::npos);
    EXPECT_NE(ErrorOf({"{\"traceEvents\": []}"}).find("nothing to run"), std::string::npos);
    EXPECT_NE(ErrorOf({"{\"schema\": \"1\", \"nodes\": []}"}).find("without times"),
              std::string::npos);
    EXPECT_NE(ErrorOf({"[]"}).find("is neither a trace of Kineto"), std::string::npos);
    // Two ranks that do not do the same.
    EXPECT_NE(ErrorOf({zero, without("\"ncclDevKernel_allreduce\"", Trace(1, 2).Text())})
                  .find("rank 0 calls 1 collective, rank 1 0"),
              std::string::npos);
}

// One rank of two: its collective takes the 40 us that it took, from 112 us on (100 here).
TEST(Kineto, OneRankAlone)
{
    const auto plan = PlanOf({Step(0, 2).Text()}, nullptr, {{0}, 0});
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->ranks, 1U);
    const int64_t c = std::max<int64_t>(150, 100 + 40) * kUs + 10 * kUs;
    EXPECT_EQ(onestep::Run(*plan).time, c + (5 + 7) * kUs);
    // Of several traces the one that is named; two of three, whose own group is simulated.
    EXPECT_TRUE(PlanOf({Step(0, 2).Text(), Step(1, 2).Text()}, nullptr, {{1}, 0}));
    const auto two =
        PlanOf({Step(0, 3).Text(), Step(1, 3).Text(), Step(2, 3).Text()}, nullptr, {{0, 1}, 0});
    ASSERT_TRUE(two);
    EXPECT_EQ(onestep::Run(*two).time,
              onestep::Run(*PlanOf({Step(0, 2).Text(), Step(1, 2).Text()})).time);

    const std::string refused = ErrorOf({Step(0, 64).Text()});
    EXPECT_NE(
        refused.find("no trace of rank 1; \"world_size\" is 64; allowed: traces of all ranks, "
                     "--trace-ranks=0 for that rank alone, or with --replicate=64"),
        std::string::npos)
        << refused;
    EXPECT_NE(ErrorOf({Step(0, 2).Text(), Step(1, 2).Text()}, {{5}, 0})
                  .find("there is no trace of rank 5; allowed: 0 to 1, 2 ranks"),
              std::string::npos);
    EXPECT_NE(ErrorOf({Step(3, 8).Text()}, {{5}, 0}).find("no trace of rank 5; allowed: 3"),
              std::string::npos);
}

namespace
{

/// Rank 5 of 16: tensor parallel [4 5 6 7], data parallel [1 5 9 13], a ring in the former.
std::string
Replicable(const std::string& tensor = "[4, 5, 6, 7]",
           const std::string& data = "[1, 5, 9, 13]",
           int to = 6,
           int from = 4)
{
    Trace trace(5, 16);
    trace.Kernel("a", 10, 12, 100);
    trace.Collective("allreduce", 20, 112, 40, 1000, 1000, tensor);
    trace.Collective("allreduce", 30, 160, 40, 9000, 9000, data);
    trace.Collective("send", 40, 200, 5, 25, 25, tensor, {{"Dst Rank", to}});
    trace.Collective("recv", 50, 210, 5, 25, 25, tensor, {{"Src Rank", from}});
    return trace.Text();
}

} // namespace

TEST(Kineto, OneRanksWorkForAll)
{
    const auto plan = PlanOf({Replicable()}, nullptr, {{5}, 32});
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->ranks, 32U);
    std::map<uint64_t, const training::Task*> byBytes;
    const auto& tasks = plan->roles[plan->roleOf[9]].tasks;
    for (const auto& task : tasks)
    {
        byBytes[task.bytes] = &task;
    }
    const auto groupOf = [&](uint64_t bytes, coll::Rank rank) {
        for (const auto& group : plan->groupKinds[byBytes.at(bytes)->group].groups)
        {
            if (std::find(group.begin(), group.end(), rank) != group.end())
            {
                return group;
            }
        }
        return std::vector<coll::Rank>();
    };
    EXPECT_EQ(groupOf(4000, 9), (std::vector<coll::Rank>{8, 9, 10, 11}));
    // 1 5 9 13 is as far behind 0 4 8 12 as 17 21 25 29 behind 16 20 24 28.
    EXPECT_EQ(groupOf(36000, 9), (std::vector<coll::Rank>{1, 5, 9, 13}));
    EXPECT_EQ(groupOf(36000, 26), (std::vector<coll::Rank>{18, 22, 26, 30}));
    const auto step = onestep::Run(*plan);
    EXPECT_EQ(step.ended, step.tasks);
    // Around the group: 11 sends to 8.
    for (const auto& task : plan->roles[plan->roleOf[11]].tasks)
    {
        if (task.kind == training::TaskKind::kSend)
        {
            EXPECT_EQ(11 + task.peerOffset, 8);
        }
    }
}

TEST(Kineto, WhatCannotBeReplicatedIsOneError)
{
    const auto error = [](const std::string& text, uint32_t ranks) {
        return ErrorOf({text}, {{5}, ranks});
    };
    EXPECT_NE(error(Replicable(), 30)
                  .find("--replicate=30: group \"0\" of rank 5, [4, 5, 6, 7], "
                        "does not fill 30 ranks when it is shifted"),
              std::string::npos)
        << error(Replicable(), 30);
    EXPECT_NE(
        error(Replicable("[4, 5, 6, 7]", "[1, 5, 6, 13]"), 16).find("[1, 5, 6, 13], does not"),
        std::string::npos);
    EXPECT_NE(error(Replicable("[4, 5, 6, 7]", "[1, 5, 9, 13]", 6, 6), 16).find("stages of a"),
              std::string::npos);
    EXPECT_NE(error(Replicable("[4, 5, 6, 7]", "[0, 4, 8, 12]"), 16).find("rank 5 is not in [0, 4"),
              std::string::npos);
    EXPECT_NE(ErrorOf({Step(0, 2).Text(), Step(1, 2).Text()}, {{}, 4}).find("--trace-ranks=0"),
              std::string::npos);
}
