/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "buffer-frame.h"
#include "contrib/rdma/core/shared-buffer.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <random>

using namespace rdma;
using Verdict = SharedBuffer::Verdict;

namespace
{

constexpr uint8_t kLossless = 3; // the priority of the tests
constexpr uint8_t kLossy = 1;

/// Two ports, 10 KB of headroom and 1,000 B guaranteed each; shared pool 100,000 B.
SharedBufferConfig
Small()
{
    SharedBufferConfig c;
    c.headroomBytes = {10000, 10000};
    c.losslessMask = 1 << kLossless;
    c.guaranteedBytes = 1000;
    c.alpha = 0.5;
    c.alphaLossy = 1;
    c.xonOffset = 5000;
    c.totalBytes = 100000 + 2 * (10000 + 1000);
    return c;
}

/// Admits frames of `bytes` until the verdict is another one than stored; how many were stored
/// before.
uint32_t
FillUntil(SharedBuffer& b, uint32_t port, uint8_t priority, uint32_t bytes, Verdict& verdict)
{
    uint32_t stored = 0;
    while ((verdict = b.Admit(port, priority, bytes, stored * uint64_t{bytes})) == Verdict::kStored)
    {
        ++stored;
    }
    return stored;
}

} // namespace

TEST(SharedBuffer, WhatIsNotHeadroomOrGuaranteedIsShared)
{
    SharedBuffer b(Small());
    EXPECT_EQ(b.SharedSize(), 100000u);
    EXPECT_EQ(b.Threshold(kLossless), 50000u); // alpha 1/2 of all
}

TEST(SharedBuffer, RefusesAConfigurationThatDoesNotFit)
{
    SharedBufferConfig c = Small();
    EXPECT_EQ(SharedBuffer::WhyNot(c), "");
    c.totalBytes = 2 * (10000 + 1000) + 2 * 9216;
    EXPECT_EQ(SharedBuffer::WhyNot(c), "");
    --c.totalBytes;
    EXPECT_NE(SharedBuffer::WhyNot(c).find("headroom"), std::string::npos);
    c.losslessMask |= 1 << 4; // one more guaranteed minimum a port
    c.totalBytes = 2 * (10000 + 1000) + 2 * 9216;
    EXPECT_NE(SharedBuffer::WhyNot(c), "");
}

TEST(SharedBuffer, XoffAtTheDynamicThreshold)
{
    // A port alone holds x of the pool as long as x <= (100,000 - u) / 2, u being what was used
    // before the frame: after n frames of 1,000 B, the first of which is guaranteed, u = (n - 1) x
    // 1,000, and the next one is stored if n x 1,000 <= (101,000 - 1,000 n) / 2, n <= 33.67. So 34
    // are stored, the 35th raises XOFF.
    SharedBuffer b(Small());
    Verdict v;
    EXPECT_EQ(FillUntil(b, 0, kLossless, 1000, v), 34u);
    EXPECT_EQ(v, Verdict::kStoredSendXoff);
    EXPECT_TRUE(b.IsPaused(0, kLossless));
    EXPECT_EQ(b.SharedUsed(), 33000u);
    EXPECT_EQ(b.HeadroomPeak(), 1000u);
    EXPECT_EQ(b.StoredOf(0, kLossless), 35000u);
    // The other port has its own share of what is left: 1 + n frames while 1,000 n <= (67,000 -
    // 1,000 (n - 1)) / 2.
    EXPECT_EQ(FillUntil(b, 1, kLossless, 1000, v), 1u + 22);
    EXPECT_EQ(v, Verdict::kStoredSendXoff);
}

TEST(SharedBuffer, HeadroomTakesWhatStillArrivesAndNotAByteMore)
{
    SharedBuffer b(Small());
    Verdict v;
    FillUntil(b, 0, kLossless, 1000, v);
    for (int i = 1; i < 10; ++i)
    {
        EXPECT_EQ(b.Admit(0, kLossless, 1000, 0), Verdict::kStored)
            << i; // XOFF has been sent: only once
    }
    EXPECT_EQ(b.HeadroomPeak(), 10000u);
    EXPECT_EQ(b.Admit(0, kLossless, 64, 0), Verdict::kDropHeadroomFull);
    EXPECT_EQ(b.Admit(1, kLossless, 64, 0), Verdict::kStored); // another port's is its own
}

TEST(SharedBuffer, XonWhenHeadroomIsEmptyAndUseIsBelowByTheOffset)
{
    SharedBuffer b(Small());
    Verdict v;
    FillUntil(b, 0, kLossless, 1000, v); // 33,000 B of the pool, 1,000 guaranteed, 1,000 headroom
    // Headroom first; then XON once use + 5,000 <= (100,000 - use) / 2, that is use <= 30,000.
    EXPECT_FALSE(b.Release(0, kLossless, 1000)); // headroom
    EXPECT_FALSE(b.Release(0, kLossless, 1000)); // 32,000
    EXPECT_FALSE(b.Release(0, kLossless, 1000)); // 31,000
    EXPECT_TRUE(b.Release(0, kLossless, 1000));  // 30,000
    EXPECT_FALSE(b.IsPaused(0, kLossless));
    EXPECT_FALSE(b.Release(0, kLossless, 1000)); // told once
}

TEST(SharedBuffer, APausedPortGetsXonAtTheLatestWhenItHoldsNothingShared)
{
    // Another port's use leaves so little that the offset can never be reached.
    SharedBufferConfig c = Small();
    c.alpha = 1;
    SharedBuffer b(c);
    while (b.SharedUsed() < 97000)
    {
        ASSERT_EQ(b.Admit(1, kLossy, 1000, 0), Verdict::kStored);
    }
    Verdict v;
    EXPECT_EQ(FillUntil(b, 0, kLossless, 1000, v),
              1u + 2); // 1, then 1,000 <= 3,000, 2,000 <= 2,000
    EXPECT_EQ(v, Verdict::kStoredSendXoff);
    EXPECT_FALSE(b.Release(0, kLossless, 1000)); // headroom
    EXPECT_FALSE(b.Release(0, kLossless, 1000)); // 1,000 + 5,000 > 2,000
    EXPECT_TRUE(b.Release(0, kLossless, 1000));  // nothing but the guaranteed minimum
}

TEST(SharedBuffer, LossyFramesAreBoundedByTheirEgressQueueAndThePool)
{
    SharedBufferConfig c = Small();
    c.alphaLossy = 0.25;
    SharedBuffer b(c);
    // Queue q of 1,000 B frames: stored while q + 1,000 <= (100,000 - q) / 4, q <= 19,200: 20
    // frames.
    Verdict v;
    EXPECT_EQ(FillUntil(b, 0, kLossy, 1000, v), 20u);
    EXPECT_EQ(v, Verdict::kDropThreshold);
    EXPECT_EQ(b.Stored(), 20000u); // a dropped frame leaves no trace
    EXPECT_FALSE(b.IsPaused(0, kLossy));

    c.alphaLossy = 64; // the pool itself is the limit
    SharedBuffer all(c);
    for (int i = 0; i < 100; ++i)
    {
        EXPECT_EQ(all.Admit(0, kLossy, 1000, 0), Verdict::kStored); // to many short queues
    }
    EXPECT_EQ(all.Admit(0, kLossy, 64, 0), Verdict::kDropPoolFull);
    EXPECT_EQ(all.Admit(0, kLossless, 1000, 0),
              Verdict::kStored); // the guaranteed minimum is not theirs
    EXPECT_EQ(all.Admit(0, kLossless, 1000, 0), Verdict::kStoredSendXoff);
}

TEST(SharedBuffer, HeadroomIsTheSumInItsHeader)
{
    // 100 Gb/s, 1 us, 500 ns, frames of 4,178 B: 12.5 B/ns x 2,500 ns = 31,250, + 1 for the
    // rounding
    // + 3 x 4,198 + 84.
    EXPECT_EQ(
        HeadroomBytes(Gbps(100), Microseconds(1), Nanoseconds(500), Duration(0), Bytes(4178)).value,
        31250u + 1 + 3 * 4198 + 84);
    EXPECT_EQ(
        HeadroomBytes(Gbps(400), Microseconds(1), Duration(0), Nanoseconds(100), Bytes(1000)).value,
        105000u + 1 + 3 * 1020 + 84);
    EXPECT_EQ(HeadroomBytes(Gbps(100),
                            Microseconds(1),
                            Nanoseconds(500),
                            Duration(0),
                            Bytes(4178),
                            Duration(1))
                  .value,
              31250u + 1 + 3 * 4198 + 84); // a unit of 1 ps is none
}

TEST(SharedBuffer, HeadroomKnowsTimesThatAreCut)
{
    const auto of = [](BitRate rate, uint64_t frame) {
        return HeadroomBytes(rate,
                             Microseconds(1),
                             Duration(0),
                             Duration(0),
                             Bytes(frame),
                             Nanoseconds(1))
            .value;
    };
    // 1,048 B at 400 Gb/s take 20.96 ns, cut to 20: 52.4 B/ns x 2,000 ns instead of 50.
    EXPECT_EQ(of(Gbps(400), 1048), 104800u + 1 + 3 * 1068 + 84);
    // 1,000 B take 20 ns, and what is whole loses one: 1000 / 19 x 2,000 = 105,263.2.
    EXPECT_EQ(of(Gbps(400), 1000), 105263u + 1 + 3 * 1020 + 84);
    // 1,048 B at 10 Gb/s: 838.4 ns cut to 838, x 2,000 = 2,501.2.
    EXPECT_EQ(of(Gbps(10), 1048), 2501u + 1 + 3 * 1068 + 84);
    // At 100 Tb/s a frame takes no whole ns: 12,500 B/ns.
    EXPECT_EQ(of(Gbps(100000), 1048), 25000000u + 1 + 3 * 1068 + 84);
}

// What the header promises, under random traffic that obeys XOFF with a delay: the upstream of each
// (port, priority) may send as many bytes as headroom holds after XOFF, never more.
class SharedBufferProperties : public testing::TestWithParam<uint32_t>
{
};

TEST_P(SharedBufferProperties, HoldUnderRandomTraffic)
{
    std::mt19937 random(GetParam());
    const auto draw = [&random](uint32_t from, uint32_t to) {
        return std::uniform_int_distribution<uint32_t>(from, to)(random);
    };
    SharedBufferConfig c;
    const uint32_t ports = draw(1, 6);
    c.losslessMask = static_cast<uint8_t>(draw(0, 255));
    c.guaranteedBytes = draw(0, 3) * 1500;
    c.alpha = std::array{1. / 64, 1. / 8, 1., 8.}[draw(0, 3)];
    c.alphaLossy = std::array{1. / 16, 1., 4.}[draw(0, 2)];
    c.xonOffset = draw(0, 3) * 3000;
    const uint32_t perPriority = draw(9000, 30000);
    const int lossless = __builtin_popcount(c.losslessMask);
    c.headroomBytes.assign(ports, perPriority * static_cast<uint64_t>(lossless));
    c.totalBytes = ports * (perPriority + c.guaranteedBytes) * lossless + 18432 + draw(0, 200000);
    ASSERT_EQ(SharedBuffer::WhyNot(c), "");
    SharedBuffer b(c);

    using Frame = BufferFrame;
    std::vector<Frame> stored;
    std::map<std::pair<uint32_t, uint8_t>, uint64_t> bytesOf; // by (port, priority)
    std::map<std::pair<uint32_t, uint8_t>, uint32_t> afterXoff;
    std::map<std::pair<uint32_t, uint8_t>, uint64_t> queue; // by (egress, priority)
    std::map<std::pair<uint32_t, uint8_t>, bool> paused;
    uint64_t admitted = 0;
    uint64_t released = 0;
    uint32_t drops = 0;
    uint32_t xoffs = 0;
    for (int step = 0; step < 30000; ++step)
    {
        const bool fill = step / 3000 % 2 == 0;
        if (stored.empty() || draw(0, 9) < (fill ? 7u : 3u))
        {
            Frame f{draw(0, ports - 1),
                    static_cast<uint8_t>(draw(0, 7)),
                    draw(64, 4300),
                    draw(0, ports - 1)};
            const auto account = std::make_pair(f.port, f.priority);
            const bool isLossless = c.losslessMask >> f.priority & 1;
            if (isLossless && paused[account] && afterXoff[account] + f.bytes > perPriority)
            {
                continue; // the upstream has stopped by now
            }
            const uint64_t before = b.Stored();
            const auto queueOf = std::make_pair(f.egress, f.priority);
            const Verdict v = b.Admit(f.port, f.priority, f.bytes, queue[queueOf]);
            switch (v)
            {
            case Verdict::kStoredSendXoff:
                ASSERT_TRUE(isLossless);
                ASSERT_FALSE(paused[account]) << "XOFF and XON alternate";
                paused[account] = true;
                afterXoff[account] = 0;
                ++xoffs;
                [[fallthrough]];
            case Verdict::kStored:
                stored.push_back(f);
                admitted += f.bytes;
                bytesOf[account] += f.bytes;
                queue[queueOf] += f.bytes;
                if (paused[account])
                {
                    afterXoff[account] += f.bytes;
                }
                ASSERT_EQ(b.Stored(), before + f.bytes);
                break;
            default:
                ++drops;
                ASSERT_FALSE(isLossless) << "no lossless frame is refused";
                ASSERT_EQ(b.Stored(), before) << "a refused frame leaves no trace";
            }
        }
        else
        {
            std::swap(stored[draw(0, static_cast<uint32_t>(stored.size()) - 1)], stored.back());
            const Frame f = stored.back();
            stored.pop_back();
            const auto account = std::make_pair(f.port, f.priority);
            released += f.bytes;
            bytesOf[account] -= f.bytes;
            queue[std::make_pair(f.egress, f.priority)] -= f.bytes;
            if (b.Release(f.port, f.priority, f.bytes))
            {
                ASSERT_TRUE(paused[account]) << "XOFF and XON alternate";
                paused[account] = false;
            }
        }
        ASSERT_EQ(b.Stored(), admitted - released);
        ASSERT_LE(b.SharedUsed(), b.SharedSize());
        ASSERT_LE(b.Stored(), c.totalBytes);
        if (step % 50 == 0)
        {
            uint64_t sum = 0;
            for (uint32_t port = 0; port < ports; ++port)
            {
                for (uint8_t p = 0; p < 8; ++p)
                {
                    const auto account = std::make_pair(port, p);
                    ASSERT_EQ(b.StoredOf(port, p), bytesOf[account]);
                    ASSERT_EQ(b.IsPaused(port, p), paused[account]);
                    ASSERT_TRUE(!paused[account] || b.StoredOf(port, p) > 0)
                        << "a pause that nothing can end";
                    sum += b.StoredOf(port, p);
                }
            }
            ASSERT_EQ(sum, b.Stored());
        }
    }
    for (const Frame& f : stored)
    {
        const auto account = std::make_pair(f.port, f.priority);
        if (b.Release(f.port, f.priority, f.bytes))
        {
            paused[account] = false;
        }
    }
    EXPECT_EQ(b.Stored(), 0u);
    EXPECT_EQ(b.SharedUsed(), 0u);
    EXPECT_LE(b.StoredPeak(), c.totalBytes);
    EXPECT_LE(b.HeadroomPeak(), c.headroomBytes[0]);
    EXPECT_TRUE(std::none_of(paused.begin(), paused.end(), [](const auto& p) { return p.second; }));
    EXPECT_TRUE(xoffs > 0 || c.losslessMask == 0);
    EXPECT_TRUE(drops > 0 || c.losslessMask == 0xff || c.alphaLossy >= 1);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SharedBufferProperties, testing::Range(1u, 41u));
