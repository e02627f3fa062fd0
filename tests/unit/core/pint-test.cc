/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * PINT's byte: right in the mean, within one step of its logarithm; a port's utilisation.
 */
#include "contrib/rdma/core/flow-hash.h"
#include "contrib/rdma/core/hpcc-window.h"
#include "contrib/rdma/core/pint.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace rdma;

TEST(Pint, AByteIsWithinAStepAndRightInTheMean)
{
    for (const double u : {0.003, 0.01, 0.1, 0.37, 0.9, 0.95, 1.0, 1.7, 4.0, 30.0, 400.0})
    {
        const double exact = std::ceil(u * 512) / 512; // what can be told apart
        double sum = 0;
        const int n = 20000;
        for (int i = 0; i < n; ++i)
        {
            const uint8_t code =
                PintEncode(u, static_cast<uint32_t>(Mix64(static_cast<uint64_t>(i) + 7) >> 32));
            const double back = PintDecode(code);
            EXPECT_GE(back, exact / 1.0500001) << u;
            EXPECT_LE(back, exact * 1.0500001) << u;
            sum += back;
        }
        // The deviation of one is at most half a step, 2.5%: of the mean of 20,000 it is 0.018%.
        EXPECT_NEAR(sum / n, exact, 0.001 * exact) << u;
    }
    EXPECT_EQ(PintEncode(0, 0), 0);
    EXPECT_EQ(PintEncode(1e9, 0), 255) << "as much as a byte holds";
}

TEST(Pint, ALinkThatIsBusyForARoundTripIsAtOne)
{
    // Packets of 1,000 B one behind the other at 100 Gb/s (80 ns), T = 10 us, nothing in the queue:
    // U goes to 1 by 1 - (1 - 0.08 / 10)^n.
    PintLink link;
    double u = 0;
    for (int n = 1; n <= 2000; ++n)
    {
        u = link.OnPacket(n * 80000, static_cast<uint64_t>(n) * 1000, 0, 100000000000, 10000000);
        ASSERT_NEAR(u, 1 - std::pow(1 - 0.008, n), 1e-9) << n;
    }
    // Half as often: 0.5 in the end.
    for (int n = 1; n <= 3000; ++n)
    {
        u = link.OnPacket(160000000 + n * 160000,
                          static_cast<uint64_t>(2000 + n) * 1000,
                          0,
                          100000000000,
                          10000000);
    }
    EXPECT_NEAR(u, 0.5, 1e-6);
    // A queue of B T, 125,000 B, adds one.
    for (int n = 1; n <= 3000; ++n)
    {
        u = link.OnPacket(640000000 + n * 160000,
                          static_cast<uint64_t>(5000 + n) * 1000,
                          125000,
                          100000000000,
                          10000000);
    }
    EXPECT_NEAR(u, 1.5, 1e-6);
    // After a long pause only what was sent in it counts: 1,000 B in 10 ms of 125 MB.
    u = link.OnPacket(1120000000 + 10000000000, 8001 * 1000, 0, 100000000000, 10000000);
    EXPECT_NEAR(u, 1000 / 125e6, 1e-6);
}

TEST(Pint, TheWindowFollowsTheUtilisationThatAPacketTells)
{
    HpccParameters p;
    p.baseRtt = Duration(10000000);
    HpccWindow window(p, Gbps(100)); // 125,000 B
    window.OnAck(1000, 100000, 2.0); // the first round trip is listened to
    EXPECT_DOUBLE_EQ(window.Window(), 125000);
    // U = 1.9 = 2 eta: half, and W_AI = 125,000 x 0.05 / 100.
    window.OnAck(100001, 200000, 1.9);
    EXPECT_NEAR(window.Window(), 62500 + 62.5, 1e-6);
    // In the same round trip from the same reference.
    window.OnAck(150000, 210000, 1.9);
    EXPECT_NEAR(window.Window(), (62500 + 62.5) / 2 + 62.5, 1e-6);
    // Little used: by steps, then at once.
    for (uint64_t round = 0; round < 5; ++round)
    {
        window.OnAck(200001 + round * 100000, 300000 + round * 100000, 0.475);
    }
    EXPECT_LT(window.Window(), 63500);
    window.OnAck(800000, 900000, 0.475);
    EXPECT_GT(window.Window(), 120000);
}
