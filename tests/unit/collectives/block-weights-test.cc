/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --block-sizes: the sizes of rccl-tests by their own rule, files of shares, and what rounding to
 * whole elements leaves.
 */
#include "collectives/core/block-sizes.h"
#include "collectives/core/block-weights.h"

#include <gtest/gtest.h>

namespace coll
{
namespace
{

// As src/alltoallv.cu has it: of count elements for each rank, ((i + j) mod n) x floor(2 count / n)
// for rank j, and what is left of a rank's n x count where that is 0. Where n divides 2 count
// nothing is rounded, here or there.
TEST(BlockWeights, OfRcclTests)
{
    for (coll::Rank n = 1; n <= 20; n++)
    {
        const uint64_t count = 3 * n;
        const uint64_t chunk = 2 * count / n;
        const auto what = AllToAllV(n, n * count * 4, RcclTestsWeights(n), 4);
        ASSERT_EQ(what.bytes, n * count * 4);
        for (coll::Rank i = 0; i < n; i++)
        {
            for (coll::Rank j = 0; j < n; j++)
            {
                const uint64_t k = (i + j) % n;
                const uint64_t expected = k ? k * chunk : n * count - chunk * (n - 1) * n / 2;
                EXPECT_EQ(what.blocks->Bytes(i, j), 4 * expected) << n;
            }
        }
    }
}

TEST(BlockWeights, OfAFile)
{
    BlockWeights weights;
    std::string error;
    const std::string text = "\xEF\xBB\xBF# shares\n\n0, 1,2 # first\r\n3 4 5.5\n\t6 7e0 0\n";
    ASSERT_TRUE(ParseBlockWeights(text, "f", 3, &weights, &error)) << error;
    EXPECT_EQ(weights, (BlockWeights{0, 1, 2, 3, 4, 5.5, 6, 7, 0}));
    EXPECT_FALSE(ParseBlockWeights(text, "f", 2, &weights, &error));
    EXPECT_EQ(error, "f:3: 3 shares; needed: 2 lines, one a rank, of 2 shares");
    EXPECT_FALSE(ParseBlockWeights("1 inf\n1 1\n", "f", 2, &weights, &error));
    EXPECT_EQ(error, "f:1: 'inf' is no share; allowed: a decimal number, 0 to 1e15");
}

// Of 10 elements shares of 1 and 2 of 3: 3 and 6, so a rank has 9 at most.
TEST(BlockWeights, InWholeElements)
{
    const auto what = AllToAllV(2, 20, {1, 2, 1, 1}, 2);
    EXPECT_EQ(what.bytes, 18U);
    EXPECT_EQ(what.blocks->Bytes(0, 0), 6U);
    EXPECT_EQ(what.blocks->Bytes(0, 1), 12U);
    EXPECT_EQ(what.blocks->Bytes(1, 0), 6U);
    EXPECT_EQ(AllToAllV(2, 20, {}, 2).blocks, nullptr);
    EXPECT_EQ(AllToAllV(2, 21, {}, 2).bytes, 21U);
}

} // namespace
} // namespace coll
