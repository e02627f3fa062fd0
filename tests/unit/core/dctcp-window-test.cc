/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * DctcpWindow against values worked by hand from eqs. (1) and (2).
 */
#include "contrib/rdma/core/dctcp-window.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace rdma;

namespace
{

DctcpParameters
Parameters()
{
    DctcpParameters p;
    p.packet = 1000;
    p.initialWindow = 10000;
    return p;
}

} // namespace

TEST(DctcpWindow, ByHand)
{
    DctcpWindow w(Parameters());
    // Ten packets are on the way; the first one's ACK ends the (empty) window of data before: F =
    // 1, alpha stays at 15/16 + 1/16 = 1, and cuts by half. What is sent from 11,000 on is the next
    // window.
    w.OnAck(1000, true, 1000, 11000);
    EXPECT_DOUBLE_EQ(w.Alpha(), 1);
    EXPECT_DOUBLE_EQ(w.Window(), 5000);
    // Until something sent after the cut comes back nothing moves, marked or not: 3 of these 10.
    for (uint64_t i = 2; i <= 11; ++i)
    {
        w.OnAck(1000, i < 5, 1000 * i, 11000 + 1000 * (i > 6 ? i - 6 : 0));
        EXPECT_DOUBLE_EQ(w.Window(), 5000);
    }
    // The first one behind: 3 of 11 packets were marked, and the window grows by 1000 x 1000 /
    // 5000.
    w.OnAck(1000, false, 12000, 17000);
    const double alpha = 15 / 16. + 3 / 11. / 16;
    EXPECT_NEAR(w.Alpha(), alpha, 1e-12);
    EXPECT_NEAR(w.Window(), 5200, 1e-9);
    // In the middle of a window of data: cut by the alpha of the last one.
    w.OnAck(1000, true, 13000, 18000);
    EXPECT_NEAR(w.Alpha(), alpha, 1e-12);
    EXPECT_NEAR(w.Window(), 5200 * (1 - alpha / 2), 1e-9);
}

TEST(DctcpWindow, AlphaForgetsWithoutMarks)
{
    DctcpWindow w(Parameters());
    uint64_t acked = 0;
    for (int window = 1; window <= 20; ++window)
    {
        acked += 10000;
        w.OnAck(10000, false, acked, acked + 9999); // each beyond what had been sent at the last
        EXPECT_NEAR(w.Alpha(), std::pow(15 / 16., window), 1e-12);
    }
    EXPECT_DOUBLE_EQ(w.Window(), 10000); // at most the initial one
}

TEST(DctcpWindow, GrowsByAPacketAWindow)
{
    DctcpParameters p = Parameters();
    p.initialWindow = 100000;
    DctcpWindow w(p);
    w.OnAck(1000, true, 1000, 100000); // 50,000
    uint64_t acked = 100001;
    w.OnAck(1, false, acked, acked + 50000);
    const double before = w.Window();
    for (int i = 0; i < 50; ++i)
    {
        acked += 1000;
        w.OnAck(1000, false, acked, acked + 50000);
    }
    // Each of the 50 packets of this window adds 1000 x 1000 / W, W between 50,000 and 51,000: 0.98
    // to 1 packet.
    EXPECT_NEAR(w.Window() - before, 990, 10);
}

TEST(DctcpWindow, NeverLessThanAPacket)
{
    DctcpWindow w(Parameters());
    uint64_t acked = 0;
    for (int i = 0; i < 100; ++i)
    {
        acked += 1000;
        w.OnAck(1000, true, acked, acked);
    }
    EXPECT_DOUBLE_EQ(w.Window(), 1000);
}

TEST(DctcpWindow, RefusesConstantsWithoutMeaning)
{
    DctcpParameters p = Parameters();
    p.g = 0;
    EXPECT_THROW(DctcpWindow{p}, std::invalid_argument);
    p = Parameters();
    p.initialWindow = 0;
    EXPECT_THROW(DctcpWindow{p}, std::invalid_argument);
}
