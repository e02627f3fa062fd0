/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/fixed-list.h"

#include <gtest/gtest.h>
#include <vector>

namespace rdma
{
namespace
{

struct alignas(64) Thing
{
    int value = 7;
};

TEST(FixedList, ThingsStayWhereTheyAre)
{
    FixedList<Thing> list;
    std::vector<Thing*> at;
    for (int i = 0; i < 3000; ++i) // pieces of 8, 16, ... 2,048: the ninth one
    {
        Thing& thing = list.emplace_back();
        EXPECT_EQ(thing.value, 7);
        thing.value = i;
        at.push_back(&thing);
    }
    ASSERT_EQ(list.size(), 3000U);
    int i = 0;
    for (const Thing& thing : list)
    {
        EXPECT_EQ(thing.value, i);
        EXPECT_EQ(&thing, at[static_cast<std::size_t>(i)]);
        EXPECT_EQ(&list[static_cast<std::size_t>(i)], &thing);
        EXPECT_EQ(list.IndexOf(&thing), static_cast<std::size_t>(i));
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&thing) % 64, 0U);
        ++i;
    }
    EXPECT_EQ(i, 3000);
}

TEST(FixedList, NeighboursOfAPieceAreNeighbours)
{
    FixedList<int> list;
    for (int i = 0; i < 56; ++i)
    {
        list.emplace_back();
    }
    // Pieces begin at 0, 8, 24 (8 + 16) and 56 (24 + 32).
    for (const auto& [begin, end] : std::vector<std::pair<int, int>>{{0, 8}, {8, 24}, {24, 56}})
    {
        for (int i = begin + 1; i < end; ++i)
        {
            EXPECT_EQ(&list[static_cast<std::size_t>(i)],
                      &list[static_cast<std::size_t>(i) - 1] + 1);
        }
    }
}

TEST(FixedList, AnEmptyOneHasNothing)
{
    const FixedList<int> list;
    EXPECT_EQ(list.size(), 0U);
    EXPECT_FALSE(list.begin() != list.end());
}

} // namespace
} // namespace rdma
