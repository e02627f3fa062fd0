/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Collectives over a network that gives them less the more GPUs they have.
 */
#include "collectives/core/placement.h"
#include "collectives/tuner/measured-fall.h"
#include "topologies/server.h"

#include <cmath>
#include <gtest/gtest.h>

namespace coll
{

namespace
{

const topo::LibraryModel&
Efa()
{
    return topo::FindServer(topo::ServerPresets(), "aws-p5")->library;
}

double
BusGBps(Op op, Rank servers, Rank each)
{
    const Rank ranks = servers * each;
    const Collective what{op, 256000000, ranks};
    const double seconds = SecondsOfFall(what, UniformPlacement(servers, each), Efa());
    const double factor = (op == Op::kAllReduce ? 2.0 : 1.0) * (ranks - 1) / ranks;
    return 256e6 * factor / seconds * 1e-9;
}

} // namespace

// Medians of measured_collectives_efa.csv at 4 and 64 servers; between 4 and 8 of them the
// geometric mean stands in the middle of the logarithms; beyond 64 the last one holds.
TEST(MeasuredFall, IsWhatWasMeasured)
{
    EXPECT_NEAR(BusGBps(Op::kAllReduce, 4, 8), 160.1, 1e-6);
    EXPECT_NEAR(BusGBps(Op::kAllReduce, 64, 8), 32.9, 1e-6);
    EXPECT_NEAR(BusGBps(Op::kAllGather, 32, 8), 28.0, 1e-6);
    EXPECT_NEAR(BusGBps(Op::kReduceScatter, 16, 8), 54.5, 1e-6);
    EXPECT_NEAR(BusGBps(Op::kAllReduce, 128, 8), 32.9, 1e-6);
    const double part = std::log(48.0 / 32) / std::log(2.0);
    EXPECT_NEAR(BusGBps(Op::kAllReduce, 6, 8), 160.1 * std::pow(99.6 / 160.1, part), 1e-6);
}

// 27 GB/s for each GPU of a group in a server.
TEST(MeasuredFall, IsLimitedByTheGroupsGpusOfAServer)
{
    EXPECT_NEAR(BusGBps(Op::kAllReduce, 16, 1), 27, 1e-6);
    EXPECT_NEAR(BusGBps(Op::kAllReduce, 16, 2), 54, 1e-6);
}

TEST(MeasuredFall, IsOfReductionsAndGathersBetweenServers)
{
    const Collective what{Op::kAllReduce, 1000, 8};
    EXPECT_EQ(SecondsOfFall(what, UniformPlacement(1, 8), Efa()), 0);
    const Collective exchange{Op::kAllToAll, 1000, 16};
    EXPECT_EQ(SecondsOfFall(exchange, UniformPlacement(2, 8), Efa()), 0);
    const auto& plain = topo::FindServer(topo::ServerPresets(), "dgx-h100")->library;
    const Collective between{Op::kAllReduce, 1000, 16};
    EXPECT_EQ(SecondsOfFall(between, UniformPlacement(2, 8), plain), 0);
}

} // namespace coll
