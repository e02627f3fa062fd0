/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Rates of pairs in grouped sends and receives: NCCL's numbers of channels.
 */
#include "collectives/core/placement.h"
#include "collectives/tuner/exchange-rates.h"

#include <gtest/gtest.h>

namespace
{

using namespace coll;

/// Channels of 20 GB/s inside and 13 GB/s outside, NICs of 50 GB/s, as many as GPUs.
Machine
Hopper()
{
    Machine machine;
    machine.nicRate = 50e9;
    machine.hasLibrary = true;
    machine.library.channels = {rdma::Gbps(160), rdma::Gbps(104), 32, 4, 16};
    return machine;
}

constexpr uint64_t kMiB = 1 << 20;

TEST(ExchangeRates, NoneWithoutChannels)
{
    Machine machine = Hopper();
    machine.library.channels = {};
    const ExchangeRates none(UniformPlacement(2, 4, 4), machine);
    EXPECT_EQ(none.Inside(kMiB).bps, 0u);
    EXPECT_EQ(none.Outside().bps, 0u);
    machine = Hopper();
    machine.hasLibrary = false;
    EXPECT_EQ(ExchangeRates(UniformPlacement(1, 4, 4), machine).Inside(kMiB).bps, 0u);
    EXPECT_EQ(ExchangeRates().Inside(kMiB).bps, 0u);
    EXPECT_EQ(ExchangeRates(Placement(), Hopper()).Inside(kMiB).bps, 0u);
}

TEST(ExchangeRates, InAServerChannelsAreSharedOutAndDoubledWithTheSize)
{
    // 32 channels: of 4 ranks a pair has 8, of 3 also (16 x 3 > 32), of 2 16, of 8 4. They double
    // where each has more than 16 MiB, up to all.
    for (const auto& [ranks, least] :
         {std::pair<uint32_t, uint32_t>{2, 16}, {3, 8}, {4, 8}, {5, 4}, {8, 4}, {9, 2}, {40, 1}})
    {
        const ExchangeRates rates(UniformPlacement(1, ranks, ranks), Hopper());
        EXPECT_EQ(rates.Channels(1), least) << ranks;
        EXPECT_EQ(rates.Channels(least * 16 * kMiB), least) << ranks;
        EXPECT_EQ(rates.Channels(least * 16 * kMiB + 1), 2 * least) << ranks;
        EXPECT_EQ(rates.Channels(uint64_t{1} << 40), 32u) << ranks;
        EXPECT_EQ(rates.Inside(1), rdma::Gbps(160 * least)) << ranks;
        EXPECT_EQ(rates.Outside().bps, 0u) << "nobody is elsewhere";
    }
}

TEST(ExchangeRates, BetweenServersTheNumberOfRanksLeavesFewer)
{
    // NICs of 50 GB/s: 4 channels of 14 or more expected, halved while a channel has more than 8
    // sends at a time: channels x (ranks / 8, rounded up) > min(4 x NICs, 16). A pair's rate, in
    // channels; 0: 4 are more than the NIC has.
    struct
    {
        uint32_t servers, gpus, channels;
    } cases[] = {{2, 1, 0},  // 4 x 1 <= 4
                 {8, 1, 0},  // 4 x 1 <= 4
                 {9, 1, 2},  // 4 x 2 > 4
                 {10, 1, 2}, // 2 x 2 <= 4: measured, 25 GB/s
                 {17, 1, 1}, // 2 x 3 > 4
                 {10, 2, 2}, // 4 x 3 > 8, 2 x 3 <= 8: measured, 25 GB/s
                 {10, 4, 2}, // 4 x 5 > 16, 2 x 5 <= 16
                 {2, 8, 0},  // 4 x 2 <= 16
                 {8, 8, 2},  // 4 x 8 > 16, 2 x 8 <= 16
                 {10, 8, 1}, // 2 x 10 > 16
                 {64, 8, 1}};

    for (const auto& one : cases)
    {
        const ExchangeRates rates(UniformPlacement(one.servers, one.gpus, one.gpus), Hopper());
        EXPECT_EQ(rates.Outside(), rdma::Gbps(104 * one.channels))
            << one.servers << " x " << one.gpus;
        // A pair in a server has no more channels than one between servers.
        const uint32_t most = one.channels ? one.channels : 4;
        EXPECT_EQ(rates.Inside(uint64_t{1} << 40), rdma::Gbps(160 * most))
            << one.servers << " x " << one.gpus;
        // Of two ranks a pair has two of 4 channels at least, of more it is one for each.
        EXPECT_EQ(rates.Channels(1), one.servers * one.gpus == 2 ? 2u : 1u)
            << one.servers << " x " << one.gpus;
    }
    // Slower NICs expect fewer: 25 GB/s two of 14, of which 26 GB/s are more than the NIC has.
    Machine slow = Hopper();
    slow.nicRate = 25e9;
    EXPECT_EQ(ExchangeRates(UniformPlacement(10, 1), slow).Outside().bps, 0u);
    EXPECT_EQ(ExchangeRates(UniformPlacement(17, 1), slow).Outside(), rdma::Gbps(104));
}

} // namespace
