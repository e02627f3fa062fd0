/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What backward computes again, and what a rank of a context group computes of attention.
 */
#include "scenarios/models/gpu-zoo.h"
#include "scenarios/models/model-zoo.h"
#include "scenarios/training/layer-kernels.h"
#include "scenarios/training/recomputation.h"
#include "scenarios/training/spec/kernel-time.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace training;

namespace
{

TrainingOptions
Llama8b()
{
    TrainingOptions o;
    o.model = *FindModel("llama3-8b");
    o.gpu = *FindGpu("H100");
    o.ranks = 8;
    o.microBatch = 1;
    o.sequence = 8192;
    o.fusedAttention = true;
    o.sharding = ZeroStage(3);
    return o;
}

/// The part with attention of the second layer, which is a block.
const Part&
AttentionOf(const TrainingOptions& o)
{
    const auto& parts = o.model.layers[1].parts;
    return *std::find_if(parts.begin(), parts.end(), [](const Part& part) {
        return std::any_of(part.operators.begin(), part.operators.end(), [](const Operator& op) {
            return op.kind == KernelClass::kAttention;
        });
    });
}

double
AttentionSeconds(const TrainingOptions& o)
{
    return SecondsOfShares(AttentionOf(o), Pass::kForward, o, [](const Operator& op) {
        return op.kind == KernelClass::kAttention ? 1.0 : 0.0;
    });
}

} // namespace

// The core of fused attention is no memory to save: FSDP's selective recomputation is by operator.
TEST(Recomputation, SelectiveIsByOperatorWhereAttentionIsFused)
{
    TrainingOptions o = Llama8b();
    o.recompute = Recompute::kSelective;
    EXPECT_TRUE(RepeatsByOperator(o));
    EXPECT_EQ(AgainOf(o, 1), Again::kHalf);
    EXPECT_EQ(AgainOf(o, o.model.layers.size() - 1), Again::kNothing);
    o.sharding = ZeroStage(1); // Megatron-LM's
    EXPECT_EQ(AgainOf(o, 1), Again::kCore);
    o.sharding = ZeroStage(3);
    o.fusedAttention = false;
    EXPECT_EQ(AgainOf(o, 1), Again::kCore);
    o.recompute = Recompute::kFull;
    EXPECT_EQ(AgainOf(o, 1), Again::kWhole);
}

// Half of the products, all that is pointwise, no attention: less than everything but attention,
// more than half of it.
TEST(Recomputation, ByOperatorRepeatsEverySecondProduct)
{
    const TrainingOptions o = Llama8b();
    const Part& part = AttentionOf(o);
    const double all = SecondsAgain(part, Again::kWhole, o);
    const double core = SecondsAgain(part, Again::kCore, o);
    const double half = SecondsAgain(part, Again::kHalf, o);
    EXPECT_GT(half, (all - core) / 2);
    EXPECT_LT(half, all - core);
    EXPECT_EQ(SecondsAgain(part, Again::kNothing, o), 0);
}

// Rank r of cp has chunks r and 2 cp - 1 - r of the sequence, so each computes 1 / cp of a causal
// attention, whatever cp is. 5%: eight launches are 41 us, of 1.1 ms.
TEST(Recomputation, RanksOfAContextGroupShareOutCausalAttention)
{
    TrainingOptions o = Llama8b();
    o.sharding = ZeroStage(1);
    const double alone = AttentionSeconds(o);
    for (const uint32_t cp : {2U, 4U, 8U})
    {
        o.context = cp;
        EXPECT_NEAR(AttentionSeconds(o) * cp, alone, 0.05 * alone) << cp;
    }
}

// A cast moves 4 bytes an element of the activations, at 3.35 TB/s x 0.911; 8,192 x 4,096 of them
// take 44.0 us, and 5.12 us to launch. Gradients of weights take what was cast before.
TEST(Recomputation, ProductsInFp8CastTheirInputs)
{
    Kernel k;
    k.kind = KernelClass::kMatrix;
    k.rows = 8192;
    k.columns = 4096;
    k.inner = 4096;
    k.flops = 2.0 * k.rows * k.columns * k.inner;
    k.elements = k.rows * k.inner + k.inner * k.columns + k.rows * k.columns;
    const GpuSpec gpu = *FindGpu("H100");
    const double forward = Seconds(k, gpu, Dtype::kFp8);
    k.pass = Pass::kBackwardWeights;
    const double weights = Seconds(k, gpu, Dtype::kFp8);
    EXPECT_NEAR((forward - weights) * 1e6, 44.0 + 5.12, 0.1);
}
