/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The checker must refuse what is wrong: a check that cannot fail proves nothing. Schedules are
 * written out as lists, damaged in one place each, and must be found out. The first test damages
 * every step of every algorithm in every way that matters; the rest are named faults with the words
 * they are reported in.
 */
#include "all-written.h"
#include "collectives/core/checker.h"
#include "list-schedule.h"
#include "prove.h"
#include "tests/unit/full.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>

namespace coll
{
namespace
{

void
DropRecv(Step& step)
{
    step.recvPeer = kNoRank;
    step.recvOffset = step.recvBytes = 0;
    step.reduce = false;
}

void
DropSend(Step& step)
{
    step.sendPeer = kNoRank;
    step.sendOffset = step.sendBytes = 0;
}

ListSchedule
Written(Op op,
        const std::string& name,
        uint32_t ranks,
        uint64_t bytes,
        const AlgorithmOptions& options = {1, 0})
{
    return ListSchedule(
        *Find(op, name)->Make({op, bytes, ranks, 0}, UniformPlacement(ranks, 1), options));
}

struct Damage
{
    const char* name;
    std::function<bool(const Step&)> applies;
    std::function<void(Step&, Rank self)> apply;
};

/// Another rank than the peer and oneself.
Rank
Other(Rank self, Rank peer)
{
    Rank other = 0;
    while (other == self || other == peer)
    {
        other++;
    }
    return other;
}

std::vector<Damage>
Damages()
{
    const auto recvs = [](const Step& s) { return s.recvPeer != kNoRank; };
    const auto sends = [](const Step& s) { return s.sendPeer != kNoRank; };
    const auto recvsBytes = [](const Step& s) { return s.recvBytes > 0; };
    const auto sendsBytes = [](const Step& s) { return s.sendBytes > 0; };
    return {
        {"receives from another",
         recvs,
         [](Step& s, Rank self) { s.recvPeer = Other(self, s.recvPeer); }},
        {"sends to another",
         sends,
         [](Step& s, Rank self) { s.sendPeer = Other(self, s.sendPeer); }},
        {"receives from itself", recvs, [](Step& s, Rank self) { s.recvPeer = self; }},
        {"sends to itself", sends, [](Step& s, Rank self) { s.sendPeer = self; }},
        {"sends to nobody there is", sends, [](Step& s, Rank) { s.sendPeer = 1000; }},
        {"does not receive", recvs, [](Step& s, Rank) { DropRecv(s); }},
        {"does not send", sends, [](Step& s, Rank) { DropSend(s); }},
        {"neither", [](const Step&) { return true; }, [](Step& s, Rank) { s = Step(); }},
        {"adds instead of storing, or the reverse",
         recvsBytes,
         [](Step& s, Rank) { s.reduce = !s.reduce; }},
        {"receives a byte further up", recvsBytes, [](Step& s, Rank) { s.recvOffset++; }},
        {"receives a byte further down", recvsBytes, [](Step& s, Rank) { s.recvOffset--; }},
        {"sends a byte further up", sendsBytes, [](Step& s, Rank) { s.sendOffset++; }},
        {"sends a byte further down", sendsBytes, [](Step& s, Rank) { s.sendOffset--; }},
        {"receives a byte less", recvsBytes, [](Step& s, Rank) { s.recvBytes--; }},
        {"sends a byte less", sendsBytes, [](Step& s, Rank) { s.sendBytes--; }},
        {"receives a byte more", recvsBytes, [](Step& s, Rank) { s.recvBytes++; }},
        {"sends nothing", sendsBytes, [](Step& s, Rank) { s.sendBytes = 0; }},
    };
}

/// One that there is, or of a member without a step.
void
ExpectPlace(const Schedule& schedule, const StepPlace& place)
{
    ASSERT_LT(place.member, schedule.Members());
    if (place.step)
    {
        ASSERT_LT(place.lane, schedule.Lanes(place.member));
        ASSERT_LT(*place.step, schedule.Steps(place.member, place.lane));
    }
}

TEST(Checker, FindsEveryDamagedStepOfEveryAlgorithm)
{
    uint32_t refused = 0;
    CaseShare share(119, 3);
    for (const auto& [name, good] : AllWritten())
    {
        if (!share.Takes())
        {
            continue;
        }
        ASSERT_TRUE(Check(good).Ok()) << name;
        for (Rank r = 0; r < good.Members(); r++)
        {
            for (Lane lane = 0; lane < good.Lanes(r); lane++)
            {
                for (StepIndex k = 0; k < good.Steps(r, lane); k++)
                {
                    for (const Damage& damage : Damages())
                    {
                        if (!damage.applies(good.At(r, lane, k)))
                        {
                            continue;
                        }
                        ListSchedule bad(good);
                        damage.apply(bad.steps[r][lane][k], r);
                        refused++;
                        const CheckReport report = Check(bad);
                        ASSERT_FALSE(report.Ok()) << name << ": rank " << r << " lane " << lane
                                                  << " step " << k << " " << damage.name;
                        ExpectPlace(bad, report.place);
                    }
                    const Step& step = good.steps[r][lane][k];
                    if (step.local && !step.reduce)
                    {
                        continue; // copies the same once more
                    }
                    ListSchedule twice(good);
                    auto& steps = twice.steps[r][lane];
                    steps.insert(steps.begin() + k, steps[k]);
                    ASSERT_FALSE(Check(twice).Ok()) << name << ": rank " << r << " lane " << lane
                                                    << " step " << k << " done twice";
                }
                // A lane that ends too early.
                ListSchedule bad(good);
                if (!bad.steps[r][lane].empty())
                {
                    bad.steps[r][lane].pop_back();
                    ASSERT_FALSE(Check(bad).Ok()) << name;
                }
            }
        }
    }
    EXPECT_GT(refused, 1000U);
}

TEST(Checker, FindsEveryStepThatSendsBeforeItHas)
{
    // Swapped with the step before, which receives some of what it sends. (Where ranks send of
    // another buffer than they receive into, nothing is passed on.)
    uint32_t refused = 0;
    for (const auto& [name, good] : AllWritten())
    {
        for (Rank r = 0; r < good.Members() && !HasSecondBuffer(good.What().op); r++)
        {
            for (Lane lane = 0; lane < good.Lanes(r); lane++)
            {
                for (StepIndex k = 0; k + 1 < good.Steps(r, lane); k++)
                {
                    const Step& first = good.steps[r][lane][k];
                    const Step& second = good.steps[r][lane][k + 1];
                    if (first.recvPeer == kNoRank || second.sendPeer == kNoRank ||
                        first.recvOffset >= second.sendOffset + second.sendBytes ||
                        second.sendOffset >= first.recvOffset + first.recvBytes)
                    {
                        continue;
                    }
                    ListSchedule bad(good);
                    std::swap(bad.steps[r][lane][k], bad.steps[r][lane][k + 1]);
                    refused++;
                    ASSERT_FALSE(Check(bad).Ok())
                        << name << " rank " << r << " lane " << lane << " step " << k;
                }
            }
        }
    }
    EXPECT_GT(refused, 50U);
}

TEST(Checker, FindsTwoStepsInTheWrongOrder)
{
    // Of one-level algorithms; sends of all-to-all and barrier may change places.
    for (const Op op :
         {Op::kAllReduce, Op::kReduceScatter, Op::kAllGather, Op::kBroadcast, Op::kReduce})
    {
        const ListSchedule good(
            *Find(op, "ring")->Make({op, 163, 4, 0}, UniformPlacement(2, 2), {1, 25}));
        for (Rank r = 0; r < 4; r++)
        {
            for (StepIndex k = 0; k + 1 < good.Steps(r, 0); k++)
            {
                const Step& first = good.steps[r][0][k];
                const Step& second = good.steps[r][0][k + 1];
                if (first.sendPeer == kNoRank && second.recvPeer == kNoRank)
                {
                    continue; // the end of a loop and the begin of the next are independent
                }
                ListSchedule bad(good);
                std::swap(bad.steps[r][0][k], bad.steps[r][0][k + 1]);
                EXPECT_FALSE(Check(bad).Ok()) << OpName(op) << " rank " << r << " step " << k;
            }
        }
    }
}

TEST(Checker, CountsWhatIsSent)
{
    const auto report = Check(Written(Op::kAllReduce, "ring", 5, 1000));
    ASSERT_TRUE(report.Ok()) << report.Problems();
    EXPECT_EQ(report.messages, 5U * 8);
    EXPECT_EQ(report.totalBytes, 8000U);
    EXPECT_EQ(report.bytesSent, std::vector<uint64_t>(5, 1600));
    EXPECT_EQ(report.bytesReduced, std::vector<uint64_t>(5, 800));
    EXPECT_EQ(report.longestChain, 8U);
    EXPECT_EQ(report.largestMessage, 200U);
}

TEST(Checker, DoubleContribution)
{
    auto bad = Written(Op::kAllReduce, "ring", 3, 30);
    bad.steps[1][0][3].reduce = true; // the first step of the gathering half
    ExpectRefused(bad, "some twice");
}

TEST(Checker, MissingContribution)
{
    auto bad = Written(Op::kAllReduce, "ring", 3, 30);
    bad.steps[1][0][1].reduce = false; // overwrites its own contribution
    ExpectRefused(bad, "end with contributions of {0,2}, not {0,1,2}");
}

TEST(Checker, ChunkThatBothSidesForgot)
{
    // Lengths agree, the last byte of one chunk never travels.
    auto bad = Written(Op::kAllGather, "ring", 2, 20);
    bad.steps[0][0][0].sendBytes--;
    bad.steps[1][0][1].recvBytes--;
    ExpectRefused(bad, "rank 1 bytes [9, 10) end with contributions of {}, not {0}");
}

TEST(Checker, LengthMismatch)
{
    auto bad = Written(Op::kAllGather, "ring", 3, 30);
    bad.steps[0][0][0].sendBytes--;
    ExpectRefused(bad, "expects 10 bytes from rank 0, which sent 9");
}

TEST(Checker, WrongOffset)
{
    ListSchedule bad({Op::kBroadcast, 20, 2, 0});
    bad.steps[0] = {{Send(1, 0, 10), Send(1, 10, 10)}};
    bad.steps[1] = {{Recv(0, 10, 10), Recv(0, 0, 10)}};
    ExpectRefused(bad, "of another offset");

    ListSchedule sum({Op::kAllReduce, 20, 2, 0});
    sum.steps[0] = {{Send(1, 0, 10)}};
    sum.steps[1] = {{Recv(0, 10, 10, true)}};
    ExpectRefused(sum, "they belong to another offset");
}

TEST(Checker, ReducesIntoNothing)
{
    auto bad = Written(Op::kAllGather, "ring", 3, 30);
    bad.steps[2][0][1].reduce = true;
    ExpectRefused(bad, "holds nothing yet");
}

TEST(Checker, Deadlock)
{
    auto bad = Written(Op::kAllGather, "ring", 4, 40);
    for (Rank r = 0; r < 4; r++)
    {
        std::swap(bad.steps[r][0][0], bad.steps[r][0][1]); // everybody receives first
    }
    ExpectRefused(bad, "deadlock: rank 0 lane 0 step 0 waits for a message from rank 3");
}

TEST(Checker, UnmatchedMessage)
{
    auto bad = Written(Op::kBroadcast, "ring", 3, 30);
    bad.steps[0][0].push_back(Send(1, 0, 0)); // empty, and still a message
    ExpectRefused(bad, "1 messages from rank 0 to rank 1 on lane 0 are never received");

    ListSchedule noLane({Op::kBroadcast, 0, 2, 0});
    noLane.steps[0] = {{}, {Send(1, 0, 0)}};
    noLane.steps[1] = {{}};
    ExpectRefused(noLane, "on lane 1 are never received");
}

TEST(Checker, OutOfBounds)
{
    auto bad = Written(Op::kBroadcast, "ring", 3, 30);
    bad.steps[0][0][0].sendOffset = UINT64_MAX;
    ExpectRefused(bad, "of a buffer of 30");
}

TEST(Checker, RacesBetweenLanes)
{
    // Both lanes bring the same, right bytes; still two writers.
    ListSchedule twice({Op::kBroadcast, 10, 2, 0});
    twice.steps[0] = {{Send(1, 0, 10)}, {Send(1, 0, 10)}};
    twice.steps[1] = {{Recv(0, 0, 10)}, {Recv(0, 0, 10)}};
    ExpectRefused(twice, "both write byte 0");

    // Lane 1 passes on what lane 0 receives, in the hope that it has.
    ListSchedule hope({Op::kBroadcast, 10, 3, 0});
    hope.steps[0] = {{Send(1, 0, 10)}};
    hope.steps[1] = {{Recv(0, 0, 10)}, {Send(2, 0, 10)}};
    hope.steps[2] = {{}, {Recv(1, 0, 10)}};
    const auto report = Check(hope);
    EXPECT_FALSE(report.Ok());
    ExpectRefused(hope, "the first writes byte 0, which the second sends");

    // Lanes on bytes of their own are fine.
    ListSchedule apart({Op::kBroadcast, 10, 2, 0});
    apart.steps[0] = {{Send(1, 0, 5)}, {Send(1, 5, 5)}};
    apart.steps[1] = {{Recv(0, 0, 5)}, {Recv(0, 5, 5)}};
    EXPECT_TRUE(Check(apart).Ok());
}

TEST(Checker, BarrierThatLetsSomebodyLeaveEarly)
{
    auto bad = Written(Op::kBarrier, "dissemination", 5, 0);
    for (Rank r = 0; r < 5; r++)
    {
        DropSend(bad.steps[r][0][2]); // two rounds tell of four ranks only
        bad.steps[r][0].pop_back();
    }
    ExpectRefused(bad, "rank 0 can leave the barrier when only {0,2,3,4} have come");

    // Everybody tells rank 0, which tells nobody.
    ListSchedule oneWay({Op::kBarrier, 0, 3, 0});
    oneWay.steps[0] = {{Recv(1, 0, 0), Recv(2, 0, 0)}};
    oneWay.steps[1] = {{Send(0, 0, 0)}};
    oneWay.steps[2] = {{Send(0, 0, 0)}};
    ExpectRefused(oneWay, "rank 1 can leave the barrier when only {1} have come");

    ListSchedule nothing({Op::kBarrier, 0, 2, 0});
    ExpectRefused(nothing, "can leave the barrier");
}

TEST(Checker, NothingDoneIsNotDone)
{
    for (const Op op : {Op::kAllReduce,
                        Op::kReduceScatter,
                        Op::kAllGather,
                        Op::kBroadcast,
                        Op::kReduce,
                        Op::kGather,
                        Op::kScatter,
                        Op::kAllToAll,
                        Op::kSendRecv})
    {
        EXPECT_FALSE(Check(ListSchedule({op, 10, 2, 0})).Ok()) << OpName(op);
        EXPECT_TRUE(Check(ListSchedule({op, 10, 1, 0})).Ok()) << OpName(op);
        EXPECT_TRUE(Check(ListSchedule({op, 0, 2, 0})).Ok()) << OpName(op);
    }
}

TEST(Checker, PieceAtTheWrongRank)
{
    // A reduce-scatter by ring position instead of by rank: right sums, wrong owners.
    ListSchedule bad({Op::kReduceScatter, 20, 2, 0});
    bad.steps[0] = {{Send(1, 0, 10), Recv(1, 10, 10, true)}};
    bad.steps[1] = {{Send(0, 10, 10), Recv(0, 0, 10, true)}};
    ExpectRefused(bad, "rank 0 bytes [0, 10) end with contributions of {0}, not {0,1}");
}

TEST(Checker, AllToAllBlockAtTheWrongPlace)
{
    auto bad = Written(Op::kAllToAll, "direct", 3, 30);
    std::swap(bad.steps[0][0][2].recvOffset, bad.steps[0][0][3].recvOffset);
    ExpectRefused(bad, "rank 0 bytes [10, 20) end with contributions of {2}, not {1}");
}

Step
Move(uint64_t from, uint64_t to, uint64_t bytes, bool reduce = false)
{
    Step step;
    step.local = true;
    step.sendOffset = from;
    step.recvOffset = to;
    step.sendBytes = step.recvBytes = bytes;
    step.reduce = reduce;
    return step;
}

TEST(Checker, ScratchAndStepsWithinARank)
{
    // Both keep what they send, so an addition cannot overtake it; and add what comes into the
    // scratch themselves.
    ListSchedule exchange({Op::kAllReduce, 10, 2, 0});
    exchange.scratch = 20;
    for (const Rank r : {0U, 1U})
    {
        exchange.steps[r] = {
            {Move(0, 10, 10), Send(1 - r, 10, 10), Recv(1 - r, 20, 10), Move(20, 0, 10, true)}};
    }
    const auto report = Check(exchange);
    EXPECT_TRUE(report.Ok()) << report.Problems();
    EXPECT_TRUE(report.zeroCopySafe);
    EXPECT_EQ(report.bytesCopied, (std::vector<uint64_t>{10, 10}));
    EXPECT_EQ(report.bytesReduced, (std::vector<uint64_t>{10, 10}));
    EXPECT_EQ(report.totalBytes, 20U);

    auto bad = exchange;
    bad.scratch = 19;
    ExpectRefused(bad, "receives into bytes [20, 30) of a buffer of 29");
    bad = exchange;
    bad.steps[0][0][3] = Move(15, 0, 10, true); // its own bytes among them
    ExpectRefused(bad, "some twice");
    bad = exchange;
    bad.steps[0][0][3] = Move(20, 1, 9, true);
    ExpectRefused(bad, "they belong to another offset");
    bad = exchange;
    bad.steps[0][0][3].sendBytes = 9;
    ExpectRefused(bad, "is local, with a peer or of 9 bytes into 10");
    bad = exchange;
    bad.steps[1][0][0] = Move(25, 10, 10);
    ExpectRefused(bad, "moves bytes [25, 35) of a buffer of 30");
    bad = exchange;
    std::swap(bad.steps[0][0][2], bad.steps[0][0][3]);
    ExpectRefused(bad, "one of the two holds nothing yet");

    // A lane that adds what another one received.
    bad = exchange;
    bad.steps[0] = {{Move(0, 10, 10), Send(1, 10, 10), Recv(1, 20, 10)}, {Move(20, 0, 10, true)}};
    EXPECT_FALSE(Check(bad).Ok());

    // Of all-to-all: a block comes by way of the scratch behind the result, not of the input.
    ListSchedule pass({Op::kAllToAll, 30, 3, 0}); // results of 30 bytes
    pass.scratch = 10;
    const Rank far = 2; // what 0 has for 2 goes by way of 1
    pass.steps[0] = {{Send(1, 10, 10), Send(1, 20, 10), Recv(1, 10, 10), Recv(far, 20, 10)}};
    pass.steps[1] = {{Recv(0, 0, 10), Recv(0, 30, 10), Send(0, 0, 10), Send(far, 20, 10)}};
    Step on = Send(far, 30, 10);
    on.fromResult = true;
    pass.steps[1][0].push_back(on);
    pass.steps[1][0].push_back(Recv(far, 20, 10));
    pass.steps[far] = {{Send(0, 0, 10), Send(1, 10, 10), Recv(1, 10, 10), Recv(1, 0, 10)}};
    EXPECT_TRUE(Check(pass).Ok()) << Check(pass).Problems();
    pass.steps[1][0][4].fromResult = false;
    ExpectRefused(pass, "of a buffer of 30"); // its input
}

TEST(Checker, TellsWhetherSendsMayBeReadLate)
{
    // Both send all they have and add what comes: right, but the addition may overtake the NIC's
    // reading.
    ListSchedule exchange({Op::kAllReduce, 10, 2, 0});
    exchange.steps[0] = {{Send(1, 0, 10), Recv(1, 0, 10, true)}};
    exchange.steps[1] = {{Send(0, 0, 10), Recv(0, 0, 10, true)}};
    const auto report = Check(exchange);
    EXPECT_TRUE(report.Ok()) << report.Problems();
    EXPECT_FALSE(report.zeroCopySafe);
    EXPECT_TRUE(Check(Written(Op::kAllReduce, "ring", 2, 10)).zeroCopySafe);
}

} // namespace
} // namespace coll
