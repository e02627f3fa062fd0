/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/core/partition.h"

#include <gtest/gtest.h>
#include <random>

namespace coll
{
namespace
{

__extension__ typedef unsigned __int128 Wide;

uint64_t
Exactly(uint64_t i, uint64_t bytes, uint64_t parts)
{
    return static_cast<Wide>(i) * bytes / parts;
}

TEST(Divider, IsExactUpToTheSquareOfTheDivisor)
{
    for (const uint64_t d :
         {1UL, 2UL, 3UL, 7UL, 64UL, 6143UL, 3072UL, 2642244UL, 2642245UL, 2642246UL, 1UL << 31})
    {
        const Divider divide(d);
        const uint64_t top = std::max(d * d - 1, uint64_t{UINT32_MAX});
        for (const uint64_t x : {uint64_t{0},
                                 d - 1,
                                 d,
                                 d + 1,
                                 top - d,
                                 top - 1,
                                 top,
                                 uint64_t{UINT32_MAX},
                                 (d - 1) * (d - 1)})
        {
            EXPECT_EQ(divide(x), x / d) << x << " / " << d;
        }
        for (uint64_t q = 1; q < d; q += d / 97 + 1)
        {
            EXPECT_EQ(divide(q * d), q);
            EXPECT_EQ(divide(q * d - 1), q - 1);
        }
    }
}

TEST(Partition, IsTheFloorOfTheExactProduct)
{
    std::mt19937_64 random(1);
    for (int trial = 0; trial < 20000; trial++)
    {
        const uint32_t parts = 1 + random() % (trial % 2 == 0 ? 40 : 3000000);
        const uint64_t bytes = random() >> (random() % 64);
        const Partition partition(bytes, parts);
        for (const uint64_t i :
             {uint64_t{0}, random() % parts, uint64_t{parts} - 1, uint64_t{parts}})
        {
            ASSERT_EQ(partition.Offset(i), Exactly(i, bytes, parts))
                << i << " of " << parts << " of " << bytes;
        }
    }
}

TEST(Grid, CutsPartsAsPartitionCutsBytes)
{
    std::mt19937_64 random(2);
    for (int trial = 0; trial < 5000; trial++)
    {
        const uint32_t outer = 1 + random() % 70;
        const uint32_t inner = 1 + random() % 4000;
        const uint64_t bytes = random() >> (8 + random() % 56);
        const Grid grid(bytes, outer, inner);
        const uint64_t o = random() % outer;
        const uint64_t i = random() % inner;
        const uint64_t count = random() % (inner - i + 1);
        const Range whole = Partition(bytes, outer).Part(o);
        const Range part = grid.Part(o, i, count);
        ASSERT_EQ(part.offset, whole.offset + Exactly(i, whole.bytes, inner));
        ASSERT_EQ(part.offset + part.bytes, whole.offset + Exactly(i + count, whole.bytes, inner));
    }
}

} // namespace
} // namespace coll
