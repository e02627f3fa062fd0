/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Threshold policies: each one's formula, and the laws of the buffer under all of them.
 */
#include "buffer-frame.h"
#include "contrib/rdma/core/abm-limit.h"
#include "contrib/rdma/core/buffer-policy.h"
#include "contrib/rdma/core/fair-limit.h"
#include "contrib/rdma/core/headroom-pools.h"
#include "contrib/rdma/core/shared-buffer.h"
#include "contrib/rdma/core/switch-chips.h"

#include <algorithm>
#include <array>
#include <deque>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <string>

using namespace rdma;
using Verdict = SharedBuffer::Verdict;

namespace
{

constexpr uint8_t kLossless = 3;
constexpr uint8_t kLossy = 1;
constexpr int64_t kUs = 1000000; // ps

/// Ports of 100 Gb/s, 10 KB of headroom and 1,000 B guaranteed each; shared pool 100,000 B.
SharedBufferConfig
Small(uint32_t ports, const std::string& policy = "dynamic")
{
    SharedBufferConfig c;
    c.headroomBytes.assign(ports, 10000);
    c.portRates.assign(ports, 100000000000);
    c.losslessMask = 1 << kLossless;
    c.guaranteedBytes = 1000;
    c.alpha = 0.5;
    c.alphaLossy = 1;
    c.xonOffset = 5000;
    c.countUsed = policy != kStaticPolicy.name;
    c.totalBytes = 100000 + ports * (10000 + 1000);
    return c;
}

/// The limit of a policy; null: the buffer has it inline.
std::unique_ptr<QueueLimit>
LimitOf(const std::string& policy, const SharedBufferConfig& c)
{
    if (policy == kAbmPolicy.name)
    {
        return std::make_unique<AbmLimit>(c.portRates);
    }
    if (policy == kFairPolicy.name)
    {
        return std::make_unique<FairLimit>(c.headroomBytes.size(),
                                           c.totalBytes - SharedBuffer::SetAside(c),
                                           FairLimit::kReserve,
                                           FairLimit::kCongestedBytes);
    }
    return nullptr;
}

/// Frames of 1,000 B of a port that are stored before XOFF.
uint32_t
UntilXoff(SharedBuffer& b, uint32_t port, uint8_t priority = kLossless, int64_t now = 0)
{
    uint32_t stored = 0;
    while (b.Admit(port, priority, 1000, 0, 0, now) == Verdict::kStored)
    {
        ++stored;
    }
    return stored;
}

} // namespace

TEST(BufferPolicy, KnownByName)
{
    std::string names;
    for (const auto& [name, part] : RegisteredBufferPolicy::Known())
    {
        EXPECT_EQ(name, part.name);
        EXPECT_NE(part.description, "");
        names += (names.empty() ? "" : " ") + name;
    }
    EXPECT_EQ(names, "abm dynamic fair headroom-pools static");
    EXPECT_EQ(RegisteredBufferPolicy::Find("fai"), nullptr);
}

TEST(BufferPolicy, DynamicSharesEquallyAndKeepsSomeFree)
{
    // m queues that want all hold alpha B / (1 + m alpha) each: alpha 1/2, B 100,000. Whole frames
    // of 1,000 B, and a frame's threshold is that before it: one frame more at most.
    for (uint32_t m : {1, 2, 4, 8})
    {
        SharedBuffer b(Small(m));
        for (uint32_t round = 0; round < 100; ++round) // in turn, as arrivals would come
        {
            for (uint32_t port = 0; port < m; ++port)
            {
                if (!b.IsPaused(port, kLossless))
                {
                    b.Admit(port, kLossless, 1000, 0);
                }
            }
        }
        for (uint32_t port = 0; port < m; ++port)
        {
            EXPECT_NEAR(static_cast<double>(b.StoredOf(port, kLossless)) -
                            2000, // guaranteed, headroom
                        0.5 * 100000 / (1 + 0.5 * m),
                        2000)
                << m;
        }
        EXPECT_GE(b.SharedSize() - b.SharedUsed() + m * 1000, 100000 / (1 + 0.5 * m)) << m;
    }
}

TEST(BufferPolicy, StaticDoesNotDependOnTheOthers)
{
    // alpha 1/2 of 100,000 B: 50 frames of the pool and a guaranteed one, whoever else is there.
    SharedBuffer b(Small(3, "static"));
    EXPECT_EQ(b.Threshold(kLossless), 50000u);
    EXPECT_EQ(UntilXoff(b, 0), 51u);
    EXPECT_EQ(b.Threshold(kLossless), 50000u);
    EXPECT_EQ(UntilXoff(b, 1), 51u);
    // The pool has run out: the third has what is guaranteed to it and headroom.
    EXPECT_EQ(b.SharedUsed(), b.SharedSize());
    EXPECT_EQ(UntilXoff(b, 2), 1u);
    EXPECT_TRUE(b.IsPaused(2, kLossless));
}

TEST(BufferPolicy, AlphaOfOnePriority)
{
    SharedBufferConfig c = Small(1, "static");
    c.losslessMask = 1 << 3 | 1 << 4;
    c.totalBytes += 1000; // one more guaranteed minimum
    c.alphaOf[4] = 0.25;
    c.alphaOf[kLossy] = 0.125;
    SharedBuffer b(c);
    EXPECT_EQ(b.Threshold(3), 50000u); // alpha
    EXPECT_EQ(b.Threshold(4), 25000u);
    EXPECT_EQ(b.Threshold(0), 100000u); // alphaLossy
    EXPECT_EQ(b.Threshold(kLossy), 12500u);
    EXPECT_EQ(UntilXoff(b, 0, 4), 26u);
    EXPECT_EQ(UntilXoff(b, 0, 3), 51u);
    EXPECT_EQ(b.Admit(0, kLossy, 1000, 11500), Verdict::kStored);
    EXPECT_EQ(b.Admit(0, kLossy, 1000, 11501), Verdict::kDropThreshold);
}

TEST(Abm, CountsCongestedQueuesOfThePriority)
{
    AbmQueues abm(std::vector<uint64_t>(3, 100000000000));
    EXPECT_EQ(abm.Congested(3), 0);
    EXPECT_EQ(abm.Threshold(3, 60000, 0), 60000u); // n is 1 at least
    abm.OnStored(0 * 8 + 3, 10240, 0);             // half of 20 KiB
    EXPECT_EQ(abm.Congested(3), 0.5);
    abm.OnStored(1 * 8 + 3, 100000, 0);
    EXPECT_EQ(abm.Congested(3), 1.5);
    EXPECT_EQ(abm.Threshold(3, 60000, 0), 40000u);
    abm.OnStored(2 * 8 + 3, 20480, 0);
    abm.OnStored(2 * 8 + 4, 20480, 0); // another priority's
    EXPECT_EQ(abm.Congested(3), 2.5);
    EXPECT_EQ(abm.Congested(4), 1);
    abm.OnReleased(1 * 8 + 3, 95904, 0); // 4,096 left
    EXPECT_DOUBLE_EQ(abm.Congested(3), 0.5 + 0.2 + 1);
}

TEST(Abm, DrainRateOfTheLastInterval)
{
    AbmQueues abm(std::vector<uint64_t>(1, 100000000000));
    abm.OnStored(3, 400000, 0);
    abm.OnReleased(3, 78125, 10 * kUs); // a quarter of what 25 us take at 100 Gb/s (312,500 B)
    EXPECT_EQ(abm.Drain(3), 1);         // not known yet
    EXPECT_EQ(abm.Threshold(3, 100000, 25 * kUs), 25000u);
    EXPECT_DOUBLE_EQ(abm.Drain(3), 0.25);
    // Nothing left it in this one: as the authors have it, that is no rate.
    EXPECT_EQ(abm.Threshold(3, 100000, 50 * kUs), 100000u);
    // An interval lasts until something happens to the queue: the rate over all of it.
    abm.OnReleased(3, 125000, 60 * kUs);
    abm.OnStored(3, 1000, 150 * kUs);
    EXPECT_DOUBLE_EQ(abm.Drain(3), 0.1); // 125,000 B in 100 us
    // A short queue has rate 1, however slowly it drains.
    abm.OnReleased(3, 190000, 160 * kUs);
    EXPECT_EQ(abm.Threshold(3, 100000, 180 * kUs), 100000u);
}

TEST(Abm, LimitsAPriorityAsAWhole)
{
    // Eight ports of one priority want all. Dynamic thresholds (alpha 1) give them nearly the whole
    // pool, ABM with n = 8 about half: a ninth queue of another priority finds room.
    for (const char* const policy : {"dynamic", "abm"})
    {
        SharedBufferConfig c = Small(8, policy);
        c.alpha = 1;
        c.totalBytes += 400000;
        const auto limit = LimitOf(policy, c);
        SharedBuffer b(c, limit.get());
        for (uint32_t round = 0; round < 600; ++round)
        {
            for (uint32_t port = 0; port < 8; ++port)
            {
                if (!b.IsPaused(port, kLossless))
                {
                    b.Admit(port, kLossless, 1000, 0, port, round);
                }
            }
        }
        // alpha m / (1 + alpha m): 8/9 of the pool; with alpha / n: 1/2.
        const double share =
            static_cast<double>(b.SharedUsed()) / static_cast<double>(b.SharedSize());
        EXPECT_NEAR(share, limit ? 0.5 : 8. / 9, 0.03);
    }
}

TEST(Fair, CongestedQueuesHaveEqualPartsWhateverTheirPriority)
{
    // B = 500,000 B, r = 1/8: 437,500 B for n queues, n = 1, 2, 5: 437,500, 218,750, 87,500 each.
    // A frame of 1,000 B is stored while that is not exceeded, the guaranteed one not counted.
    for (const auto& [n, frames] : {std::pair{1U, 438U}, {2U, 219U}, {5U, 88U}})
    {
        SharedBufferConfig c = Small(6);
        c.losslessMask = 1 << 3 | 1 << 4;
        c.totalBytes += 400000 + 6 * 1000;
        c.alphaOf[4] = 64; // alpha has no say
        const auto limit = LimitOf("fair", c);
        SharedBuffer b(c, limit.get());
        ASSERT_EQ(b.SharedSize(), 500000u);
        std::vector<uint32_t> stored(n);
        for (uint32_t round = 0; round < 500; ++round)
        {
            for (uint32_t port = 0; port < n; ++port)
            {
                const uint8_t priority = port % 2 ? 3 : 4;
                if (!b.IsPaused(port, priority))
                {
                    stored[port] += b.Admit(port, priority, 1000, 0, 0, 0) == Verdict::kStored;
                }
            }
        }
        for (uint32_t port = 0; port < n; ++port)
        {
            EXPECT_EQ(stored[port], frames) << n;
        }
        // The eighth is there for the next one: as a newcomer it may hold its part at once.
        EXPECT_EQ(b.Admit(5, 3, 1000, 0, 0, 0), Verdict::kStored);
    }
}

TEST(Fair, CountsEachSideFromTheThresholdOn)
{
    FairLimit fair(4, 80000, 0, 20000);
    const auto limit = [&](QueueSide side, uint32_t port) {
        return fair.Limit(side, port, 3, 1, 0);
    };
    EXPECT_EQ(limit(QueueSide::kIngress, 0), 80000u); // it alone
    fair.OnChange(QueueSide::kIngress, 0, 3, 19999, 0);
    EXPECT_EQ(limit(QueueSide::kIngress, 1), 80000u);
    fair.OnChange(QueueSide::kIngress, 0, 3, 1, 0);
    EXPECT_EQ(fair.Congested(QueueSide::kIngress), 1u);
    EXPECT_EQ(limit(QueueSide::kIngress, 0), 80000u); // itself
    EXPECT_EQ(limit(QueueSide::kIngress, 1), 40000u); // and the one that asks
    EXPECT_EQ(limit(QueueSide::kEgress, 1), 80000u);
    fair.OnChange(QueueSide::kIngress, 2, 5, 50000, 0); // another priority's
    EXPECT_EQ(limit(QueueSide::kIngress, 1), 80000u / 3);
    fair.OnChange(QueueSide::kIngress, 0, 3, -1, 0);
    EXPECT_EQ(fair.Congested(QueueSide::kIngress), 1u);
}

TEST(HeadroomPools, AreSharedAndWhatIsSparedIsPool)
{
    // Four ports of 10,000 B: two pools of 20,000 / 2 = 10,000 B. Shared before 100,000 B, now the
    // 20,000 B more that nobody sets aside.
    SharedBufferConfig c = Small(4);
    ASSERT_EQ(PoolHeadroom(c, 2, 2), "");
    EXPECT_EQ(c.headroomPools, (std::vector<uint64_t>{10000, 10000}));
    EXPECT_EQ(c.headroomPoolOf, (std::vector<uint32_t>{0, 0, 1, 1}));
    ASSERT_EQ(SharedBuffer::WhyNot(c), "");
    SharedBuffer b(c);
    EXPECT_EQ(b.SharedSize(), 120000u);
    for (uint32_t port = 0; port < 4; ++port)
    {
        UntilXoff(b, port); // whose last frame is the first in headroom
    }
    // Of each pool 2,000 B are taken; port 0 takes all the rest, and port 1 has none.
    for (uint32_t frame = 0; frame < 8; ++frame)
    {
        EXPECT_EQ(b.Admit(0, kLossless, 1000, 0), Verdict::kStored) << frame;
    }
    EXPECT_EQ(b.Admit(0, kLossless, 1000, 0), Verdict::kDropHeadroomFull);
    EXPECT_EQ(b.Admit(1, kLossless, 1000, 0), Verdict::kDropHeadroomFull);
    EXPECT_EQ(b.Admit(2, kLossless, 1000, 0), Verdict::kStored); // of the other pool
    b.Release(0, kLossless, 1000);
    EXPECT_EQ(b.Admit(1, kLossless, 1000, 0), Verdict::kStored);
    EXPECT_EQ(b.Admit(1, kLossless, 1, 0), Verdict::kDropHeadroomFull);
}

TEST(HeadroomPools, HoldOnePortAtLeast)
{
    SharedBufferConfig c = Small(3);
    c.headroomBytes = {1000, 90000, 1000};
    ASSERT_EQ(PoolHeadroom(c, 1, 8), "");
    EXPECT_EQ(c.headroomPools, std::vector<uint64_t>{90000}); // not 92,000 / 8
    EXPECT_EQ(PoolHeadroom(c, 4, 2), "4 pools are more than its 3 ports");
    // Ratio 1 with a pool a port is no pooling: the same sizes.
    ASSERT_EQ(PoolHeadroom(c, 3, 1), "");
    EXPECT_EQ(c.headroomPools, c.headroomBytes);
}

TEST(StaticXoff, PausesAtItsBytesAndLeavesLossyQueuesAlone)
{
    const SharedBufferConfig c = Small(2);
    StaticXoffLimit limit({7000, 7000}, nullptr);
    SharedBuffer b(c, &limit);
    EXPECT_EQ(UntilXoff(b, 0), 8u); // 7,000 B, and 1,000 B guaranteed
    EXPECT_EQ(UntilXoff(b, 1), 8u); // whatever is free
    // Lossy, alpha 1: what is free, 100,000 - 14,000 B.
    EXPECT_EQ(b.Admit(0, kLossy, 1000, 85000), Verdict::kStored);
    EXPECT_EQ(b.Admit(0, kLossy, 1000, 85001), Verdict::kDropThreshold);
    // XON 5,000 B below: after the frame in headroom at 2,000 B of the pool.
    for (uint32_t frame = 0; frame < 5; ++frame)
    {
        EXPECT_FALSE(b.Release(0, kLossless, 1000)) << frame;
    }
    EXPECT_TRUE(b.Release(0, kLossless, 1000));
}

TEST(StaticXoff, OfOnePort)
{
    StaticXoffLimit limit({0, 7000}, nullptr);
    EXPECT_EQ(limit.Limit(QueueSide::kIngress, 0, kLossless, 12345, 0), 12345u); // not given
    EXPECT_EQ(limit.Limit(QueueSide::kIngress, 1, kLossless, 12345, 0), 7000u);
    EXPECT_EQ(limit.Limit(QueueSide::kEgress, 1, kLossy, 12345, 0), 12345u);
}

TEST(BufferPolicy, AlphaOfOnePort)
{
    SharedBufferConfig c = Small(3, "static");
    c.alphaOf[kLossy] = 0.125;
    c.alphaOfPort.resize(2);
    c.alphaOfPort[1][kLossless] = 0.25;
    c.alphaOfPort[1][kLossy] = 0.75;
    SharedBuffer b(c);
    EXPECT_EQ(UntilXoff(b, 0), 51u); // alpha 1/2 of 100,000 B, and the guaranteed frame
    EXPECT_EQ(UntilXoff(b, 1), 26u);
    EXPECT_EQ(b.Threshold(kLossy, 0), 12500u);
    EXPECT_EQ(b.Threshold(kLossy, 1), 75000u);
    EXPECT_EQ(b.Threshold(kLossy, 2), 12500u); // not given
}

TEST(SwitchChips, FoundByNameWithASource)
{
    EXPECT_EQ(FindSwitchChip("trident3")->bufferBytes, 32000000u);
    EXPECT_EQ(FindSwitchChip("trident"), nullptr);
    for (const SwitchChip& chip : SwitchChips())
    {
        EXPECT_EQ(FindSwitchChip(chip.name), &chip);
        const std::string source = chip.source;
        EXPECT_TRUE(source.find('[') != std::string::npos ||
                    source.find("assumed") != std::string::npos);
    }
}

// The laws of shared-buffer.h, a million frames each, under every policy. Upstreams obey XOFF as
// late as headroom allows for; the buffer is drained slower than it is filled, in bursts.
class BufferLaws : public testing::TestWithParam<std::tuple<const char*, uint32_t>>
{
};

TEST_P(BufferLaws, HoldOverAMillionFrames)
{
    const auto [policy, seed] = GetParam();
    std::mt19937 random(seed);
    const auto draw = [&random](uint32_t from, uint32_t to) {
        return from + static_cast<uint32_t>((uint64_t{random()} * (to - from + 1)) >> 32);
    };
    constexpr uint32_t ports = 6;
    constexpr uint32_t perPriority = 20000; // headroom
    SharedBufferConfig c;
    c.losslessMask = 0x18;
    c.guaranteedBytes = draw(0, 2) * 2048;
    c.alpha = std::array{1. / 16, 1. / 8, 1., 4.}[draw(0, 3)];
    c.alphaLossy = std::array{1. / 16, 1., 4.}[draw(0, 2)];
    c.alphaOf[4] = draw(0, 1) ? 0.5 : 0;
    c.xonOffset = draw(0, 3) * 3000;
    c.countUsed = policy != kStaticPolicy.name;
    c.headroomBytes.assign(ports, 2 * perPriority);
    c.portRates.assign(ports, 100000000000);
    c.totalBytes = ports * 2 * (perPriority + c.guaranteedBytes) + 18432 + draw(100000, 2000000);
    ASSERT_EQ(SharedBuffer::WhyNot(c), "");
    const auto limit = LimitOf(policy, c);
    SharedBuffer b(c, limit.get());

    using Frame = BufferFrame;

    struct Account
    {
        uint64_t admitted = 0;
        uint64_t released = 0;
        uint64_t afterXoff = 0;
        bool paused = false;
    };

    int64_t now = 0;
    std::deque<Frame> queues[ports][8]; // by egress
    uint64_t queued[ports][8] = {};
    Account accounts[ports][8];
    Account all;
    uint64_t stored = 0;
    uint32_t frames = 0;
    uint32_t dropped = 0;
    uint32_t xoffs = 0;
    uint64_t headroomNeeded = 0; // most that came after an XOFF to one port, its cause included
    const auto release = [&](uint32_t egress, uint8_t priority) {
        auto& queue = queues[egress][priority];
        const Frame f = queue.front();
        queue.pop_front();
        Account& a = accounts[f.port][priority];
        queued[egress][priority] -= f.bytes;
        all.released += f.bytes;
        a.released += f.bytes;
        --stored;
        if (b.Release(f.port, priority, f.bytes, egress, now))
        {
            ASSERT_TRUE(a.paused) << "XOFF and XON alternate";
            a.paused = false;
            a.afterXoff = 0;
        }
        ASSERT_EQ(b.StoredOf(f.port, priority), a.admitted - a.released);
    };
    while (frames < 1000000)
    {
        now += draw(1000, 200000);
        const bool fill = frames / 20000 % 2 == 0;
        const Frame f{draw(0, ports - 1),
                      static_cast<uint8_t>(std::array{0, 1, 3, 3, 4}[draw(0, 4)]),
                      draw(64, 4300),
                      draw(0, 2) ? 0 : draw(0, ports - 1)}; // a hot egress
        Account& a = accounts[f.port][f.priority];
        const bool lossless = c.losslessMask >> f.priority & 1;
        if (!lossless || !a.paused || a.afterXoff + f.bytes <= perPriority)
        {
            ++frames;
            const uint64_t before = b.Stored();
            const Verdict v =
                b.Admit(f.port, f.priority, f.bytes, queued[f.egress][f.priority], f.egress, now);
            if (v == Verdict::kStored || v == Verdict::kStoredSendXoff)
            {
                if (v == Verdict::kStoredSendXoff)
                {
                    ASSERT_TRUE(lossless);
                    ASSERT_FALSE(a.paused) << "XOFF and XON alternate";
                    a.paused = true;
                    ++xoffs;
                }
                a.admitted += f.bytes;
                all.admitted += f.bytes;
                ++stored;
                queued[f.egress][f.priority] += f.bytes;
                queues[f.egress][f.priority].push_back(f);
                if (a.paused)
                {
                    a.afterXoff += f.bytes;
                    headroomNeeded =
                        std::max(headroomNeeded,
                                 accounts[f.port][3].afterXoff + accounts[f.port][4].afterXoff);
                }
            }
            else
            {
                ++dropped;
                ASSERT_FALSE(lossless) << "no lossless frame is refused";
                ASSERT_EQ(b.Stored(), before) << "a refused frame leaves no trace";
            }
            ASSERT_EQ(b.StoredOf(f.port, f.priority), a.admitted - a.released);
        }
        for (uint32_t k = draw(0, fill ? 1 : 3); k > 0; --k)
        {
            const uint32_t egress = draw(0, 1) ? 0 : draw(0, ports - 1);
            const uint8_t priority = static_cast<uint8_t>(std::array{0, 1, 3, 4}[draw(0, 3)]);
            if (!queues[egress][priority].empty())
            {
                release(egress, priority);
            }
        }
        ASSERT_EQ(b.Stored(), all.admitted - all.released);
        ASSERT_LE(b.SharedUsed(), b.SharedSize());
        ASSERT_LE(b.Stored(), c.totalBytes);
    }
    for (uint32_t egress = 0; egress < ports; ++egress)
    {
        for (uint8_t p = 0; p < 8; ++p)
        {
            while (!queues[egress][p].empty())
            {
                release(egress, p);
            }
        }
    }
    EXPECT_EQ(stored, 0u);
    EXPECT_EQ(b.Stored(), 0u);
    EXPECT_EQ(b.SharedUsed(), 0u);
    for (uint32_t port = 0; port < ports; ++port)
    {
        for (uint8_t p = 0; p < 8; ++p)
        {
            EXPECT_EQ(b.StoredOf(port, p), 0u);
            EXPECT_FALSE(b.IsPaused(port, p)) << "nobody is left paused";
        }
    }
    EXPECT_GT(xoffs, 100u);
    // Headroom is used for what comes from an XOFF to its XON, and for nothing else.
    EXPECT_LE(b.HeadroomPeak(), headroomNeeded);
    EXPECT_LE(headroomNeeded, 2 * perPriority);
    EXPECT_GT(b.HeadroomPeak(), perPriority / 2);
}

INSTANTIATE_TEST_SUITE_P(Policies,
                         BufferLaws,
                         testing::Combine(testing::Values("dynamic", "static", "abm", "fair"),
                                          testing::Range(1u, 4u)));
