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
    of.Add(Lasting(50 * US), Over(12 * US, false), 0, [](uint32_t) -> uint32_t { return 0; }, 1);
    of.SetOrdinary(1, {0, 0, 6000});
    const auto job = of.ToJson(0, "job");
    EXPECT_DOUBLE_EQ(job["waited_for_others_us"], 0);
    EXPECT_TRUE(job["links"].empty());
    EXPECT_TRUE(job["shares"].is_null());
}

} // namespace
} // namespace results
