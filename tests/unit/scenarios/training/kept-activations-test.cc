/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Bytes that layers keep for backward, with products in fewer bits.
 */
#include "scenarios/training/rank-layers.h"
#include "tests/unit/scenarios/example-options.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <string>

using namespace training;

namespace
{

TrainingOptions
Job(const std::string& model, Dtype dtype, uint32_t zero = 1)
{
    auto o = OptionsOf(model, 1, zero);
    o.gpu = *FindGpu("B200"); // which has all of the formats
    o.dtype = dtype;
    o.microBatch = 1;
    o.fusedAttention = true;
    o.ignoreMemory = true;
    return o;
}

/// Bytes a token.
double
KeptBy(const TrainingOptions& o, const std::string& layer)
{
    const auto layers = LayersOfModel(ResolvedOptions(o));
    const auto found = std::find_if(layers.begin(), layers.end(), [&](const RankLayer& l) {
        return l.name == layer;
    });
    return found->keptBytes / (o.sequence / o.context);
}

/// Bytes of an element of a cast, with its scale of 32 bits (blockwise) or 8 bits.
const std::map<Dtype, double> kCasts{{Dtype::kFp8, 1},
                                     {Dtype::kFp8Tensorwise, 1},
                                     {Dtype::kFp8Blockwise, 1 + 4.0 / 128},
                                     {Dtype::kMxFp8, 1 + 1.0 / 32},
                                     {Dtype::kNvFp4, 0.5 + 1.0 / 16}};

} // namespace

// Llama-3 8B: h = 4,096, keys and values of 1,024 numbers, f = 14,336 columns.
TEST(KeptActivations, NarrowProductsKeepCasts)
{
    const double h = 4096;
    const double keys = 1024;
    const double f = 14336;
    // Of two norms the inputs; queries, keys and values; attention's output; of the gate the
    // factors, and one of them ahead of its activation.
    const double always = 2 * (2 * h + (h + 2 * keys) + h + 3 * f);
    // Of two norms the outputs; the gate's product.
    const double products = 2 * h + f;
    EXPECT_DOUBLE_EQ(KeptBy(Job("llama3-8b", Dtype::kBf16), "block 5"), always + 2 * products);
    for (const auto& [dtype, bytes] : kCasts)
    {
        // Attention keeps its output, and the product behind it a cast of that.
        EXPECT_DOUBLE_EQ(KeptBy(Job("llama3-8b", dtype), "block 5"),
                         always + bytes * (products + h))
            << DtypeName(dtype);
        // Beside FSDP: torchao's products keep what they are given.
        EXPECT_DOUBLE_EQ(KeptBy(Job("llama3-8b", dtype, 3), "block 5"), always + 2 * products);
    }
}

// Mixtral 8x7B: the same h and keys, two of eight experts of 14,336 columns.
TEST(KeptActivations, RoutersTakeSixteenBits)
{
    const double h = 4096;
    const double keys = 1024;
    const double f = 14336;
    // As above, the output of the norm ahead of the router, scores of eight experts, and what two
    // experts make.
    const double always = 2 * (2 * h + (h + 2 * keys) + h + h + 8 + 2 * (3 * f + h));
    const double products = h + 2 * (h + f);
    EXPECT_DOUBLE_EQ(KeptBy(Job("mixtral-8x7b", Dtype::kBf16), "block 5"), always + 2 * products);
    for (const auto& [dtype, bytes] : kCasts)
    {
        EXPECT_DOUBLE_EQ(KeptBy(Job("mixtral-8x7b", dtype), "block 5"),
                         always + bytes * (products + h))
            << DtypeName(dtype);
    }
}
