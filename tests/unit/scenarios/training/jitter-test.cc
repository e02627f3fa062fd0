/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Jitter of computing: a normal distribution, and what a step that waits for all GPUs sees of it.
 */
#include "scenarios/training/steps/jitter.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <vector>

using namespace training;

namespace
{

constexpr uint32_t kRanks = 512;
constexpr uint32_t kSteps = 300;

/// Standardized, by step.
const std::vector<std::vector<double>>&
Draws()
{
    static const auto draws = [] {
        Jitter jitter;
        jitter.sigma = 0.1; // 10 deviations from 0: nothing is cut off
        jitter.seed = 7;
        std::vector<std::vector<double>> of(kSteps);
        for (uint32_t step = 0; step < kSteps; ++step)
        {
            for (coll::Rank rank = 0; rank < kRanks; ++rank)
            {
                of[step].push_back((JitterOf(jitter, rank, step) - 1) / jitter.sigma);
            }
        }
        return of;
    }();
    return draws;
}

double
Below(double x)
{
    return std::erfc(-x / std::sqrt(2)) / 2;
}

/// Of the largest of n normal draws: the integral of x d(Below(x)^n).
double
ExpectedMaximum(uint32_t n)
{
    double sum = 0;
    constexpr double kStep = 1e-3;
    for (double x = -8; x < 8; x += kStep)
    {
        sum += (x + kStep / 2) * (std::pow(Below(x + kStep), n) - std::pow(Below(x), n));
    }
    return sum;
}

} // namespace

TEST(Jitter, IsNormal)
{
    double sum = 0;
    double squares = 0;
    std::vector<double> all;
    for (const auto& step : Draws())
    {
        for (const double x : step)
        {
            sum += x;
            squares += x * x;
            all.push_back(x);
        }
    }
    const auto n = static_cast<double>(all.size());
    EXPECT_NEAR(sum / n, 0, 4 / std::sqrt(n));
    EXPECT_NEAR(squares / n, 1, 4 * std::sqrt(2 / n));
    // Kolmogorov and Smirnov: more than 1.95 / sqrt(n) in one of a thousand samples.
    std::sort(all.begin(), all.end());
    double most = 0;
    for (std::size_t i = 0; i < all.size(); ++i)
    {
        most = std::max(most, std::abs(Below(all[i]) - (static_cast<double>(i) + 0.5) / n));
    }
    EXPECT_LT(most, 1.95 / std::sqrt(n));
}

// Known in closed form: of two 1 / sqrt(pi), of three 1.5 / sqrt(pi). Of many about sqrt(2 ln n),
// which Gumbel's (ln ln n + ln 4 pi) / (2 sqrt(2 ln n)) less is close to.
TEST(Jitter, TheSlowestOfMany)
{
    EXPECT_NEAR(ExpectedMaximum(2), 1 / std::sqrt(M_PI), 1e-5);
    EXPECT_NEAR(ExpectedMaximum(3), 1.5 / std::sqrt(M_PI), 1e-5);
    for (const uint32_t n : {2u, 3u, 7u, 16u, 101u, 512u})
    {
        double sum = 0;
        double squares = 0;
        double count = 0;
        for (const auto& step : Draws())
        {
            for (std::size_t first = 0; first + n <= step.size(); first += n)
            {
                const auto begin = step.begin() + static_cast<std::ptrdiff_t>(first);
                const double most = *std::max_element(begin, begin + n);
                sum += most;
                squares += most * most;
                ++count;
            }
        }
        const double mean = sum / count;
        const double error = std::sqrt((squares / count - mean * mean) / count);
        EXPECT_NEAR(mean, ExpectedMaximum(n), 4 * error) << n;
        if (n >= 16)
        {
            const double root = std::sqrt(2 * std::log(n));
            // Euler's constant: the mean of a Gumbel distribution.
            const double gumbel =
                root - (std::log(std::log(n)) + std::log(4 * M_PI)) / (2 * root) + 0.5772 / root;
            EXPECT_NEAR(mean, gumbel, 0.1) << n;
        }
    }
}

TEST(Jitter, OfAGpuForAllSteps)
{
    EXPECT_EQ(SpreadOf(0, 7, 3), 1);
    constexpr double kSigma = 0.1;
    double sum = 0;
    double squares = 0;
    double both = 0; // with the draws of a step, which have nothing to do with it
    for (coll::Rank rank = 0; rank < kRanks; ++rank)
    {
        const double x = (SpreadOf(kSigma, 7, rank) - 1) / kSigma;
        EXPECT_EQ(SpreadOf(kSigma, 7, rank), SpreadOf(kSigma, 7, rank));
        EXPECT_NE(SpreadOf(kSigma, 7, rank), SpreadOf(kSigma, 8, rank));
        EXPECT_NE(SpreadOf(kSigma, 7, rank), SpreadOf(kSigma, 7, rank + 1));
        sum += x;
        squares += x * x;
        both += x * Draws()[0][rank];
    }
    EXPECT_NEAR(sum / kRanks, 0, 4 / std::sqrt(kRanks));
    EXPECT_NEAR(squares / kRanks, 1, 4 * std::sqrt(2. / kRanks));
    EXPECT_NEAR(both / kRanks, 0, 4 / std::sqrt(kRanks));
}

TEST(Jitter, DependsOnSeedRankAndStepAlone)
{
    Jitter jitter;
    EXPECT_EQ(JitterOf(jitter, 3, 5), 1);
    jitter.sigma = 0.05;
    std::vector<double> seen;
    for (const uint64_t seed : {1u, 2u, 3u})
    {
        jitter.seed = seed;
        for (coll::Rank rank = 0; rank < 5; ++rank)
        {
            for (uint32_t step = 0; step < 5; ++step)
            {
                seen.push_back(JitterOf(jitter, rank, step));
                EXPECT_EQ(seen.back(), JitterOf(jitter, rank, step));
            }
        }
    }
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
    jitter.period = 3;
    EXPECT_EQ(JitterOf(jitter, 4, 1), JitterOf(jitter, 4, 7));
    EXPECT_NE(JitterOf(jitter, 4, 1), JitterOf(jitter, 4, 8));
}

TEST(Jitter, NeverGoesBackInTime)
{
    Jitter jitter;
    jitter.sigma = 1; // a sixth of the draws would be below 0
    uint32_t none = 0;
    for (coll::Rank rank = 0; rank < 1000; ++rank)
    {
        EXPECT_GE(JitterOf(jitter, rank, 0), 0);
        none += JitterOf(jitter, rank, 0) == 0;
    }
    EXPECT_NEAR(none, 158.7, 4 * std::sqrt(158.7 * 0.8413));
}
