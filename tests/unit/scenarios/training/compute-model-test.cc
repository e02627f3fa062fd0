/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/layer-kernels.h"
#include "scenarios/training/rank-layers.h"
#include "scenarios/training/rank-work.h"
#include "scenarios/training/recomputation.h"
#include "scenarios/training/spec/kernel-time.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <map>

using namespace training;

namespace
{

/// Of a rank of data parallelism.
double
StepSeconds(TrainingOptions o)
{
    double seconds = 0;
    for (const Computation& computation : WorkOfRank(o).order)
    {
        seconds += computation.duration.Seconds();
    }
    return seconds;
}

TrainingOptions
OptionsOn(const std::string& model,
          const char* gpu,
          const char* dtype,
          uint32_t micro,
          uint32_t sequence)
{
    TrainingOptions o;
    o.model = *FindModel(model);
    o.gpu = *FindGpu(gpu);
    o.dtype = *ParseDtype(dtype);
    o.microBatch = micro;
    o.sequence = sequence;
    return ResolvedOptions(o);
}

/// Of a layer's kind and pass.
Kernels
KernelsOf(const TrainingOptions& o, std::size_t layer, KernelClass kind, Pass pass)
{
    Kernels kernels;
    for (const Part& part : o.model.layers[layer].parts)
    {
        for (const Operator& op : part.operators)
        {
            for (const Kernel& kernel : KernelsOf(op, part, pass, o))
            {
                if (kernel.kind == kind)
                {
                    kernels.push_back(kernel);
                }
            }
        }
    }
    return kernels;
}

} // namespace

TEST(ComputeModel, FusedAttentionSparesTheMemory)
{
    auto o = OptionsOn("gpt3-1.3b", "A100", "bf16", 1, 8192);
    const auto plain = LayersOfModel(o);
    o.fusedAttention = true;
    const auto fused = LayersOfModel(o);
    EXPECT_LT(fused[1].Forward(), plain[1].Forward() * 0.7);
    // The embedding and the head have no attention.
    EXPECT_EQ(fused.front().Forward(), plain.front().Forward());
    EXPECT_EQ(fused.back().Forward(), plain.back().Forward());
}

// Bytes of a score, forward, for b a s^2 of them; the rest of attention's are 4 b s h elements.
//   gpt2, 16 bits: written and read by products, softmax, dropout: 6 x 2
//   bert, 16 bits: products, scale, mask 6 x 2, softmax reads 2 and writes 4, dropout 4 and 4, made
//         16 bits 4 and 2: 32; fp32: 7 x 4 and 3 x 4
// Kernels: 2 products, softmax, dropout; 2 products, scale, mask, softmax, dropout, and one that
// makes them 16 bits.
TEST(ComputeModel, AttentionThatIsNotFusedIsSeveralKernels)
{
    struct Case
    {
        const char* model;
        const char* dtype;
        double bytes;
        double launches;
    };

    for (const Case& c : {Case{"gpt2", "fp16", 12, 4},
                          Case{"gpt2", "fp32", 24, 4},
                          Case{"bert-large-pretraining", "fp16", 32, 7},
                          Case{"bert-large-pretraining", "tf32", 40, 6}})
    {
        for (const uint32_t sequence : {1U, 127U, 512U})
        {
            const auto o = OptionsOn(c.model, "A100", c.dtype, 3, sequence);
            const double s = sequence;
            const auto& shape = *o.model.transformer;
            const auto of = [&](Pass pass) {
                const auto kernels = KernelsOf(o, 1, KernelClass::kAttention, pass);
                EXPECT_EQ(kernels.size(), 1u);
                return kernels.at(0);
            };
            const Kernel forward = of(Pass::kForward);
            const Kernel backward = of(Pass::kBackwardInput);
            const double bytes = forward.elements * DtypeBytes(o.dtype) + forward.bytes;
            const double rest = 3 * 4 * s * shape.hidden * DtypeBytes(o.dtype);
            EXPECT_NEAR(bytes, 3 * shape.heads * s * s * c.bytes + rest, 1e-6 * bytes) << c.model;
            EXPECT_EQ(forward.launches, c.launches) << c.model << " " << c.dtype;
            EXPECT_EQ(backward.launches, c.launches + 2); // two products more
            EXPECT_DOUBLE_EQ(backward.bytes, 2 * forward.bytes);
        }
    }
}

// Bytes of a score with --kernels=megatron, whose softmax reads half of the scores; e an element:
//   forward    product e, softmax e/2 + e, dropout 2 e + 1, product e: 5.5 e + 1
//   backward   two products 2 e, dropout 2 e + 1, softmax e/2 + e/2 + e, two products 2 e: 8 e + 1
// Without dropout 2 e + 1 less. Of attention both ways nothing is different.
TEST(ComputeModel, MegatronsSoftmaxReadsWhatAQuerySees)
{
    for (const char* dtype : {"fp16", "fp32"})
    {
        for (const bool dropout : {true, false})
        {
            auto o = OptionsOn("gpt2", "A100", dtype, 3, 40);
            const double e = DtypeBytes(o.dtype);
            for (Part& part : o.model.layers[1].parts.Change())
            {
                for (Operator& op : part.operators)
                {
                    op.dropout = op.dropout && dropout;
                }
            }
            const auto of = [&o](Pass pass) {
                return KernelsOf(o, 1, KernelClass::kAttention, pass).at(0);
            };
            const auto bytes = [e](const Kernel& k) { return k.elements * e + k.bytes; };
            const Kernel fused[] = {of(Pass::kForward), of(Pass::kBackwardInput)};
            o.kernels = KernelSet::kMegatron;
            const Kernel counted[] = {of(Pass::kForward), of(Pass::kBackwardInput)};
            const double scores = 3.0 * o.model.transformer->heads * 40 * 40;
            const double tokens = 3.0 * 4 * 40 * o.model.transformer->hidden * e;
            const double less = dropout ? 0 : 2 * e + 1;
            EXPECT_NEAR(bytes(counted[0]), scores * (5.5 * e + 1 - less) + tokens, 1);
            EXPECT_NEAR(bytes(counted[1]), scores * (8 * e + 1 - less) + 2 * tokens, 1);
            for (const int i : {0, 1})
            {
                EXPECT_EQ(counted[i].launches, fused[i].launches);
                EXPECT_EQ(counted[i].flops, fused[i].flops);
            }
        }
    }
    auto bert = OptionsOn("bert-large-pretraining", "A100", "fp16", 3, 40);
    const Kernel fused = KernelsOf(bert, 1, KernelClass::kAttention, Pass::kBackwardInput).at(0);
    bert.kernels = KernelSet::kMegatron;
    const Kernel same = KernelsOf(bert, 1, KernelClass::kAttention, Pass::kBackwardInput).at(0);
    EXPECT_EQ(same.elements, fused.elements);
    EXPECT_EQ(same.bytes, fused.bytes);
}

// Bytes of a score beside the products, of PyTorch's operators, 16 bits:
//   causal      scale 4, copy 4, fill 4, softmax 4, dropout 4 + 1; backward dropout 5, softmax 6,
//               copy 4, fill 4, scale 4: 21, 23; in fp32 41 and 45
//   both ways   scale 4, mask 4, softmax 2 + 4, dropout 8 + 1, to 16 bits 6; backward 6, 9, softmax
//               8 + 2, scale 4: 29, 29; in fp32 scale 8, mask 8, softmax 8, dropout 9: 33; backward
//               9, 12, 8: 29
// and of each token's elements: Q, K, V, context copied; backward context, Q, V and one of all
// three: 8 and 12 widths.
TEST(ComputeModel, EagerAttentionMovesWhatPyTorchDoes)
{
    struct Case
    {
        const char* model;
        const char* dtype;
        double forward;
        double backward;
        double mask; ///< bytes of one for a micro-batch of 3
    };

    constexpr double kSequence = 127;
    for (const Case& c : {Case{"gpt2", "bf16", 21, 23, kSequence * kSequence},
                          Case{"gpt2", "fp32", 41, 45, kSequence * kSequence},
                          Case{"bert-large-pretraining", "fp16", 29, 29, 3 * 2 * kSequence},
                          Case{"bert-large-pretraining", "tf32", 33, 29, 3 * 4 * kSequence}})
    {
        auto o = OptionsOn(c.model, "A100", c.dtype, 3, static_cast<uint32_t>(kSequence));
        o.kernels = KernelSet::kEager;
        const auto& shape = *o.model.transformer;
        const double width = DtypeBytes(o.dtype);
        const double scores = 3 * shape.heads * kSequence * kSequence;
        const double tokens = 3 * kSequence * shape.hidden;
        const auto& parts = o.model.layers[1].parts;
        for (const bool forward : {true, false})
        {
            double bytes = 0;
            double products = 0;
            double flops = 0;
            for (const Operator& op : parts[0].operators)
            {
                for (const Kernel& k :
                     op.kind == KernelClass::kAttention
                         ? KernelsOf(op,
                                     parts[0],
                                     forward ? Pass::kForward : Pass::kBackwardInput,
                                     o)
                         : Kernels())
                {
                    if (k.kind == KernelClass::kPointwise)
                    {
                        bytes += k.elements * width + k.bytes;
                        continue;
                    }
                    EXPECT_EQ(k.kind, KernelClass::kMatrix);
                    ++products;
                    flops += k.flops;
                    // Q, K or V, context, and scores: each once.
                    EXPECT_DOUBLE_EQ(k.elements, 2 * tokens + scores);
                }
            }
            const bool masked = forward || std::string(c.model) == "gpt2";
            const double expected = scores * (forward ? c.forward : c.backward) +
                                    tokens * (forward ? 8 : 12) * width + (masked ? c.mask : 0);
            EXPECT_NEAR(bytes, expected, 1e-9 * expected) << c.model << " " << c.dtype << forward;
            EXPECT_EQ(products, forward ? 2 : 4);
            EXPECT_DOUBLE_EQ(flops, products * 2 * scores * shape.hidden / shape.heads);
        }
    }
}

// Keys and values of two heads for eight of queries: copies read a quarter of what they write, and
// the gradients are added up.
TEST(ComputeModel, EagerAttentionRepeatsKeysAndValues)
{
    Part part;
    Operator op;
    op.kind = KernelClass::kAttention;
    op.heads = 8;
    op.kvHeads = 2;
    op.headSize = 16;
    op.queries = op.keys = Work{0, 1, 0};
    op.causal = true;
    auto o = OptionsOn("gpt2", "A100", "bf16", 1, 10);
    o.kernels = KernelSet::kEager;
    const auto elements = [&](Pass pass) {
        double sum = 0;
        for (const Kernel& k : KernelsOf(op, part, pass, o))
        {
            sum += k.kind == KernelClass::kPointwise ? k.elements : 0;
        }
        return sum;
    };
    const double all = 8 * 10 * 16;
    const double scores = 8 * 10 * 10;
    // Scale, copy, fill, softmax of 2 each; Q and context copied, keys and values as above.
    EXPECT_DOUBLE_EQ(elements(Pass::kForward), 8 * scores + all * (2 + 2 + 1.25 + 1.25));
    // Softmax 3, copy, fill, scale of 2; copies of context and Q; sums, copies of what they give.
    EXPECT_DOUBLE_EQ(elements(Pass::kBackwardInput),
                     9 * scores + all * (2 + 2 + 1.25 + 1.25 + 0.5 + 0.5));
}

// Of GPT-2's block: four biases, two norms, two residuals with dropout, an activation.
TEST(ComputeModel, EagerBlockBesideAttention)
{
    for (const bool dropout : {true, false})
    {
        auto o = OptionsOn("gpt2", "H100", "bf16", 5, 33);
        o.kernels = KernelSet::kEager;
        o.fusedAttention = true;
        double launches[3] = {0, 0, 0};
        double bytes[3] = {0, 0, 0};
        for (Part& part : o.model.layers[1].parts.Change())
        {
            for (Operator& op : part.operators)
            {
                op.dropout = op.dropout && dropout;
                for (const Pass pass :
                     {Pass::kForward, Pass::kBackwardInput, Pass::kBackwardWeights})
                {
                    for (const Kernel& k : KernelsOf(op, part, pass, o))
                    {
                        const bool mine = k.kind == KernelClass::kPointwise;
                        launches[static_cast<int>(pass)] += mine ? k.launches : 0;
                        bytes[static_cast<int>(pass)] += mine ? 2 * k.elements + k.bytes : 0;
                    }
                }
            }
        }
        const double h = 768;
        const double token = 5 * 33 * h;
        const double d = dropout ? 2 : 0;
        EXPECT_EQ(launches[0], 2 + 2 + d + 1);
        EXPECT_NEAR(bytes[0], token * (2 * 4 + 2 * 6 + d * 5 + 4 * 4), 1);
        // Queries', keys' and values' gradients are put together.
        EXPECT_EQ(launches[1], 4 + 2 + d + 1 + 1);
        EXPECT_NEAR(bytes[1], token * (2 * 10 + 2 * 6 + d * 5 + 4 * 6 + 12), 1);
        EXPECT_EQ(launches[2], 4);
        EXPECT_NEAR(bytes[2], 2 * (token + h) * (3 + 1 + 4 + 1), 1);
    }
}

// With what PyTorch keeps of a score: softmax in fp32 for both ways, and what is made of it.
TEST(ComputeModel, EagerAttentionKeepsItsSoftmax)
{
    for (const auto& [model, dropout] : {std::pair{"bert-large-pretraining", 2.0}, {"gpt2", 0.0}})
    {
        auto o = OptionsOn(model, "A100", "fp16", 3, 40);
        const double before = LayersOfModel(o)[1].keptBytes;
        o.kernels = KernelSet::kEager;
        EXPECT_NEAR(LayersOfModel(o)[1].keptBytes - before,
                    dropout * 3 * o.model.transformer->heads * 40 * 40,
                    1);
    }
}

// Pictures are turned round for TF32: three times the activations, not the weights.
TEST(ComputeModel, ConvolutionsInTf32MoveMore)
{
    const auto tf32 = OptionsOn("resnet-50", "A100", "tf32", 7, 1);
    const auto fp32 = OptionsOn("resnet-50", "A100", "fp32", 7, 1);
    for (std::size_t layer = 0; layer < tf32.model.layers.size(); ++layer)
    {
        const auto turned = KernelsOf(tf32, layer, KernelClass::kConvolution, Pass::kForward);
        const auto plain = KernelsOf(fp32, layer, KernelClass::kConvolution, Pass::kForward);
        ASSERT_EQ(turned.size(), plain.size());
        for (std::size_t i = 0; i < plain.size(); ++i)
        {
            const double weights = plain[i].columns * plain[i].inner;
            EXPECT_DOUBLE_EQ(turned[i].elements - weights, 3 * (plain[i].elements - weights));
        }
    }
}

// The loss reads and writes 14 bytes of each logit forward and 22 backward (16 bits).
TEST(ComputeModel, LogitsInThirtyTwoBits)
{
    for (const uint32_t sequence : {1U, 333U})
    {
        const auto o = OptionsOn("mpt-125m", "A100", "bf16", 2, sequence);
        const double logits = 2.0 * sequence * o.model.transformer->vocabulary;
        const auto bytes = [&](Pass pass) {
            const Kernel k =
                KernelsOf(o, o.model.layers.size() - 1, KernelClass::kPointwise, pass).back();
            return 2 * k.elements + k.bytes;
        };
        EXPECT_NEAR(bytes(Pass::kForward), 14 * logits, 1e-6 * logits);
        EXPECT_NEAR(bytes(Pass::kBackwardInput), 22 * logits, 1e-6 * logits);
    }
}

// Without dropout the last product of a block, f x h of 4 h^2 + 2 f h (f = 4 h: a third of the
// products), and the sum behind it are not computed again, but by those who repeat all.
TEST(ComputeModel, RecomputationStopsEarly)
{
    const auto shares = [](TrainingOptions o) {
        o.recompute = Recompute::kFull;
        o.fusedAttention = true;
        const RankLayer block = LayersOfModel(ResolvedOptions(o))[1];
        double again = 0;
        for (const RankPart& part : block.parts)
        {
            again += part.again;
        }
        return again / block.Forward();
    };
    for (const char* model : {"mpt-125m", "mpt-3b", "mpt-30b"})
    {
        auto o = OptionsOn(model, "A100", "bf16", 8, 512);
        EXPECT_GT(shares(o), 0.6) << model;
        EXPECT_LT(shares(o), 0.75) << model;
        o.sharding = ZeroStage(3);
        o.ranks = 8;
        EXPECT_LT(shares(o), 0.75) << model;
        o.zeroImpl = ZeroImpl::kDeepSpeed;
        EXPECT_DOUBLE_EQ(shares(o), 1) << model;
        o.zeroImpl = ZeroImpl::kPaper;
        o.tensor = 2;
        o.sharding = ZeroStage(0);
        EXPECT_DOUBLE_EQ(shares(o), 1) << model;
        o.tensor = 1;
        o.pipeline = 2;
        EXPECT_DOUBLE_EQ(shares(o), 1) << model;
    }
    // A mask of dropout behind it is kept.
    EXPECT_DOUBLE_EQ(shares(OptionsOn("gpt3-1.3b", "A100", "bf16", 8, 512)), 1);
}

TEST(ComputeModel, FasterGpuAndNarrowerTypeAreFaster)
{
    const auto seconds = [&](const char* gpu, const char* dtype) {
        return StepSeconds(OptionsOn("gpt2", gpu, dtype, 8, 1024));
    };
    EXPECT_LT(seconds("H100", "fp16"), seconds("A100", "fp16"));
    EXPECT_LT(seconds("A100", "fp16"), seconds("V100", "fp16"));
    EXPECT_LT(seconds("V100", "fp16"), seconds("P100", "fp16"));
    EXPECT_LT(seconds("A100", "bf16"), seconds("A100", "tf32"));
    EXPECT_LT(seconds("A100", "tf32"), seconds("A100", "fp32"));
}

// A sample of the published steps of scripts/fit-compute, of every kind: every row within 15%, all
// of a GPU within 6% on average and 5% of bias.
TEST(ComputeModel, PublishedRows)
{
    struct Row
    {
        const char* model;
        const char* gpu;
        const char* dtype;
        uint32_t microBatch;
        uint32_t accumulation;
        uint32_t sequence;
        uint32_t ranks;
        uint32_t zero;
        bool fused;
        bool recompute;
        double perGpu; ///< samples/s of a GPU
    };

    const Row rows[] = {
        // mosaicml/llm-foundry@8c8dd48 scripts/train/benchmarking/README.md, tokens/s/GPU over
        // tokens; FSDP on 8 GPUs
        {"mpt-30b", "A100", "bf16", 3, 21, 2048, 8, 3, true, true, 916.0 / 2048},
        {"mpt-13b", "A100", "bf16", 2, 3, 2048, 8, 3, true, false, 2262.0 / 2048},
        {"mpt-7b", "A100", "bf16", 16, 2, 4096, 8, 3, true, true, 3684.0 / 4096},
        {"mpt-3b", "A100", "bf16", 1, 2, 65536, 8, 3, true, true, 1767.0 / 65536},
        {"mpt-3b", "A100", "bf16", 10, 2, 2048, 8, 3, true, false, 10811.0 / 2048},
        {"mpt-1b", "A100", "bf16", 1, 4, 32768, 8, 3, true, false, 6275.0 / 32768},
        {"mpt-760m", "A100", "bf16", 24, 2, 2048, 8, 3, true, false, 32434.0 / 2048},
        {"mpt-350m", "A100", "bf16", 32, 2, 2048, 8, 3, true, false, 58782.0 / 2048},
        {"mpt-125m", "A100", "bf16", 40, 2, 2048, 8, 3, true, false, 142830.0 / 2048},
        {"mpt-125m", "A100", "bf16", 1, 2, 65536, 8, 3, true, false, 20368.0 / 65536},
        {"mpt-1b", "A100-40GB", "bf16", 8, 8, 2048, 8, 3, true, false, 19271.0 / 2048},
        {"mpt-7b", "A100-40GB", "bf16", 12, 4, 2048, 8, 3, true, true, 3679.0 / 2048},
        // NVIDIA/DeepLearningExamples@729963d: BERT (8 and 1 GPUs) and ResNet-50 (1 GPU)
        {"bert-large-pretraining", "A100", "fp16", 256, 32, 128, 1, 0, false, false, 4553.0 / 8},
        {"bert-large-pretraining", "A100", "tf32", 128, 64, 128, 1, 0, false, false, 317},
        {"bert-large-pretraining", "V100", "fp16", 64, 64, 128, 1, 0, false, false, 224},
        {"bert-large-pretraining", "V100", "fp32", 32, 128, 128, 1, 0, false, false, 50},
        {"resnet-50", "A100", "fp16", 256, 1, 1, 1, 0, false, false, 2470},
        {"resnet-50", "A100", "tf32", 256, 1, 1, 1, 0, false, false, 938},
        {"resnet-50", "V100", "fp16", 256, 1, 1, 1, 0, false, false, 1156},
        {"resnet-50", "V100", "fp32", 112, 1, 1, 1, 0, false, false, 367},
        // Narayanan et al. SC'21, table 1, first row: 512 sequences on 32 GPUs in 3.528 s, full
        // recomputation; micro-batch 16 (NVIDIA/Megatron-LM@79a3bb6 examples/sc21/run_table_1.sh)
        {"megatron-1.7b", "A100", "fp16", 16, 1, 2048, 1, 0, false, true, 16 / 3.528},
    };
    std::map<std::string, std::vector<double>> errors;
    for (const auto& row : rows)
    {
        auto o = OptionsOn(row.model, row.gpu, row.dtype, row.microBatch, row.sequence);
        o.fusedAttention = row.fused;
        o.recompute = row.recompute ? Recompute::kFull : Recompute::kNone;
        o.accumulation = row.accumulation;
        o.ranks = row.ranks;
        o.sharding = ZeroStage(row.zero);
        const double measured = row.microBatch * row.accumulation / row.perGpu;
        const double error = StepSeconds(ResolvedOptions(o)) / measured - 1;
        EXPECT_LT(std::abs(error), 0.15) << row.model << " " << row.gpu << " " << row.dtype;
        errors[std::string(row.gpu).substr(0, 4)].push_back(error);
    }
    for (const auto& [gpu, list] : errors)
    {
        double sum = 0;
        double bias = 0;
        for (const double error : list)
        {
            sum += std::abs(error);
            bias += error;
        }
        EXPECT_LT(sum / list.size(), 0.06) << gpu;
        EXPECT_LT(std::abs(bias) / list.size(), 0.05) << gpu;
    }
}
