/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Spread of flow hashes over ports and tiers, for the structured inputs simulations have:
 * consecutive addresses, consecutive queue pairs, consecutive switch seeds.
 */
#include "contrib/rdma/core/flow-hash.h"

#include <array>
#include <bitset>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <set>
#include <vector>

using namespace rdma;

namespace
{

/// How many standard deviations the chi-square statistic of these counts is above its mean (about
/// N(0, 1) if uniform).
double
ChiSquareDeviation(const std::vector<uint64_t>& counts)
{
    double total = 0;
    for (const auto c : counts)
    {
        total += static_cast<double>(c);
    }
    const double expected = total / static_cast<double>(counts.size());
    double chi = 0;
    for (const auto c : counts)
    {
        chi += (static_cast<double>(c) - expected) * (static_cast<double>(c) - expected) / expected;
    }
    const double freedom = static_cast<double>(counts.size() - 1);
    return (chi - freedom) / std::sqrt(2 * freedom);
}

uint32_t
HashOf(uint32_t source, uint32_t destination, uint32_t queuePair)
{
    FlowTuple t;
    t.source = 0x0a000001 + source;
    t.destination = 0x0a000001 + destination;
    t.sourcePort = RoceSourcePort(queuePair, queuePair + 1);
    return FlowHash(t);
}

TEST(FlowHash, ARotatedPickLooksAtOtherBits)
{
    constexpr uint32_t kFlows = 4096;
    std::array<uint32_t, 16> pairs{};
    for (uint32_t flow = 0; flow < kFlows; ++flow)
    {
        const uint32_t hash = Mix32(flow);
        EXPECT_EQ(RotatedPick(hash, 7, 4, 0), EcmpPick(hash, 7, 4));
        ++pairs[4 * EcmpPick(hash, 7, 4) + RotatedPick(hash, 7, 4, 8)];
    }
    for (const uint32_t count : pairs)
    {
        // Of 16 pairs each has 256 flows, if bits of a hash are independent: 6 standard deviations.
        EXPECT_NEAR(count, kFlows / 16, 6 * 15.5);
    }
}

} // namespace

TEST(FlowHash, EveryFieldMatters)
{
    const FlowTuple base{0x0a000001, 0x0a000002, 0xc001, 4791, 17};
    std::set<uint32_t> hashes{FlowHash(base)};
    const auto with = [&base](auto FlowTuple::*field, uint32_t value) {
        FlowTuple t = base;
        t.*field = static_cast<std::decay_t<decltype(t.*field)>>(value);
        return FlowHash(t);
    };
    hashes.insert({with(&FlowTuple::source, 0x0a000003),
                   with(&FlowTuple::destination, 0x0a000003),
                   with(&FlowTuple::sourcePort, 0xc002),
                   with(&FlowTuple::destinationPort, 4792),
                   with(&FlowTuple::protocol, 6)});
    hashes.insert(
        FlowHash({base.destination, base.source, base.sourcePort, base.destinationPort, 17}));
    EXPECT_EQ(hashes.size(), 7u);
}

TEST(FlowHash, EveryInputBitFlipsHalfOfTheOutput)
{
    std::mt19937_64 random(1);
    for (int bit = 0; bit < 64 + 16; ++bit)
    {
        uint64_t flipped = 0;
        const int samples = 4000;
        for (int i = 0; i < samples; ++i)
        {
            FlowTuple t;
            t.source = static_cast<uint32_t>(random());
            t.destination = static_cast<uint32_t>(random());
            t.sourcePort = static_cast<uint16_t>(random());
            const uint32_t before = FlowHash(t);
            if (bit < 32)
            {
                t.source ^= 1U << bit;
            }
            else if (bit < 64)
            {
                t.destination ^= 1U << (bit - 32);
            }
            else
            {
                t.sourcePort ^= static_cast<uint16_t>(1U << (bit - 64));
            }
            flipped += std::bitset<32>(before ^ FlowHash(t)).count();
        }
        EXPECT_NEAR(static_cast<double>(flipped) / samples, 16, 0.3) << bit;
    }
}

TEST(FlowHash, SourcePortsAreInTheDynamicRangeAndSpread)
{
    std::vector<uint64_t> counts(64);
    for (uint32_t qp = 0; qp < 64000; ++qp)
    {
        const uint16_t port = RoceSourcePort(qp, qp + 7);
        ASSERT_GE(port, 0xC000);
        ++counts[(port - 0xC000) / 256];
    }
    EXPECT_LT(std::abs(ChiSquareDeviation(counts)), 4);
}

TEST(EcmpPick, StaysInRangeAndReachesEveryPort)
{
    std::mt19937 random(1);
    for (const uint32_t n : {1u, 2u, 3u, 7u, 64u, 1000u})
    {
        std::vector<uint64_t> counts(n);
        for (int i = 0; i < 200000; ++i)
        {
            const uint32_t pick = EcmpPick(static_cast<uint32_t>(random()), 12345, n);
            ASSERT_LT(pick, n);
            ++counts[pick];
        }
        if (n > 1)
        {
            EXPECT_LT(std::abs(ChiSquareDeviation(counts)), 4) << n;
        }
    }
    EXPECT_EQ(EcmpPick(0xffffffff, 1, 1), 0u);
}

// Flows i -> i + 16 and many queue pairs through the tiers of a fat-tree, switches seeded by
// consecutive numbers: the pairs and triples of choices are as uniform as the single ones.
TEST(EcmpPick, TiersChooseIndependently)
{
    for (const uint32_t n : {2u, 4u, 6u, 8u})
    {
        std::vector<uint64_t> first(n);
        std::vector<uint64_t> second(n * n);
        std::vector<uint64_t> third(n * n * n);
        for (uint32_t source = 0; source < 256; ++source)
        {
            for (uint32_t qp = 0; qp < 400; ++qp)
            {
                const uint32_t hash = HashOf(source, source + 16, source * 400 + qp);
                const uint32_t a = EcmpPick(hash, 1, n);
                const uint32_t b = EcmpPick(hash, 2 + a, n);
                const uint32_t c = EcmpPick(hash, 100 + a * n + b, n);
                ++first[a];
                ++second[a * n + b];
                ++third[(a * n + b) * n + c];
            }
        }
        EXPECT_LT(std::abs(ChiSquareDeviation(first)), 4) << n;
        EXPECT_LT(std::abs(ChiSquareDeviation(second)), 4) << n;
        EXPECT_LT(std::abs(ChiSquareDeviation(third)), 4) << n;
    }
}

// One queue pair a host pair, 1,024 hosts: few flows, consecutive addresses, still no worse than
// chance.
TEST(EcmpPick, FewFlowsWithConsecutiveAddresses)
{
    for (uint32_t seed = 0; seed < 32; ++seed)
    {
        std::vector<uint64_t> counts(8);
        for (uint32_t source = 0; source < 1024; ++source)
        {
            ++counts[EcmpPick(HashOf(source, (source + 16) % 1024, 0), seed, 8)];
        }
        EXPECT_LT(ChiSquareDeviation(counts), 5) << seed;
    }
}
