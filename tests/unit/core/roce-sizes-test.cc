/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/roce-sizes.h"

#include <gtest/gtest.h>

using namespace rdma;

TEST(RoceSizes, AsTheStandardsHaveThem)
{
    EXPECT_EQ(kAckFrameBytes, Bytes(66));
    EXPECT_EQ(kCnpFrameBytes, Bytes(78));
    EXPECT_EQ(kPfcFrameBytes, Bytes(64));
    // 14 + 20 + 8 + 12 + 4096 + 4 + 4
    EXPECT_EQ(FrameBytes(RoceOpcode::kWriteMiddle, 4096), Bytes(4158));
    EXPECT_EQ(FrameBytes(RoceOpcode::kWriteFirst, 4096), Bytes(4174));
    EXPECT_EQ(FrameBytes(RoceOpcode::kWriteLastWithImmediate, 1), Bytes(62 + 4 + 4));
    EXPECT_EQ(FrameBytes(RoceOpcode::kWriteOnlyWithImmediate, 0), Bytes(62 + 16 + 4));
    EXPECT_EQ(WireBytes(Bytes(64)), Bytes(84));
}

TEST(RoceSizes, PaddingGoesToAMultipleOfFour)
{
    EXPECT_EQ(PadBytes(0), 0u);
    EXPECT_EQ(PadBytes(1), 3u);
    EXPECT_EQ(PadBytes(2), 2u);
    EXPECT_EQ(PadBytes(3), 1u);
    EXPECT_EQ(PadBytes(4), 0u);
    for (uint32_t payload = 1; payload < 100; ++payload)
    {
        EXPECT_EQ(FrameBytes(RoceOpcode::kWriteMiddle, payload).value % 4, 62 % 4u);
    }
}

TEST(RoceSizes, OpcodesOfAWrite)
{
    EXPECT_EQ(WriteOpcode(true, true, false), RoceOpcode::kWriteOnly);
    EXPECT_EQ(WriteOpcode(true, true, true), RoceOpcode::kWriteOnlyWithImmediate);
    EXPECT_EQ(WriteOpcode(true, false, true), RoceOpcode::kWriteFirst);
    EXPECT_EQ(WriteOpcode(false, false, true), RoceOpcode::kWriteMiddle);
    EXPECT_EQ(WriteOpcode(false, true, false), RoceOpcode::kWriteLast);
    EXPECT_EQ(WriteOpcode(false, true, true), RoceOpcode::kWriteLastWithImmediate);
}
