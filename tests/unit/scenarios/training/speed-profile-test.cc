// SPDX-License-Identifier: GPL-2.0-only
#include "scenarios/training/steps/speed-profile.h"

#include <gtest/gtest.h>
#include <random>

namespace training
{
namespace
{

constexpr int64_t NEVER = SpeedProfile::NEVER;

TEST(SpeedProfile, AsEverWithoutSpans)
{
    const SpeedProfile speed;
    EXPECT_EQ(speed.EndOf(100, 50), 150);
    EXPECT_EQ(speed.WorkIn(100, 150), 50);
    EXPECT_EQ(speed.ResumesAt(7), 7);
    EXPECT_FALSE(speed.IsStopped(7));
}

TEST(SpeedProfile, HalfAsFastForAWhile)
{
    SpeedProfile speed;
    speed.Add({1000, 3000, 0.5});
    EXPECT_EQ(speed.EndOf(0, 1500), 2000); // 1000 at full speed, 500 at half: 1000 more
    EXPECT_EQ(speed.EndOf(0, 2000), 3000); // just all of it
    EXPECT_EQ(speed.EndOf(0, 2500), 3500); // 1000, 1000 in 2000, 500
    EXPECT_EQ(speed.EndOf(2999, 1), 3001); // half of it in the span, rounded up
    EXPECT_EQ(speed.EndOf(3000, 10), 3010);
}

TEST(SpeedProfile, StopsForAWhileAndForEver)
{
    SpeedProfile speed;
    speed.Add({1000, 3000, 0});
    EXPECT_EQ(speed.EndOf(0, 1000), 1000); // done as it stops
    EXPECT_EQ(speed.EndOf(0, 1001), 3001);
    EXPECT_EQ(speed.EndOf(2000, 5), 3005);
    EXPECT_TRUE(speed.IsStopped(1000));
    EXPECT_FALSE(speed.IsStopped(3000));
    EXPECT_EQ(speed.ResumesAt(1500), 3000);
    speed.Add({5000, NEVER, 0});
    EXPECT_EQ(speed.EndOf(3000, 2000), 5000);
    EXPECT_EQ(speed.EndOf(3000, 2001), NEVER);
    EXPECT_EQ(speed.ResumesAt(6000), NEVER);
    EXPECT_EQ(speed.StoppedForGood(2000), 2000); // it goes on at 3000
    EXPECT_EQ(speed.StoppedForGood(4000), 4000);
    EXPECT_EQ(speed.StoppedForGood(6000), 5000);
    speed.Add({4500, 5500, 0});
    EXPECT_EQ(speed.StoppedForGood(6000), 4500); // stopped twice over, and never since
}

TEST(SpeedProfile, OverlappingSpansMultiply)
{
    SpeedProfile speed;
    speed.Add({0, 4000, 0.5});
    speed.Add({2000, 6000, 0.25});
    // 0 to 2000: 1000; to 4000 at 1/8: 250; to 6000 at 1/4: 500; then all.
    EXPECT_EQ(speed.WorkIn(0, 7000), 1000 + 250 + 500 + 1000);
    EXPECT_EQ(speed.EndOf(0, 1000 + 250 + 500 + 7), 6007);
}

TEST(SpeedProfile, WorkUntilTheEndIsTheWork)
{
    std::mt19937_64 random(5);
    for (int i = 0; i < 300; ++i)
    {
        SpeedProfile speed;
        for (uint64_t n = random() % 5; n > 0; --n)
        {
            const auto from = static_cast<int64_t>(random() % 100000);
            speed.Add({from,
                       from + 1 + static_cast<int64_t>(random() % 50000),
                       static_cast<double>(random() % 5) / 4});
        }
        const auto from = static_cast<int64_t>(random() % 120000);
        const auto work = static_cast<int64_t>(random() % 90000);
        const int64_t end = speed.EndOf(from, work);
        ASSERT_NE(end, NEVER); // every span ends
        // The last picosecond may hold more than was left.
        EXPECT_NEAR(static_cast<double>(speed.WorkIn(from, end)), static_cast<double>(work), 1);
        // In parts it is the same.
        const int64_t middle = from + (end - from) / 2;
        EXPECT_NEAR(static_cast<double>(speed.WorkIn(from, middle) + speed.WorkIn(middle, end)),
                    static_cast<double>(work),
                    2);
    }
}

} // namespace
} // namespace training
