/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Drawn requests: their distributions, and that they are the same on every machine.
 */
#include "scenarios/inference/requests.h"
#include "scenarios/traffic/portable-math.h"

#include <cmath>
#include <gtest/gtest.h>
#include <string>
#include <vector>

using namespace serving;
using Kind = RequestsSpec::Kind;
using Length = LengthSpec::Kind;

namespace
{

constexpr uint32_t kDraws = 20000;

RequestsSpec
SpecOf(Kind kind, double rate, double cv = 1)
{
    RequestsSpec spec;
    spec.kind = kind;
    spec.rate = rate;
    spec.cv = cv;
    spec.count = kDraws;
    spec.prompt = {Length::kFixed, 100, 0};
    spec.output = {Length::kFixed, 10, 0};
    return spec;
}

struct Moments
{
    double mean = 0;
    double cv = 0;
};

Moments
MomentsOf(const std::vector<double>& values)
{
    double sum = 0;
    for (const double value : values)
    {
        sum += value;
    }
    const double mean = sum / static_cast<double>(values.size());
    double squares = 0;
    for (const double value : values)
    {
        squares += (value - mean) * (value - mean);
    }
    return {mean, std::sqrt(squares / static_cast<double>(values.size() - 1)) / mean};
}

/// Seconds between arrivals.
std::vector<double>
GapsOf(const std::vector<Request>& requests)
{
    std::vector<double> gaps;
    for (std::size_t i = 1; i < requests.size(); ++i)
    {
        gaps.push_back(static_cast<double>(requests[i].arrival - requests[i - 1].arrival) * 1e-12);
    }
    return gaps;
}

std::vector<double>
LengthsOf(const LengthSpec& length, uint64_t seed)
{
    RequestsSpec spec = SpecOf(Kind::kBurst, 0);
    spec.prompt = length;
    spec.seed = seed;
    std::vector<double> lengths;
    for (const Request& request : MakeRequests(spec))
    {
        lengths.push_back(request.prompt);
    }
    return lengths;
}

/// Five standard errors of a mean of draws with this coefficient of variation.
double
MeanError(double cv)
{
    return 5 * cv / std::sqrt(kDraws);
}

/// Of the coefficient of variation: half the relative error of the variance, whose square is
/// (kurtosis - 1) / n.
double
CvError(double kurtosis)
{
    return 2.5 * std::sqrt((kurtosis - 1) / kDraws);
}

TEST(PortableMath, IsThatOfTheLibrary)
{
    for (double x = 1e-300; x < 1e300; x *= 1.7e3)
    {
        EXPECT_NEAR(scenario::PortableLog(x), std::log(x), 1e-15 * std::abs(std::log(x)) + 1e-15);
    }
    EXPECT_EQ(scenario::PortableLog(1), 0);
    for (double x = -600; x < 600; x += 0.37)
    {
        EXPECT_NEAR(scenario::PortableExp(x) / std::exp(x), 1, 1e-13) << x;
    }
    EXPECT_EQ(scenario::PortableExp(0), 1);
}

TEST(ServingRequests, GapsHaveTheirMeanAndVariation)
{
    // Kurtosis of a gamma distribution: 3 + 6 cv^2 (of the exponential one 9).
    for (const double cv : {0.2, 0.5, 1.0, 1.5, 3.0})
    {
        for (const uint64_t seed : {1, 2, 3})
        {
            RequestsSpec spec = SpecOf(cv == 1 ? Kind::kPoisson : Kind::kGamma, 8, cv);
            spec.seed = seed;
            const Moments m = MomentsOf(GapsOf(MakeRequests(spec)));
            EXPECT_NEAR(m.mean * 8, 1, MeanError(cv)) << cv;
            EXPECT_NEAR(m.cv / cv, 1, CvError(3 + 6 * cv * cv)) << cv;
        }
    }
    const Moments same = MomentsOf(GapsOf(MakeRequests(SpecOf(Kind::kGamma, 8, 1))));
    EXPECT_NEAR(same.cv, 1, CvError(9)); // of cv 1 it is the exponential distribution
}

TEST(ServingRequests, ConstantArrivalsAreExact)
{
    const auto requests = MakeRequests(SpecOf(Kind::kConstant, 3));
    for (const uint32_t i : {0u, 1u, 2u, 3u, 19999u})
    {
        // Multiples of 1/3 s, rounded to ps.
        EXPECT_EQ(requests[i].arrival, std::llround(i * 1e12 / 3)) << i;
    }
}

TEST(ServingRequests, BurstsAndClosedLoops)
{
    for (const Request& request : MakeRequests(SpecOf(Kind::kBurst, 0)))
    {
        ASSERT_EQ(request.arrival, 0);
    }
    RequestsSpec closed = SpecOf(Kind::kClosed, 0);
    closed.clients = 7;
    const auto requests = MakeRequests(closed);
    for (std::size_t i = 0; i < requests.size(); ++i)
    {
        ASSERT_EQ(requests[i].arrival, i < 7 ? 0 : -1);
    }
}

TEST(ServingRequests, ArrivalsBeginAtZeroAndAscend)
{
    for (const Kind kind : {Kind::kPoisson, Kind::kGamma, Kind::kConstant})
    {
        const auto requests = MakeRequests(SpecOf(kind, 100, 2));
        ASSERT_EQ(requests.size(), kDraws);
        EXPECT_EQ(requests.front().arrival, 0);
        for (std::size_t i = 1; i < requests.size(); ++i)
        {
            ASSERT_LE(requests[i - 1].arrival, requests[i].arrival);
        }
    }
}

TEST(ServingRequests, LengthsHaveTheirMeanAndVariation)
{
    for (const uint64_t seed : {1, 2, 3})
    {
        const Moments fixed = MomentsOf(LengthsOf({Length::kFixed, 77, 0}, seed));
        EXPECT_EQ(fixed.mean, 77);
        EXPECT_EQ(fixed.cv, 0);
        // n numbers in a row: variance (n^2 - 1) / 12, kurtosis 9/5; n = 101, mean 150.
        const Moments uniform = MomentsOf(LengthsOf({Length::kUniform, 100, 200}, seed));
        const double cv = std::sqrt((101.0 * 101 - 1) / 12) / 150;
        EXPECT_NEAR(uniform.mean / 150, 1, MeanError(cv));
        EXPECT_NEAR(uniform.cv / cv, 1, CvError(1.8));
        // Kurtosis of a lognormal distribution with w = 1 + cv^2: w^4 + 2 w^3 + 3 w^2 - 3.
        for (const double wide : {0.1, 0.5})
        {
            const double w = 1 + wide * wide;
            const Moments m = MomentsOf(LengthsOf({Length::kLognormal, 1000, wide}, seed));
            EXPECT_NEAR(m.mean / 1000, 1, MeanError(wide));
            EXPECT_NEAR(m.cv / wide, 1, CvError(w * w * w * w + 2 * w * w * w + 3 * w * w - 3));
        }
    }
}

TEST(ServingRequests, LengthsStayInTheirRange)
{
    std::vector<bool> seen(4, false);
    for (const double length : LengthsOf({Length::kUniform, 5, 8}, 1))
    {
        ASSERT_GE(length, 5);
        ASSERT_LE(length, 8);
        seen[static_cast<std::size_t>(length) - 5] = true;
    }
    EXPECT_EQ(seen, std::vector<bool>(4, true));
    for (const double length : LengthsOf({Length::kLognormal, 1, 100}, 1))
    {
        ASSERT_GE(length, 1);
        ASSERT_LE(length, kMostTokens);
    }
}

TEST(ServingRequests, AnotherRateStretchesArrivalsAndKeepsLengths)
{
    for (const Kind kind : {Kind::kPoisson, Kind::kGamma})
    {
        RequestsSpec slow = SpecOf(kind, 2, 2);
        slow.prompt = {Length::kLognormal, 500, 1};
        slow.output = {Length::kUniform, 1, 99};
        RequestsSpec fast = slow;
        fast.rate = 8;
        const auto a = MakeRequests(slow);
        const auto b = MakeRequests(fast);
        for (std::size_t i = 0; i < a.size(); ++i)
        {
            ASSERT_NEAR(static_cast<double>(a[i].arrival),
                        4 * static_cast<double>(b[i].arrival),
                        4 + 1e-12 * static_cast<double>(a[i].arrival));
            ASSERT_EQ(a[i].prompt, b[i].prompt);
            ASSERT_EQ(a[i].output, b[i].output);
        }
    }
}

TEST(ServingRequests, SeedsDiffer)
{
    RequestsSpec spec = SpecOf(Kind::kPoisson, 2);
    spec.prompt = {Length::kUniform, 1, 1000};
    const auto a = MakeRequests(spec);
    const auto again = MakeRequests(spec);
    spec.seed = 2;
    const auto b = MakeRequests(spec);
    EXPECT_EQ(a[1].arrival, again[1].arrival);
    EXPECT_NE(a[1].arrival, b[1].arrival);
    EXPECT_NE(std::make_pair(a[0].prompt, a[1].prompt), std::make_pair(b[0].prompt, b[1].prompt));
}

/// The requests of a file.
RequestsSpec
Traced(std::vector<Request> requests)
{
    RequestsSpec spec;
    spec.kind = Kind::kFile;
    spec.traced = std::make_shared<const std::vector<Request>>(std::move(requests));
    spec.count = static_cast<uint32_t>(spec.traced->size());
    return spec;
}

TEST(ServingRequests, AFileIsTakenAsItIs)
{
    RequestsSpec spec = Traced({{5'000, 10, 20}, {9'000, 30, 40}, {25'000, 50, 60}});
    auto requests = MakeRequests(spec);
    EXPECT_EQ(requests[0].arrival, 0);
    EXPECT_EQ(requests[1].arrival, 4'000);
    EXPECT_EQ(requests[2].arrival, 20'000);
    EXPECT_EQ(requests[2].prompt, 50u);
    EXPECT_EQ(requests[2].output, 60u);
    // A rate stretches the two gaps of 20,000 ps to 2 / rate, here 4 s.
    spec.rate = 0.5;
    requests = MakeRequests(spec);
    EXPECT_EQ(requests[1].arrival, 800'000'000'000);
    EXPECT_EQ(requests[2].arrival, 4'000'000'000'000);
    // The first ones alone; lengths that were asked for.
    spec.rate = 0;
    spec.count = 2;
    spec.output = {Length::kFixed, 7, 0};
    requests = MakeRequests(spec);
    ASSERT_EQ(requests.size(), 2u);
    EXPECT_EQ(requests[1].prompt, 30u);
    EXPECT_EQ(requests[1].output, 7u);
}

TEST(ServingRequests, AFileWithoutArrivalsGetsPoissons)
{
    RequestsSpec spec = Traced(std::vector<Request>(kDraws, Request{-1, 10, 20}));
    spec.rate = 4;
    const Moments m = MomentsOf(GapsOf(MakeRequests(spec)));
    EXPECT_NEAR(m.mean * 4, 1, MeanError(1));
    EXPECT_NEAR(m.cv, 1, CvError(9));
}

} // namespace
