/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The closed form of completion times against the recurrence played frame by frame, to the
 * picosecond.
 */
#include "contrib/rdma/core/ideal-completion.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <iterator>
#include <random>
#include <stdexcept>
#include <vector>

using namespace rdma;

namespace
{

Duration
FrameByFrame(const std::vector<PathLink>& path, const std::vector<FrameRun>& runs)
{
    std::vector<int64_t> busyUntil(path.size(), 0);
    int64_t delivered = 0;
    for (const auto& run : runs)
    {
        for (uint64_t n = 0; n < run.count; ++n)
        {
            int64_t ready = 0;
            for (size_t i = 0; i < path.size(); ++i)
            {
                const Bytes bytes = path[i].carriesAcks ? run.ackWireBytes : run.wireBytes;
                const double exact =
                    8e12 * static_cast<double>(bytes.value) / static_cast<double>(path[i].rate.bps);
                const int64_t unit = path[i].timeUnit.ps;
                const int64_t ps =
                    unit > 1 ? static_cast<int64_t>(
                                   std::ceil(exact / static_cast<double>(unit) - 1e-9) - 1) *
                                   unit
                             : SerializationTime(bytes, path[i].rate).ps;
                if (bytes.value > 0 || !path[i].carriesAcks) // else there is no ACK to send
                {
                    busyUntil[i] = std::max(ready, busyUntil[i]) + ps;
                    ready = busyUntil[i] + path[i].delay.ps + path[i].pipeline.ps;
                }
            }
            delivered = ready;
        }
    }
    return Duration(delivered);
}

/// Packet by packet, the plain way.
std::vector<uint64_t>
WireBytesOfEachPacket(uint64_t message, uint32_t mtu, bool withImmediate)
{
    std::vector<uint64_t> wire;
    uint64_t left = message;
    do
    {
        uint64_t request = std::min<uint64_t>(left, 1ULL << 31);
        left -= request;
        bool first = true;
        do
        {
            const uint64_t payload = std::min<uint64_t>(request, mtu);
            request -= payload;
            const bool last = request == 0;
            uint64_t bytes = 8 + 14 + 20 + 8 + 12 + (first ? 16 : 0) +
                             (last && left == 0 && withImmediate ? 4 : 0);
            bytes += (payload + 3) / 4 * 4 + 4 + 4 + 12;
            wire.push_back(bytes);
            first = false;
        } while (request > 0);
    } while (left > 0);
    return wire;
}

} // namespace

TEST(IdealCompletion, OneLinkByHand)
{
    // 0 B: one packet of 62 + 16 B and 20 B of preamble and gap: 98 B at 100 Gb/s = 7.84 ns, and 1
    // us of fibre.
    const std::vector<PathLink> path{{Gbps(100), Microseconds(1), Duration(0)}};
    EXPECT_EQ(IdealCompletion(path, RoceWriteRuns(Bytes(0), 4096)), Picoseconds(1007840));
    // 10,000 B: 4096 + 62 + 16 + 20, 4096 + 82, 1808 + 82: 4194 + 4178 + 1890 = 10262 B: 820.96 ns.
    EXPECT_EQ(IdealCompletion(path, RoceWriteRuns(Bytes(10000), 4096)), Picoseconds(1820960));
}

TEST(IdealCompletion, TwoHostsOneSwitchByHand)
{
    // Two frames of 4,194 and 4,178 B (335.52 and 334.24 ns at 100 Gb/s), a switch of 500 ns, 1 us
    // links. The first has left the switch at 335.52 + 1500 + 335.52 = 2171.04 ns. The second is
    // there at 335.52 + 334.24 + 1500 = 2169.76, waits for it, and arrives at 2171.04 + 334.24 +
    // 1000 = 3505.28 ns.
    const std::vector<PathLink> path{{Gbps(100), Microseconds(1), Nanoseconds(500)},
                                     {Gbps(100), Microseconds(1), Duration(0)}};
    EXPECT_EQ(IdealCompletion(path, RoceWriteRuns(Bytes(8192), 4096)), Picoseconds(3505280));
}

TEST(IdealCompletion, EqualsTheRecurrenceFrameByFrame)
{
    const BitRate rates[] = {BitRate(54540000000),
                             Gbps(1),
                             Gbps(25),
                             Gbps(40),
                             Gbps(100),
                             Gbps(400),
                             Gbps(100000),
                             BitRate(333333333)};
    for (uint32_t seed = 1; seed <= 2000; ++seed)
    {
        std::mt19937_64 random(seed);
        std::vector<PathLink> path(1 + random() % 8);
        for (auto& link : path)
        {
            link.rate = rates[random() % std::size(rates)];
            link.delay = Duration(static_cast<int64_t>(random() % 3000000));
            link.pipeline = Duration(random() % 2 ? static_cast<int64_t>(random() % 1000000) : 0);
        }
        std::vector<FrameRun> runs(random() % 6);
        for (auto& run : runs)
        {
            run.wireBytes = Bytes(random() % 10 == 0 ? 0 : 84 + random() % 9000);
            run.count = random() % 3 == 0 ? random() % 3 : random() % 400;
        }
        ASSERT_EQ(IdealCompletion(path, runs).ps, FrameByFrame(path, runs).ps) << "seed " << seed;
    }
}

TEST(IdealCompletion, ATerabyteTakesNoTime)
{
    const std::vector<PathLink> path(6, {Gbps(100), Microseconds(1), Nanoseconds(500)});
    const Duration t = IdealCompletion(path, RoceWriteRuns(Bytes(1ULL << 40), 4096));
    const double efficiency = 4096. / (4096 + 82);
    EXPECT_NEAR(t.Seconds(), static_cast<double>(1ULL << 40) * 8 / 100e9 / efficiency, 1e-4);
}

TEST(IdealCompletion, TimesCutToAUnitAndAcksOnTheWayBackByHand)
{
    // 2 B more than two packets of 1000 B at 10 Gb/s, HPCC's frames: 838, 838, 39 ns; ACKs 47 ns:
    // whole ones lose one.
    const FrameSizes sizes = FrameSizes::Make(0, 48, false, 60, 60);
    std::vector<PathLink> path(2, {Gbps(10), Microseconds(1), Duration(0), Nanoseconds(1)});
    auto runs = RoceWriteRuns(Bytes(2002), 1000, true, sizes);
    ASSERT_EQ(runs.size(), 2u);
    EXPECT_EQ(runs[0].wireBytes, Bytes(1048));
    EXPECT_EQ(runs[1].wireBytes, Bytes(50)); // no padding, and no immediate data either
    EXPECT_EQ(IdealCompletion(path, runs), Nanoseconds(1676 + 1000 + 838 + 39 + 1000));
    path.push_back({Gbps(10), Microseconds(1), Duration(0), Nanoseconds(1), true});
    AddAcks(runs, Bytes(sizes.ackWire), true);
    // The ACK of the second packet is on its way for 47 ns when the third is there after 39.
    EXPECT_EQ(IdealCompletion(path, runs),
              Nanoseconds(1676 + 1000 + 838 + 39 + 1000 + 8 + 47 + 1000));
    auto sparse = RoceWriteRuns(Bytes(2002), 1000, true, sizes);
    AddAcks(sparse, Bytes(sizes.ackWire), false);
    EXPECT_EQ(IdealCompletion(path, sparse),
              Nanoseconds(1676 + 1000 + 838 + 39 + 1000 + 47 + 1000));
}

TEST(IdealCompletion, SwitchesThatCutThroughByHand)
{
    // 1,122 B at 100, 100, 400, 100 Gb/s, 72 B until the way is known: 5.76 ns, 89.76 (the next
    // link is faster), 1.44, and 89.76 on the last; 4 x 1 us of links and 3 x 500 ns of switches.
    const std::vector<uint64_t> rates{100, 100, 400, 100};
    std::vector<PathLink> path;
    for (std::size_t i = 0; i < rates.size(); ++i)
    {
        const bool toSwitch = i + 1 < rates.size();
        path.push_back({Gbps(rates[i]), Microseconds(1), Nanoseconds(toSwitch ? 500 : 0)});
        path.back().cutThrough = toSwitch;
        path.back().headers = SerializationTime(Bytes(72), Gbps(rates[i]));
    }
    const std::vector<FrameRun> one{{Bytes(1122), 1}};
    EXPECT_EQ(IdealCompletion(path, one).ps, 5686720);
    // Of ten, each takes 89.76 ns on the slowest link.
    EXPECT_EQ(IdealCompletion(path, {{Bytes(1122), 10}}).ps, 5686720 + 9 * 89760);
    // A frame that is shorter than what is waited for is not waited for longer than it lasts.
    const std::vector<FrameRun> tiny{{Bytes(64), 1}};
    EXPECT_EQ(IdealCompletion(path, tiny).ps, 5500000 + 5120 + 5120 + 1280 + 5120);
    for (PathLink& link : path)
    {
        link.cutThrough = false;
    }
    EXPECT_EQ(IdealCompletion(path, one).ps, 5791720);
}

TEST(IdealCompletion, UnitsAndAcksAreTheRecurrenceAsWell)
{
    std::mt19937_64 random(7);
    for (int seed = 0; seed < 300; ++seed)
    {
        std::vector<PathLink> path(2 + random() % 6);
        for (size_t i = 0; i < path.size(); ++i)
        {
            path[i].rate = BitRate(1 + random() % 400000000000ULL);
            path[i].delay = Nanoseconds(static_cast<int64_t>(random() % 2000));
            path[i].timeUnit = Duration(random() % 2 ? 1000 : 1);
            path[i].carriesAcks = i >= path.size() / 2;
        }
        auto runs = RoceWriteRuns(Bytes(1 + random() % 30000),
                                  1000,
                                  false,
                                  FrameSizes::Make(0, 48, false, 60, 60));
        AddAcks(runs, Bytes(60), random() % 2);
        ASSERT_EQ(IdealCompletion(path, runs).ps, FrameByFrame(path, runs).ps) << "seed " << seed;
    }
}

TEST(FrameSizes, AreRoceByDefault)
{
    const FrameSizes sizes;
    EXPECT_TRUE(sizes.AreStandard());
    EXPECT_EQ(sizes.ackWire, 86u);
    EXPECT_EQ(sizes.cnpWire, 98u);
    EXPECT_TRUE(FrameSizes::Make(20, 62, true, 66, 78).AreStandard());
    EXPECT_FALSE(FrameSizes::Make(20, 62, true, 66, 60).AreStandard());
    EXPECT_FALSE(FrameSizes::Make(20, 62, false, 66, 78).AreStandard());
    EXPECT_EQ(FrameSizes::Make(0, 48, false, 60, 60).LargestFrame(1000), 1048u);
    for (const RoceOpcode o : {RoceOpcode::kWriteFirst,
                               RoceOpcode::kWriteOnlyWithImmediate,
                               RoceOpcode::kSendOnly,
                               RoceOpcode::kReadRequest,
                               RoceOpcode::kReadResponseFirst,
                               RoceOpcode::kDatagramSendOnlyWithImmediate})
    {
        for (const uint32_t payload : {0u, 1u, 4u, 999u, 4096u})
        {
            EXPECT_EQ(sizes.DataWire(o, payload), WireBytes(FrameBytes(o, payload)).value)
                << static_cast<int>(o);
        }
    }
}

TEST(IdealCompletion, RefusesPathsThatLeadNowhere)
{
    EXPECT_THROW(IdealCompletion({}, RoceWriteRuns(Bytes(1), 4096)), std::invalid_argument);
    EXPECT_THROW(IdealCompletion({PathLink()}, RoceWriteRuns(Bytes(1), 4096)),
                 std::invalid_argument);
    EXPECT_THROW(RoceWriteRuns(Bytes(1), 0), std::invalid_argument);
    EXPECT_EQ(IdealCompletion({{Gbps(1), Microseconds(1), Duration(0)}}, {}), Duration(0));
}

// A packet of 4,096 B and one of 1 B over two links of 100 Gb/s: the second leaves right behind the
// first, which takes its time again on the second link, and arrives before it there on a path of
// its own: no more than the first alone is left. With the tail in its place it takes a frame more.
TEST(IdealOvertaking, IsTheLatestOfItsRuns)
{
    const std::vector<PathLink> path(2, {Gbps(100), Microseconds(1), Duration(0)});
    const auto runs = RoceWriteRuns(Bytes(4097), 4096);
    ASSERT_EQ(runs.size(), 2U);
    const Duration first = IdealCompletion(path, {runs[0]});
    const Duration tail = SerializationTime(runs[1].wireBytes, Gbps(100));
    EXPECT_EQ(IdealCompletion(path, runs), first + tail);
    EXPECT_EQ(IdealOvertaking(path, runs), first);
    EXPECT_EQ(IdealOvertaking(path, {runs[0]}), first);
    EXPECT_EQ(IdealOvertaking(path, {}), Duration(0));
    // Frames of one size cannot overtake each other.
    const auto equal = RoceSendRuns(Bytes(2 * 4096), 4096);
    EXPECT_LE(IdealOvertaking(path, equal), IdealCompletion(path, equal));
}

TEST(RoceWriteRuns, EveryPacketOfEveryMessage)
{
    std::vector<uint64_t>
        messages{0, 1, 3, 4, 255, 256, 257, 4095, 4096, 4097, 8192, 8193, 12289, 1000000};
    const uint64_t cut = 1ULL << 31;
    messages.insert(messages.end(), {cut - 1, cut, cut + 1, cut + 4096, 2 * cut, 2 * cut + 5});
    for (const uint64_t message : messages)
    {
        for (const uint32_t mtu : {256u, 1024u, 4096u, 1000u})
        {
            if (message > 10000000 && mtu < 4096)
            {
                continue;
            }
            for (const bool immediate : {false, true})
            {
                const auto expected = WireBytesOfEachPacket(message, mtu, immediate);
                size_t at = 0;
                for (const auto& run : RoceWriteRuns(Bytes(message), mtu, immediate))
                {
                    ASSERT_GT(run.count, 0u);
                    for (uint64_t n = 0; n < run.count; ++n, ++at)
                    {
                        ASSERT_LT(at, expected.size());
                        ASSERT_EQ(run.wireBytes.value, expected[at])
                            << message << " B, MTU " << mtu << ", packet " << at;
                    }
                }
                ASSERT_EQ(at, expected.size()) << message << " B, MTU " << mtu;
            }
        }
    }
    EXPECT_EQ(RoceWriteRuns(Bytes(1ULL << 40), 4096).size(),
              512u * 2); // first, and middle with last
}
