// SPDX-License-Identifier: GPL-2.0-only
#include "reports/attribution/collective-paths.h"
#include "reports/attribution/message-id.h"
#include "reports/attribution/tail-attribution.h"
#include "scratch-folder.h"

#include <numeric>

namespace reports
{
namespace
{

constexpr int64_t US = 1000000; // ps

TEST(MessageId, CarriesTagFlowAndWarmup)
{
    EXPECT_FALSE(MessageId::HasFlow(MessageId::Of(7)));
    EXPECT_EQ(MessageId::Tag(MessageId::Of(7)), 7U);
    const uint64_t id = MessageId::Of(7 | MessageId::WARMUP, 0);
    EXPECT_TRUE(MessageId::HasFlow(id)) << "number 0 is one";
    EXPECT_EQ(MessageId::Flow(id), 0U);
    EXPECT_EQ(MessageId::Tag(id), 7U);
    EXPECT_TRUE(MessageId::IsWarmup(id));
    EXPECT_FALSE(MessageId::IsWarmup(MessageId::Of(7, 0)));
}

// Attribution -------------------------------------------------------------------------------------

class Attribution : public ScratchFolder
{
  protected:
    /// A message of 100 us that would take 10 us alone: 60 us queued at port 1, 30 us paused there.
    static FlowRecord Late(uint64_t flow, int64_t more = 0)
    {
        FlowRecord record;
        record.flow = flow;
        record.bytes = 1000;
        record.start = 5 * US;
        record.end = 105 * US + more;
        record.ideal = 10 * US;
        record.src = 0;
        record.dst = 1;
        record.tag = 0;
        return record;
    }

    static MessageParts Parts(int64_t more = 0)
    {
        MessageParts parts;
        parts.parts[At(TimeShare::SERIALIZATION)] = 10 * US;
        parts.parts[At(TimeShare::QUEUED)] = 60 * US + more;
        parts.parts[At(TimeShare::PAUSED)] = 30 * US;
        parts.hops.resize(2); // the NIC, which does not count, and a switch
        parts.hops[0].waited = 500 * US;
        parts.hops[1].port = 1;
        parts.hops[1].waited = 90 * US + more;
        parts.hops[1].paused = 30 * US;
        parts.hops[1].behind = {1, 0, 1, true};
        return parts;
    }

    const std::vector<std::string> m_endpoints{"a", "b"};
    const std::vector<std::string> m_ports{"a->s", "s->b"};
    const std::vector<std::string> m_tags{"red", "blue"};
};

TEST_F(Attribution, SaysWhyMessagesWereLate)
{
    TailAttribution roce(m_endpoints, m_ports, m_tags, rdma::kEthernetWords);
    roce.Add(Late(3), Parts());
    roce.AddUnknown();
    const auto lines = roce.InWords(5);
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(
        lines[0],
        "a->b, red: 100 us, alone 10.0 us: 60% queued in switches, most at s->b behind b->a "
        "(blue), 30% in switches paused by PFC, most at s->b by b, 10% sending its own bytes");
    const auto json = roce.ToJson();
    EXPECT_EQ(json["messages"], 1);
    EXPECT_EQ(json["messages_unknown"], 1);
    EXPECT_DOUBLE_EQ(json["share"]["queued"], 0.6);
    EXPECT_EQ(json["ports"].dump(), R"([{"link":"s->b","queued_us":60.0,"paused_us":30.0}])");
    roce.Write(Path("attribution.csv"));
    const auto rows = ReadRows(Path("attribution.csv"));
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0][0] + " " + rows[0][5] + " " + rows[0][7], "3 100 90");

    TailAttribution infiniBand(m_endpoints, m_ports, m_tags, rdma::kInfiniBandWords);
    infiniBand.Add(Late(3), Parts());
    EXPECT_NE(infiniBand.InWords(1)[0].find("in switches waiting for credits"), std::string::npos);
}

TEST_F(Attribution, KeepsTheSlowestByTheTimeTheyLost)
{
    TailAttribution tail(m_endpoints, m_ports, m_tags, rdma::kEthernetWords);
    constexpr uint64_t N = TailAttribution::SLOWEST + 500;
    for (uint64_t i = 0; i < N; ++i)
    {
        const auto more = static_cast<int64_t>(i * 7919 % N * 1000); // each once, in no order
        tail.Add(Late(i, more), Parts(more));
    }
    tail.Write(Path("attribution.csv"));
    const auto rows = ReadRows(Path("attribution.csv"));
    ASSERT_EQ(rows.size(), TailAttribution::SLOWEST);
    EXPECT_EQ(rows.front()[7], "91.499"); // 90 us + 1,499 ns
    EXPECT_EQ(rows.back()[7], "90.5");
    tail.Clear();
    EXPECT_EQ(tail.ToJson()["messages"], 0);
    EXPECT_TRUE(tail.InWords(1).empty());
}

// Paths -------------------------------------------------------------------------------------------

// Rank 0 enters, and its message goes to rank 1, whose message inside the server goes to rank 2.
TEST(CollectivePaths, AddUpFromWhereARankEntered)
{
    MessageParts parts;
    parts.parts[At(TimeShare::SERIALIZATION)] = 3 * US;
    parts.parts[At(TimeShare::PROPAGATION)] = 2 * US;
    parts.hops.resize(1);
    parts.hops[0].port = 9;
    parts.hops[0].time = 4 * US;
    CollectivePaths paths(10);
    const CollectivePaths::Path entry = paths.Enter(0, 5, 10 * US); // its message's now
    const CollectivePaths::Path other = paths.Enter(1, 5, 11 * US); // it waits for what comes
    const CollectivePaths::Path arrived =
        paths.Arrive(entry, 0, 1, &parts, 17 * US); // 2 us passed before the post
    paths.Drop(other);
    const CollectivePaths::Path last = paths.ArriveInside(arrived, 1, 2, 18 * US, 21 * US);
    const CollectivePaths::Record& end = *last;
    EXPECT_EQ(end.first, 0U);
    EXPECT_EQ(end.to, 2U);
    EXPECT_EQ(end.messages, 2U);
    EXPECT_EQ(end.start, 10 * US);
    EXPECT_EQ(end.shares[At(TimeShare::SERIALIZATION)], 3 * US);
    EXPECT_EQ(end.shares[static_cast<std::size_t>(PathShare::SOFTWARE)], 3 * US); // and 1 us
    EXPECT_EQ(end.shares[static_cast<std::size_t>(PathShare::INSIDE_SERVERS)], 3 * US);
    EXPECT_EQ(std::accumulate(end.shares.begin(), end.shares.end(), int64_t(0)), 11 * US);
    const auto chain = CollectivePaths::GetChain(end);
    ASSERT_EQ(chain.size(), 3U);
    EXPECT_EQ(chain[1]->port, 9U);
    EXPECT_EQ(chain[2]->first, 0U);
    paths.Drop(last);
    EXPECT_EQ(paths.GetSize(), 0U);
}

// What a message arrived on waits for its sender to hear of it, channel by channel in order.
TEST(CollectivePaths, AreKeptForSenders)
{
    CollectivePaths paths(10);
    constexpr uint64_t CHANNEL = ~uint64_t(3); // any number of 64 bits
    const CollectivePaths::Path entry = paths.Enter(0, 5, 10 * US);
    std::vector<CollectivePaths::Path> arrived;
    for (const uint64_t channel : {CHANNEL, uint64_t(3), CHANNEL})
    {
        CollectivePaths::Hold(entry); // a message of it
        arrived.push_back(paths.Arrive(entry, 0, 1, nullptr, 11 * US));
        paths.Keep(channel, arrived.back());
        paths.Drop(arrived.back());
    }
    paths.Drop(entry);
    EXPECT_EQ(paths.TakeKept(CHANNEL), arrived[0]);
    EXPECT_EQ(paths.TakeKept(CHANNEL), arrived[2]);
    EXPECT_EQ(paths.TakeKept(3), arrived[1]);
    for (const CollectivePaths::Path path : arrived)
    {
        EXPECT_EQ(path->to, 1U);
        paths.Drop(path);
    }
    EXPECT_EQ(paths.GetSize(), 0U);
}

TEST(CollectivePaths, SayThatTimeIsNotKnownOrNoteNothing)
{
    CollectivePaths paths(10);
    const CollectivePaths::Path arrived =
        paths.Arrive(paths.Enter(0, 5, 10 * US), 0, 1, nullptr, 17 * US);
    EXPECT_EQ(arrived->shares[static_cast<std::size_t>(PathShare::UNKNOWN)], 7 * US);
    paths.Drop(arrived);

    EXPECT_EQ(paths.Enter(0, 5 | MessageId::WARMUP, 20 * US), CollectivePaths::NONE);
    EXPECT_EQ(paths.Arrive(CollectivePaths::NONE, 0, 1, nullptr, 22 * US), CollectivePaths::NONE);
    EXPECT_EQ(paths.ArriveInside(CollectivePaths::NONE, 0, 1, 0, 0), CollectivePaths::NONE);
    EXPECT_EQ(paths.GetSize(), 0U);
}

} // namespace
} // namespace reports
