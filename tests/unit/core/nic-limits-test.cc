/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/nic-limits.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <list>
#include <random>

using namespace rdma;

TEST(LruCache, TheLeastRecentlyUsedGoes)
{
    LruCache cache(2);
    cache.Grow(4);
    EXPECT_FALSE(cache.Touch(0));
    EXPECT_FALSE(cache.Touch(1));
    EXPECT_TRUE(cache.Touch(0));
    EXPECT_FALSE(cache.Touch(2)); // for 1
    EXPECT_TRUE(cache.Holds(0));
    EXPECT_FALSE(cache.Holds(1));
    EXPECT_TRUE(cache.Holds(2));
    EXPECT_EQ(cache.Held(), 2u);
    cache.Grow(5); // what is held stays
    EXPECT_TRUE(cache.Touch(0));
    EXPECT_FALSE(cache.Touch(4));
    EXPECT_FALSE(cache.Holds(2));
}

TEST(LruCache, InTurnOneTooManyAlwaysMissesAndAsManyNever)
{
    for (const uint32_t capacity : {1u, 2u, 7u, 64u})
    {
        for (const uint32_t keys : {capacity, capacity + 1})
        {
            LruCache cache(capacity);
            cache.Grow(keys);
            uint32_t misses = 0;
            for (uint32_t i = 0; i < 10 * keys; ++i)
            {
                misses += !cache.Touch(i % keys);
            }
            EXPECT_EQ(misses, keys == capacity ? keys : 10 * keys) << capacity;
        }
    }
}

TEST(LruCache, IsAList)
{
    std::mt19937 random(1);
    for (const uint32_t capacity : {1u, 3u, 17u})
    {
        LruCache cache(capacity);
        std::list<uint32_t> model; // most recently used first
        uint32_t keys = 1;
        uint32_t hits = 0;
        for (int i = 0; i < 20000; ++i)
        {
            keys = std::max<uint32_t>(keys, i / 500 + 1);
            cache.Grow(keys);
            const uint32_t key = random() % keys;
            const auto at = std::find(model.begin(), model.end(), key);
            const bool expected = at != model.end();
            if (expected)
            {
                model.erase(at);
            }
            model.push_front(key);
            if (model.size() > capacity)
            {
                model.pop_back();
            }
            ASSERT_EQ(cache.Touch(key), expected) << i;
            ASSERT_EQ(cache.Held(), model.size());
            hits += expected;
        }
        EXPECT_GT(hits, 0u);
        for (uint32_t key = 0; key < keys; ++key)
        {
            EXPECT_EQ(cache.Holds(key), std::count(model.begin(), model.end(), key) == 1);
        }
    }
}

TEST(SerialUnit, OneAfterTheOtherAndIdleBetween)
{
    SerialUnit unit;
    EXPECT_EQ(unit.FreeAt(), 0);
    EXPECT_EQ(unit.Serve(100, 10), 110);
    EXPECT_EQ(unit.Serve(105, 10), 120); // waits for the one before
    EXPECT_EQ(unit.Serve(120, 0), 120);
    EXPECT_EQ(unit.Serve(500, 7), 507); // idle since 120
    EXPECT_EQ(unit.FreeAt(), 507);
}
