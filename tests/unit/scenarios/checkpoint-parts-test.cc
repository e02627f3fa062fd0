// SPDX-License-Identifier: GPL-2.0-only
#include "example-options.h"
#include "parse-words.h"
#include "scenarios/job/scenario.h"
#include "scenarios/training/checkpoint-parts.h"
#include "scenarios/training/memory-estimate.h"
#include "scenarios/training/steps/layout.h"

#include <gtest/gtest.h>
#include <numeric>

namespace scenario
{
namespace
{

using training::CheckpointParts;
using training::GroupOf;
using training::Layout;
using training::PlaceOf;

training::TrainingOptions
OptionsOf(const std::string& options, const std::string& model = "gpt2")
{
    auto result = ParseWords<TrainingScenario>("--model=" + model + " --micro-batch=1 " + options);
    for (const Error& error : result.errors)
    {
        ADD_FAILURE() << options << "\n" << error.Text();
    }
    return result.scenario ? result.scenario->options : training::TrainingOptions();
}

uint64_t
Sum(const std::vector<uint64_t>& bytes)
{
    return std::accumulate(bytes.begin(), bytes.end(), uint64_t{0});
}

/// Parameters of a rank at a place, from its estimate of memory, which has 2 psi of weights and,
/// whole or shared out, 12 psi of states where bf16 is trained with Adam (ZeRO, section 3).
uint64_t
WeightBytes(training::TrainingOptions o, coll::Rank rank)
{
    o.sharding = training::ZeroStage(0);
    o.shard = 0;
    return training::EstimateStageMemory(o, PlaceOf(o.GetLayout(), rank).pipeline).parameters;
}

// What a checkpoint has in all does not depend on how many replicas there are: 14 bytes a
// parameter, with stage 3, whose weights are in its 32-bit copy, 12. A few elements of padding.
TEST(CheckpointParts, InAll)
{
    for (const std::string layout : {"--servers=3 --gpus-per-server=1",
                                     "--servers=5 --gpus-per-server=2",
                                     "--servers=2 --gpus-per-server=4 --tp=2",
                                     "--servers=2 --gpus-per-server=4 --cp=4",
                                     "--servers=4 --gpus-per-server=2 --pp=4",
                                     "--servers=2 --gpus-per-server=4 --pp=2 --tp=2"})
    {
        for (uint32_t zero = 0; zero <= (layout.find("--pp") == std::string::npos ? 3 : 1); ++zero)
        {
            const auto o = OptionsOf(layout + " --accumulation=4 --zero=" + std::to_string(zero));
            const Layout places = o.GetLayout();
            uint64_t weights = 0;
            for (coll::Rank rank = 0; rank < o.ranks; ++rank)
            {
                const auto at = PlaceOf(places, rank);
                weights += at.data + at.context == 0 ? WeightBytes(o, rank) : 0;
            }
            const double expected = (zero == 3 ? 6. : 7.) * static_cast<double>(weights);
            const auto written = static_cast<double>(Sum(CheckpointParts(o).WrittenBy()));
            EXPECT_GE(written, expected) << layout << zero;
            EXPECT_NEAR(written, expected, 1e-4 * expected) << layout << zero;
        }
    }
}

// Rank 0 alone has what is whole, everyone its share; all read what they are to have.
TEST(CheckpointParts, WhoWritesWhat)
{
    const double weights = static_cast<double>(WeightBytes(OptionsOf("--servers=6"), 0));
    for (const uint32_t servers : {1u, 3u, 7u})
    {
        for (uint32_t zero = 0; zero <= 3; ++zero)
        {
            const auto o = OptionsOf("--gpus-per-server=1 --servers=" + std::to_string(servers) +
                                     " --zero=" + std::to_string(zero));
            const double whole = (zero < 3 ? weights : 0) + (zero == 0 ? 6 * weights : 0);
            const double share = zero == 0 ? 0 : 6 * weights / servers;
            const CheckpointParts parts(o);
            const auto written = parts.WrittenBy();
            const auto read = parts.ReadBy(1);
            for (coll::Rank rank = 0; rank < servers; ++rank)
            {
                const double most = 1e-4 * weights;
                EXPECT_NEAR(written[rank], (rank == 0 ? whole : 0) + share, most) << rank << zero;
                EXPECT_NEAR(read[rank], whole + share, most) << rank << zero;
            }
        }
    }
}

// The first of those that are left writes what all of them have.
TEST(CheckpointParts, ThoseThatAreLeft)
{
    const CheckpointParts parts(OptionsOf("--servers=3 --gpus-per-server=2 --tp=2 --zero=0"));
    const auto all = parts.WrittenBy();
    EXPECT_GT(all[0], 0u);
    EXPECT_EQ(all[0], all[1]); // the halves
    EXPECT_EQ(Sum(all), all[0] + all[1]);
    const auto left = parts.WrittenBy({true, true, false, false, false, false});
    EXPECT_EQ(left, (std::vector<uint64_t>{0, 0, all[0], all[1], 0, 0}));
    const auto read = parts.ReadBy(2, {true, true, false, false, false, false});
    EXPECT_EQ(read, (std::vector<uint64_t>{0, 0, all[0], all[1], all[0], all[1]}));
}

// What several GPUs of a server need comes to it once.
TEST(CheckpointParts, AServerReadsOnce)
{
    const auto o = OptionsOf("--servers=2 --gpus-per-server=4 --zero=1");
    const uint64_t weights = WeightBytes(o, 0);
    const CheckpointParts parts(o);
    const auto written = parts.WrittenBy();
    const auto read = parts.ReadBy(4);
    const uint64_t share = written[1];
    EXPECT_NEAR(static_cast<double>(share), 6. * weights / 8, 1e-4 * weights);
    for (coll::Rank rank = 0; rank < 8; ++rank)
    {
        EXPECT_NEAR(1. * read[rank], 1. * share + (rank % 4 == 0 ? weights : 0), 1e-4 * weights);
    }
    EXPECT_EQ(Sum(parts.ReadBy(1)), Sum(read) + 6 * (read[0] - read[1]));
}

// Of hybrid shards the first copy is written, and every rank reads its own share.
TEST(CheckpointParts, HybridShards)
{
    const auto o = OptionsOf("--servers=4 --gpus-per-server=2 --zero=3 --shard-size=2");
    const uint64_t weights = WeightBytes(o, 0);
    const CheckpointParts parts(o);
    const auto written = parts.WrittenBy();
    EXPECT_NEAR(1. * written[0], 3. * weights, 1e-4 * weights);
    EXPECT_EQ(written[1], written[0]);
    EXPECT_EQ(Sum(written), written[0] + written[1]);
    EXPECT_EQ(parts.ReadBy(2), std::vector<uint64_t>(8, written[0]));
}

// Experts are written by the first rank that has them; a whole optimizer's states of all else by
// each rank of the first copy of the experts (_save_moe_checkpoint).
TEST(CheckpointParts, Experts)
{
    const std::string layout = "--ignore-memory --seq=128 --servers=4 --gpus-per-server=2 --ep=4 ";
    const auto of = [&](uint32_t zero) {
        return CheckpointParts(
            OptionsOf(layout + "--zero=" + std::to_string(zero), "mixtral-8x7b"));
    };
    // Mixtral 8x7B's config.json: 32 blocks of 8 experts with three matrices of 4,096 x 14,336, and
    // of attention with 32 heads of 128, 8 of them for keys and values, and a router; 32,000 words.
    const double experts = 8. * 32 * 3 * 4096 * 14336;
    const double others = 32. * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 8 * 4096) + 2. * 32000 * 4096;
    const auto whole = of(0).WrittenBy();
    ASSERT_EQ(whole.size(), 8u);
    EXPECT_EQ(Sum(whole), whole[0] + whole[1] + whole[2] + whole[3]);
    EXPECT_NEAR(whole[0], 14 * (experts / 4 + others), 0.01 * whole[0]);
    EXPECT_NEAR(whole[3], 14 * experts / 4 + 12 * others, 0.01 * whole[3]);
    const auto shared = of(1).WrittenBy();
    ASSERT_EQ(shared.size(), 8u);
    EXPECT_NEAR(Sum(shared), 14 * (experts + others), 0.001 * Sum(shared));
    // Shares of others among 8, of experts among the 2 that have the same.
    EXPECT_NEAR(shared[7], 12 * (experts / 8 + others / 8), 0.01 * shared[7]);
    EXPECT_NEAR(shared[3] - shared[7], 2 * experts / 4, 0.01 * shared[7]);
    EXPECT_NEAR(shared[0] - shared[3], 2 * others, 0.01 * shared[7]);
}

// Without a 32-bit copy stage 3 has its share of the weights to write.
TEST(CheckpointParts, WithoutACopy)
{
    for (const std::string dtype : {"--dtype=fp32", "--master-weights=0"})
    {
        const double weights =
            static_cast<double>(WeightBytes(OptionsOf("--servers=3 " + dtype), 0));
        const double states = 2 * weights; // two moments in the datatype of the weights
        const auto of = [&](const std::string& zero) {
            return static_cast<double>(
                Sum(CheckpointParts(OptionsOf("--servers=3 " + dtype + " --zero=" + zero))
                        .WrittenBy()));
        };
        EXPECT_NEAR(of("3"), weights + states, 1e-4 * weights) << dtype;
        EXPECT_NEAR(of("1"), weights + states, 1e-4 * weights) << dtype;
    }
}

// A job without checkpoints has no parts, and no servers to divide its ranks among.
TEST(CheckpointParts, NoneOfNobody)
{
    EXPECT_TRUE(CheckpointParts().ReadBy(0).empty());
    EXPECT_TRUE(CheckpointParts().WrittenBy().empty());
}

} // namespace
} // namespace scenario
