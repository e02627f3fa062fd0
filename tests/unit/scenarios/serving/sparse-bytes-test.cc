/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Bytes of activations of which a share is sent: codecs, and unions in a ring.
 */
#include "scenarios/inference/sparse-bytes.h"
#include "scenarios/traffic/random.h"

#include <cmath>
#include <gtest/gtest.h>
#include <set>
#include <vector>

using namespace serving;
using Codec = SparseSpec::Codec;

namespace
{

SparseSpec
SpecOf(double share, Codec codec)
{
    SparseSpec spec;
    spec.share = share;
    spec.codec = codec;
    return spec;
}

/// Bytes of an element that is sent, and of one of the whole.
double
ElementBytes(Codec codec, double element)
{
    return element + (codec == Codec::kIndex ? 4 : 0);
}

} // namespace

TEST(SparseBytes, AllIsAll)
{
    for (const Codec codec : {Codec::kNone, Codec::kIndex, Codec::kBitmask})
    {
        EXPECT_EQ(SparseSendShare(SpecOf(1, codec), 2), 1);
        EXPECT_EQ(SparseReduceShare(SpecOf(1, codec), 2, 8), 1);
        EXPECT_EQ(SparseReduceShare(SpecOf(0.2, codec), 2, 1), 1) << "nobody to send to";
    }
}

TEST(SparseBytes, CodecsHaveTheirPrice)
{
    // Of 1000 elements of 2 bytes 200 are sent: 400 bytes; 4 more each; or 1000 bits.
    EXPECT_DOUBLE_EQ(SparseSendShare(SpecOf(0.2, Codec::kNone), 2), 400 / 2000.0);
    EXPECT_DOUBLE_EQ(SparseSendShare(SpecOf(0.2, Codec::kIndex), 2), 1200 / 2000.0);
    EXPECT_DOUBLE_EQ(SparseSendShare(SpecOf(0.2, Codec::kBitmask), 2), 525 / 2000.0);
}

/// Indices of 4 bytes cost as much as they save at S (e + 4) = e; a bitmask at S e + 1 / 8 = e; and
/// as much as one another at 4 S = 1 / 8.
TEST(SparseBytes, BreakEven)
{
    for (const double element : {1.0, 2.0, 4.0})
    {
        const double index = element / (element + 4);
        EXPECT_NEAR(SparseSendShare(SpecOf(index, Codec::kIndex), element), 1, 1e-12);
        EXPECT_GT(SparseSendShare(SpecOf(index + 0.01, Codec::kIndex), element), 1);
        EXPECT_LT(SparseSendShare(SpecOf(index - 0.01, Codec::kIndex), element), 1);
        const double mask = 1 - 1 / (8 * element);
        EXPECT_NEAR(SparseSendShare(SpecOf(mask, Codec::kBitmask), element), 1, 1e-12);
        EXPECT_NEAR(SparseSendShare(SpecOf(1 / 32.0, Codec::kIndex), element),
                    SparseSendShare(SpecOf(1 / 32.0, Codec::kBitmask), element),
                    1e-12);
    }
}

/// A ring all-reduce with real sets: each of n ranks chooses its elements at random; the pieces of
/// all steps are counted. A piece that is a sum over k ranks has the elements of their union.
TEST(SparseBytes, RingReductionsGrowAsTheirUnions)
{
    constexpr uint32_t kElements = 60'000;
    constexpr double kElement = 2;
    for (const uint32_t ranks : {2U, 4U, 8U})
    {
        for (const double share : {0.05, 0.2, 0.7})
        {
            scenario::Random random(ranks);
            const auto limit = static_cast<uint64_t>(share * 1e9);
            std::vector<std::vector<bool>> has(ranks, std::vector<bool>(kElements));
            for (auto& one : has)
            {
                for (uint32_t e = 0; e < kElements; ++e)
                {
                    one[e] = random.Below(1'000'000'000) < limit;
                }
            }
            for (const Codec codec : {Codec::kIndex, Codec::kBitmask})
            {
                double bytes = 0; // of all ranks
                for (uint32_t e = 0; e < kElements; ++e)
                {
                    // The element's piece begins at some rank, and goes round.
                    bool sent = false;
                    const uint32_t first = e % ranks;
                    for (uint32_t k = 0; k + 1 < ranks; ++k)
                    {
                        sent = sent || has[(first + k) % ranks][e];
                        bytes += sent ? ElementBytes(codec, kElement) : 0;
                    }
                    sent = sent || has[(first + ranks - 1) % ranks][e];
                    bytes += sent ? (ranks - 1) * ElementBytes(codec, kElement) : 0;
                }
                const double hops = 2.0 * (ranks - 1) * kElements;
                bytes += codec == Codec::kBitmask ? hops / 8 : 0;
                const double expected = bytes / (hops * kElement);
                EXPECT_NEAR(SparseReduceShare(SpecOf(share, codec), kElement, ranks),
                            expected,
                            0.02 * expected)
                    << ranks << " " << share;
            }
            EXPECT_DOUBLE_EQ(SparseReduceShare(SpecOf(share, Codec::kNone), kElement, ranks),
                             share);
        }
    }
}

/// Two ranks: a piece of one rank's elements, then of both's.
TEST(SparseBytes, TwoRanksByHand)
{
    const double expected = 3 * (0.2 + (1 - 0.8 * 0.8)) / 2;
    EXPECT_NEAR(SparseReduceShare(SpecOf(0.2, Codec::kIndex), 2, 2), expected, 1e-12);
}
