/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/attribution/path-table.h"
#include "scratch-folder.h"

namespace reports
{
namespace
{

const std::vector<std::string> kEndpoints{"a", "b", "c:0"};
const std::vector<std::string> kPorts{"a->s", "s->b", "s->t", "t->b", "s->t#1", "b->t"};

MessageParts
Over(std::initializer_list<uint32_t> ports)
{
    MessageParts parts;
    for (const uint32_t port : ports)
    {
        parts.hops.push_back({});
        parts.hops.back().port = port;
    }
    return parts;
}

FlowRecord
Message(uint32_t src, uint32_t dst, uint64_t bytes, int64_t us)
{
    FlowRecord record;
    record.src = src;
    record.dst = dst;
    record.bytes = bytes;
    record.start = 5000000;
    record.end = record.start + us * 1000000;
    return record;
}

const std::string kHeader = "src,dst,messages,bytes,fct_us_mean,fct_us_max,packets,path\n";

class PathTableFile : public ScratchFolder
{
  protected:
    std::string Written(const PathTable& table) const
    {
        table.Write(Path("paths.csv"));
        return ReadAll(Path("paths.csv"));
    }
};

TEST(PathTable, ParallelLinksKeepTheirNumbers)
{
    EXPECT_EQ(WayText(WayOf(Over({0, 4, 3})), kPorts), "a->s->t#1->b");
    EXPECT_EQ(WayText(WayOf(Over({0, 2, 3})), kPorts), "a->s->t->b");
    EXPECT_EQ(WayText(WayOf(Over({})), kPorts), "");
}

TEST_F(PathTableFile, SumsByWayTheMostUsedFirst)
{
    PathTable table(kEndpoints, kPorts, [](uint32_t, uint32_t) { return true; });
    table.Add(Message(0, 1, 10, 4), Over({0, 1}));
    table.Add(Message(0, 1, 20, 2), Over({0, 2, 3}));
    table.Add(Message(0, 1, 30, 6), Over({0, 2, 3}));
    // Two over t: 20 + 30 bytes, (2 + 6) / 2 us, 6 at most.
    EXPECT_EQ(Written(table),
              kHeader + "a,b,2,50,4,6,0,a->s->t->b\n"
                        "a,b,1,10,4,4,0,a->s->b\n");
    // Packets decide, and no message ended where they are alone.
    table.AddPackets(0, 1, {0, 1}, 3);
    table.AddPackets(0, 1, {0, 1}, 4);
    table.AddPackets(0, 1, {0, 4, 3}, 5);
    EXPECT_EQ(Written(table),
              kHeader + "a,b,1,10,4,4,7,a->s->b\n"
                        "a,b,0,0,,,5,a->s->t#1->b\n"
                        "a,b,2,50,4,6,0,a->s->t->b\n");
    EXPECT_EQ(table.ToJson().dump(),
              R"({"rows":3,"pairs":1,"messages_left_out":0,"packets_left_out":0})");
    table.Clear();
    EXPECT_EQ(Written(table), kHeader);
}

TEST_F(PathTableFile, AsksOnceOfEachPairAndTakesWhatIsWanted)
{
    uint32_t asked = 0;
    PathTable table(kEndpoints, kPorts, [&asked](uint32_t from, uint32_t) {
        ++asked;
        return from == 1;
    });
    for (int i = 0; i < 3; ++i)
    {
        table.Add(Message(0, 1, 1, 1), Over({0, 1}));
        table.Add(Message(1, 2, 1, 1), Over({5}));
        table.AddPackets(0, 1, {0, 1}, 1);
        table.AddPackets(1, 2, {5}, 2);
    }
    EXPECT_EQ(asked, 2u);
    EXPECT_EQ(Written(table), kHeader + "b,c:0,3,3,1,1,6,b->t\n");
}

TEST_F(PathTableFile, HoldsNoMoreRowsThanItMay)
{
    PathTable table(
        kEndpoints,
        kPorts,
        [](uint32_t, uint32_t) { return true; },
        2);
    table.Add(Message(0, 1, 1, 1), Over({0, 1}));
    table.Add(Message(0, 1, 1, 1), Over({0, 2, 3}));
    table.Add(Message(0, 1, 1, 1), Over({0, 4, 3})); // no room
    table.Add(Message(0, 1, 1, 1), Over({0, 1}));    // has its row
    table.AddPackets(0, 1, {0, 4, 3}, 17);           // no room
    table.AddPackets(0, 1, {0, 1}, 2);
    EXPECT_EQ(table.ToJson().dump(),
              R"({"rows":2,"pairs":1,"messages_left_out":1,"packets_left_out":17})");
    EXPECT_EQ(Written(table), kHeader + "a,b,2,2,1,1,2,a->s->b\na,b,1,1,1,1,0,a->s->t->b\n");
}

} // namespace
} // namespace reports
