/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Transports: several jobs on one fabric, failures, channels that are opened again.
 */
#include "star-cluster.h"

#include "ns3/cause-queue.h"
#include "ns3/collective-runner.h"
#include "ns3/network-transport.h"
#include "ns3/rdma-fabric-helper.h"
#include "ns3/simulator.h"
#include "ns3/test.h"
#include "ns3/trace-collector.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace ns3;
using namespace dltrain;
using namespace dltrain::test;

namespace
{

/// Servers of `gpus` GPUs and one NIC on one switch.
class Bed
{
  public:
    Bed(uint32_t servers, uint32_t gpus)
        : cluster(
              StarCluster(std::vector<uint64_t>(servers, 100 * GBPS), gpus, {US, 800 * GBPS, US}))
    {
        RdmaFabricHelper helper;
        fabric = BuildFabric(helper, cluster);
        collector = std::make_unique<TraceCollector>(*fabric, TraceCollector::Options());
    }

    ~Bed()
    {
        collector.reset();
        fabric.reset();
        Simulator::Destroy();
    }

    scenario::ClusterSpec cluster;
    std::unique_ptr<RdmaFabric> fabric;
    std::unique_ptr<TraceCollector> collector;
};

/// A job: some ranks, one all-reduce.
class Job : public CollectiveUser
{
  public:
    Job(Bed& bed, const std::string& network, std::vector<Rank> ranks, uint32_t number)
        : interconnect(bed.cluster, network, *bed.fabric, *bed.collector),
          runner(bed.cluster, {}, interconnect, this, number),
          m_ranks(static_cast<Rank>(ranks.size()))
    {
        runner.AddCommunicator(std::move(ranks));
        const uint32_t tag = bed.collector->Tag("job " + std::to_string(number));
        Simulator::ScheduleNow([this, tag] {
            for (Rank rank = 0; rank < m_ranks; ++rank)
            {
                runner.Start(0, rank, {coll::Op::kAllReduce, 100000, m_ranks, 0}, tag, rank, 0);
            }
        });
    }

    void OnRankDone(const reports::CollectivePart& part, uint64_t, reports::PathRecord*) override
    {
        ++ranksDone;
        end = std::max(end, part.left);
    }

    Interconnect interconnect;
    CollectiveRunner runner;
    uint32_t ranksDone = 0;
    int64_t end = -1;

  private:
    Rank m_ranks;
};

/// Hears and notes.
struct Notes : TransportUser
{
    void OnDelivered(const Delivery& delivery, int64_t now) override
    {
        delivered.push_back(delivery);
        lastAt = now;
    }

    void OnSent(ChannelId, uint64_t, uint64_t id, bool failed, int64_t) override
    {
        (failed ? lost : sent).push_back(id);
    }

    std::vector<Delivery> delivered;
    std::vector<uint64_t> sent;
    std::vector<uint64_t> lost;
    int64_t lastAt = -1;
};

} // namespace

class TransportJobsTestCase : public TestCase
{
  public:
    TransportJobsTestCase()
        : TestCase("two jobs on one fabric: each hears of its own messages")
    {
    }

  private:
    void DoRun() override
    {
        for (const std::string network : {"packet", "fluid", "analytic"})
        {
            int64_t alone = 0;
            {
                Bed bed(8, 2);
                Job job(bed, network, {0, 1, 2, 3, 4, 5, 6, 7}, 0);
                Simulator::Run();
                alone = job.end;
                NS_TEST_EXPECT_MSG_EQ(job.ranksDone, 8, network);
            }
            {
                // On servers of their own they do not disturb each other.
                Bed bed(8, 2);
                Job first(bed, network, {0, 1, 2, 3, 4, 5, 6, 7}, 0);
                Job second(bed, network, {8, 9, 10, 11, 12, 13, 14, 15}, 1);
                Simulator::Run();
                NS_TEST_EXPECT_MSG_EQ(first.end, alone, network << ": as alone");
                NS_TEST_EXPECT_MSG_EQ(second.end, alone, network << ": as alone");
                NS_TEST_EXPECT_MSG_EQ(first.ranksDone + second.ranksDone, 16, network);
            }
            {
                // On the same NICs both are done, later.
                Bed bed(4, 2);
                Job first(bed, network, {0, 2, 4, 6}, 0);
                Job second(bed, network, {1, 3, 5, 7}, 1);
                Simulator::Run();
                NS_TEST_EXPECT_MSG_EQ(first.ranksDone + second.ranksDone, 8, network);
                NS_TEST_EXPECT_MSG_EQ(bed.collector->GetOutstanding(), 0, network);
            }
        }
    }
};

class TransportFailureTestCase : public TestCase
{
  public:
    TransportFailureTestCase()
        : TestCase("a message that failed is told to the user, and to who asks what is unfinished")
    {
    }

  private:
    void DoRun() override
    {
        Bed bed(2, 1);
        Job job(bed, "packet", {0, 1}, 0);
        Simulator::Schedule(NanoSeconds(500), [&bed] {
            bed.fabric->GetNic(0)->GetQueuePair(0)->Modify(RdmaQueuePair::State::ERROR);
        });
        Simulator::Stop(MilliSeconds(1));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(job.ranksDone, 0, "it is stuck");
        const std::vector<std::string> lines = job.runner.DescribeUnfinished();
        NS_TEST_ASSERT_MSG_EQ(lines.size(), 3, "the collective, why, and whom that cuts off");
        // Rank 0 sends two: one that is under way when its queue pair fails, and one that it posts
        // there when rank 1's first has arrived, over another. Rank 1 waits for the first.
        NS_TEST_EXPECT_MSG_EQ(
            lines[1],
            "messages that failed: 2, the first rank 0's for rank 1 (h0->h1 qp 4)",
            "which it was");
    }
};

class TransportReuseTestCase : public TestCase
{
  public:
    TransportReuseTestCase()
        : TestCase("queue pairs of a closed channel serve again, once they have rested")
    {
    }

  private:
    void DoRun() override
    {
        Bed bed(3, 1);
        const Places places(*bed.fabric);
        NetworkTransport transport({*bed.fabric, *bed.collector, places});
        Notes notes;
        const auto open = [&](uint32_t from, uint32_t to, uint64_t cookie) {
            ChannelName name;
            name.from = from;
            name.to = to;
            name.single = true;
            const ChannelId channel = transport.Open(name, notes, cookie);
            TransportPost post;
            post.bytes = 5000;
            post.id = cookie;
            transport.Post(channel, post);
            return channel;
        };
        const uint32_t first = open(0, 1, 7);
        const RdmaQueuePair* sender = transport.GetSender(first);
        NS_TEST_EXPECT_MSG_EQ(transport.Describe(first), "h0->h1 qp 4", "a name for people");
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(notes.delivered.size(), 1, "arrived");
        NS_TEST_EXPECT_MSG_EQ(notes.delivered[0].cookie, 7, "the user's own word");
        NS_TEST_ASSERT_MSG_EQ(notes.sent.size(), 1, "acknowledged");
        NS_TEST_EXPECT_MSG_EQ(transport.GetBytesArrived(), 5000, "counted");
        transport.Close(first);

        // Too early: a new sender (the receiver's end has rested since its message came, which is
        // a time-out longer, as that is when the simulation ends). Then the rested sender, of
        // another peer, whose end is new.
        const auto later = [&](int64_t ps, auto what) {
            Simulator::Schedule(RdmaClock::At(ps), what);
            Simulator::Run();
        };
        later(RdmaConnections::REUSE_AFTER_PS - 5 * US, [&] {
            const uint32_t second = open(0, 1, 8);
            NS_TEST_EXPECT_MSG_NE(transport.GetSender(second), sender, "it rests");
        });
        NS_TEST_EXPECT_MSG_EQ(transport.GetQueuePairs(), 3, "made");
        later(6 * US, [&] {
            const uint32_t third = open(0, 2, 9);
            NS_TEST_EXPECT_MSG_EQ(transport.GetSender(third), sender, "it has rested");
            NS_TEST_EXPECT_MSG_NE(third, first, "the number of a closed channel is another's now");
        });
        NS_TEST_EXPECT_MSG_EQ(transport.GetQueuePairs(), 4, "made");
        NS_TEST_ASSERT_MSG_EQ(notes.delivered.size(), 3, "all arrived");
        NS_TEST_EXPECT_MSG_EQ(notes.delivered[2].cookie, 9, "in their order");
        NS_TEST_EXPECT_MSG_EQ(notes.lost.size(), 0, "none is lost");
    }
};

class CauseQueueTestCase : public TestCase
{
  public:
    CauseQueueTestCase()
        : TestCase("causes come out as they went in, by two threads, and memory follows what waits")
    {
    }

  private:
    void DoRun() override
    {
        // Whoever takes runs behind by what the rounds' seed says, up to 1,000.
        constexpr uintptr_t MOST = 200000;
        for (const uint32_t seed : {1, 2, 3})
        {
            CauseQueue queue;
            std::atomic<uintptr_t> added{0};
            std::atomic<uintptr_t> taken{0};
            std::thread adder([&] {
                std::mt19937 random(seed);
                uintptr_t most = 0;
                for (uintptr_t i = 1; i <= MOST; ++i)
                {
                    most = i % 1000 == 1 ? 1 + random() % 1000 : most;
                    while (i > taken.load() + most)
                    {
                        std::this_thread::yield();
                    }
                    queue.Add(reinterpret_cast<reports::PathRecord*>(i));
                    added.store(i);
                }
            });
            uintptr_t wrong = 0;
            for (uintptr_t i = 1; i <= MOST; ++i)
            {
                while (added.load() < i)
                {
                    std::this_thread::yield();
                }
                wrong += reinterpret_cast<uintptr_t>(queue.Take()) != i;
                taken.store(i);
            }
            adder.join();
            NS_TEST_EXPECT_MSG_EQ(wrong, 0, "another one's");
            // Up to 1,000 wait, so the largest ring is of 1,024, the least power of two that holds
            // them; those before it, half as large each, have fewer than that together.
            NS_TEST_EXPECT_MSG_LT_OR_EQ(queue.GetSize(), 2 * 1024, "a ring serves again");
        }
    }
};

class CauseQueuePeekTestCase : public TestCase
{
  public:
    CauseQueuePeekTestCase()
        : TestCase("a cause queue shows what it would give, as long as it is in its own line")
    {
    }

  private:
    static reports::PathRecord* Cause(uintptr_t i)
    {
        return reinterpret_cast<reports::PathRecord*>(i);
    }

    void DoRun() override
    {
        CauseQueue queue;
        NS_TEST_EXPECT_MSG_EQ((queue.Peek() == nullptr), true, "nothing waits");
        // Eight are in the queue itself; then a ring of 16 begins, then one of 32.
        for (uintptr_t i = 1; i <= 25; ++i)
        {
            queue.Add(Cause(i));
            const std::size_t size = i <= 8 ? 8 : i <= 8 + 16 ? 8 + 16 : 8 + 16 + 32;
            NS_TEST_EXPECT_MSG_EQ(queue.GetSize(), size, "after " << i);
        }
        for (uintptr_t i = 1; i <= 25; ++i)
        {
            reports::PathRecord* seen = i <= 8 ? Cause(i) : nullptr;
            NS_TEST_EXPECT_MSG_EQ((queue.Peek() == seen), true, "at " << i);
            NS_TEST_EXPECT_MSG_EQ((queue.Take() == Cause(i)), true, "in their order");
        }
        NS_TEST_EXPECT_MSG_EQ(queue.GetSize(), 32, "the rings before are free");
    }
};

class TransportTestSuite : public TestSuite
{
  public:
    TransportTestSuite()
        : TestSuite("dltrain-transport", UNIT)
    {
        AddTestCase(new TransportJobsTestCase, TestCase::QUICK);
        AddTestCase(new TransportFailureTestCase, TestCase::QUICK);
        AddTestCase(new TransportReuseTestCase, TestCase::QUICK);
        AddTestCase(new CauseQueueTestCase, TestCase::QUICK);
        AddTestCase(new CauseQueuePeekTestCase, TestCase::QUICK);
    }
};

static TransportTestSuite g_transportTestSuite;
