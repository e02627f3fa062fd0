/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Sizes of InfiniBand packets, added up by hand.
 */
#include "contrib/rdma/core/ib/ib-sizes.h"

#include <gtest/gtest.h>

using namespace rdma;

TEST(IbSizes, PacketsByHand)
{
    // LRH 8 + BTH 12 + ICRC 4 + VCRC 2 = 26
    EXPECT_EQ(IbHeaderBytes(), 26u);
    EXPECT_EQ(IbHeaderBytes(true), 66u);
    EXPECT_EQ(IbPacketBytes(RoceOpcode::kWriteMiddle, 4096).value, 4122u);
    EXPECT_EQ(IbPacketBytes(RoceOpcode::kWriteFirst, 4096).value, 4138u); // + RETH 16
    EXPECT_EQ(IbPacketBytes(RoceOpcode::kWriteOnlyWithImmediate, 5).value, 26u + 16 + 4 + 5 + 3);
    EXPECT_EQ(IbPacketBytes(RoceOpcode::kAcknowledge).value, 30u); // + AETH 4
    EXPECT_EQ(IbPacketBytes(RoceOpcode::kAcknowledge, 0, true).value, 70u);
    EXPECT_EQ(IbPacketBytes(RoceOpcode::kReadRequest).value, 42u);
    EXPECT_EQ(IbPacketBytes(RoceOpcode::kDatagramSendOnly, 256).value, 26u + 8 + 256);
    EXPECT_EQ(IbPacketBytes(RoceOpcode::kCnp).value,
              26u); // LRH 8, BTH 12, ICRC 4, VCRC 2: as Linux' hfi1
}

TEST(IbSizes, PacketLengthIsInWordsWithoutTheVcrc)
{
    EXPECT_EQ(IbPacketWords(kIbAckBytes), 7u); // 28 / 4
    EXPECT_EQ(IbPacketWords(IbPacketBytes(RoceOpcode::kWriteMiddle, 4096)), 1030u);
    // The most that the specification allows: 4,096 + 126 bytes are 1,055 words and a VCRC.
    EXPECT_EQ(IbPacketWords(Bytes(4096 + kIbMaxOverheadBytes)), 1055u);
    for (uint32_t payload = 0; payload < 300; ++payload)
    {
        for (const RoceOpcode o : {RoceOpcode::kSendOnly, RoceOpcode::kWriteOnlyWithImmediate})
        {
            const Bytes packet = IbPacketBytes(o, payload);
            ASSERT_EQ((packet.value - 2) % 4, 0u);
            ASSERT_EQ(IbPacketWords(packet) * 4 + 2, packet.value);
        }
    }
}

TEST(IbSizes, BlocksAreRoundedUp)
{
    EXPECT_EQ(IbBlocks(1), 1u);
    EXPECT_EQ(IbBlocks(64), 1u);
    EXPECT_EQ(IbBlocks(65), 2u);
    EXPECT_EQ(IbBlocks(30), 1u);    // an ACK
    EXPECT_EQ(IbBlocks(4122), 65u); // 64.4
    EXPECT_EQ(IbBlocks(2074), 33u); // 2,048 + 26: 32.4
    EXPECT_EQ(IbBlocksOfWire(4124), 65u);
    EXPECT_EQ(IbBlocksOfWire(66), 1u);           // 64 and the delimiters
    EXPECT_EQ(IbLargestPacketBlocks(4096), 66u); // 4,222 / 64 = 65.97
    EXPECT_EQ(IbLargestPacketBlocks(256), 6u);   // 382 / 64 = 5.97
}

TEST(IbSizes, FrameSizesAreThoseOfThePackets)
{
    const FrameSizes local = IbFrameSizes();
    EXPECT_EQ(local.lineOverhead, 2u);
    EXPECT_EQ(local.dataOverhead, 28u);
    EXPECT_EQ(local.ackWire, 32u);
    EXPECT_EQ(local.cnpWire, 28u); // 26 and the delimiters
    EXPECT_EQ(local.padMask, 3u);
    EXPECT_EQ(local.leastWire, 0u);
    EXPECT_EQ(local.requestBytes, kMaxRequestBytes);
    EXPECT_TRUE(local.HasExtensions());
    EXPECT_FALSE(local.AreStandard()); // RoCEv2's are
    const FrameSizes global = IbFrameSizes(true);
    EXPECT_EQ(global.dataOverhead, 68u);
    EXPECT_EQ(global.ackWire, 72u);
    EXPECT_EQ(global.cnpWire, 68u);
    for (const RoceOpcode o : {RoceOpcode::kSendOnly,
                               RoceOpcode::kSendLastWithImmediate,
                               RoceOpcode::kWriteFirst,
                               RoceOpcode::kWriteMiddle,
                               RoceOpcode::kWriteOnlyWithImmediate,
                               RoceOpcode::kReadRequest,
                               RoceOpcode::kReadResponseFirst,
                               RoceOpcode::kReadResponseMiddle,
                               RoceOpcode::kDatagramSendOnlyWithImmediate})
    {
        for (const uint32_t payload : {0u, 1u, 2u, 3u, 4u, 255u, 4096u})
        {
            ASSERT_EQ(local.DataWire(o, payload), IbPacketBytes(o, payload).value + 2);
            ASSERT_EQ(global.DataWire(o, payload), IbPacketBytes(o, payload, true).value + 2);
        }
    }
    EXPECT_EQ(local.LargestFrame(4096), 26u + 16 + 4 + 4096);
    EXPECT_LE(global.LargestFrame(4096), 4096 + kIbMaxOverheadBytes);
}

TEST(IbSizes, PayloadShare)
{
    // 4,096 of 4,124 bytes of line: 99.32%; 256 of 284: 90.1%.
    EXPECT_DOUBLE_EQ(IbPayloadShare(RoceOpcode::kWriteMiddle, 4096, {IbSpeed::kEdr, 4}),
                     4096. / 4124);
    EXPECT_DOUBLE_EQ(IbPayloadShare(RoceOpcode::kWriteMiddle, 256, {IbSpeed::kQdr, 4}), 256. / 284);
    EXPECT_DOUBLE_EQ(IbPayloadShare(RoceOpcode::kWriteMiddle, 4096, {IbSpeed::kQdr, 12}),
                     4096. / 4128);
    EXPECT_EQ(kIbFlowControlWire, 8u);
}

// 16-byte flits: 256 bytes of data have 16 of them and one of header; the last payload of a frame
// is filled up to a whole flit, and an empty frame is a header.
TEST(IbSizes, Flits)
{
    constexpr FrameSizes s = FrameSizes::OfFlits(16);
    static_assert(s.FullWire(4096) == 16 * (256 + 16));
    for (const auto& [payload, flits] :
         std::initializer_list<std::pair<uint32_t, uint32_t>>{{0, 1},
                                                              {1, 2},
                                                              {16, 2},
                                                              {17, 3},
                                                              {256, 17},
                                                              {257, 19},
                                                              {512, 34},
                                                              {4095, 272}})
    {
        EXPECT_EQ(s.DataWire(RoceOpcode::kWriteOnlyWithImmediate, payload), 16 * flits) << payload;
    }
    EXPECT_EQ(s.ackWire, 16u);
    EXPECT_FALSE(s.AreStandard());
    // All others have none, whatever the payload.
    EXPECT_EQ(FrameSizes().FullWire(4096), FrameSizes().DataWire(RoceOpcode::kWriteMiddle, 4096));
    EXPECT_EQ(FrameSizes().FlitHeaders(4096), 0u);
}
