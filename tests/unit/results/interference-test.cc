// SPDX-License-Identifier: GPL-2.0-only
#include "results/interference.h"

#include <gtest/gtest.h>

namespace results
{
namespace
{

constexpr int64_t US = 1000000; // ps

/// A message over ports 0 (its NIC) and 1, where it waited behind ordinary packets, or nobody.
MessageParts
Over(int64_t waited, bool ordinary)
{
    MessageParts parts;
    parts.hops.resize(2);
    parts.hops[0].port = 0;
    parts.hops[1].port = 1;
    parts.hops[1].waited = waited;
    parts.hops[1].behind.ordinary = ordinary;
    return parts;
}

FlowRecord
Lasting(int64_t time)
{
    FlowRecord record;
    record.bytes = 1000;
    record.start = 0;
    record.end = time;
    return record;
}

TEST(InterferenceOfOrdinaryPackets, IsTheirOwners)
{
    const std::vector<std::string> ports{"a->s", "s->b"};
    Interference of(ports);
    of.AddOwner("background");
    const auto nobody = [](uint32_t) -> uint32_t { return 0; };
    of.Add(Lasting(50 * US), Over(12 * US, true), 0, nobody, 1);
    of.Add(Lasting(30 * US), Over(8 * US, false), 0, nobody, 1);
    // Beside the job's 2,000 B at s->b 6,000 B of others: three quarters of 20 us are for them.
    of.SetOrdinary(1, {0, 6000});
    const auto job = of.ToJson(0, "job");
    EXPECT_DOUBLE_EQ(job["messages_us"], 80);
    EXPECT_DOUBLE_EQ(job["waited_us"], 20);
    EXPECT_DOUBLE_EQ(job["waited_for_others_us"], 15);
    ASSERT_EQ(job["links"].size(), 1u);
    EXPECT_EQ(job["links"][0]["slowed_by"], "background");
    EXPECT_DOUBLE_EQ(job["links"][0]["share_of_bytes_of_others"], 0.75);
    ASSERT_EQ(job["behind"].size(), 1u);
    EXPECT_EQ(job["behind"][0]["job"], "background");
    EXPECT_DOUBLE_EQ(job["behind"][0]["waited_us"], 12);
    EXPECT_EQ(job["shares"]["link"], "s->b");
}

TEST(InterferenceOfOrdinaryPackets, IsNothingWhereTheyDoNotPass)
{
    const std::vector<std::string> ports{"a->s", "s->b", "s->c"};
    Interference of(ports);
    of.AddOwner("background");
    of.Add(
        Lasting(50 * US),
        Over(12 * US, false),
        0,
        [](uint32_t) -> uint32_t { return 0; },
        1);
    of.SetOrdinary(1, {0, 0, 6000});
    const auto job = of.ToJson(0, "job");
    EXPECT_DOUBLE_EQ(job["waited_for_others_us"], 0);
    EXPECT_TRUE(job["links"].empty());
    EXPECT_TRUE(job["shares"].is_null());
}

/// One message over port 0 to 1, where it waited.
FlowRecord
Between(int64_t start, int64_t end, uint64_t bytes)
{
    FlowRecord record;
    record.bytes = bytes;
    record.start = start;
    record.end = end;
    return record;
}

TEST(InterferenceOfJobs, IsOnlyWhileBothAreThere)
{
    // Intervals of 100 us. "early" passes 9,000 B in 0 to 300 us, so 3,000 B in each; "late" has
    // 1,000 B in 200 to 300 us and waits for 8 us there, three quarters of it for early (3,000 of
    // 4,000 B); and 1,000 B in 400 to 500 us, where nobody else is: all that it waits there is for
    // itself, whatever early had before.
    const std::vector<std::string> ports{"a->s", "s->b"};
    Interference of(ports);
    of.AddOwner("early");
    of.AddOwner("late");
    const auto nobody = [](uint32_t) -> uint32_t { return 0; };
    of.Add(Between(0, 300 * US - 1, 9000), Over(0, false), 1, nobody);
    of.Add(Between(400 * US, 500 * US - 1, 1000), Over(6 * US, false), 2, nobody);
    auto late = of.ToJson(2, "rest");
    EXPECT_DOUBLE_EQ(late["waited_us"], 6);
    EXPECT_DOUBLE_EQ(late["waited_for_others_us"], 0);
    EXPECT_TRUE(late["links"].empty());
    EXPECT_TRUE(late["shares"].is_null());

    of.Add(Between(200 * US, 300 * US - 1, 1000), Over(8 * US, false), 2, nobody);
    late = of.ToJson(2, "rest");
    EXPECT_DOUBLE_EQ(late["waited_us"], 14);
    EXPECT_NEAR(late["waited_for_others_us"], 6, 1e-2); // bytes are whole numbers
    ASSERT_EQ(late["links"].size(), 1u);
    EXPECT_EQ(late["links"][0]["slowed_by"], "early");
    // Of 3,000 + 2,000 B in the two intervals that late has.
    EXPECT_NEAR(late["links"][0]["share_of_bytes_of_others"], 0.6, 1e-3);
    EXPECT_EQ(late["shares"]["job"], "early");
    // Nor does early, which never waited, meet late but in one interval of three.
    EXPECT_NEAR(of.ToJson(1, "rest")["shares"]["share_of_bytes_of_others"], 0.1, 1e-3);
}

TEST(InterferenceOfJobs, TakesNoMoreMemoryForALongRun)
{
    // A second later intervals are 12.8 ms: 0 to 12.8 ms is one of them, and what met in it has
    // met.
    const std::vector<std::string> ports{"a->s", "s->b"};
    Interference of(ports);
    of.AddOwner("one");
    of.AddOwner("two");
    const auto nobody = [](uint32_t) -> uint32_t { return 0; };
    of.Add(Between(0, 1000 * US, 5000), Over(4 * US, false), 1, nobody);
    of.Add(Between(5000 * US, 6000 * US, 5000), Over(0, false), 2, nobody);
    EXPECT_DOUBLE_EQ(of.ToJson(1, "rest")["waited_for_others_us"], 0);
    of.Add(Between(1000000 * US, 1001000 * US, 1), Over(0, false), 2, nobody);
    EXPECT_DOUBLE_EQ(of.ToJson(1, "rest")["waited_for_others_us"], 2);
}

} // namespace
} // namespace results
