/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Lists of layers as ASTRA-sim and AICB write them. Times by the rules of one-step.h: a collective
 * takes 5 us and 20 ps a byte from its last rank on.
 */
#include "scenarios/formats/layer-text.h"
#include "tests/unit/scenarios/one-step.h"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <map>
#include <string>

using namespace formats;
using coll::Op;
using training::TaskKind;

namespace
{

std::string
ErrorOf(const std::vector<topo::Error>& errors)
{
    return errors.empty() ? "" : errors.front().Sentence();
}

std::optional<LayerText>
Read(const std::string& text, uint32_t gpus, uint32_t ofServer, std::string* error = nullptr)
{
    std::vector<topo::Error> errors;
    auto read = ReadLayerText(text, "w.txt", {gpus, ofServer}, errors);
    EXPECT_EQ(read.has_value(), errors.empty());
    EXPECT_LE(errors.size(), 1U);
    if (error)
    {
        *error = ErrorOf(errors);
    }
    else
    {
        EXPECT_EQ(ErrorOf(errors), "");
    }
    return read;
}

/// ps
constexpr int64_t
Collective(int64_t bytes)
{
    return 5000000 + 20 * bytes;
}

/// Two layers: computing of 1, 2, 4 us and 8, 16, 32 us; messages of 100 to 600 bytes.
std::string
TwoLayers(const std::string& header)
{
    return header +
           "\t\t\n2\n"
           "a\t-1\t1000\tALLGATHER\t100\t2000\tALLREDUCE\t200\t4000\tALLREDUCE\t300\t0\n"
           "b -1  8000 ALLTOALL 400  16000 REDUCESCATTER 500  32000 ALLREDUCE 600 0 \r\n\n";
}

std::vector<std::vector<coll::Rank>>
GroupsOf(const LayerText& read, Op op, const std::string& part)
{
    for (const auto& task : read.plan.roles[0].tasks)
    {
        if (task.kind == TaskKind::kCollective && task.op == op &&
            task.name.find(part) != std::string::npos)
        {
            return read.plan.groupKinds[task.group].groups;
        }
    }
    return {};
}

} // namespace

// All names that ASTRA-sim's Workload.cc decodes (astra-sim/astra-sim, decode_parallelsim), and
// words that are none: a list is seen by its lines, and the error names the word.
TEST(LayerText, IsSeenByItsPolicyOrByItsLines)
{
    for (const char* policy : {"MICRO",
                               "DATA",
                               "MODEL",
                               "HYBRID_DATA_MODEL",
                               "HYBRID_MODEL_DATA",
                               "HYBRID_CUSTOMIZED",
                               "HYBRID_DLRM 1",
                               "HYBRID_DLRM_ENHANCED 1",
                               "DISTRIBUTED_INFERENCE",
                               "HYBRID_TRANSFORMER",
                               "HYBRID_TRANSFORMER_FWD_IN_BCKWD"})
    {
        EXPECT_TRUE(IsLayerText(policy + std::string("\n"))) << policy;
        EXPECT_TRUE(IsLayerText(TwoLayers(policy))) << policy;
    }
    for (const char* word : {"DATA_PARALLEL", "HYBRID_DATA_MODELS", "data"})
    {
        const std::string text = TwoLayers(word);
        EXPECT_TRUE(IsLayerText(text));
        std::string error;
        EXPECT_FALSE(Read(text, 4, 2, &error));
        EXPECT_EQ(error.find("w.txt:1: \"" + std::string(word) +
                             "\" where there should be a policy: MICRO, DATA, MODEL, "),
                  0U)
            << error;
    }
    EXPECT_NE(
        [] {
            std::string error;
            Read(TwoLayers("HYBRID_DATA_MODELS"), 4, 2, &error);
            return error;
        }()
            .find("did you mean HYBRID_DATA_MODEL?"),
        std::string::npos);
    for (const char* text : {"",
                             "Nodes 2\nConnections 1\n0->1 start 0 size 9\n",
                             "num_ranks 1\n2\na b\n",
                             "MICROS\n1\na -1 x NONE 0 1 NONE 0 1 NONE 0 1\n",
                             "MICROS\n1 2\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n"})
    {
        EXPECT_FALSE(IsLayerText(text)) << text;
    }
}

TEST(LayerText, StepOfEachPolicy)
{
    // 4 GPUs, 2 in a server. An all-gather's bytes are a rank's part: of 4 ranks 4 times as many.
    const int64_t us = 1000000;
    const auto time = [](const std::string& header) {
        const auto read = Read(TwoLayers(header), 4, 2);
        return read ? onestep::Run(read->plan).time : 0;
    };
    // Forward 9, then weights of b (32), inputs (16), weights of a (4): the collective of b is over
    // by then, that of a comes behind. Neither inputs' nor forward collectives have a group.
    EXPECT_EQ(time("DATA"), (9 + 32 + 16 + 4) * us + Collective(300));
    // Forward with a collective each; inputs of b (16); its collective beside its weights (32);
    // inputs of a (2), of which there is no collective, weights (4).
    EXPECT_EQ(time("MODEL"), (9 + 16 + 32 + 2 + 4) * us + Collective(4 * 100) + Collective(400));
    // The same, with groups of 2, and a collective of weights behind.
    const int64_t hybrid = (9 + 16 + 32 + 2 + 4) * us + Collective(2 * 100) + Collective(400);
    EXPECT_EQ(time("HYBRID_DATA_MODEL"), hybrid + Collective(300));
    EXPECT_EQ(time("HYBRID_MODEL_DATA"), hybrid + Collective(300));
    // Transformers await what is of inputs before the weights, a's too; sizes are the whole.
    EXPECT_EQ(time("HYBRID_TRANSFORMER model_parallel_NPU_group: 2"),
              (9 + 16 + 32 + 2 + 4) * us + Collective(100) + Collective(400) + Collective(500) +
                  Collective(200) + Collective(300));
    // And again: layer b begins with the forward of a, computing and collective.
    EXPECT_EQ(time("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 checkpoints: 1 0 "
                   "checkpoint_initiates: 1 1"),
              (10 + 16 + 32 + 2 + 4) * us + 2 * Collective(100) + Collective(400) +
                  Collective(500) + Collective(200) + Collective(300));
    EXPECT_EQ(time("DISTRIBUTED_INFERENCE"), 9 * us + Collective(4 * 100) + Collective(400));
    EXPECT_EQ(time("MICRO"), Collective(300) + Collective(600));
}

TEST(LayerText, Dlrm)
{
    // The embedding's all-to-all runs beside the bottom layer, of 50 us, and is awaited there; back
    // it goes with the top's gradients of inputs, beside weights and inputs of the bottom.
    const std::string layers = "\n3\n"
                               "e -1 1000 ALLTOALL 1000 2000 ALLTOALL 1000 3000 NONE 0 0\n"
                               "bottom -1 50000 NONE 0 60000 NONE 0 70000 NONE 0 0\n"
                               "top -1 1000 NONE 0 1000 NONE 0 1000 NONE 0 0\n";
    for (const char* header :
         {"HYBRID_DLRM 1", "HYBRID_DLRM DLRM_LAST_BOTTOM_LAYER: 1", "HYBRID_DLRM_ENHANCED\t1\t\t"})
    {
        const auto read = Read(header + layers, 3, 8);
        ASSERT_TRUE(read);
        // Forward 52, back 1 + 1 + 70 + 60 + 3: the collectives, 5 us, are hidden.
        EXPECT_EQ(onestep::Run(read->plan).time, (52 + 135) * 1000000LL);
        EXPECT_EQ(GroupsOf(*read, Op::kAllToAll, "e").at(0).size(), 3U);
    }
    // With the bottom at layer 0 it is awaited at once, and comes back behind layer 1's inputs.
    const auto read = Read("HYBRID_DLRM 0" + layers, 3, 8);
    ASSERT_TRUE(read);
    EXPECT_EQ(onestep::Run(read->plan).time, (52 + 135) * 1000000LL + Collective(1000) + 2020000);
}

TEST(LayerText, EachLayersOwnPolicy)
{
    const auto read =
        Read("HYBRID_CUSTOMIZED\n4\n"
             "a -1 1 ALLGATHER 8 1 REDUCESCATTER 8 1 ALLREDUCE 8 0 HYBRID_DATA_MODEL\n"
             "b -1 1 ALLGATHER 8 1 REDUCESCATTER 8 1 ALLREDUCE 8 0 HYBRID_MODEL_DATA\n"
             "c -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 0 DATA\n"
             "d -1 1 ALLGATHER 8 1 NONE 0 1 NONE 0 0 MODEL\n",
             6,
             2);
    ASSERT_TRUE(read);
    const std::vector<std::vector<coll::Rank>> servers = {{0, 1}, {2, 3}, {4, 5}};
    const std::vector<std::vector<coll::Rank>> places = {{0, 2, 4}, {1, 3, 5}};
    EXPECT_EQ(GroupsOf(*read, Op::kAllGather, "forward a"), servers);
    EXPECT_EQ(GroupsOf(*read, Op::kAllReduce, "gradient a"), places);
    EXPECT_EQ(GroupsOf(*read, Op::kAllGather, "forward b"), places);
    EXPECT_EQ(GroupsOf(*read, Op::kAllReduce, "gradient b"), servers);
    EXPECT_EQ(GroupsOf(*read, Op::kAllReduce, "gradient c").at(0).size(), 6U);
    EXPECT_EQ(GroupsOf(*read, Op::kAllGather, "forward d").at(0).size(), 6U);
}

TEST(LayerText, GroupsOfTransformersArePartitions)
{
    // {k, ep, pp, ranks}: odd counts and primes too.
    const std::vector<std::array<uint32_t, 4>> shapes = {{2, 2, 1, 16},
                                                         {4, 4, 1, 32},
                                                         {2, 4, 2, 32},
                                                         {3, 5, 1, 45},
                                                         {1, 7, 3, 42},
                                                         {5, 1, 2, 30},
                                                         {2, 1, 1, 2}};
    for (const auto& [tensor, experts, stages, ranks] : shapes)
    {
        const auto read =
            Read("HYBRID_TRANSFORMER_FWD_IN_BCKWD pp_comm: 8388608.0 ga: 2 vpp: 1 ep: " +
                     std::to_string(experts) + " pp: " + std::to_string(stages) +
                     " model_parallel_NPU_group: " + std::to_string(tensor) +
                     " all_gpus: " + std::to_string(ranks) +
                     " checkpoints: 0\n3\n"
                     "a -1 1 ALLGATHER 64 1 REDUCESCATTER 0 1 ALLREDUCE 64 100\n"
                     "b -1 1 ALLTOALL_EP 64 1 NONE 0 1 REDUCESCATTER_DP_EP 64 100\n"
                     "c -1 1 BROADCAST 64 1 NONE 0 1 NONE 0 100\n",
                 0,
                 8);
        ASSERT_TRUE(read);
        EXPECT_EQ(read->format, "AICB text");
        EXPECT_EQ(read->plan.ranks, ranks);
        const uint32_t data = ranks / (tensor * stages);
        std::map<std::string, std::size_t> sizes = {{"tp", tensor},
                                                    {"dp", data},
                                                    {"ep", experts},
                                                    {"dp-ep", data / experts}};
        for (const auto& kind : read->plan.groupKinds)
        {
            std::vector<bool> seen(ranks);
            for (const auto& group : kind.groups)
            {
                EXPECT_EQ(group.size(), sizes.at(kind.name)) << kind.name;
                for (const coll::Rank rank : group)
                {
                    ASSERT_LT(rank, ranks);
                    EXPECT_FALSE(seen[rank]) << kind.name << " " << rank;
                    seen[rank] = true;
                }
            }
            EXPECT_EQ(std::count(seen.begin(), seen.end(), true), ranks) << kind.name;
        }
        const auto step = onestep::Run(read->plan);
        EXPECT_EQ(step.ended, step.tasks);
        EXPECT_EQ(read->notes.size(), 1U + (stages > 1)); // BROADCAST, the pipeline
    }
    // As SimAI has them: 2 experts are in tensor groups side by side.
    const auto read = Read("HYBRID_TRANSFORMER model_parallel_NPU_group: 2 ep: 2 all_gpus: 8\n1\n"
                           "a -1 1 ALLTOALL_EP 64 1 NONE 0 1 ALLREDUCE_DP_EP 64 1\n",
                           0,
                           8);
    ASSERT_TRUE(read);
    const std::vector<std::vector<coll::Rank>> experts = {{0, 2}, {1, 3}, {4, 6}, {5, 7}};
    const std::vector<std::vector<coll::Rank>> replicas = {{0, 4}, {1, 5}, {2, 6}, {3, 7}};
    EXPECT_EQ(GroupsOf(*read, Op::kAllToAll, ""), experts);
    EXPECT_EQ(GroupsOf(*read, Op::kAllReduce, ""), replicas);
}

TEST(LayerText, UpdatesComeBehindTheirCollective)
{
    const auto read = Read("DATA\n1\na -1 1000 NONE 0 0 NONE 0 1000 ALLREDUCE 50 7000\n", 5, 8);
    ASSERT_TRUE(read);
    EXPECT_EQ(onestep::Run(read->plan).time, 9000000 + Collective(50));
    // A group of one rank shares nothing.
    const auto alone = Read("DATA\n1\na -1 1000 NONE 0 0 NONE 0 1000 ALLREDUCE 50 7000\n", 1, 8);
    ASSERT_TRUE(alone);
    EXPECT_EQ(onestep::Run(alone->plan).time, 2000000);
}

TEST(LayerText, ErrorsHaveTheirLine)
{
    const std::string row = "a -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8 1\n";
    const std::vector<std::pair<std::string, std::string>> wrong = {
        {"DATA\n", "w.txt:1: the number of layers is missing"},
        {"DATA\nx\n", "w.txt:2: \"x\" where there should be the number of layers"},
        {"DATA\n0\n", "w.txt:2: \"0\" where there should be"},
        {"DATA 7\n1\n" + row, "w.txt:1: \"7\" where there should be the end of the line"},
        {"DATA\n1\n\x1b[31m" + row, "the name of a layer: UTF-8 without control characters"},
        {"DATA\n1\n\xc2\x9b" + row, "the name of a layer: UTF-8 without control characters"},
        {"DATA\n1\n\x07" + row, "the name of a layer: UTF-8 without control characters"},
        {"DATA\n2\n" + row, "announces 2 layers, the file has 1"},
        {"DATA\n1\n" + row + row, "w.txt:4: the second line announces 1 layer, and here is one"},
        {"DATA\n1\na -1 1 NONE 0\n", "w.txt:3: layer 0 has 5 fields; allowed: 12"},
        {"DATA\n1\na -1 x NONE 0 1 NONE 0 1 NONE 0 1\n",
         "w.txt:3: \"x\" where there should be the time of the forward"},
        {"DATA\n1\na -1 1 NONE 0 1 NONE 0 -1 NONE 0 1\n",
         "w.txt:3: \"-1\" where there should be the time of the weight gradient"},
        {"DATA\n1\na -1 1 ALLRED 0 1 NONE 0 1 NONE 0 1\n",
         "w.txt:3: \"ALLRED\" where there should be the communication of the forward: NONE"},
        {"DATA\n1\na -1 1 NONE 0 1 ALLREDUCE_EP 8 1 NONE 0 1\n", "communication of the input"},
        {"DATA\n1\na -1 1 NONE 0 1 NONE 0.5 1 NONE 0 1\n",
         "w.txt:3: \"0.5\" where there should be the bytes of the input gradient"},
        {"DATA\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 x\n", "w.txt:3: \"x\" where there should be"},
        {"HYBRID_CUSTOMIZED\n1\n" + row, "allowed: 13"},
        {"HYBRID_CUSTOMIZED\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1 MICRO\n",
         "w.txt:3: \"MICRO\" where there should be a layer's policy"},
        {"HYBRID_DLRM\n1\n" + row, "w.txt:1: the number of the last bottom layer is missing"},
        {"HYBRID_DLRM 1\n1\n" + row, "the last bottom layer is 1; allowed: 0 to 0"},
        {"HYBRID_TRANSFORMER\n1\n" + row, "w.txt:1: model_parallel_NPU_group: is missing"},
        {"HYBRID_TRANSFORMER model_parallel_NPU_group:\n1\n" + row, "not followed by a whole"},
        {"HYBRID_TRANSFORMER model_parallel_NPU_group: 3\n1\n" + row, "does not divide 8 GPUs"},
        {"HYBRID_TRANSFORMER model_parallel_NPU_group: 2 ep: 3\n1\n" + row,
         "ep: 3 does not divide the 4 replicas"},
        {"HYBRID_TRANSFORMER model_parallel_NPU_group: 2 tp: 3\n1\n" + row,
         "w.txt:1: \"tp:\" where there should be"},
        {"HYBRID_TRANSFORMER model_parallel_NPU_group: 2 checkpoints: 2 0\n1\n" + row,
         "checkpoints: is not followed by a number, and by as many layers"},
        {"HYBRID_TRANSFORMER model_parallel_NPU_group: 2 checkpoints: 1 4\n1\n" + row,
         "checkpoints: layer 4; allowed: 0 to 0"},
        {"HYBRID_TRANSFORMER model_parallel_NPU_group: 2 checkpoint_initiates: 1 0\n1\n" + row,
         "layer 0 has no checkpoint before it"},
        {"HYBRID_TRANSFORMER model_parallel_NPU_group: 1 all_gpus: 99999999\n1\n" + row,
         "all_gpus: 99999999; allowed: at most"},
        {"MODEL\n1\na -1 1 ALLGATHER 1125899906842624 1 NONE 0 1 NONE 0 1\n", "more than 2^50 B"},
        {"MICRO\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n", "has nothing to run"},
    };
    for (const auto& [text, expected] : wrong)
    {
        std::string error;
        EXPECT_FALSE(Read(text, 8, 8, &error)) << text;
        EXPECT_NE(error.find(expected), std::string::npos) << text << "\n" << error;
    }
    std::string error;
    EXPECT_FALSE(Read("DATA\n1\n" + row, 0, 8, &error));
    EXPECT_NE(error.find("give --gpus"), std::string::npos) << error;
    EXPECT_FALSE(Read("HYBRID_DATA_MODEL\n1\n" + row, 12, 8, &error));
    EXPECT_NE(error.find("12 GPUs, 8 in a server"), std::string::npos) << error;
}
