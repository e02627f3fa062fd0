/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Threshold policies: each one's formula, and the laws of the buffer under all of them.
 */
#include "buffer-frame.h"
#include "contrib/rdma/core/buffer-policy.h"
#include "contrib/rdma/core/shared-buffer.h"
#include "contrib/rdma/core/switch-chips.h"

#include <algorithm>
#include <array>
#include <deque>
#include <gtest/gtest.h>
#include <random>
#include <set>

using namespace rdma;
using Verdict = SharedBuffer::Verdict;

namespace
{

constexpr uint8_t kLossless = 3;
constexpr uint8_t kLossy = 1;
constexpr int64_t kUs = 1000000; // ps

/// Ports of 100 Gb/s, 10 KB of headroom and 1,000 B guaranteed each; shared pool 100,000 B.
SharedBufferConfig
Small(uint32_t ports, BufferPolicy policy)
{
    SharedBufferConfig c;
    c.headroomBytes.assign(ports, 10000);
    c.portRates.assign(ports, 100000000000);
    c.losslessMask = 1 << kLossless;
    c.guaranteedBytes = 1000;
    c.alpha = 0.5;
    c.alphaLossy = 1;
    c.xonOffset = 5000;
    c.policy = policy;
    c.totalBytes = 100000 + ports * (10000 + 1000);
    return c;
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

TEST(BufferPolicy, NamesAreUniqueAndTheDefaultIsFirst)
{
    EXPECT_EQ(BufferPolicies().front().policy, SharedBufferConfig().policy);
    std::set<std::string> names;
    for (const auto& p : BufferPolicies())
    {
        EXPECT_TRUE(names.insert(p.name).second);
        EXPECT_NE(std::string(p.description), "");
    }
    EXPECT_EQ(names.size(), 3u);
}

TEST(BufferPolicy, DynamicSharesEquallyAndKeepsSomeFree)
{
    // m queues that want all hold alpha B / (1 + m alpha) each: alpha 1/2, B 100,000. Whole frames
    // of 1,000 B, and a frame's threshold is that before it: one frame more at most.
    for (uint32_t m : {1, 2, 4, 8})
    {
        SharedBuffer b(Small(m, BufferPolicy::kDynamic));
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
    SharedBuffer b(Small(3, BufferPolicy::kStatic));
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
    SharedBufferConfig c = Small(1, BufferPolicy::kStatic);
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
    for (const BufferPolicy policy : {BufferPolicy::kDynamic, BufferPolicy::kAbm})
    {
        SharedBufferConfig c = Small(8, policy);
        c.alpha = 1;
        c.totalBytes += 400000;
        SharedBuffer b(c);
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
        EXPECT_NEAR(share, policy == BufferPolicy::kDynamic ? 8. / 9 : 0.5, 0.03);
    }
}

TEST(Abm, NeedsThePortsRates)
{
    SharedBufferConfig c = Small(2, BufferPolicy::kAbm);
    EXPECT_EQ(SharedBuffer::WhyNot(c), "");
    c.portRates.clear();
    EXPECT_NE(SharedBuffer::WhyNot(c), "");
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
class BufferLaws : public testing::TestWithParam<std::tuple<BufferPolicy, uint32_t>>
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
    c.policy = policy;
    c.headroomBytes.assign(ports, 2 * perPriority);
    c.portRates.assign(ports, 100000000000);
    c.totalBytes = ports * 2 * (perPriority + c.guaranteedBytes) + 18432 + draw(100000, 2000000);
    ASSERT_EQ(SharedBuffer::WhyNot(c), "");
    SharedBuffer b(c);

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
                         testing::Combine(testing::Values(BufferPolicy::kDynamic,
                                                          BufferPolicy::kStatic,
                                                          BufferPolicy::kAbm),
                                          testing::Range(1u, 4u)));
