/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * DcqcnRate against values worked by hand, and against a second implementation that plays every
 * timer tick.
 */
#include "contrib/rdma/core/dcqcn-rate.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <vector>

using namespace rdma;

namespace
{

constexpr Bytes kNone{0};

TimePoint
Us(double us)
{
    return TimePoint(std::llround(us * 1e6));
}

double
GbpsOf(BitRate r)
{
    return static_cast<double>(r.bps) * 1e-9;
}

/// DCQCN with its timers: every alpha period, check and increase is one event, played in order.
class EagerDcqcn
{
  public:
    EagerDcqcn(const DcqcnParameters& p, double line)
        : p(p),
          line(line),
          rate(line),
          target(line)
    {
    }

    void Run(int64_t now, uint64_t bytes)
    {
        while (started)
        {
            const int64_t next = std::min(std::min(timer, tick), check);
            if (next > now)
            {
                break;
            }
            if (timer == next)
            {
                timer += p.increaseTimer.ps;
                Increase();
                ++T;
            }
            else if (tick == next)
            {
                tick += p.alphaPeriod.ps;
                alpha = (1 - p.g) * alpha + (flagAlpha ? p.g : 0);
                flagAlpha = false;
            }
            else
            {
                check += p.rateDecreaseInterval.ps;
                if (flagCut)
                {
                    Cut(next, bytes);
                    flagCut = false;
                }
            }
        }
        while (started && p.byteCounter.value && cuts && bytes - base >= p.byteCounter.value)
        {
            base += p.byteCounter.value;
            Increase();
            ++BC;
        }
    }

    void Cnp(int64_t now, uint64_t bytes)
    {
        Run(now, bytes);
        if (p.reaction == DcqcnReaction::kOnCnp)
        {
            if (started && now - lastCut < p.rateDecreaseInterval.ps)
            {
                return;
            }
            alpha = started ? alpha : p.initialAlpha;
            started = true;
            Cut(now, bytes);
            alpha = (1 - p.g) * alpha + p.g;
            tick = now + p.alphaPeriod.ps;
            return;
        }
        flagCut = true;
        flagAlpha = started;
        if (!started)
        {
            started = true;
            alpha = p.initialAlpha;
            tick = now + p.alphaPeriod.ps;
            check = now + p.rateDecreaseInterval.ps;
        }
    }

    double Rate() const
    {
        return rate;
    }

    double alpha = 0;

  private:
    void Cut(int64_t now, uint64_t bytes)
    {
        if (p.clampTargetRate || T > 0 || BC > 0)
        {
            target = rate;
        }
        rate = std::max(static_cast<double>(p.minimumRate.bps), rate * (1 - alpha / 2));
        T = 0;
        BC = 0;
        ++cuts;
        base = bytes;
        lastCut = now;
        if (p.increaseTimer.ps)
        {
            timer = now + p.increaseTimer.ps;
        }
    }

    void Increase()
    {
        std::vector<uint32_t> stages;
        if (p.increaseTimer.ps)
        {
            stages.push_back(T);
        }
        if (p.byteCounter.value)
        {
            stages.push_back(BC);
        }
        const uint32_t most = *std::max_element(stages.begin(), stages.end());
        const uint32_t least = *std::min_element(stages.begin(), stages.end());
        if (least > p.fastRecoveryThreshold)
        {
            target += static_cast<double>(p.hyperIncrease.bps);
        }
        else if (most >= p.fastRecoveryThreshold)
        {
            target += static_cast<double>(p.additiveIncrease.bps);
        }
        target = std::min(target, line);
        rate = 0.5 * rate + 0.5 * target;
    }

    static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
    DcqcnParameters p;
    double line;
    double rate;
    double target;
    bool started = false;
    uint64_t cuts = 0;
    uint64_t base = 0;
    int64_t lastCut = 0;
    // Each event with what it looks at:
    int64_t timer = kNever;
    uint32_t T = 0;
    uint32_t BC = 0;
    int64_t tick = kNever;
    bool flagAlpha = false;
    int64_t check = kNever;
    bool flagCut = false;
};

} // namespace

TEST(DcqcnRate, LineRateWithoutStateUntilTheFirstCnp)
{
    DcqcnRate rate(DcqcnHpcc19Vendor(Gbps(100)), Gbps(100));
    EXPECT_EQ(rate.At(Us(0), kNone).bps, Gbps(100).bps);
    EXPECT_EQ(rate.At(Us(5e6), Bytes(1ULL << 40)).bps, Gbps(100).bps);
    EXPECT_EQ(rate.NextChange(), DcqcnRate::kNever);
    EXPECT_EQ(rate.NextChangeBytes(), DcqcnRate::kNoBytes);
    EXPECT_FALSE(rate.Limited());
}

TEST(DcqcnRate, PaperCutsAtOnceByEquationOne)
{
    // alpha = 1: R_T = 40, R_C = 40 (1 - 1/2) = 20, alpha = (1 - 1/256) + 1/256 = 1.
    // 50 us later (before K = 55 us has passed): R_T = 20, R_C = 10, alpha = 1.
    DcqcnRate rate(DcqcnSigcomm15(Gbps(40)), Gbps(40));
    rate.OnCnp(Us(0), kNone);
    EXPECT_EQ(rate.At(Us(0), kNone).bps, Gbps(20).bps);
    EXPECT_DOUBLE_EQ(rate.Alpha(Us(54.9)), 1);
    // K = 55 us without a CNP, eq. (2): alpha = 255/256; twice: (255/256)^2.
    EXPECT_DOUBLE_EQ(rate.Alpha(Us(55)), 255. / 256);
    EXPECT_DOUBLE_EQ(rate.Alpha(Us(110)), 255. / 256 * 255 / 256);
    rate.OnCnp(Us(50), kNone);
    EXPECT_EQ(rate.At(Us(50), kNone).bps, Gbps(10).bps);
    EXPECT_DOUBLE_EQ(rate.Target(), 20e9);
    // The alpha timer restarted at the cut.
    EXPECT_DOUBLE_EQ(rate.Alpha(Us(104.9)), 1);
    EXPECT_DOUBLE_EQ(rate.Alpha(Us(105)), 255. / 256);
}

TEST(DcqcnRate, PaperRecoversByEquationsThreeAndFour)
{
    // R_T = 40, R_C = 20; five timer increases of fast recovery (F = 5): 30, 35, 37.5, 38.75,
    // 39.375. At line rate R_T cannot grow, so additive increase goes on halving: 39.6875.
    DcqcnRate rate(DcqcnSigcomm15(Gbps(40)), Gbps(40));
    rate.OnCnp(Us(0), kNone);
    const double expected[] = {20, 30, 35, 37.5, 38.75, 39.375, 39.6875};
    for (int k = 0; k < 7; ++k)
    {
        EXPECT_DOUBLE_EQ(GbpsOf(rate.At(Us(55 * k), kNone)), expected[k]) << k;
        EXPECT_DOUBLE_EQ(GbpsOf(rate.At(Us(55 * k + 54.9), kNone)), expected[k]) << k;
        EXPECT_EQ(rate.NextChange(), Us(55 * (k + 1)));
    }
}

TEST(DcqcnRate, PaperAdditiveAndHyperIncrease)
{
    // Two cuts at once (interval 0): R_T = 20, R_C = 10. Timer only at first: 15, 17.5, 18.75,
    // 19.375, 19.6875, then additive: R_T = 20.04, R_C = 19.86375. Then 60 MB: six byte increases;
    // BC = 0..5 all see max = 6 >= F, and min <= F: additive. The seventh sees T = 6, BC = 6:
    // hyper, R_T + 0.2.
    DcqcnRate rate(DcqcnSigcomm15(Gbps(40)), Gbps(40));
    rate.OnCnp(Us(0), kNone);
    rate.OnCnp(Us(0), kNone);
    EXPECT_EQ(rate.NextChangeBytes(), Bytes(10000000));
    EXPECT_NEAR(GbpsOf(rate.At(Us(55 * 6), kNone)), 19.86375, 1e-8);
    rate.At(Us(55 * 6), Bytes(60000000));
    EXPECT_NEAR(rate.Target(), 20.28e9, 1);
    rate.At(Us(55 * 6), Bytes(69999999));
    EXPECT_NEAR(rate.Target(), 20.28e9, 1);
    rate.At(Us(55 * 6), Bytes(70000000));
    EXPECT_NEAR(rate.Target(), 20.48e9, 1);
}

TEST(DcqcnRate, VendorCutsAtTheNextCheckWithDecayedAlpha)
{
    // First CNP at 10 us: alpha = 1, decayed four times until the check at 14 us: (255/256)^4.
    const double a = std::pow(255. / 256, 4);
    DcqcnRate rate(DcqcnHpcc19Vendor(Gbps(100)), Gbps(100));
    rate.OnCnp(Us(10), kNone);
    EXPECT_EQ(rate.At(Us(13.999999), kNone).bps, Gbps(100).bps);
    EXPECT_EQ(rate.NextChange(), Us(14));
    EXPECT_NEAR(rate.At(Us(14), kNone).bps, 100e9 * (1 - a / 2), 1);
    EXPECT_DOUBLE_EQ(rate.Target(), 100e9);
    EXPECT_EQ(rate.NextChange(), Us(314));

    // Two CNPs at 15.2 and 15.9 us are one period's flag and one cut, at the check of 18 us:
    // alpha at 16: a 255/256 (period 14..15), then with the flag a (255/256)^2 + 1/256; twice more
    // without until 18.
    rate.OnCnp(Us(15.2), kNone);
    rate.OnCnp(Us(15.9), kNone);
    const double b = (a * std::pow(255. / 256, 2) + 1. / 256) * std::pow(255. / 256, 2);
    const double before = GbpsOf(rate.At(Us(17.9), kNone));
    EXPECT_NEAR(rate.Alpha(Us(18)), b, 1e-15);
    EXPECT_NEAR(GbpsOf(rate.At(Us(18), kNone)), before * (1 - b / 2), 1e-8);
    // No increase in between: the target is still the line rate (clamp_tgt_rate off).
    EXPECT_DOUBLE_EQ(rate.Target(), 100e9);
}

TEST(DcqcnRate, VendorIncreasesEveryTimerThenClampsTheTarget)
{
    // Cut at 4 us to c = 100 (1 - (255/256)^4 / 2). F = 1: fast recovery at 304, additive at 604,
    // hyper from 904 us, the target staying at the line rate: the gap to 100 halves every time.
    DcqcnRate rate(DcqcnHpcc19Vendor(Gbps(100)), Gbps(100));
    rate.OnCnp(Us(0), kNone);
    const double gap = 100 * std::pow(255. / 256, 4) / 2;
    EXPECT_NEAR(GbpsOf(rate.At(Us(4), kNone)), 100 - gap, 1e-8);
    EXPECT_NEAR(GbpsOf(rate.At(Us(304), kNone)), 100 - gap / 2, 1e-8);
    EXPECT_NEAR(GbpsOf(rate.At(Us(604), kNone)), 100 - gap / 4, 1e-8);
    // A CNP now, after increases: at the next check (608 us) the target becomes the rate before the
    // cut.
    rate.OnCnp(Us(605), kNone);
    rate.At(Us(608), kNone);
    EXPECT_NEAR(rate.Target(), (100 - gap / 4) * 1e9, 10);
    // From there: fast recovery to the target, then 20 Mb/s, then 200 Mb/s a step.
    rate.At(Us(908), kNone);
    EXPECT_NEAR(rate.Target(), (100 - gap / 4) * 1e9, 10);
    rate.At(Us(1208), kNone);
    EXPECT_NEAR(rate.Target(), (100 - gap / 4) * 1e9 + 20e6, 10);
    rate.At(Us(1508), kNone);
    EXPECT_NEAR(rate.Target(), (100 - gap / 4) * 1e9 + 220e6, 10);
}

TEST(DcqcnRate, ATimerIncreaseAndACheckAtOneInstantGoInThatOrder)
{
    // The increase of 304 us and the check of 304 us = 4 * 76: increase first, then the cut, the
    // target clamped to it.
    DcqcnRate rate(DcqcnHpcc19Vendor(Gbps(100)), Gbps(100));
    rate.OnCnp(Us(0), kNone);
    rate.OnCnp(Us(301), kNone);
    rate.At(Us(304), kNone);
    EXPECT_NEAR(rate.Target(), 100e9 - 100e9 * std::pow(255. / 256, 4) / 4, 10);
}

TEST(DcqcnRate, IdleSecondsEndAtLineRateAndStayThere)
{
    DcqcnRate rate(DcqcnHpcc19Vendor(Gbps(100)), Gbps(100));
    for (int i = 0; i < 1000; ++i)
    {
        rate.OnCnp(Us(4 * i + 1), kNone);
    }
    EXPECT_EQ(rate.At(Us(4001), kNone), Mbps(100)); // cut down to the minimum
    // The target never left the line rate (no increase between the cuts), so each timer halves the
    // gap: 19 times since the last cut at 4001 us.
    EXPECT_NEAR(GbpsOf(rate.At(Us(10e3), kNone)), 100 - 99.9 / (1 << 19), 1e-8);
    EXPECT_EQ(rate.At(Us(1e12), kNone), Gbps(100)); // 11 days later
    EXPECT_EQ(rate.NextChange(), DcqcnRate::kNever);
    EXPECT_TRUE(rate.Limited());
    EXPECT_LT(rate.Alpha(Us(1e12)), 1e-300);
    // And it still works: alpha has forgotten everything, so one CNP does next to nothing.
    rate.OnCnp(Us(1e12 + 0.5), kNone);
    EXPECT_NEAR(GbpsOf(rate.At(Us(1e12 + 10), kNone)), 100, 0.2);
}

TEST(DcqcnRate, ReleaseAtLineRateStartsAfresh)
{
    DcqcnParameters p = DcqcnHpcc19Vendor(Gbps(100));
    p.releaseAtLineRate = true;
    DcqcnRate rate(p, Gbps(100));
    rate.OnCnp(Us(0), kNone);
    EXPECT_TRUE(rate.Limited());
    EXPECT_EQ(rate.At(Us(1e6), kNone), Gbps(100));
    EXPECT_FALSE(rate.Limited());
    rate.OnCnp(Us(1e6 + 1.5), kNone);
    EXPECT_NEAR(GbpsOf(rate.At(Us(1e6 + 5.5), kNone)),
                100 * (1 - std::pow(255. / 256, 4) / 2),
                1e-8);
}

TEST(DcqcnRate, NoIncrementsRecoverToTheTargetOnly)
{
    DcqcnParameters p = DcqcnSigcomm15(Gbps(40));
    p.additiveIncrease = BitRate(0);
    p.hyperIncrease = BitRate(0);
    DcqcnRate rate(p, Gbps(40));
    rate.OnCnp(Us(0), kNone);
    rate.OnCnp(Us(1), kNone);
    EXPECT_EQ(rate.At(Us(1e12), kNone), Gbps(20));
    EXPECT_EQ(rate.NextChange(), DcqcnRate::kNever);
}

TEST(DcqcnRate, RefusesConstantsWithoutMeaning)
{
    const auto refuses = [](const std::string& name, auto change) {
        DcqcnParameters p = DcqcnHpcc19Vendor(Gbps(100));
        change(p);
        EXPECT_EQ(DcqcnRate::Error(p).where, name);
        EXPECT_THROW(DcqcnRate(p, Gbps(100)), std::invalid_argument);
    };
    refuses("G", [](DcqcnParameters& p) { p.g = 0; });
    refuses("G", [](DcqcnParameters& p) { p.g = 1.5; });
    refuses("InitialAlpha", [](DcqcnParameters& p) { p.initialAlpha = -1; });
    refuses("AlphaPeriod", [](DcqcnParameters& p) { p.alphaPeriod = Duration(0); });
    refuses("RateDecreaseInterval",
            [](DcqcnParameters& p) { p.rateDecreaseInterval = Duration(0); });
    refuses("IncreaseTimer", [](DcqcnParameters& p) { p.increaseTimer = Duration(0); });
    // Increases due by the million at once.
    refuses("IncreaseTimer", [](DcqcnParameters& p) { p.increaseTimer = Duration(1); });
    refuses("ByteCounter", [](DcqcnParameters& p) { p.byteCounter = Bytes(1); });
    refuses("MinimumRate", [](DcqcnParameters& p) { p.minimumRate = BitRate(0); });
    EXPECT_THROW(DcqcnRate(DcqcnHpcc19Vendor(Gbps(100)), BitRate(0)), std::invalid_argument);
}

TEST(DcqcnRate, PresetsAsDocumented)
{
    const auto vendor = DcqcnHpcc19Vendor(Gbps(100));
    EXPECT_EQ(vendor.additiveIncrease, Mbps(20));
    EXPECT_EQ(vendor.hyperIncrease, Mbps(200));
    EXPECT_EQ(DcqcnHpcc19Vendor(Gbps(25)).additiveIncrease, Mbps(5));
    EXPECT_EQ(DcqcnHpcc19Vendor(Gbps(25)).hyperIncrease, Mbps(50));
    EXPECT_EQ(vendor.minimumRate, Mbps(100));
    const auto paper = DcqcnSigcomm15(Gbps(40));
    EXPECT_EQ(paper.additiveIncrease, Mbps(40));
    EXPECT_EQ(paper.hyperIncrease, Mbps(200));
    EXPECT_EQ(paper.byteCounter, Bytes(10000000));
    EXPECT_EQ(DcqcnNvidiaNic(Gbps(400)).additiveIncrease, Mbps(5));
    DcqcnRate slow(DcqcnHpcc19Vendor(Mbps(10)),
                   Mbps(10)); // a minimum above the line rate is the line rate
    slow.OnCnp(Us(0), kNone);
    EXPECT_EQ(slow.At(Us(4), kNone), Mbps(10));
}

// Lazy equals eager, over random CNP times, query times, byte counts and constants; within bounds
// all the way.
TEST(DcqcnRate, EqualsPlayingEveryTimerTick)
{
    uint64_t compared = 0;
    for (uint32_t seed = 1; seed <= 3000; ++seed)
    {
        std::mt19937_64 random(seed);
        const auto pick = [&](int64_t low, int64_t high) {
            return std::uniform_int_distribution<int64_t>(low, high)(random);
        };
        const BitRate line = Gbps(static_cast<uint64_t>(pick(1, 800)));
        DcqcnParameters p;
        switch (seed % 5)
        {
        case 0:
            p = DcqcnHpcc19Vendor(line);
            break;
        case 1:
            p = DcqcnSigcomm15(line);
            break;
        case 2:
            p = DcqcnNvidiaNic(line);
            p.releaseAtLineRate = false;
            break;
        default:
            p.reaction = seed % 5 == 3 ? DcqcnReaction::kOnCnp : DcqcnReaction::kPeriodic;
            p.g = 1. / static_cast<double>(pick(1, 512));
            p.initialAlpha = static_cast<double>(pick(0, 4)) / 4;
            p.alphaPeriod = Nanoseconds(pick(300, 60000));
            p.rateDecreaseInterval = Nanoseconds(pick(300, 60000));
            p.increaseTimer = Nanoseconds(pick(0, 3) ? pick(1000, 400000) : 0);
            if (p.increaseTimer.ps == 0 || pick(0, 1))
            {
                p.byteCounter = Bytes(static_cast<uint64_t>(pick(10000, 10000000)));
            }
            p.fastRecoveryThreshold = static_cast<uint32_t>(pick(0, 6));
            p.additiveIncrease = Mbps(static_cast<uint64_t>(pick(1, 100)));
            p.hyperIncrease = Mbps(static_cast<uint64_t>(pick(1, 1000)));
            p.clampTargetRate = pick(0, 1) == 1;
        }
        DcqcnRate lazy(p, line);
        EagerDcqcn eager(p, static_cast<double>(line.bps));
        TimePoint now;
        Bytes bytes;
        for (int i = 0; i < 200; ++i)
        {
            const int64_t scale = pick(0, 9);
            now = now + (scale == 0  ? Microseconds(pick(0, 3000))
                         : scale < 4 ? Microseconds(pick(0, 8))
                                     : Duration(pick(0, 20000000)));
            bytes += Bytes(static_cast<uint64_t>(pick(0, scale == 0 ? 20000000 : 100000)));
            const bool cnp = pick(0, 2) == 0;
            const bool due = now >= lazy.NextChange() || bytes >= lazy.NextChangeBytes();
            const BitRate before = lazy.Current();
            if (cnp)
            {
                lazy.OnCnp(now, bytes);
                eager.Cnp(now.ps, bytes.value);
            }
            const BitRate rate = lazy.At(now, bytes);
            eager.Run(now.ps, bytes.value);
            ASSERT_NEAR(static_cast<double>(rate.bps), eager.Rate(), 2 + 1e-9 * eager.Rate())
                << "seed " << seed << " step " << i;
            ASSERT_GE(rate.bps, std::min(p.minimumRate.bps, line.bps));
            ASSERT_LE(rate, line);
            if (lazy.Limited())
            {
                ASSERT_NEAR(lazy.Alpha(now), eager.alpha, 1e-12)
                    << "seed " << seed << " step " << i;
            }
            if (!cnp && !due)
            {
                ASSERT_EQ(rate, before); // NextChange and NextChangeBytes told the truth
            }
            ASSERT_GT(lazy.NextChange(), now);
            ASSERT_GT(lazy.NextChangeBytes(), bytes);
            ++compared;
        }
    }
    EXPECT_EQ(compared, 600000u);
}

// How often the rate is asked for makes no difference.
TEST(DcqcnRate, QueriesDoNotDisturb)
{
    for (uint32_t seed = 1; seed <= 200; ++seed)
    {
        std::mt19937_64 random(seed);
        const DcqcnParameters p =
            seed % 2 ? DcqcnHpcc19Vendor(Gbps(100)) : DcqcnSigcomm15(Gbps(100));
        DcqcnRate often(p, Gbps(100));
        DcqcnRate seldom(p, Gbps(100));
        TimePoint now;
        for (int i = 0; i < 300; ++i)
        {
            now = now + Duration(static_cast<int64_t>(random() % 40000000));
            often.At(now, kNone);
            if (random() % 4 == 0)
            {
                often.OnCnp(now, kNone);
                seldom.OnCnp(now, kNone);
            }
        }
        EXPECT_EQ(often.At(now, kNone), seldom.At(now, kNone));
        EXPECT_DOUBLE_EQ(often.Alpha(now), seldom.Alpha(now));
    }
}

// Two flows into one 40 Gb/s link, the second one starting late: a fluid queue marked by the
// paper's thresholds.
TEST(DcqcnRate, TwoFlowsShareALink)
{
    const BitRate line = Gbps(40);
    DcqcnRate flows[2] = {DcqcnRate(DcqcnSigcomm15(line), line),
                          DcqcnRate(DcqcnSigcomm15(line), line)};
    double sent[2] = {0, 0};
    double late[2] = {0, 0};
    double queue = 0;
    TimePoint lastCnp[2] = {Us(-100), Us(-100)};
    std::mt19937_64 random(7);
    const double step = 1e-6;
    for (int t = 0; t < 400000; ++t)
    {
        const TimePoint now = Us(t);
        double arriving = 0;
        for (int f = 0; f < 2; ++f)
        {
            if (f == 1 && t < 20000)
            {
                continue;
            }
            const BitRate rate = flows[f].At(now, Bytes(static_cast<uint64_t>(sent[f])));
            const double bytes = static_cast<double>(rate.bps) / 8 * step;
            sent[f] += bytes;
            arriving += bytes;
            late[f] += t >= 200000 ? bytes : 0;
            // RED of the paper: 5 KB, 200 KB, 1%; a packet is 1 KB; a CNP at most every 50 us.
            const double p = queue < 5e3 ? 0 : queue > 200e3 ? 1 : (queue - 5e3) / 195e3 * 0.01;
            const double marked = 1 - std::pow(1 - p, bytes / 1000);
            if (now - lastCnp[f] >= Microseconds(50) &&
                std::uniform_real_distribution<>(0, 1)(random) < marked)
            {
                flows[f].OnCnp(now, Bytes(static_cast<uint64_t>(sent[f])));
                lastCnp[f] = now;
            }
        }
        queue = std::max(0., queue + arriving - 5e9 * step);
    }
    const double total = (late[0] + late[1]) * 8 / 0.2;
    EXPECT_GT(total, 36e9);
    EXPECT_LT(total, 40.1e9);
    EXPECT_NEAR(late[0] / (late[0] + late[1]), 0.5, 0.1);
}
