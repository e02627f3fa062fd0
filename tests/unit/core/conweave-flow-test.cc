/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * ConWeave's flows at their first and last switch, against time lines by hand.
 */
#include "contrib/rdma/core/conweave-flow.h"

#include <gtest/gtest.h>

using namespace rdma;

namespace
{

constexpr int64_t kUs = 1000000; ///< ps
constexpr int64_t kBase = 5 * kUs;
const ConweaveParameters kParameters;

ConweaveReceiver::Packet
Data(uint8_t phase, int64_t sent, int64_t tail = 0, uint32_t epoch = 1)
{
    return {ConweaveKind::kData, phase, epoch, sent, tail};
}

} // namespace

// A flow's first packet asks; while its answer is in time, epochs follow each other on one path.
TEST(ConweaveFlow, StaysWhileAnswersAreInTime)
{
    ConweaveSender sender;
    auto first = sender.OnData(0, kBase, kParameters);
    EXPECT_EQ(first.kind, ConweaveKind::kRequest);
    EXPECT_TRUE(first.pathNow) << "it has no path";
    EXPECT_EQ(sender.Epoch(), 1u);
    EXPECT_EQ(sender.OnData(1 * kUs, kBase, kParameters).kind, ConweaveKind::kData);
    // Due at 5 + 4 us.
    sender.OnAnswer(ConweaveKind::kReply, 1, 9 * kUs - 1);
    const auto second = sender.OnData(10 * kUs, kBase, kParameters);
    EXPECT_EQ(second.kind, ConweaveKind::kRequest);
    EXPECT_FALSE(second.pathNow);
    EXPECT_EQ(sender.Epoch(), 2u);
    // Of an epoch that is over.
    sender.OnAnswer(ConweaveKind::kReply, 1, 11 * kUs);
    EXPECT_EQ(sender.OnData(12 * kUs, kBase, kParameters).kind, ConweaveKind::kData);
}

TEST(ConweaveFlow, LeavesThePathWhenAnAnswerIsLate)
{
    ConweaveSender sender;
    sender.OnData(0, kBase, kParameters);
    EXPECT_EQ(sender.OnData(9 * kUs, kBase, kParameters).kind, ConweaveKind::kData) << "not yet";
    const auto tail = sender.OnData(9 * kUs + 1, kBase, kParameters);
    EXPECT_EQ(tail.kind, ConweaveKind::kTail);
    EXPECT_EQ(tail.phase, 0) << "the last one on the old path";
    EXPECT_TRUE(tail.pathAfter);
    EXPECT_EQ(sender.Tail(), 9 * kUs + 1);
    const auto behind = sender.OnData(10 * kUs, kBase, kParameters);
    EXPECT_EQ(behind.kind, ConweaveKind::kData);
    EXPECT_EQ(behind.phase, 1);
    // The reply comes too late; CLEAR ends the epoch.
    sender.OnAnswer(ConweaveKind::kReply, 1, 11 * kUs);
    EXPECT_EQ(sender.OnData(12 * kUs, kBase, kParameters).phase, 1);
    sender.OnAnswer(ConweaveKind::kClear, 1, 13 * kUs);
    const auto next = sender.OnData(14 * kUs, kBase, kParameters);
    EXPECT_EQ(next.kind, ConweaveKind::kRequest);
    EXPECT_EQ(next.phase, 0);
    EXPECT_EQ(sender.Tail(), 0);
}

TEST(ConweaveFlow, BeginsAnewAfterAPause)
{
    ConweaveSender sender;
    sender.OnData(0, kBase, kParameters);
    const auto late = sender.OnData(300 * kUs, kBase, kParameters);
    EXPECT_EQ(late.kind, ConweaveKind::kTail) << "300 us are not more than 300 us";
    const auto anew = sender.OnData(601 * kUs, kBase, kParameters);
    EXPECT_EQ(anew.kind, ConweaveKind::kRequest);
    EXPECT_TRUE(anew.pathNow);
}

// Phase 0 left at 0 and came at 10 us. TAIL left at 3 us, so it should come at 13 us; 16 us more.
TEST(ConweaveFlow, HoldsWhatOvertakesUntilTailComes)
{
    ConweaveReceiver receiver;
    EXPECT_FALSE(receiver.OnData(Data(0, 0), 10 * kUs, kParameters).hold);
    const auto first = receiver.OnData(Data(1, 4 * kUs, 3 * kUs), 11 * kUs, kParameters);
    EXPECT_TRUE(first.hold);
    EXPECT_EQ(first.due, 29 * kUs);
    // Another packet of phase 0, of 1 us, at 15 us: TAIL 2 us behind it.
    const auto early = receiver.OnData(Data(0, 1 * kUs), 15 * kUs, kParameters);
    EXPECT_FALSE(early.hold);
    EXPECT_EQ(early.due, 33 * kUs);
    EXPECT_TRUE(receiver.OnData(Data(1, 5 * kUs, 3 * kUs), 16 * kUs, kParameters).hold);
    const auto tail =
        receiver.OnData({ConweaveKind::kTail, 0, 1, 3 * kUs, 3 * kUs}, 17 * kUs, kParameters);
    EXPECT_FALSE(tail.hold);
    EXPECT_TRUE(tail.flushAfter);
    receiver.OnFlushed();
    EXPECT_FALSE(receiver.OnData(Data(1, 6 * kUs, 3 * kUs), 18 * kUs, kParameters).hold);
}

TEST(ConweaveFlow, HoldsForADefaultWhenNothingElseHasCome)
{
    ConweaveReceiver receiver;
    const auto first = receiver.OnData(Data(1, 4 * kUs, 3 * kUs), 11 * kUs, kParameters);
    EXPECT_TRUE(first.hold);
    EXPECT_EQ(first.due, (11 + 200 + 16) * kUs);
}

// In order nothing is held; what is left of an epoch that is over goes on.
TEST(ConweaveFlow, HoldsNothingInOrder)
{
    ConweaveReceiver receiver;
    EXPECT_FALSE(receiver.OnData(Data(0, 0), 10 * kUs, kParameters).hold);
    const auto tail = receiver.OnData({ConweaveKind::kTail, 0, 1, kUs, kUs}, 11 * kUs, kParameters);
    EXPECT_FALSE(tail.flushAfter);
    EXPECT_FALSE(receiver.OnData(Data(1, 2 * kUs, kUs), 12 * kUs, kParameters).hold);
    EXPECT_FALSE(receiver.OnData(Data(0, 3 * kUs, 0, 2), 13 * kUs, kParameters).hold);
    EXPECT_TRUE(receiver.OnData(Data(1, 2 * kUs, kUs, 1), 14 * kUs, kParameters).old);
    // TAIL of an epoch may come first of it: it was the last packet of its phase 0 that was to
    // come.
    EXPECT_FALSE(
        receiver.OnData({ConweaveKind::kTail, 0, 3, 4 * kUs, 4 * kUs}, 15 * kUs, kParameters).hold);
    EXPECT_FALSE(receiver.OnData(Data(1, 5 * kUs, 4 * kUs, 3), 16 * kUs, kParameters).hold);
}

// Packets held of one epoch go on before those of the next.
TEST(ConweaveFlow, ANewEpochEndsTheWait)
{
    ConweaveReceiver receiver;
    receiver.OnData(Data(0, 0), 10 * kUs, kParameters);
    EXPECT_TRUE(receiver.OnData(Data(1, 4 * kUs, 3 * kUs), 11 * kUs, kParameters).hold);
    const auto next = receiver.OnData(Data(0, 9 * kUs, 0, 2), 12 * kUs, kParameters);
    EXPECT_TRUE(next.flushBefore);
    EXPECT_FALSE(next.hold);
    EXPECT_FALSE(receiver.IsHolding());
}
