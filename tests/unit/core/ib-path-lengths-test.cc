/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Lengths of the paths of tables beside shortest ones, by hand, and the lanes that those need.
 */
#include "contrib/rdma/core/ib/ib-path-lengths.h"
#include "contrib/rdma/core/ib/ib-routing.h"
#include "ib-fabrics.h"

#include <gtest/gtest.h>
#include <vector>

namespace
{

using namespace rdma;

/// Slim Fly with q = 5 (Besta and Hoefler, SC 2014): 50 switches of degree 7 and diameter 2. In
/// each half (x, y) and (x, y') are linked if y - y' is one of a set modulo 5; of different halves
/// (x, y) and (m, c) if y = m x + c.
IbFabric
SlimFly()
{
    constexpr uint32_t q = 5;
    ibtest::Builder b;
    for (uint32_t i = 0; i < 2 * q * q; ++i)
    {
        b.Switch("r" + std::to_string(i));
    }
    for (uint32_t i = 0; i < 2 * q * q; ++i)
    {
        b.Link(b.Host("h" + std::to_string(i)), i);
    }
    for (uint32_t x = 0; x < q; ++x)
    {
        for (uint32_t y = 0; y < q; ++y)
        {
            for (uint32_t z = 0; z < y; ++z)
            {
                const bool isFirst = y - z == 1 || y - z == 4;
                const uint32_t half = isFirst ? 0 : q * q;
                b.Link(half + x * q + y, half + x * q + z);
            }
            for (uint32_t m = 0; m < q; ++m)
            {
                b.Link(x * q + y, q * q + m * q + (y + q * q - m * x) % q);
            }
        }
    }
    return b.fabric;
}

TEST(IbPathLengths, OfARing)
{
    // Six switches in a ring: to 1, 1, 2, 2 and 3 links, 9 / 5 on average. Up*/down* turns nowhere
    // at the switch across from its root, so that of 30 pairs the two of its neighbours take 4
    // links and not 2: 58 / 30.
    const IbSubnet subnet = DiscoverIbSubnet(ibtest::MakeTorus({6}, 1).fabric);
    IbPathLengths lengths = IbMeasurePaths(subnet, IbRoute(subnet, {"minhop"}));
    EXPECT_DOUBLE_EQ(lengths.taken, 1.8);
    EXPECT_DOUBLE_EQ(lengths.shortest, 1.8);
    lengths = IbMeasurePaths(subnet, IbRoute(subnet, {"updn"}));
    EXPECT_DOUBLE_EQ(lengths.taken, 58.0 / 30);
    EXPECT_DOUBLE_EQ(lengths.shortest, 1.8);
    // A second lane breaks the circle.
    EXPECT_EQ(IbLanesOfShortest(subnet, 8), 2U);
    EXPECT_EQ(IbLanesOfShortest(subnet, 1), 0U);
}

TEST(IbPathLengths, HostsCount)
{
    // Two switches with three hosts each: all paths between them are one link.
    const IbSubnet subnet = DiscoverIbSubnet(ibtest::MakeTorus({2}, 3).fabric);
    const IbPathLengths lengths = IbMeasurePaths(subnet, IbRoute(subnet, {"updn"}));
    EXPECT_DOUBLE_EQ(lengths.taken, 1);
    EXPECT_DOUBLE_EQ(lengths.shortest, 1);
    EXPECT_EQ(IbLanesOfShortest(subnet, 8), 1U);
    // Behind one switch there are none.
    const IbSubnet one = DiscoverIbSubnet(ibtest::MakeTorus({1}, 3).fabric);
    EXPECT_EQ(IbMeasurePaths(one, IbRoute(one, {"updn"})).shortest, 0);
}

TEST(IbPathLengths, OfAFatTreeUpDownTakesTheShortest)
{
    const IbSubnet subnet = DiscoverIbSubnet(ibtest::FatTree(4).fabric);
    const IbPathLengths lengths = IbMeasurePaths(subnet, IbRoute(subnet, {"updn"}));
    EXPECT_DOUBLE_EQ(lengths.taken, lengths.shortest);
}

TEST(IbPathLengths, OfASlimFly)
{
    // Of 49 others seven are a link away and all else two: 91 / 49.
    const IbSubnet subnet = DiscoverIbSubnet(SlimFly());
    const IbPathLengths lengths = IbMeasurePaths(subnet, IbRoute(subnet, {"updn"}));
    EXPECT_DOUBLE_EQ(lengths.shortest, 91.0 / 49);
    EXPECT_GT(lengths.taken, 1.1 * lengths.shortest);
    const uint32_t lanes = IbLanesOfShortest(subnet, 8);
    ASSERT_EQ(lanes, 2U);
    IbRoutingOptions options;
    options.vls = static_cast<uint8_t>(lanes);
    const IbTables tables = IbRoute(subnet, {"ftree", "dfsssp", "updn"}, options);
    EXPECT_EQ(tables.engine, "dfsssp");
    EXPECT_DOUBLE_EQ(IbMeasurePaths(subnet, tables).taken, 91.0 / 49);
    EXPECT_TRUE(IbCheckTables(subnet, tables).Good());
}

} // namespace
