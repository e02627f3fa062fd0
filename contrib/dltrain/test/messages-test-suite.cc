/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Point-to-point messages of step graphs, run by the ranks of a job. Times are those of job-bed.h.
 */
#include "job-bed.h"
#include "reports/base/human-text.h"

#include "ns3/test.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

using namespace ns3;
using namespace dltrain;
using namespace dltrain::bed;
using training::Task;
using training::TaskId;
using training::TaskKind;
using training::TrainingPlan;

namespace
{

constexpr TaskKind SEND = TaskKind::kSend;
constexpr TaskKind RECV = TaskKind::kRecv;

class MessagesTestCase : public TestCase
{
  public:
    MessagesTestCase()
        : TestCase("when sends and receives end, between servers and inside")
    {
    }

  private:
    void Between()
    {
        // Rank 0 computes for 5 us and sends; rank 1 has waited for that from the beginning.
        const TrainingPlan plan =
            Plan({{Compute("forward 0", 5 * US), Message(SEND, "send 0", 1000, 1, {0})},
                  {Message(RECV, "receive 1", 1000, -1), Compute("forward 1", 3 * US, {0})}});
        Bed bed(plan, 1);
        NS_TEST_ASSERT_MSG_EQ(bed.Run(), "", "it can be run");
        NS_TEST_EXPECT_MSG_EQ(bed.over, true, "it has ended");
        const int64_t arrival = 5 * US + 2 * W + P;
        NS_TEST_EXPECT_MSG_EQ(bed.StartOf("receive 1"), 0, "it waits from the beginning");
        NS_TEST_EXPECT_MSG_EQ(bed.EndOf("receive 1"), arrival, "as the last byte is there");
        NS_TEST_EXPECT_MSG_EQ(bed.EndOf("send 0"), arrival + 2 * A + P, "as its ACK is there");
        NS_TEST_EXPECT_MSG_EQ(bed.EndOf("forward 1"), arrival + 3 * US, "what waits for it");
        // A rank communicates from a send's start to its end; one that waits for a message, from
        // the send's start, which it knows to 65,536 ps, to the arrival. Before it is a bubble.
        constexpr double UNIT = 65536;
        const double send = 2 * W + P + 2 * A + P;
        const double flight = 2 * W + P;
        NS_TEST_EXPECT_MSG_EQ_TOL(bed.communicationPs,
                                  (send + flight) / 2,
                                  UNIT / 2,
                                  "mean over the ranks");
        const auto pp = static_cast<std::size_t>(training::Parallelism::kPipeline);
        NS_TEST_EXPECT_MSG_EQ_TOL(bed.record.exposedPs[pp],
                                  (send + flight) / 2,
                                  UNIT / 2,
                                  "nobody computes meanwhile");
        NS_TEST_EXPECT_MSG_EQ_TOL(bed.record.bubblePs, 5.0 * US / 2, UNIT / 2, "rank 1's");
        // The path goes back from what rank 1 computes over the message to what rank 0 did: the
        // ACK, which comes later, ends the step, and is behind the same message.
        const auto calls = bed.critical->GetCalls();
        NS_TEST_ASSERT_MSG_EQ(calls.size(), 2, "two calls");
        NS_TEST_EXPECT_MSG_EQ(calls[0].call, "forward 0", "first");
        NS_TEST_EXPECT_MSG_EQ(calls[1].call, "send 0", "then");
    }

    void PathOfAReceive()
    {
        // As before, but rank 1 computes until long after the ACK has come back.
        const TrainingPlan plan =
            Plan({{Compute("forward 0", 5 * US), Message(SEND, "send 0", 1000, 1, {0})},
                  {Message(RECV, "receive 1", 1000, -1), Compute("forward 1", 300 * US, {0})}});
        Bed bed(plan, 1);
        NS_TEST_ASSERT_MSG_EQ(bed.Run(), "", "it can be run");
        const auto calls = bed.critical->GetCalls();
        NS_TEST_ASSERT_MSG_EQ(calls.size(), 3, "three calls");
        const std::vector<std::pair<std::string, uint32_t>> expected = {{"forward 0", 0},
                                                                        {"receive 1", 0},
                                                                        {"forward 1", 1}};
        for (std::size_t i = 0; i < expected.size(); ++i)
        {
            NS_TEST_EXPECT_MSG_EQ(calls[i].call, expected[i].first, "call " << i);
            NS_TEST_EXPECT_MSG_EQ(calls[i].rank,
                                  expected[i].second,
                                  "of whom: " << expected[i].first);
        }
        // Rank 1 waited 5 us for rank 0 to send; then serialization on two links, two cables and a
        // pipeline.
        const auto& message = calls[1];
        NS_TEST_EXPECT_MSG_EQ(message.start, 5 * US, "from its post");
        NS_TEST_EXPECT_MSG_EQ(*message.waited, 5 * US, "waited for it");
        NS_TEST_EXPECT_MSG_EQ(*message.messages, 1, "one message");
        NS_TEST_EXPECT_MSG_EQ_TOL(
            reports::Us(message.shares[reports::At(reports::TimeShare::SERIALIZATION)]),
            2.204,
            1e-9,
            "2 W");
        NS_TEST_EXPECT_MSG_EQ_TOL(bed.critical->ToJson()["total_us"].get<double>(),
                                  5 + 2.204 + 4.5 + 300,
                                  1e-9,
                                  "without a gap");
        NS_TEST_EXPECT_MSG_EQ(bed.critical->GetPaths().GetSize(), 0, "no path is still held");
    }

    void Inside()
    {
        const TrainingPlan plan = Plan({{Message(SEND, "send", 1000, 1)},
                                        {Message(RECV, "receive", 1000, -1)},
                                        {Message(RECV, "receive from 3", 1000, 1)},
                                        {Message(SEND, "send to 2", 1000, -1)}});
        Bed bed(plan, 4);
        NS_TEST_ASSERT_MSG_EQ(bed.Run(), "", "it can be run");
        for (const char* call : {"send", "receive", "receive from 3", "send to 2"})
        {
            NS_TEST_EXPECT_MSG_EQ(bed.EndOf(call), 600 * NS + 100 * NS, call);
        }
    }

    void Early()
    {
        // The message is there long before rank 1 asks for it: the receive takes no time, and the
        // send did not wait.
        const TrainingPlan plan =
            Plan({{Message(SEND, "send", 1000, 1)},
                  {Compute("busy", 100 * US), Message(RECV, "receive", 1000, -1, {0})}});
        Bed bed(plan, 1);
        NS_TEST_ASSERT_MSG_EQ(bed.Run(), "", "it can be run");
        NS_TEST_EXPECT_MSG_EQ(bed.EndOf("send"), 2 * W + P + 2 * A + P, "eager");
        NS_TEST_EXPECT_MSG_EQ(bed.StartOf("receive"), 100 * US, "asked for");
        NS_TEST_EXPECT_MSG_EQ(bed.EndOf("receive"), 100 * US, "there");
        const auto calls = bed.critical->GetCalls();
        NS_TEST_ASSERT_MSG_EQ(calls.size(), 1, "nobody waited for rank 0");
        NS_TEST_EXPECT_MSG_EQ(calls[0].call, "busy", "first");
    }

    void Software()
    {
        // 700 ns of software before a send.
        const TrainingPlan plan =
            Plan({{Message(SEND, "send", 1000, 1)}, {Message(RECV, "receive", 1000, -1)}});
        Bed bed(plan, 1, 1, false, rdma::Duration(700 * NS));
        NS_TEST_ASSERT_MSG_EQ(bed.Run(), "", "it can be run");
        NS_TEST_EXPECT_MSG_EQ(bed.EndOf("receive"), 700 * NS + 2 * W + P, "later by that");
    }

    void Library()
    {
        // 3 us to launch a message; one for another server waits 2 us more and is twice as long,
        // one inside takes 1 us and half of the port's rate. Both are later by 700 ns of software.
        coll::Machine machine;
        machine.hasLibrary = true;
        machine.nicRate = 1e9;
        machine.library.launch = rdma::Microseconds(77); // of collectives
        machine.library.exchangeLaunch = rdma::Microseconds(3);
        topo::ProtocolTimes& times = machine.library.Of(topo::Protocol::kExchange);
        times.inside = rdma::Microseconds(1);
        times.outside = rdma::Microseconds(2);
        times.insideShare = 0.5;
        times.outsideShare = 0.5;
        const TrainingPlan plan =
            Plan({{Message(SEND, "send", 500, 1)}, {Message(RECV, "receive", 500, -1)}});
        // One bed after the other: they share the simulator's clock.
        const auto end = [&](const TrainingPlan& what, uint32_t gpus, uint64_t bytes) {
            Bed bed(what, gpus, 1, false, rdma::Duration(700 * NS), machine);
            NS_TEST_EXPECT_MSG_EQ(bed.Run(), "", "it can be run");
            NS_TEST_EXPECT_MSG_EQ(bed.messages->GetBytes(), bytes, "of data");
            return bed.EndOf("receive");
        };
        NS_TEST_EXPECT_MSG_EQ(end(plan, 1, 500), 5700 * NS + 2 * W + P, "between servers");
        NS_TEST_EXPECT_MSG_EQ(end(plan, 2, 500), 4700 * NS + 100 * NS, "inside");
        // A pair has one channel: of 1 GB/s inside. Outside of 2 Gb/s, so that packets begin 4
        // times as far apart.
        machine.library.channels = {rdma::Gbps(8), rdma::Gbps(2), 1, 1, 1};
        NS_TEST_EXPECT_MSG_EQ_TOL(end(plan, 2, 500),
                                  4700 * NS + 500 * NS,
                                  1,
                                  "inside, one channel, to the picosecond of rounding");
        const TrainingPlan large =
            Plan({{Message(SEND, "send", 500000, 1)}, {Message(RECV, "receive", 500000, -1)}});
        NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(end(large, 1, 500000)),
                                  1.06 * 1e6 * 8e12 / 2e9,
                                  0.06 * 1e6 * 8e12 / 2e9,
                                  "outside, one channel: headers are 2 to 11%");
        // Beyond a burst of 250 bytes there is a quarter of the rate and not half: 250 / 0.5 +
        // 250 / 0.25 bytes on the wire, as 750 / 0.5.
        machine.library.channels = {};
        const TrainingPlan longer =
            Plan({{Message(SEND, "send", 750, 1)}, {Message(RECV, "receive", 750, -1)}});
        const int64_t asLong = end(longer, 1, 750);
        times.bulkFrom = 250;
        times.bulkShare = 0.25;
        NS_TEST_EXPECT_MSG_EQ(end(plan, 1, 500), asLong, "beyond a burst");
        const TrainingPlan shorter =
            Plan({{Message(SEND, "send", 250, 1)}, {Message(RECV, "receive", 250, -1)}});
        const int64_t burst = end(shorter, 1, 250);
        times.bulkFrom = 0;
        NS_TEST_EXPECT_MSG_EQ(end(shorter, 1, 250), burst, "within a burst");
        machine.hasLibrary = false;
        NS_TEST_EXPECT_MSG_EQ(end(plan, 1, 500), 700 * NS + 2 * 602 * NS + P, "no library");
    }

    void OrderAndTags()
    {
        // Three messages of tag 0 are taken in the order they are sent, whatever their sizes. Of
        // tags 1 and 2 the receiver wants the second first: it comes later, and the first is
        // there then.
        const TrainingPlan plan = Plan({{Message(SEND, "send a", 3000, 1),
                                         Message(SEND, "send b", 0, 1),
                                         Message(SEND, "send c", 1000, 1),
                                         Message(SEND, "send d", 1000, 1, {}, 1),
                                         Message(SEND, "send e", 1000, 1, {}, 2)},
                                        {Message(RECV, "receive a", 3000, -1),
                                         Message(RECV, "receive b", 0, -1),
                                         Message(RECV, "receive c", 1000, -1),
                                         Message(RECV, "receive e", 1000, -1, {}, 2),
                                         Message(RECV, "receive d", 1000, -1, {}, 1)}});
        Bed bed(plan, 1, 3);
        NS_TEST_ASSERT_MSG_EQ(bed.Run(), "", "it can be run");
        NS_TEST_EXPECT_MSG_EQ(bed.over, true, "all steps");
        for (uint32_t step = 0; step < 3; ++step)
        {
            NS_TEST_EXPECT_MSG_LT(bed.EndOf("receive a", step), bed.EndOf("receive b", step), "");
            NS_TEST_EXPECT_MSG_LT(bed.EndOf("receive b", step), bed.EndOf("receive c", step), "");
            NS_TEST_EXPECT_MSG_LT(bed.EndOf("receive c", step), bed.EndOf("receive e", step), "");
            NS_TEST_EXPECT_MSG_EQ(bed.EndOf("receive d", step), bed.EndOf("receive e", step), "");
            for (const char* name : {"a", "b", "c", "d", "e"})
            {
                NS_TEST_EXPECT_MSG_GT(bed.EndOf(std::string("receive ") + name, step),
                                      bed.StartOf(std::string("send ") + name, step),
                                      "not before it is sent: " << name);
            }
        }
        NS_TEST_EXPECT_MSG_EQ(bed.job->GetProgress().first, 30, "ten tasks, three steps");
    }

    void Pipeline()
    {
        // Forward through four stages in m micro-batches of t = 20 us. A stage sends while it
        // computes the next; a message takes c = 2 W + P = 6.7 us. So the last stage begins after
        // 3 (t + c) and is then never idle: it ends at 3 (t + c) + m t, and its time but m t is
        // the bubble.
        constexpr uint32_t STAGES = 4;
        constexpr uint32_t MICRO_BATCHES = 5;
        constexpr int64_t T = 20 * US;
        std::vector<std::vector<Task>> tasks(STAGES);
        for (uint32_t stage = 0; stage < STAGES; ++stage)
        {
            for (uint32_t m = 0; m < MICRO_BATCHES; ++m)
            {
                const std::string of = std::to_string(stage) + " micro-batch " + std::to_string(m);
                std::vector<TaskId> after;
                if (stage > 0)
                {
                    tasks[stage].push_back(Message(RECV, "receive " + of, 1000, -1, {}, 0, 2));
                    after = {static_cast<TaskId>(tasks[stage].size() - 1)};
                }
                tasks[stage].push_back(Compute("forward " + of, T, after));
                if (stage + 1 < STAGES)
                {
                    const auto computed = static_cast<TaskId>(tasks[stage].size() - 1);
                    tasks[stage].push_back(Message(SEND, "send " + of, 1000, 1, {computed}));
                }
            }
        }
        for (const uint32_t gpus : {1U, 2U})
        {
            Bed bed(Plan(tasks), gpus);
            NS_TEST_ASSERT_MSG_EQ(bed.Run(), "", "it can be run");
            const int64_t hop = 2 * W + P;
            const int64_t inside = 700 * NS;
            const int64_t hops = gpus == 1 ? 3 * hop : hop + 2 * inside;
            NS_TEST_EXPECT_MSG_EQ(bed.EndOf("forward 3 micro-batch 4"),
                                  3 * T + hops + MICRO_BATCHES * T,
                                  "the last stage, " << gpus << " GPUs a server");
            NS_TEST_EXPECT_MSG_EQ(bed.end,
                                  bed.EndOf("forward 3 micro-batch 4"),
                                  "nothing ends behind it");
        }
    }

    void Sizes()
    {
        // Of two servers and of one. 2^31 + 1 B are two requests on an RDMA network and one
        // message; of InfiniBand that would take minutes, and is the same code.
        for (const auto& [gpus, infiniBand] :
             {std::pair{1U, false}, std::pair{1U, true}, std::pair{2U, false}})
        {
            for (const uint64_t bytes : {uint64_t(0),
                                         uint64_t(1),
                                         uint64_t(4096),
                                         uint64_t(4097),
                                         (uint64_t(1) << 31) + 1})
            {
                if (infiniBand && bytes > 1ULL << 31)
                {
                    continue;
                }
                Bed bed(Plan({{Message(SEND, "send", bytes, 1)},
                              {Message(RECV, "receive", bytes, -1)}}),
                        gpus,
                        1,
                        infiniBand);
                NS_TEST_ASSERT_MSG_EQ(bed.Run(), "", bytes << " B");
                NS_TEST_EXPECT_MSG_EQ(bed.over, true, bytes << " B");
                NS_TEST_EXPECT_MSG_EQ(bed.messages->GetBytes(), bytes, "posted");
                // 1 ns a byte between servers and 0.1 ns inside, and no faster.
                const auto least = static_cast<int64_t>(bytes) * (gpus == 1 ? NS : NS / 10);
                NS_TEST_EXPECT_MSG_GT(bed.EndOf("receive"), least, bytes << " B");
                NS_TEST_EXPECT_MSG_EQ((bed.EndOf("receive") < bed.EndOf("send")),
                                      (gpus == 1),
                                      bytes << " B: acknowledged later between servers only");
            }
        }
    }

    void DoRun() override
    {
        Between();
        PathOfAReceive();
        Inside();
        Early();
        Software();
        Library();
        OrderAndTags();
        Pipeline();
        Sizes();
    }
};

class UnmatchedMessagesTestCase : public TestCase
{
  public:
    UnmatchedMessagesTestCase()
        : TestCase("messages that nobody sends or that do not fit: who and what, in words")
    {
    }

  private:
    std::string Unfinished(const TrainingPlan& plan)
    {
        Bed bed(plan, 1);
        NS_TEST_EXPECT_MSG_EQ(bed.Run(), "", "it can be begun");
        NS_TEST_EXPECT_MSG_EQ(bed.over, false, "it does not end");
        NS_TEST_EXPECT_MSG_EQ(bed.job->IsDone(), false, "it is not done");
        return reports::InLines(bed.job->DescribeUnfinished());
    }

    void Refused(const TrainingPlan& plan, const std::vector<std::string>& words)
    {
        Bed bed(plan, 1);
        const std::string why = bed.Run();
        for (const std::string& word : words)
        {
            NS_TEST_EXPECT_MSG_NE(why.find(word), std::string::npos, word << " in: " << why);
        }
    }

    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(Unfinished(Plan({{Compute("forward", 1 * US)},
                                               {Message(RECV, "receive activations", 1000, -1)}})),
                              "rank 1, step 0, stream sends: in \"receive activations\"\n"
                              "rank 1 waits for 1 message of rank 0, which has sent it none\n",
                              "nobody sends");
        NS_TEST_EXPECT_MSG_EQ(
            Unfinished(Plan({{Message(SEND, "send", 1000, 1, {}, 4)},
                             {Message(RECV, "receive b", 1000, -1, {}, 4),
                              Message(RECV, "receive a", 10, -1, {}, 5)}})),
            "rank 1, step 0, stream sends: in \"receive a\"\n"
            "rank 1 waits for 1 message with tag 5 of rank 0, which has sent it none\n",
            "another tag");
        // Each waits for the other before it sends.
        const std::string circle =
            Unfinished(Plan({{Message(RECV, "receive 0", 8, 1), Message(SEND, "send 0", 8, 1)},
                             {Message(RECV, "receive 1", 8, -1), Message(SEND, "send 1", 8, -1)}}));
        for (const char* line : {"rank 0 waits for 1 message of rank 1, which has sent it none",
                                 "rank 1 waits for 1 message of rank 0, which has sent it none"})
        {
            NS_TEST_EXPECT_MSG_NE(circle.find(line), std::string::npos, line);
        }
        Refused(Plan({{Message(SEND, "send x", 1000, 1)}, {Message(RECV, "receive y", 1001, -1)}}),
                {"\"send x\" of rank 0", "1000", "\"receive y\" of rank 1", "1001"});
        Refused(Plan({{Message(SEND, "send x", 1, 2)}, {Compute("c", 1)}}),
                {"\"send x\" of rank 0", "2 away", "\"pipeline\""});
        Refused(Plan({{Message(SEND, "send x", 1, 1, {}, 0, 2), Message(SEND, "send y", 1, 1)},
                      {Message(RECV, "r", 1, -1), Message(RECV, "s", 1, -1)}}),
                {"\"send y\" of rank 0", "\"send x\"", "two streams"});
    }
};

class MessagesTestSuite : public TestSuite
{
  public:
    MessagesTestSuite()
        : TestSuite("dltrain-messages", UNIT)
    {
        AddTestCase(new MessagesTestCase, TestCase::QUICK);
        AddTestCase(new UnmatchedMessagesTestCase, TestCase::QUICK);
    }
};

MessagesTestSuite g_messagesTestSuite;

} // namespace
