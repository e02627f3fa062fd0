/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/core/block-sizes.h"
#include "scenarios/formats/chakra/chakra-json.h"
#include "scenarios/formats/chakra/chakra-wire.h"
#include "scenarios/formats/chakra/chakra.h"
#include "scenarios/formats/input-file.h"
#include "scenarios/formats/recorded/recorded-plan.h"
#include "scenarios/training/graphs/training-plan.h"
#include "scenarios/training/steps/volumes.h"
#include "tests/unit/scenarios/example-options.h"
#include "tests/unit/scenarios/one-step.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <sstream>
#include <unistd.h>

using namespace formats;
using training::TaskKind;

namespace
{

/// 1 ns a FLOP, 10 ns a byte.
rdma::Duration
SlowKernel(double flops, double bytes)
{
    return rdma::Duration(static_cast<int64_t>(flops * 1000 + bytes * 10000));
}

std::string
ErrorOf(const std::vector<topo::Error>& errors)
{
    return errors.empty() ? "" : errors.front().Sentence();
}

using Nodes = std::vector<std::vector<ChakraNode>>;

std::optional<training::TrainingPlan>
PlanOf(const Nodes& nodes, const std::string& groups = "", std::string* error = nullptr)
{
    std::vector<topo::Error> errors;
    std::vector<std::string> files;
    for (std::size_t rank = 0; rank < nodes.size(); ++rank)
    {
        files.push_back("t." + std::to_string(rank) + ".et");
    }
    if (!groups.empty())
    {
        files.push_back("groups.json");
    }
    const auto recording = RecordingOfNodes(nodes, files, groups, SlowKernel, errors);
    auto plan = recording ? MakePlan(*recording, "t", 0, errors) : std::nullopt;
    EXPECT_EQ(plan.has_value(), errors.empty());
    EXPECT_LE(errors.size(), 1U);
    if (error)
    {
        *error = ErrorOf(errors);
    }
    else
    {
        EXPECT_EQ(ErrorOf(errors), "");
    }
    return plan;
}

/// Through bytes of the wire, or of JSON.
Nodes
ThroughText(const training::TrainingPlan& plan, bool json)
{
    Nodes back;
    for (coll::Rank rank = 0; rank < plan.ranks; ++rank)
    {
        std::ostringstream os;
        (json ? WriteChakraJson : WriteChakraWire)(ChakraNodes(plan, rank), os);
        std::vector<topo::Error> errors;
        EXPECT_TRUE(
            (json ? ReadChakraJson : ReadChakraWire)(os.str(), "t", &back.emplace_back(), errors))
            << ErrorOf(errors);
    }
    return back;
}

Nodes
JsonNodes(const std::vector<std::string>& ranks)
{
    Nodes nodes;
    for (const std::string& text : ranks)
    {
        std::vector<topo::Error> errors;
        EXPECT_TRUE(ReadChakraJson(text, "t", &nodes.emplace_back(), errors)) << ErrorOf(errors);
    }
    return nodes;
}

/// Bytes that a rank sends of each operation, and tasks of each kind.
std::map<std::string, double>
Contents(const training::TrainingPlan& plan)
{
    std::map<std::string, double> all;
    for (const auto& [op, bytes] : training::BytesMovedPerGpu(plan))
    {
        all[op] = bytes;
    }
    for (coll::Rank rank = 0; rank < plan.ranks; ++rank)
    {
        for (const auto& task : plan.roles[plan.roleOf[rank]].tasks)
        {
            all["kind " + std::to_string(static_cast<int>(task.kind))] += 1;
            all["phase " + std::to_string(static_cast<int>(task.phase))] += 1;
            all[task.name] += 1;
            all["ps"] += static_cast<double>(task.duration.ps);
        }
    }
    return all;
}

std::vector<training::TrainingPlan>
SomePlans()
{
    std::vector<training::TrainingPlan> plans;
    for (const uint32_t ranks : {1U, 2U, 3U, 5U, 7U, 8U})
    {
        for (const uint32_t zero : {0U, 1U, 2U, 3U})
        {
            plans.push_back(training::MakePlan(OptionsOf("gpt2", ranks, zero, 1 + ranks % 3)));
        }
    }
    for (const uint32_t stages : {2U, 3U, 4U})
    {
        training::TrainingOptions o = OptionsOf("gpt2", 2 * stages, 1, 5);
        o.pipeline = stages;
        plans.push_back(training::MakePlan(o));
        o.tensor = 2;
        o.ranks = 4 * stages;
        plans.push_back(training::MakePlan(o));
    }
    training::TrainingOptions offload = OptionsOf("gpt2", 4, 2);
    offload.offload = training::Offload::kOptimizer;
    offload.host = {25e9, 100e9, 4};
    plans.push_back(training::MakePlan(offload));
    plans.back().slowness = {1, 1.5, 1, 2};
    return plans;
}

} // namespace

TEST(Chakra, APlanComesBackTheSame)
{
    ASSERT_EQ(WhyNoChakraWire(), "");
    for (const training::TrainingPlan& plan : SomePlans())
    {
        for (const bool json : {false, true})
        {
            const auto back = PlanOf(ThroughText(plan, json), GroupsText(plan));
            ASSERT_TRUE(back);
            EXPECT_EQ(back->ranks, plan.ranks);
            const auto after = onestep::Run(*back);
            EXPECT_EQ(after.ended, after.tasks);
            if (plan.slowness.empty())
            {
                EXPECT_EQ(Contents(*back), Contents(plan));
                const auto before = onestep::Run(plan);
                EXPECT_EQ(before.ended, before.tasks);
                EXPECT_EQ(after.time, before.time);
            }
        }
    }
}

TEST(Chakra, SlowGpusAreInTheTimes)
{
    training::TrainingPlan plan = training::MakePlan(OptionsOf("gpt2", 2, 0));
    plan.slowness = {1, 1.5};
    const auto back = PlanOf(ThroughText(plan, false), GroupsText(plan));
    ASSERT_TRUE(back);
    std::vector<int64_t> ps;
    for (coll::Rank rank = 0; rank < 2; ++rank)
    {
        ps.push_back(0);
        for (const auto& task : back->roles[back->roleOf[rank]].tasks)
        {
            ps.back() += task.duration.ps;
        }
    }
    EXPECT_NEAR(static_cast<double>(ps[1]), 1.5 * static_cast<double>(ps[0]), 1000);
}

TEST(Chakra, FlatJson)
{
    // As the documentation of the schema has it: an all-reduce behind computing.
    const std::string rank =
        R"({"workload_graph": [
        {"Id": 1, "Name": "c", "NodeType": 4, "ctrlDeps": [], "data_deps": [], "runtime": 7, "is_cpu_op": false},
        {"Id": 3, "Name": "ar", "NodeType": 7, "ctrlDeps": [], "data_deps": [1], "runtime": 0,
         "is_cpu_op": false, "comm_type": 0, "comm_size": 1048576}]})";
    const auto plan = PlanOf(JsonNodes({rank, rank, rank}));
    ASSERT_TRUE(plan);
    ASSERT_EQ(plan->roles.size(), 1U);
    const auto& tasks = plan->roles[0].tasks;
    ASSERT_EQ(tasks.size(), 2U);
    EXPECT_EQ(tasks[0].duration.ps, 7000000);
    EXPECT_EQ(tasks[1].op, coll::Op::kAllReduce);
    EXPECT_EQ(tasks[1].bytes, 1048576U);
    EXPECT_EQ(plan->groupKinds[tasks[1].group].groups[0].size(), 3U);
    // 7 us, and a collective by one-step.h: 5 us and 20 ps a byte.
    EXPECT_EQ(onestep::Run(*plan).time, 7000000 + 5000000 + 20 * 1048576);
}

TEST(Chakra, SizesAndGroups)
{
    // comm_size is what a rank has at first: of an all-gather of 3 ranks a third of the whole.
    const auto node = [](const std::string& type, const std::string& group) {
        return R"({"version": "0.0.4"} {"id": "0", "type": "METADATA_NODE", "inputs": {"values":)"
               R"( "[\"[{\\\"pg_name\\\": \\\"0\\\", \\\"ranks\\\": []},)"
               R"({\\\"pg_name\\\": \\\"1\\\", \\\"ranks\\\": [2, 0]}]\"]"}})"
               R"({"id":"3","type":"COMM_COLL_NODE","dataDeps":["0"],"attr":[)"
               R"({"name":"comm_size","int64Val":"300"},{"name":"comm_type","uint32Val":)" +
               type + R"(},{"name":"pg_name","stringVal":")" + group + R"("}]})";
    };
    const std::string none = R"({"id":"9","type":"COMP_NODE","durationMicros":"1"})";
    const std::vector<std::pair<std::string, uint64_t>> whole = {{"0", 300},
                                                                 {"1", 300},
                                                                 {"2", 900},
                                                                 {"3", 900},
                                                                 {"4", 300},
                                                                 {"5", 300},
                                                                 {"6", 300},
                                                                 {"7", 300},
                                                                 {"8", 300},
                                                                 {"9", 0}};
    for (const auto& [type, bytes] : whole)
    {
        const std::string text = node(type, "0");
        const auto plan = PlanOf(JsonNodes({text, text, text}));
        ASSERT_TRUE(plan);
        ASSERT_EQ(plan->roles[0].tasks.size(), 1U);
        EXPECT_EQ(plan->roles[0].tasks[0].bytes, bytes) << type;
    }
    const auto plan = PlanOf(JsonNodes({node("2", "1"), none, node("2", "1")}));
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->groupKinds[0].groups[0], (std::vector<coll::Rank>{2, 0}));
    EXPECT_EQ(plan->roles[plan->roleOf[0]].tasks[0].bytes, 600U);
    std::string error;
    EXPECT_FALSE(PlanOf(JsonNodes({node("2", "7")}), "", &error)); // no such group
    EXPECT_FALSE(PlanOf(JsonNodes({node("2", "1"), none, none}), "", &error));
    EXPECT_NE(error.find("rank 2 calls 0 collectives, rank 0 1"), std::string::npos) << error;
}

TEST(Chakra, UnevenAllToAll)
{
    training::TrainingPlan plan;
    plan.ranks = 3;
    plan.roleOf = {0, 1, 2};
    plan.groupKinds = {{"ep", {{2, 0, 1}}}};
    const auto blocks = std::make_shared<const coll::BlockSizes>(
        3,
        std::vector<uint64_t>{1, 2, 3, 40, 50, 60, 700, 800, 900});
    for (int rank = 0; rank < 3; ++rank)
    {
        training::StepGraph graph;
        graph.streams = {"compute", "ep"};
        training::Task task;
        task.kind = TaskKind::kCollective;
        task.op = coll::Op::kAllToAllV;
        task.blocks = blocks;
        task.bytes = blocks->LargestInput();
        task.stream = 1;
        task.name = "a";
        graph.tasks = {task};
        plan.roles.push_back(graph);
    }
    for (const bool json : {false, true})
    {
        const auto back = PlanOf(ThroughText(plan, json), GroupsText(plan));
        ASSERT_TRUE(back);
        ASSERT_EQ(back->groupKinds[0].groups[0], plan.groupKinds[0].groups[0]);
        for (const auto& role : back->roles)
        {
            ASSERT_TRUE(role.tasks[0].blocks);
            EXPECT_EQ(*role.tasks[0].blocks, *blocks);
            EXPECT_EQ(role.tasks[0].bytes, 2400U);
        }
    }
}

TEST(Chakra, TimesByFlops)
{
    const auto plan = PlanOf(JsonNodes(
        {R"({"id":"1","type":"COMP_NODE","attr":[{"name":"num_ops","int64Val":"5"},)"
         R"({"name":"tensor_size","uint64Val":"2"}]})"
         R"({"id":"2","type":4,"attr":[{"name":"is_cpu_op","boolVal":true}],"durationMicros":3})"
         R"({"id":"3","type":2,"durationMicros":"4"})"}));
    ASSERT_TRUE(plan);
    const auto& tasks = plan->roles[0].tasks;
    ASSERT_EQ(tasks.size(), 3U);
    EXPECT_EQ(tasks[0].duration.ps, 5 * 1000 + 2 * 10000); // SlowKernel
    EXPECT_EQ(tasks[1].kind, TaskKind::kHost);
    EXPECT_EQ(tasks[2].kind, TaskKind::kHost);
    EXPECT_NE(tasks[1].stream, tasks[2].stream);
    EXPECT_EQ(onestep::Run(*plan).time, 4000000);
}

TEST(Chakra, AnyIntegerOfTheWire)
{
    // A node with id 3 of type 4, and comm_size as each whole member of the oneof: bytes made by
    // hand from the encoding's definition (field number x 8 + wire type, varints of 7 bits).
    struct Member
    {
        int field;
        std::string bytes; ///< of 300
    };

    const std::string varint = "\xac\x02"; // 300 = 2 x 128 + 44, 44 + 128 = 0xac
    const std::string zigzag = "\xd8\x04"; // 600
    const std::string four("\x2c\x01\x00\x00", 4);
    const std::string eight("\x2c\x01\x00\x00\x00\x00\x00\x00", 8);
    const std::vector<Member> members = {{7, varint},
                                         {9, varint},
                                         {11, varint},
                                         {13, varint},
                                         {15, zigzag},
                                         {17, zigzag},
                                         {19, four},
                                         {21, eight},
                                         {23, four},
                                         {25, eight}};
    for (const Member& member : members)
    {
        const int type = member.bytes.size() == 4 ? 5 : member.bytes.size() == 8 ? 1 : 0;
        std::string tag;
        const int key = member.field * 8 + type;
        tag += key < 128
                   ? std::string(1, static_cast<char>(key))
                   : std::string{static_cast<char>(key % 128 + 128), static_cast<char>(key / 128)};
        const std::string attribute = "\x0a\x09"
                                      "comm_size" +
                                      tag + member.bytes;
        const std::string node = std::string("\x08\x03\x18\x04", 4) + "\x52" +
                                 std::string(1, static_cast<char>(attribute.size())) + attribute;
        const std::string file = std::string(1, static_cast<char>(node.size())) + node;
        std::vector<ChakraNode> nodes;
        std::vector<topo::Error> errors;
        ASSERT_TRUE(ReadChakraWire(file, "t", &nodes, errors)) << ErrorOf(errors);
        ASSERT_EQ(nodes.size(), 1U);
        EXPECT_EQ(nodes[0].id, 3U);
        ASSERT_TRUE(nodes[0].Find("comm_size")) << member.field;
        EXPECT_EQ(nodes[0].Find("comm_size")->whole, 300) << member.field;
    }
}

TEST(Chakra, DamagedFiles)
{
    const training::TrainingPlan plan = training::MakePlan(OptionsOf("gpt2", 2, 0));
    std::ostringstream os;
    WriteChakraWire(ChakraNodes(plan, 0), os);
    const std::string whole = os.str();
    const auto errorOf = [](const std::string& bytes) {
        std::vector<ChakraNode> nodes;
        std::vector<topo::Error> errors;
        const bool fine = ReadChakraWire(bytes, "t", &nodes, errors);
        EXPECT_EQ(fine, errors.empty());
        EXPECT_LE(errors.size(), 1U);
        return ErrorOf(errors);
    };
    EXPECT_EQ(errorOf(whole), "");
    // Cut off anywhere but between messages, it is told where.
    int wrong = 0;
    for (std::size_t length = 1; length < 400; ++length)
    {
        const std::string error = errorOf(whole.substr(0, length));
        wrong += error.empty() ? 0 : 1;
        EXPECT_TRUE(error.empty() || error.find("t: byte ") == 0) << error;
    }
    EXPECT_GT(wrong, 390);
    EXPECT_NE(errorOf(std::string("\x02\x08\x01\x04\x08\x01\x18\x63", 8)).find("type 99"),
              std::string::npos);
    EXPECT_NE(errorOf("\xff\xff\xff\xff\xff\xff").find("length of a message"), std::string::npos);
}

TEST(Chakra, ErrorsOfJson)
{
    const std::vector<std::pair<std::string, std::string>> wrong = {
        {"[]", "byte 0"},
        {R"({"id": 1, "name": "a\tb"})", "UTF-8 without control characters"},
        {R"({"id": 1, "name": "a\nb"})", "UTF-8 without control characters"},
        {R"({"id": 1, "name": "\u001b[31m"})", "UTF-8 without control characters"},
        {R"({"id": 1, "name": "\u202e"})", "UTF-8 without control characters"},
        {"{\"id\": \"1\"", "byte 0: begins an object that has no end"},
        {"{\"id\": \"1\"} {\"id\": x}", "byte 19"},
        {"{\"id\": \"x\"}", "is not a number"},
        {"{\"id\": 1, \"type\": \"NO_NODE\"}", "is no type of a node"},
        {"{\"id\": 1, \"type\": 11}", "is no type of a node"},
        {"{\"id\": 1, \"dataDeps\": 3}", "is not a list"},
        {"{\"id\": 1, \"attr\": [{\"int64Val\": 3}]}", "no attribute with a name"},
        {"{\"id\": 1, \"attr\": [{\"name\": \"a\", \"int64Val\": \"3x\"}]}", "not a number of 64"},
        {"{\"workload_graph\": {}}", "/workload_graph: is not a list"},
        {"{\"workload_graph\": [1]}", "/workload_graph/0: is not an object"},
        {"{\"a\": " + std::string(50, '[') + std::string(50, ']') + "}", "levels"},
    };
    for (const auto& [text, expected] : wrong)
    {
        std::vector<ChakraNode> nodes;
        std::vector<topo::Error> errors;
        EXPECT_FALSE(ReadChakraJson(text, "t", &nodes, errors)) << text;
        ASSERT_EQ(errors.size(), 1U);
        EXPECT_NE(ErrorOf(errors).find(expected), std::string::npos) << ErrorOf(errors);
    }
    const std::vector<std::pair<std::string, std::string>> meaningless = {
        {R"({"id":1,"type":4} {"id":1,"type":4})", "another node above"},
        {R"({"id":1,"type":4,"dataDeps":[2]})", "waits for node 2, which is not there"},
        {R"({"id":1,"type":4,"dataDeps":[1]})", "waits for itself"},
        {R"({"id":1,"type":5})", "comm_dst is missing"},
        {R"({"id":1,"type":5,"attr":[{"name":"comm_size","int32Val":8},)"
         R"({"name":"comm_dst","int32Val":5}]})",
         "comm_dst is 5"},
        {R"({"id":1,"type":5,"attr":[{"name":"comm_size","int32Val":8},)"
         R"({"name":"comm_dst","int32Val":0}]})",
         "message of rank 0 to"},
        {R"({"id":1,"type":7,"attr":[{"name":"comm_type","int32Val":10}]})", "comm_type is 10"},
        // Without its attributes a collective is none: 0 would be an all-reduce, of no bytes.
        {R"({"id":1,"type":7,"attr":[{"name":"comm_size","int64Val":8}]})",
         "node 1: comm_type is missing"},
        {R"({"id":1,"type":7,"attr":[{"name":"comm_type","int64Val":0}]})",
         "node 1: comm_size is missing"},
        {R"({"id":1,"type":5,"attr":[{"name":"comm_dst","int32Val":0}]})",
         "node 1: comm_size is missing"},
        {R"({"id":1,"type":7,"attr":[{"name":"comm_type","int64Val":0},)"
         R"({"name":"comm_size","int64Val":-1}]})",
         "comm_size is -1"},
        {R"({"id":1,"type":7,"attr":[{"name":"comm_type","int64Val":0},)"
         R"({"name":"pg_name","stringVal":"3"}]})",
         "pg_name is \"3\""},
        {R"({"id":1,"type":4,"durationMicros":9999999999})", "at most 1e9"},
    };
    for (const auto& [text, expected] : meaningless)
    {
        std::string error;
        EXPECT_FALSE(PlanOf(JsonNodes({text}), "", &error)) << text;
        EXPECT_NE(error.find(expected), std::string::npos) << error;
    }
}

TEST(Chakra, GroupsThatAreNoJsonHaveAPlace)
{
    const std::string node = R"({"id":1,"type":4,"durationMicros":1})";
    const std::vector<std::pair<std::string, std::string>> wrong = {
        {"{\n \"0\": [0,", "groups.json:2:10: malformed JSON: "},
        {"{\"0\": [0], \"0\": [0]}", "groups.json:1:12: the key \"0\" stands twice"},
        {"{\"0\": [1]}", "groups.json: /0: is no list of different ranks"},
    };
    for (const auto& [groups, expected] : wrong)
    {
        std::string error;
        EXPECT_FALSE(PlanOf(JsonNodes({node}), groups, &error));
        EXPECT_EQ(error.find(expected), 0U) << error;
    }
}

TEST(Chakra, PackedFiles)
{
    // "hello\n" by gzip 1.12 -n.
    const std::string packed("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\xcd\xc9\xc9\xe7\x02"
                             "\x00\x20\x30\x3a\x36\x06\x00\x00\x00",
                             26);
    std::vector<topo::Error> errors;
    const auto text = Unpacked(packed, "a.gz", errors);
    ASSERT_TRUE(text) << ErrorOf(errors);
    EXPECT_EQ(*text, "hello\n");
    EXPECT_FALSE(Unpacked(packed.substr(0, 20), "a.gz", errors));
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_EQ(errors[0].file, "a.gz");
    errors.clear();
    EXPECT_EQ(Unpacked("plain", "a", errors), "plain");
}

TEST(Chakra, WhatUnpacksWithoutEndIsRefused)
{
    // Zeros, a thousandth of them packed: 8 MiB are read, of 64 MiB no more than begins.
    for (const int mebibytes : {8, 64})
    {
        char name[] = "/tmp/packed-XXXXXX";
        const std::string folder = ::mkdtemp(name);
        const std::string file = folder + "/t.0.et.gz";
        const std::string make =
            "head -c " + std::to_string(mebibytes) + "M /dev/zero | gzip -n > " + file;
        ASSERT_EQ(std::system(make.c_str()), 0);
        std::vector<topo::Error> errors;
        const auto text = ReadInput(file, errors);
        EXPECT_EQ(text.has_value(), mebibytes == 8);
        if (mebibytes == 64)
        {
            EXPECT_NE(ErrorOf(errors).find("more than 200 times as many unpacked"),
                      std::string::npos)
                << ErrorOf(errors);
        }
        EXPECT_EQ(std::system(("rm -r " + folder).c_str()), 0);
    }
}

TEST(Chakra, FilesOfAFolder)
{
    char name[] = "/tmp/chakra-XXXXXX";
    const std::string folder = ::mkdtemp(name);
    const auto write = [&](const std::string& file) { std::ofstream(folder + "/" + file) << "x"; };
    std::vector<topo::Error> errors;
    EXPECT_FALSE(FindChakraFiles(folder, errors));
    EXPECT_TRUE(errors.empty());
    write("a.1.et");
    EXPECT_FALSE(FindChakraFiles(folder, errors));
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_NE(ErrorOf(errors).find("no trace of rank 0"), std::string::npos);
    errors.clear();
    write("a.0.et.gz");
    write("stats.json");
    write("comm_groups.json");
    auto files = FindChakraFiles(folder, errors);
    ASSERT_TRUE(files);
    EXPECT_EQ(files->ofRank, (std::vector<std::string>{folder + "/a.0.et.gz", folder + "/a.1.et"}));
    EXPECT_EQ(files->groups, folder + "/comm_groups.json");
    write("b.0.json");
    EXPECT_FALSE(FindChakraFiles(folder, errors));
    EXPECT_EQ(errors.size(), 1U); // two traces
    errors.clear();
    files = FindChakraFiles(folder + "/b.0.json", errors);
    ASSERT_TRUE(files);
    EXPECT_EQ(files->ofRank.size(), 1U);
    EXPECT_FALSE(FindChakraFiles(folder + "/stats.json", errors));
    EXPECT_TRUE(errors.empty());
    for (const char* file : {"a.1.et", "a.0.et.gz", "stats.json", "comm_groups.json", "b.0.json"})
    {
        ::unlink((folder + "/" + file).c_str());
    }
    ::rmdir(folder.c_str());
}
