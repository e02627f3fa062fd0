/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * SwiftWindow against values worked by hand from algorithm 1 and section 3.5.
 */
#include "contrib/rdma/core/swift-window.h"

#include <gtest/gtest.h>

using namespace rdma;

namespace
{

constexpr int64_t kUs = 1000000;

/// Flow scaling: 1 / sqrt(0.25) = 2, 1 / sqrt(4) = 0.5: alpha = 15 us / 1.5 = 10 us, beta = -10 us
/// x 0.5 = -5 us.
SwiftParameters
Parameters()
{
    SwiftParameters p;
    p.ai = 1;
    p.beta = 0.8;
    p.maxMdf = 0.5;
    p.baseTarget = Microseconds(20);
    p.perHop = Microseconds(1);
    p.fsRange = Microseconds(15);
    p.fsMinCwnd = 0.25;
    p.fsMaxCwnd = 4;
    p.endpointTarget = Microseconds(10);
    p.endpointWeight = 0.5;
    p.initialCwnd = 4;
    p.minCwnd = 0.01;
    p.maxCwnd = 8;
    p.retxResetThreshold = 3;
    return p;
}

SwiftParameters
Start(double cwnd)
{
    SwiftParameters p = Parameters();
    p.initialCwnd = cwnd;
    return p;
}

} // namespace

TEST(SwiftWindow, TargetScalesWithHopsAndFlows)
{
    EXPECT_DOUBLE_EQ(SwiftWindow(Start(8)).FabricTarget(0), 20e6); // 10 / sqrt(8) - 5 < 0: nothing
    EXPECT_DOUBLE_EQ(SwiftWindow(Start(4)).FabricTarget(3), 23e6); // 10 / 2 - 5 = 0, three hops
    EXPECT_DOUBLE_EQ(SwiftWindow(Start(1)).FabricTarget(2), 27e6); // 10 - 5
    EXPECT_DOUBLE_EQ(SwiftWindow(Start(0.25)).FabricTarget(2), 37e6); // 20 - 5 = fs_range
    EXPECT_DOUBLE_EQ(SwiftWindow(Start(0.01)).FabricTarget(2), 37e6); // 100 - 5 is more than that
}

TEST(SwiftWindow, FabricByHand)
{
    SwiftWindow w(Parameters());
    EXPECT_DOUBLE_EQ(w.Window(), 4);
    EXPECT_EQ(w.PacingDelay(), 0);
    // 20 us < 22 us: + 1 / 4.
    w.OnAck(100 * kUs, 20 * kUs, 0, 2, 1);
    EXPECT_DOUBLE_EQ(w.Window(), 4.25);
    // 44 us, target 22: 1 - 0.8 x 22 / 44 = 0.6.
    w.OnAck(200 * kUs, 44 * kUs, 0, 2, 1);
    EXPECT_DOUBLE_EQ(w.Window(), 2.55);
    // Within a round trip of that: nothing; just one later: target 22 + 10 / sqrt(2.55) - 5
    // = 23.26224, 1 - 0.8 x 20.73776 / 44 = 0.622950.
    w.OnAck(243 * kUs, 44 * kUs, 0, 2, 1);
    EXPECT_DOUBLE_EQ(w.Window(), 2.55);
    w.OnAck(244 * kUs, 44 * kUs, 0, 2, 1);
    EXPECT_NEAR(w.Window(), 1.588522, 1e-6);
    // At most one half: 1 - 0.8 x 0.97 would be 0.22. A window below a packet is paced at rtt /
    // cwnd.
    w.OnAck(1300 * kUs, 1000 * kUs, 0, 2, 1);
    EXPECT_NEAR(w.Window(), 0.794261, 1e-6);
    EXPECT_NEAR(w.PacingDelay(), 1000e6 / 0.794261, 1e4);
    // Below target (22 + 10 / sqrt(0.794) - 5 = 28.2) and below 1: + ai.
    w.OnAck(1400 * kUs, 28 * kUs, 0, 2, 1);
    EXPECT_NEAR(w.Window(), 1.794261, 1e-6);
    EXPECT_EQ(w.PacingDelay(), 0);
    // Two packets by one ACK: 2 / 1.794261 more.
    w.OnAck(1500 * kUs, 10 * kUs, 0, 2, 2);
    EXPECT_NEAR(w.Window(), 1.794261 + 1.114665, 1e-6);
}

TEST(SwiftWindow, DecreasesAgainThoughAcksGoOn)
{
    // An ACK each us above the target: cut every 44 us, not once for ever: after 441 us 11 times,
    // by at least 0.6 each.
    SwiftWindow w(Start(8));
    int cuts = 0;
    double before = w.Window();
    for (int64_t t = 0; t <= 440; ++t)
    {
        w.OnAck(t * kUs, 44 * kUs, 0, 0, 1);
        cuts += w.Window() < before;
        before = w.Window();
    }
    EXPECT_EQ(cuts, 11);
}

TEST(SwiftWindow, EndpointHasAWindowAndATargetOfItsOwn)
{
    SwiftWindow w(Parameters());
    // 30 us of 40 in the host, smoothed 15 > 10 us: 1 - 0.8 x 5 / 15 = 11 / 15. Fabric: 10 us < 20:
    // + 1 / 4.
    w.OnAck(100 * kUs, 40 * kUs, 30 * kUs, 0, 1);
    EXPECT_DOUBLE_EQ(w.FabricWindow(), 4.25);
    EXPECT_NEAR(w.EndpointWindow(), 4 * 11 / 15., 1e-9);
    EXPECT_NEAR(w.Window(), 4 * 11 / 15., 1e-9);
    // Nothing any more: 7.5 us < 10: + 1 / 2.9333.
    w.OnAck(110 * kUs, 10 * kUs, 0, 0, 1);
    EXPECT_NEAR(w.EndpointWindow(), 4 * 11 / 15. + 15 / 44., 1e-9);
}

TEST(SwiftWindow, Retransmissions)
{
    SwiftWindow w(Parameters());
    w.OnAck(100 * kUs, 20 * kUs, 0, 0, 0); // an RTT is known
    w.OnFastRecovery(101 * kUs);
    EXPECT_DOUBLE_EQ(w.Window(), 2);
    w.OnFastRecovery(120 * kUs); // 19 us later
    EXPECT_DOUBLE_EQ(w.Window(), 2);
    w.OnTimeout(121 * kUs); // the first
    EXPECT_DOUBLE_EQ(w.Window(), 1);
    w.OnTimeout(122 * kUs); // the second, but within a round trip
    EXPECT_DOUBLE_EQ(w.Window(), 1);
    w.OnTimeout(123 * kUs); // the third in a row
    EXPECT_DOUBLE_EQ(w.Window(), 0.01);
    EXPECT_NEAR(w.PacingDelay(), 2000e6, 1);
    // An ACK ends the row.
    w.OnAck(300 * kUs, 20 * kUs, 0, 0, 1);
    EXPECT_DOUBLE_EQ(w.Window(), 1.01);
    w.OnTimeout(400 * kUs);
    EXPECT_DOUBLE_EQ(w.Window(), 0.505);
}

TEST(SwiftWindow, StaysBetweenItsBounds)
{
    SwiftWindow w(Parameters());
    for (int i = 0; i < 100; ++i)
    {
        w.OnAck(i * kUs, 1 * kUs, 0, 0, 1);
    }
    EXPECT_DOUBLE_EQ(w.Window(), 8);
    for (int64_t i = 0; i < 100; ++i)
    {
        w.OnAck(i * 1000 * kUs, 1000 * kUs, 0, 0, 1);
    }
    EXPECT_DOUBLE_EQ(w.Window(), 0.01);
}

TEST(SwiftWindow, RefusesConstantsWithoutMeaningByName)
{
    const auto refuses = [](const std::string& name, auto change) {
        SwiftParameters p = Parameters();
        change(p);
        EXPECT_EQ(SwiftWindow::Error(p).where, name);
        EXPECT_THROW(SwiftWindow{p}, std::invalid_argument);
    };
    refuses("FsMinCwnd", [](SwiftParameters& p) { p.fsMinCwnd = p.fsMaxCwnd; });
    refuses("MaxMdf", [](SwiftParameters& p) { p.maxMdf = 1; });
    refuses("MaxCwnd", [](SwiftParameters& p) { p.maxCwnd = p.minCwnd / 2; });
    refuses("BaseTarget", [](SwiftParameters& p) { p.baseTarget = Duration(0); });
    refuses("PerHop", [](SwiftParameters& p) { p.perHop = Duration(-1); });
    refuses("Ai", [](SwiftParameters& p) { p.ai = std::nan(""); });
}

TEST(SwiftWindow, ConstantsOfCsgHtsim)
{
    // Broadcom/csg-htsim, sim/swift.cpp: base 20 us, h = base / 6.55 = 3.053 us, range 5 x base;
    // 0.1 and 100 packets.
    SwiftParameters p = SwiftHtsim();
    p.initialCwnd = 100;
    // From fs_max_cwnd on flow scaling adds nothing: 20 + 5 x 3.053 us.
    EXPECT_NEAR(SwiftWindow(p).FabricTarget(5), 35.267e6, 1e3);
    p.initialCwnd = 0.1;
    EXPECT_NEAR(SwiftWindow(p).FabricTarget(0), 120e6, 1);
    EXPECT_EQ(p.maxCwnd, 1000);
}
