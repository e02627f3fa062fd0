// SPDX-License-Identifier: GPL-2.0-only
#include "reports/attribution/interference.h"

#include <array>
#include <gtest/gtest.h>
#include <random>

namespace reports
{
namespace
{

constexpr int64_t SLOT = 1 << 20; // ps, the shortest there are
constexpr double SLOT_US = SLOT * 1e-6;

uint32_t
Nobody(uint32_t)
{
    return 0;
}

/// A message over ports 0 (its NIC) and 1, where it waited at last, behind ordinary packets or
/// nobody.
MessageParts
Over(int64_t waited, bool ordinary)
{
    MessageParts parts;
    parts.hops.resize(2);
    parts.hops[0].port = 0;
    parts.hops[1].port = 1;
    parts.hops[1].time = waited;
    parts.hops[1].waited = waited;
    parts.hops[1].behind.ordinary = ordinary;
    return parts;
}

FlowRecord
Lasting(int64_t time, int64_t start = 0)
{
    FlowRecord record;
    record.bytes = 1000;
    record.start = start;
    record.end = start + time;
    return record;
}

TEST(InterferenceOfOrdinaryPackets, IsTheirOwners)
{
    const std::vector<std::string> ports{"a->s", "s->b"};
    Interference of(ports);
    of.AddOwner("background");
    of.Add(Lasting(8 * SLOT), Over(4 * SLOT, true), 0, Nobody, 1);
    of.Add(Lasting(8 * SLOT), Over(2 * SLOT, false), 0, Nobody, 1);
    // In a slot the job has 2 x 125 B at s->b, the others 6,000 / 16 = 375: three fifths of what
    // the job waits are for them.
    of.SetOrdinary(1, {0, 6000}, 16 * SLOT);
    const auto job = of.ToJson(0, "job");
    EXPECT_DOUBLE_EQ(job["messages_us"], 16 * SLOT_US);
    EXPECT_DOUBLE_EQ(job["waited_us"], 6 * SLOT_US);
    EXPECT_DOUBLE_EQ(job["waited_for_others_us"], 3.6 * SLOT_US);
    ASSERT_EQ(job["links"].size(), 1u);
    EXPECT_EQ(job["links"][0]["slowed_by"], "background");
    EXPECT_DOUBLE_EQ(job["links"][0]["share_of_bytes_of_others"], 0.6);
    ASSERT_EQ(job["behind"].size(), 1u);
    EXPECT_EQ(job["behind"][0]["job"], "background");
    EXPECT_DOUBLE_EQ(job["behind"][0]["waited_us"], 4 * SLOT_US);
    EXPECT_EQ(job["shares"]["link"], "s->b");
    EXPECT_DOUBLE_EQ(job["shares"]["share_of_bytes_of_others"], 0.6);
}

// They were at the ports when their messages were on their way, not evenly in the whole run.
TEST(InterferenceOfOrdinaryPackets, IsOfTheTimeOfTheirMessages)
{
    const std::vector<std::string> ports{"a->s", "s->b"};
    Interference of(ports);
    of.AddOwner("early");
    of.AddOwner("tcp");
    of.AddOwner("late");
    of.Add(Lasting(8 * SLOT), Over(4 * SLOT, false), 1, Nobody, 2);
    of.Add(Lasting(8 * SLOT, 1000 * SLOT), Over(4 * SLOT, false), 3, Nobody, 2);
    of.AddOrdinary(996 * SLOT, 1012 * SLOT, 5000);
    of.SetOrdinary(2, {0, 6000}, 1016 * SLOT);
    EXPECT_DOUBLE_EQ(of.ToJson(1, "")["waited_for_others_us"], 0);
    EXPECT_TRUE(of.ToJson(1, "")["shares"].is_null());
    // Slots are of 8: half of 996 to 1012, 3,000 B, beside the 1,000 of the message.
    EXPECT_NEAR(of.ToJson(3, "")["waited_for_others_us"], 4 * SLOT_US * 0.75, 1e-2 * SLOT_US);
}

TEST(InterferenceOfOrdinaryPackets, IsNothingWhereTheyDoNotPass)
{
    const std::vector<std::string> ports{"a->s", "s->b", "s->c"};
    Interference of(ports);
    of.AddOwner("background");
    of.Add(Lasting(50 * SLOT), Over(12 * SLOT, false), 0, Nobody, 1);
    of.SetOrdinary(1, {0, 0, 6000}, 50 * SLOT);
    const auto job = of.ToJson(0, "job");
    EXPECT_DOUBLE_EQ(job["waited_for_others_us"], 0);
    EXPECT_TRUE(job["links"].empty());
    EXPECT_TRUE(job["shares"].is_null());
}

// 1,008 slots of the shortest kind become 126 eight times as long. (The share of all bytes of the
// run, which was here before, said that each waited half of its time for the other.)
TEST(InterferenceOfJobs, IsNothingIfTheyComeOneAfterTheOther)
{
    const std::vector<std::string> ports{"a->s", "s->b"};
    Interference of(ports);
    of.AddOwner("early");
    of.AddOwner("late");
    of.Add(Lasting(8 * SLOT), Over(4 * SLOT, false), 1, Nobody);
    of.Add(Lasting(8 * SLOT, 1000 * SLOT), Over(4 * SLOT, false), 2, Nobody);
    for (const uint32_t owner : {1, 2})
    {
        const auto job = of.ToJson(owner, "");
        EXPECT_DOUBLE_EQ(job["waited_us"], 4 * SLOT_US);
        EXPECT_DOUBLE_EQ(job["waited_for_others_us"], 0);
        EXPECT_TRUE(job["links"].empty());
        EXPECT_TRUE(job["shares"].is_null());
    }
}

// A long job of 1,016 of the shortest slots, so of 127 eight times as long, waits for 40 of them:
// for the short one only in the eight that both have, and there for half, as both send the same.
// A job whose warm-up another one met, which has ended since: nobody is met, and a switch is shared
// with nobody.
TEST(InterferenceOfJobs, OfAWarmUpIsNone)
{
    const std::vector<std::string> ports{"a->s", "s->b", "s->c"};
    Interference of(ports);
    of.AddOwner("early");
    of.AddOwner("other");
    of.AddUnmeasured({0, 4 * SLOT, 1000}, Over(0, false), 0);
    of.Add(Lasting(4 * SLOT), Over(SLOT, false), 1, Nobody);
    MessageParts apart = Over(0, false);
    apart.hops[1].port = 2;
    of.Add(Lasting(4 * SLOT), apart, 2, Nobody);
    of.Add(Lasting(4 * SLOT, 16 * SLOT), Over(0, false), 0, Nobody);
    EXPECT_TRUE(of.ToJson(0, "job")["shares"].is_null());
    EXPECT_TRUE(of.ToJson(0, "job")["shares_switch"].is_null());
    // But "early" waited for the warm-up, as much as it did for itself.
    EXPECT_DOUBLE_EQ(of.ToJson(1, "job")["waited_for_others_us"], 0.5 * SLOT_US);
    EXPECT_EQ(of.ToJson(1, "job")["shares"]["job"], "job");
}

TEST(InterferenceOfJobs, IsThatOfTheTimeTheyShare)
{
    const std::vector<std::string> ports{"a->s", "s->b"};
    Interference of(ports);
    of.AddOwner("long");
    of.AddOwner("short");
    for (int64_t i = 0; i < 127; ++i)
    {
        const int64_t waited = i < 4 || i == 64 ? 8 * SLOT : 0;
        of.Add(Lasting(8 * SLOT, 8 * i * SLOT), Over(waited, false), 1, Nobody);
    }
    of.Add(Lasting(8 * SLOT, 8 * 64 * SLOT), Over(0, false), 2, Nobody);
    const auto job = of.ToJson(1, "");
    EXPECT_DOUBLE_EQ(job["waited_us"], 40 * SLOT_US);
    EXPECT_NEAR(job["waited_for_others_us"], 4 * SLOT_US, 1e-6);
    EXPECT_EQ(job["links"][0]["slowed_by"], "short");
}

// Whatever comes, what an owner waited for all owners is what it waited, and bytes are shares.
TEST(InterferenceOfJobs, AddsUp)
{
    std::mt19937_64 random(7);
    const auto below = [&](uint64_t n) { return static_cast<int64_t>(random() % n); };
    for (int round = 0; round < 100; ++round)
    {
        const std::vector<std::string> ports{"a->s", "s->b"};
        Interference of(ports);
        of.AddOwner("one");
        of.AddOwner("two");
        of.Clear(below(1000) * SLOT);
        std::array<double, 3> waited{};
        const auto messages = 1 + below(300);
        for (int64_t i = 0; i < messages; ++i)
        {
            const auto owner = static_cast<uint32_t>(below(3));
            const int64_t wait = below(SLOT << below(8));
            waited[owner] += static_cast<double>(wait) * 1e-6;
            of.Add(Lasting(wait + below(SLOT << below(12)), below(SLOT << below(14))),
                   Over(wait, false),
                   owner,
                   Nobody);
        }
        for (const uint32_t owner : {0, 1, 2})
        {
            const auto job = of.ToJson(owner, "all else");
            double sum = 0;
            for (const auto& other : job["waited_for"])
            {
                EXPECT_GT(other["waited_us"], 0);
                sum += other["waited_us"].get<double>();
            }
            EXPECT_NEAR(sum, waited[owner], 1e-6 * (1 + sum));
            EXPECT_LE(job["waited_for_others_us"].get<double>(), sum * (1 + 1e-12));
            for (const auto& link : job["links"])
            {
                EXPECT_GT(link["share_of_bytes_of_others"], 0);
                EXPECT_LE(link["share_of_bytes_of_others"], 1 + 1e-12);
            }
        }
    }
}

// a waits at the sender for what b sends at the same port, and the words have the largest part.
TEST(WaitedLongest, NamesTheLargestPartAndWhomItMeets)
{
    const std::vector<std::string> ports{"a->s", "s->b"};
    const rdma::LinkWords& link = rdma::kEthernetWords;
    Interference of(ports);
    of.AddOwner("one");
    of.AddOwner("two");
    MessageParts parts = Over(0, false);
    parts.parts[At(TimeShare::THROTTLED)] = SLOT;
    parts.parts[At(TimeShare::WINDOW)] = 6 * SLOT;
    of.Add(Lasting(8 * SLOT), parts, 1, Nobody);
    of.Add(Lasting(8 * SLOT), Over(0, false), 2, Nobody);
    // 6 of 8; half of the bytes are of each, as both messages have as many.
    auto json = of.ToJson(1, "");
    EXPECT_DOUBLE_EQ(json["slot_us"], SLOT_US);
    EXPECT_DOUBLE_EQ(json["window_us"], 6 * SLOT_US);
    EXPECT_DOUBLE_EQ(json["throttled_us"], SLOT_US);
    EXPECT_EQ(WaitedLongest(json, link, true),
              "75% waiting for acknowledgements, as the window was full; meets two at a->s (50% of "
              "the bytes there are others')");
    EXPECT_EQ(WaitedLongest(of.ToJson(2, ""), link, true),
              "for nobody, meets one at a->s (50% of the bytes there are others')");
    // Another one of 8 slots: 6 paused at the NIC, 7 in the queue, of which half is for the other.
    parts = Over(7 * SLOT, false);
    parts.parts[At(TimeShare::NIC_PAUSED)] = 3 * SLOT;
    of.Clear(0);
    of.Add(Lasting(8 * SLOT), parts, 1, Nobody);
    of.Add(Lasting(8 * SLOT), Over(0, false), 2, Nobody);
    EXPECT_EQ(WaitedLongest(of.ToJson(1, ""), link, true),
              "for two at s->b (50% of the bytes there are others')");
    parts.parts[At(TimeShare::NIC_PAUSED)] = 4 * SLOT;
    of.Clear(0);
    of.Add(Lasting(8 * SLOT), parts, 1, Nobody);
    of.Add(Lasting(8 * SLOT), Over(0, false), 2, Nobody);
    EXPECT_EQ(WaitedLongest(of.ToJson(1, ""), link, true),
              "50% in the sender's NIC, paused by PFC; for two at s->b (50% of the bytes there are "
              "others')");
    EXPECT_EQ(WaitedLongest(nullptr, link, true), "-");
}

// Of two hosts each, at one switch, and no port of it together.
TEST(WaitedLongest, NamesTheSwitchThatJobsShareAtATime)
{
    const std::vector<std::string> ports{"a->s", "s->b", "c->s", "s->d"};
    Interference of(ports);
    of.AddOwner("one");
    of.AddOwner("two");
    MessageParts others = Over(0, false);
    others.hops[0].port = 2;
    others.hops[1].port = 3;
    of.Add(Lasting(8 * SLOT), Over(0, false), 1, Nobody);
    of.Add(Lasting(8 * SLOT, 40 * SLOT), others, 2, Nobody);
    EXPECT_EQ(WaitedLongest(of.ToJson(1, ""), rdma::kEthernetWords, true),
              "for nobody, shares no link with others' data at its measured time");
    of.Add(Lasting(8 * SLOT), others, 2, Nobody);
    const auto json = of.ToJson(1, "");
    EXPECT_EQ(json["shares"], nullptr);
    EXPECT_EQ(json["shares_switch"]["switch"], "s");
    EXPECT_EQ(WaitedLongest(json, rdma::kEthernetWords, true),
              "for nobody, shares the buffer of s with two");
    EXPECT_EQ(WaitedLongest(json, rdma::kInfiniBandWords, false),
              "for nobody, shares the switch s with two");
}

} // namespace
} // namespace reports
