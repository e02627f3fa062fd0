/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The rest of a ring from its first steps.
 *
 * Fixture: a ring of NICs. A message waits for those before it at its NIC, takes the NIC's time for
 * its size, and is at the next position a delay later: L = time + delay, g = time.
 */
#include "collectives/recall/ring-recurrence.h"

#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace
{

struct Bed
{
    std::vector<int64_t> delays;             ///< by hop, ps
    std::vector<std::vector<int64_t>> times; ///< by hop and size, ps
    std::vector<uint8_t> sizes;              ///< by position
    std::vector<int64_t> launches;
    std::vector<int64_t> freeAt; ///< by hop: its NIC has sent what was before
    double noise = 0;            ///< of a delay: a share, at most

    Bed(uint32_t ranks, int64_t time, int64_t delay)
        : delays(ranks, delay),
          times(ranks, {time}),
          sizes(ranks, 0),
          launches(ranks, 0),
          freeAt(ranks, 0)
    {
    }

    uint32_t Ranks() const
    {
        return static_cast<uint32_t>(delays.size());
    }

    coll::RingShape Shape() const
    {
        coll::RingShape shape;
        for (uint32_t hop = 0; hop < Ranks(); ++hop)
        {
            shape.kinds.push_back(hop);
            for (const int64_t time : times[hop])
            {
                shape.gaps.push_back(time);
                shape.idle.push_back(time + delays[hop]);
            }
        }
        shape.sizes = sizes;
        shape.sizeCount = static_cast<uint32_t>(times[0].size());
        shape.acks.assign(shape.gaps.size(), 0);
        shape.ack.assign(Ranks(), 0);
        return shape;
    }

    /// \return all steps. Changes freeAt.
    coll::RingTimes Run(uint32_t steps)
    {
        std::mt19937 random(1);
        std::uniform_real_distribution<double> share(0, noise);
        coll::RingTimes result{steps, std::vector<int64_t>(std::size_t{steps} * Ranks())};
        const auto at = [&](uint32_t position, uint32_t step) -> int64_t& {
            return result.at[std::size_t{position} * steps + step];
        };
        for (uint32_t position = 0; position < Ranks(); ++position)
        {
            at(position, 0) = launches[position];
        }
        for (uint32_t step = 0; step + 1 < steps; ++step)
        {
            for (uint32_t position = 0; position < Ranks(); ++position)
            {
                const uint32_t next = (position + 1) % Ranks();
                const uint32_t first = (position + Ranks() - step % Ranks()) % Ranks();
                const int64_t begins = std::max(at(position, step), freeAt[position]);
                freeAt[position] = begins + times[position][sizes[first]];
                const auto late = static_cast<int64_t>(share(random) * delays[position]);
                const int64_t arrives = freeAt[position] + delays[position] + late;
                at(next, step + 1) = std::max(arrives, at(next, step));
            }
        }
        return result;
    }
};

coll::RingTimes
First(const coll::RingTimes& all, uint32_t steps)
{
    coll::RingTimes first{steps, {}};
    for (std::size_t begin = 0; begin < all.at.size(); begin += all.steps)
    {
        first.at.insert(first.at.end(),
                        all.at.begin() + static_cast<std::ptrdiff_t>(begin),
                        all.at.begin() + static_cast<std::ptrdiff_t>(begin + steps));
    }
    return first;
}

/// \return the largest difference at the end, ps
int64_t
Miss(const std::vector<int64_t>& foreseen, const coll::RingTimes& all)
{
    int64_t miss = 0;
    for (uint32_t p = 0; p < foreseen.size(); ++p)
    {
        miss = std::max(miss, std::abs(foreseen[p] - all.At(p, all.steps - 1)));
    }
    return miss;
}

void
ExpectExact(Bed bed, uint32_t steps, uint32_t observed)
{
    const coll::RingTimes all = bed.Run(steps);
    coll::RingRecurrence ring(bed.Shape());
    ASSERT_TRUE(ring.Learn(First(all, observed)));
    EXPECT_EQ(Miss(ring.Foresee(First(all, observed), steps - 1), all), 0);
}

} // namespace

TEST(RingRecurrence, LatencyLimited)
{
    ExpectExact(Bed(33, 1000, 9000), 65, 24);
}

TEST(RingRecurrence, GapLimited)
{
    ExpectExact(Bed(64, 9000, 1000), 127, 24);
}

/// Positions behind the slow NIC are slowed one after another, a step apart. The one before it goes
/// on as ever for n - 1 steps. So what it has done so far says nothing of its end.
TEST(RingRecurrence, SlowHopFarAway)
{
    const uint32_t ranks = 64;
    Bed bed(ranks, 1000, 9000);
    bed.times[40] = {13000};
    bed.delays[17] = 9500;
    ExpectExact(bed, 2 * ranks - 1, 24);

    const coll::RingTimes all = bed.Run(2 * ranks - 1);
    const double perStep = static_cast<double>(all.At(40, 23) - all.At(40, 0)) / 23;
    const double straight = perStep * (2 * ranks - 2);
    const double ends = static_cast<double>(all.At(40, 2 * ranks - 2) - all.At(40, 0));
    EXPECT_GT(std::abs(straight / ends - 1), 0.05);
}

TEST(RingRecurrence, LaunchesApart)
{
    Bed bed(64, 9000, 30000);
    std::mt19937 random(3);
    for (int64_t& launch : bed.launches)
    {
        launch = std::uniform_int_distribution<int64_t>(0, 50000)(random);
    }
    bed.freeAt = bed.launches;
    ExpectExact(bed, 127, 48);
}

/// Chunks of uneven division: a message keeps its size along the ring.
TEST(RingRecurrence, TwoSizes)
{
    Bed bed(48, 0, 20000);
    bed.times.assign(48, {8000, 8080});
    for (uint32_t p = 0; p < 48; ++p)
    {
        bed.sizes[p] = p % 3 == 0;
    }
    ExpectExact(bed, 95, 24);
}

/// A size that has not come to a hop in the observed steps is as on others of its kind.
TEST(RingRecurrence, SizeOfOthers)
{
    Bed bed(64, 0, 20000);
    bed.times.assign(64, {8000, 9000});
    bed.sizes[5] = 1;
    const coll::RingTimes all = bed.Run(127);
    coll::RingShape shape = bed.Shape();
    shape.kinds.assign(64, 0);
    coll::RingRecurrence ring(shape);
    ASSERT_TRUE(ring.Learn(First(all, 24)));
    EXPECT_EQ(Miss(ring.Foresee(First(all, 24), 126), all), 0);
}

/// The same, without any that it could be like.
TEST(RingRecurrence, SizeOfNobody)
{
    Bed bed(64, 0, 20000);
    bed.times.assign(64, {8000, 9000});
    bed.sizes[5] = 1;
    const coll::RingTimes all = bed.Run(127);
    EXPECT_FALSE(coll::RingRecurrence(bed.Shape()).Learn(First(all, 24)));
}

TEST(RingRecurrence, NoiseIsRefused)
{
    for (const uint32_t observed : {24, 48, 96})
    {
        Bed bed(64, 1000, 9000);
        bed.noise = 0.02;
        const coll::RingTimes all = bed.Run(255);
        EXPECT_FALSE(coll::RingRecurrence(bed.Shape()).Learn(First(all, observed)));
    }
}

/// A ring that becomes slower and slower: what congestion control does.
TEST(RingRecurrence, DriftIsRefused)
{
    Bed bed(64, 1000, 9000);
    coll::RingTimes all = bed.Run(255);
    for (uint32_t p = 0; p < 64; ++p)
    {
        for (uint32_t step = 0; step < 255; ++step)
        {
            all.at[p * 255 + step] += int64_t{step} * step; // 24 ps more a step at step 12
        }
    }
    EXPECT_FALSE(coll::RingRecurrence(bed.Shape()).Learn(First(all, 24)));
}

/// ACKs that wait now and then make a hop's times differ by one of them: the mean counts.
TEST(RingRecurrence, AcksAreNoNoise)
{
    Bed bed(64, 1000, 99000);
    coll::RingTimes all = bed.Run(127);
    for (uint32_t p = 0; p < 64; ++p)
    {
        for (uint32_t step = 1; step < 127; ++step)
        {
            all.at[p * 127 + step] += 7 * (step % 2);
        }
    }
    coll::RingShape shape = bed.Shape();
    shape.acks.assign(64, 7);
    shape.ack.assign(64, 7);
    coll::RingRecurrence ring(shape);
    ASSERT_TRUE(ring.Learn(First(all, 24)));
    EXPECT_LE(Miss(ring.Foresee(First(all, 24), 126), all), 2 * 7);
    EXPECT_GE(ring.GetMiss(), 1e-4);
}

/// One ring right behind another, whose messages still wait at the NICs.
TEST(RingRecurrence, BehindAnother)
{
    Bed bed(32, 9000, 1000);
    bed.delays[3] = 40000;
    bed.times[9] = {9700};
    const coll::RingTimes first = bed.Run(63);
    std::vector<int64_t> before;
    for (uint32_t p = 0; p < 32; ++p)
    {
        before.push_back(first.At(p, 62));
    }
    bed.launches = before;
    const coll::RingTimes second = bed.Run(63);

    Bed alone = bed;
    alone.freeAt.assign(32, 0);
    const coll::RingTimes without = alone.Run(63);
    coll::RingRecurrence ring(bed.Shape());
    ASSERT_TRUE(ring.Learn(First(without, 24)));
    std::vector<int64_t> ends = ring.Foresee(First(without, 24), 62);
    EXPECT_EQ(Miss(ends, without), 0);
    const std::vector<int64_t> delay = ring.Delay(bed.launches, before, 62);
    for (uint32_t p = 0; p < 32; ++p)
    {
        ends[p] += delay[p];
    }
    EXPECT_EQ(Miss(ends, second), 0);
}

/// The same where messages have come before their receivers launch, and there is a queue from the
/// first step on: how long a message takes alone is not to be seen.
TEST(RingRecurrence, BehindAnotherAndLaunchesApart)
{
    Bed bed(32, 9000, 1000);
    bed.delays[3] = 40000;
    const coll::RingTimes first = bed.Run(63);
    std::vector<int64_t> before;
    std::mt19937 random(5);
    bed.launches.clear();
    for (uint32_t p = 0; p < 32; ++p)
    {
        before.push_back(first.At(p, 62));
        const int64_t later = std::uniform_int_distribution<int64_t>(0, 60000)(random);
        bed.launches.push_back(before.back() + later);
    }
    const coll::RingTimes second = bed.Run(63);

    Bed alone = bed;
    alone.freeAt.assign(32, 0);
    const coll::RingTimes without = alone.Run(63);
    coll::RingRecurrence ring(bed.Shape());
    ASSERT_TRUE(ring.Learn(First(without, 24)));
    std::vector<int64_t> ends = ring.Foresee(First(without, 24), 62);
    const std::vector<int64_t> delay = ring.Delay(bed.launches, before, 62);
    for (uint32_t p = 0; p < 32; ++p)
    {
        ends[p] += delay[p];
    }
    EXPECT_EQ(Miss(ends, second), 0);
}
