/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/ib/ib-credit-reach.h"
#include "contrib/rdma/core/ib/ib-devices.h"
#include "contrib/rdma/core/ib/ib-link.h"

#include <gtest/gtest.h>

namespace
{

using namespace rdma;

/// A lane of 128 KiB towards a switch with full packets of 4,096 B, a frame of the other direction
/// in the update's way.
IbCreditLoop
Lane(IbSpeed speed, int64_t latencyNs, uint32_t bufferBlocks = 2048)
{
    const IbLink link{speed, 4};
    IbCreditLoop loop;
    loop.bufferBlocks = bufferBlocks;
    loop.updateBlocks = IbUpdateBlocks(bufferBlocks, kIbUpdateShare, IbLargestPacketBlocks(4096));
    loop.packetBlocks = IbBlocksOfWire(4124);
    loop.packet = link.SerializationTime(Bytes(4124));
    loop.blocking = loop.packet;
    loop.update = link.SerializationTime(Bytes(kIbFlowControlWire));
    loop.latency = Nanoseconds(latencyNs);
    return loop;
}

} // namespace

TEST(IbCreditReach, OfNdrAndXdrByHand)
{
    // 4,096 B are 65 blocks with their headers: 31 packets in 2,048 blocks; a quarter of them, 512
    // blocks, are 8 packets.
    IbCreditLoop ndr = Lane(IbSpeed::kNdr, 150);
    EXPECT_EQ(ndr.Packets(), 31u);
    EXPECT_EQ(ndr.updateBlocks, 512u);
    EXPECT_EQ(ndr.packet.ps, 82480); // 4,124 B at 50 GB/s
    // 8 + 1 packets, 150 ns, 0.16 ns
    EXPECT_EQ(ndr.RoundTrip().ps, 9 * 82480 + 150000 + 160);
    // (31 x 82.48 - 892.48) / 2 ns
    EXPECT_EQ(ndr.LongestDelay().ps, 832200);
    ndr.delay = ndr.LongestDelay();
    EXPECT_TRUE(ndr.Covers());
    EXPECT_EQ(ndr.LongestDelay().ps, 832200); // whatever the delay is
    EXPECT_DOUBLE_EQ(ndr.Share(), 1);
    ndr.delay.ps += 1;
    EXPECT_FALSE(ndr.Covers());
    // Over 1 us and error correction, 43.4 ns, 31 x 82.48 of 892.48 + 2,086.8 ns: the 86% that a
    // ring of two used to get.
    ndr.delay = Picoseconds(1043400);
    EXPECT_NEAR(ndr.Share(), 2556.88 / 2979.28, 1e-9);

    // XDR: 41.24 ns a packet: (31 x 41.24 - 9 x 41.24 - 150 - 0.08) / 2 = 378.6 ns, error
    // correction among it.
    EXPECT_EQ(Lane(IbSpeed::kXdr, 150).LongestDelay().ps, 378600);
    // So the cables that these are given are filled: 50 m.
    for (const IbSpeed speed : {IbSpeed::kNdr, IbSpeed::kXdr})
    {
        EXPECT_EQ(IbCableMetres(speed), 50u);
        const int64_t cable = kDelayPerMetre.ps * IbCableMetres(speed);
        EXPECT_GT(Lane(speed, 150).LongestDelay().ps, cable + (IbLink{speed, 4}.FecLatency().ps));
    }
    // And 200 m of all others, by 128 KiB.
    for (const IbSpeed speed :
         {IbSpeed::kSdr, IbSpeed::kQdr, IbSpeed::kFdr, IbSpeed::kEdr, IbSpeed::kHdr})
    {
        EXPECT_EQ(IbCableMetres(speed), 200u);
        EXPECT_GT(Lane(speed, 200).LongestDelay().ps, 1000000 + (IbLink{speed, 4}.FecLatency().ps))
            << GenerationOf(speed).name;
    }
}

TEST(IbCreditReach, LargerBlocksReachFurther)
{
    EXPECT_EQ(IbMostLaneBytes(), 131072u);
    EXPECT_EQ(IbMostLaneBytes(3), 1048576u);
    EXPECT_EQ(IbLeastLaneBytes(4096), 4224u); // 66 blocks
    EXPECT_EQ(IbLeastLaneBytes(4096, 3), 4224u + 2 * 512);
    IbCreditLoop far = Lane(IbSpeed::kNdr, 150, 16384);
    far.shift = 3;
    // A limit is rounded down by 7 blocks at most: 16,377 / 65
    EXPECT_EQ(far.Packets(), 251u);
    EXPECT_GT(far.LongestDelay().ps, 7 * Lane(IbSpeed::kNdr, 150).LongestDelay().ps);
    // What is not told is a block at least, and leaves room for a packet and what rounding hides.
    EXPECT_EQ(IbUpdateBlocks(2048, 0.25, 66), 512u);
    EXPECT_EQ(IbUpdateBlocks(70, 0.25, 66), 4u);
    EXPECT_EQ(IbUpdateBlocks(66, 0.25, 66), 1u);
    EXPECT_EQ(IbUpdateBlocks(100, 0.25, 66, 4), 16u);
    EXPECT_EQ(IbUpdateBlocks(16384, 0.25, 66, 3), 4096u);
    EXPECT_EQ(IbUpdateBlocks(100, 0, 66, 2), 4u);
}

TEST(IbCreditReach, NoBufferCoversNothing)
{
    IbCreditLoop none = Lane(IbSpeed::kEdr, 100, 0);
    EXPECT_EQ(none.Packets(), 0u);
    EXPECT_FALSE(none.Covers());
    EXPECT_LT(none.LongestDelay().ps, 0);
    EXPECT_DOUBLE_EQ(none.Share(), 0);
}
