/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Turns by hand, shares in the long run.
 */
#include "contrib/rdma/core/ib/ib-vl-arbiter.h"

#include <array>
#include <gtest/gtest.h>
#include <random>
#include <string>

using namespace rdma;

namespace
{

IbVlArbitration
Tables(const std::string& high, const std::string& low, uint8_t limit)
{
    return {*ParseIbVlTable(high), *ParseIbVlTable(low), limit};
}

/// The VLs of `n` packets while all of `ready` can always send packets of `bytes`.
std::string
Turns(const IbVlArbitration& tables, uint8_t ready, uint32_t bytes, int n)
{
    IbVlArbiter arbiter(tables);
    std::array<uint32_t, kIbVls> sizes;
    sizes.fill(bytes);
    std::string turns;
    for (int i = 0; i < n; ++i)
    {
        const int vl = arbiter.Next(ready, sizes.data());
        turns += vl < 0 ? "-" : std::to_string(vl);
    }
    return turns;
}

} // namespace

TEST(IbVlArbiter, WeightsInTurn)
{
    EXPECT_EQ(Turns(Tables("", "0:2,1:1", 0), 0x3, 64, 9), "001001001");
    // 65 bytes are two units: VL 0 has used up its weight after one packet, VL 1 more than that.
    EXPECT_EQ(Turns(Tables("", "0:2,1:1", 0), 0x3, 65, 6), "010101");
    // Weight 3, packets of 2: the second is sent because 1 is left; the debt is not carried.
    EXPECT_EQ(Turns(Tables("", "0:3,1:2", 0), 0x3, 128, 9), "001001001");
    EXPECT_EQ(Turns(Tables("", "0:1,1:1,0:1,2:1", 0), 0x7, 64, 8), "01020102");
    EXPECT_EQ(Turns(Tables("", "0:1,1:0,2:1", 0), 0x7, 64, 4), "0202");    // weight 0: never
    EXPECT_EQ(Turns(Tables("", "14:9,0:1,8:200", 0), 0xff, 64, 3), "000"); // VLs that are not there
    EXPECT_EQ(Turns(Tables("", "3:1", 0), 0x08, 64, 3), "333");
}

TEST(IbVlArbiter, WhatCannotSendIsPassedOver)
{
    EXPECT_EQ(Turns(Tables("", "0:2,1:1,2:3", 0), 0x6, 64, 8), "12221222");
    EXPECT_EQ(Turns(Tables("", "0:2,1:1", 0), 0x0, 64, 2), "--");
    EXPECT_EQ(Turns(Tables("", "0:2,1:1", 0), 0x4, 64, 2), "--"); // in no table
    EXPECT_EQ(Turns(Tables("", "", 0), 0xff, 64, 2), "--");
    // A turn that is left early is over: VL 0 comes back with its whole weight, not with the rest.
    IbVlArbiter arbiter(Tables("", "0:3,1:1", 0));
    const std::array<uint32_t, kIbVls> sizes = {64, 64};
    EXPECT_EQ(arbiter.Next(0x3, sizes.data()), 0);
    EXPECT_EQ(arbiter.Next(0x2, sizes.data()), 1);
    EXPECT_EQ(arbiter.Next(0x3, sizes.data()), 0);
    EXPECT_EQ(arbiter.Next(0x3, sizes.data()), 0);
    EXPECT_EQ(arbiter.Next(0x3, sizes.data()), 0);
    EXPECT_EQ(arbiter.Next(0x3, sizes.data()), 1);
}

TEST(IbVlArbiter, LimitOfHighPriority)
{
    // 0: one packet, then an opportunity for the low table
    EXPECT_EQ(Turns(Tables("0:255", "1:255", 0), 0x3, 64, 6), "010101");
    // 255: no limit, the low table starves
    EXPECT_EQ(Turns(Tables("0:255", "1:255", 255), 0x3, 64, 6), "000000");
    // 1: 4,096 bytes are two packets of 2,048; of 33 units the second brings it to 66 of 64
    EXPECT_EQ(Turns(Tables("0:255", "1:255", 1), 0x3, 2048, 6), "001001");
    EXPECT_EQ(Turns(Tables("0:255", "1:255", 1), 0x3, 2074, 6), "001001");
    EXPECT_EQ(Turns(Tables("0:255", "1:255", 1), 0x3, 4122, 6), "010101");
    EXPECT_EQ(Turns(Tables("0:255", "1:255", 2), 0x3, 1024, 18), "000000001000000001");
    // Nobody else: the high table goes on.
    EXPECT_EQ(Turns(Tables("0:255", "1:255", 0), 0x1, 64, 3), "000");
    // One of two high VLs; the low table's own turns go on over its opportunities.
    EXPECT_EQ(Turns(Tables("0:1,1:1", "2:2,3:1", 0), 0xf, 64, 12), "021203120213");
}

TEST(IbVlArbiter, AnOpportunityThatIsNotTakenIsGone)
{
    IbVlArbiter arbiter(Tables("0:255", "1:255", 1));
    const std::array<uint32_t, kIbVls> sizes = {2048, 2048};
    EXPECT_EQ(arbiter.Next(0x1, sizes.data()), 0);
    EXPECT_EQ(arbiter.Next(0x1, sizes.data()), 0); // 4,096 B: the low table's turn would come now
    EXPECT_EQ(arbiter.Next(0x1, sizes.data()), 0); // it cannot: the count starts again
    EXPECT_EQ(arbiter.Next(0x3, sizes.data()), 0);
    EXPECT_EQ(arbiter.Next(0x3, sizes.data()), 1);
    // A low packet that goes because no high one can starts it again too.
    EXPECT_EQ(arbiter.Next(0x3, sizes.data()), 0);
    EXPECT_EQ(arbiter.Next(0x2, sizes.data()), 1);
    EXPECT_EQ(arbiter.Next(0x3, sizes.data()), 0);
    EXPECT_EQ(arbiter.Next(0x3, sizes.data()), 0);
    EXPECT_EQ(arbiter.Next(0x3, sizes.data()), 1);
}

TEST(IbVlArbiter, AskedForSizesOfTheChosenOnly)
{
    IbVlArbiter arbiter(Tables("", "0:1,1:1", 0));
    for (int i = 0; i < 10; ++i)
    {
        const int vl = arbiter.Next(0x3, [i](int v) {
            EXPECT_EQ(v, i % 2);
            return 64u;
        });
        EXPECT_EQ(vl, i % 2);
    }
}

TEST(IbVlArbiter, SharesAreTheWeightsInTheLongRun)
{
    // Packets of 1 to 4 units against weights of 240, 120, 60, 30: a turn overshoots by up to 3
    // units, 1.1 on average.
    IbVlArbiter arbiter(Tables("", "0:240,1:120,2:60,3:30", 0));
    std::mt19937_64 random(5);
    std::array<double, kIbVls> sent{};
    double total = 0;
    std::array<uint32_t, kIbVls> sizes;
    for (int i = 0; i < 200000; ++i)
    {
        for (uint32_t& size : sizes)
        {
            size = static_cast<uint32_t>(1 + random() % 256);
        }
        const int vl = arbiter.Next(0xf, sizes.data());
        ASSERT_GE(vl, 0);
        sent[vl] += IbBlocks(sizes[vl]);
        total += IbBlocks(sizes[vl]);
    }
    // Shares 240, 120, 60, 30 of 450, each a little too large (+ 1 of the weight): within 1% of the
    // line.
    EXPECT_NEAR(sent[0] / total, 240. / 450, 0.01);
    EXPECT_NEAR(sent[1] / total, 120. / 450, 0.01);
    EXPECT_NEAR(sent[2] / total, 60. / 450, 0.01);
    EXPECT_NEAR(sent[3] / total, 30. / 450, 0.01);
    // With packets that divide the weights exactly so.
    std::array<int, kIbVls> count{};
    const std::string turns =
        Turns(Tables("", "0:240,1:120,2:60,3:30", 0), 0xf, 30 * 64, 15 * 1000);
    for (const char c : turns)
    {
        ++count[c - '0'];
    }
    EXPECT_EQ(count, (std::array<int, kIbVls>{8000, 4000, 2000, 1000}));
}

TEST(IbVlArbiter, TheLowTableHasItsPartUnderALimit)
{
    // Limit 4: 16,384 bytes (256 units: 4 packets of 65 units) of the high table for each low
    // packet.
    IbVlArbiter arbiter(Tables("0:255,1:255", "2:100", 4));
    std::array<uint32_t, kIbVls> sizes;
    sizes.fill(4122);
    int low = 0;
    for (int i = 0; i < 5000; ++i)
    {
        low += arbiter.Next(0x7, sizes.data()) == 2;
    }
    EXPECT_EQ(low, 1000);
}

TEST(IbVlArbiter, TablesAsText)
{
    for (const char* text : {"0:64,1:128", "0:0", "14:255,0:1", ""})
    {
        const auto table = ParseIbVlTable(text);
        ASSERT_TRUE(table) << text;
        EXPECT_EQ(ToString(*table), text);
    }
    EXPECT_EQ(ToString(*ParseIbVlTable(" 0 : 64 , 1:128 ")), "0:64,1:128");
    for (const char* text : {"0",
                             "0:",
                             ":1",
                             "0:1,",
                             ",",
                             "0:256",
                             "15:1",
                             "0:1 1:1",
                             "-1:1",
                             "a:1",
                             "0:1;1:1",
                             "0:0001",
                             "0.5:1",
                             "0:1,,1:1"})
    {
        EXPECT_FALSE(ParseIbVlTable(text)) << text;
    }
    std::string full = "0:1";
    for (int i = 1; i < 64; ++i)
    {
        full += ",1:2";
    }
    EXPECT_TRUE(ParseIbVlTable(full));
    EXPECT_FALSE(ParseIbVlTable(full + ",1:2"));
    EXPECT_EQ(ParseIbVlTable(full)->size, 64);
}

TEST(IbVlArbiter, Presets)
{
    const auto equal = IbVlArbitration::Equal(4);
    EXPECT_EQ(equal.ServedMask(), 0x0f);
    EXPECT_EQ(IbVlArbitration::Equal(100).ServedMask(), 0xff);
    EXPECT_EQ(Turns(equal, 0xf, 4122, 12), "000111222333");
    const auto openSm = IbVlArbitration::OpenSm();
    EXPECT_EQ(ToString(openSm.high),
              "0:4,1:0,2:0,3:0,4:0,5:0,6:0,7:0,8:0,9:0,10:0,11:0,12:0,13:0,14:0");
    EXPECT_EQ(ToString(openSm.low),
              "0:0,1:4,2:4,3:4,4:4,5:4,6:4,7:4,8:4,9:4,10:4,11:4,12:4,13:4,14:4");
    EXPECT_EQ(openSm.ServedMask(), 0xff);
    EXPECT_EQ(Turns(openSm, 0x7, 4122, 8), "01020102");
    EXPECT_EQ(IbVlArbiter(openSm).ServedMask(), 0xff);
}
