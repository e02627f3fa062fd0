/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What node windows on several threads are made of: threads that work in rounds, pools that hand
 * frames to each other, and who gets which nodes.
 */
#include "contrib/rdma/core/object-pool.h"

#include "ns3/node-window-balancer.h"
#include "ns3/node-window-parallelism.h"
#include "ns3/node-window-thread-pool.h"
#include "ns3/rdma-frame.h"
#include "ns3/test.h"

#include <chrono>
#include <cmath>
#include <deque>
#include <numeric>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace ns3;

namespace
{

class ThreadPoolTestCase : public TestCase
{
  public:
    ThreadPoolTestCase()
        : TestCase("a thread pool: each works once a round, all see what was written before, and "
                   "what one "
                   "throws the caller gets")
    {
    }

  private:
    void DoRun() override
    {
        for (const uint32_t size : {2U, 3U, 7U})
        {
            struct alignas(64) Own
            {
                uint64_t rounds{0};
                uint64_t seen{0};
            };

            std::vector<Own> own(size);
            uint64_t written = 0;  // by the caller, between rounds
            uint32_t throws = 100; // who does in the next round
            NodeWindowThreadPool pool(size, [&](uint32_t who) {
                ++own[who].rounds;
                own[who].seen = written;
                if (who == throws)
                {
                    throw std::runtime_error("tired");
                }
            });
            for (uint64_t round = 1; round <= 3000; ++round)
            {
                written = 7 * round;
                throws = round % 1000 ? 100 : static_cast<uint32_t>(round / 1000 % size);
                bool thrown = false;
                try
                {
                    pool.Work();
                }
                catch (const std::runtime_error&)
                {
                    thrown = true;
                }
                NS_TEST_ASSERT_MSG_EQ(thrown, (throws != 100), "round " << round);
                for (const Own& one : own)
                {
                    NS_TEST_ASSERT_MSG_EQ(one.rounds, round, "once a round");
                    NS_TEST_ASSERT_MSG_EQ(one.seen, written, "what the caller wrote");
                }
                if (round % 1500 == 0)
                {
                    // Long enough for all to fall asleep.
                    std::this_thread::sleep_for(std::chrono::milliseconds(3));
                }
            }
        }
    }
};

class PoolTestCase : public TestCase
{
  public:
    PoolTestCase()
        : TestCase("pools: what one thread takes and another gives back comes round again")
    {
    }

  private:
    struct Thing
    {
        Thing* next;
        uint64_t owner;
    };

    void DoRun() override
    {
        using Pool = rdma::ObjectPool<Thing>;
        Pool::Depot depot;
        Pool source(depot);
        Pool sink(depot);
        std::mt19937 random(3);
        std::vector<Thing*> out;
        uint64_t most = 0;
        for (uint64_t round = 1; round <= 2000; ++round)
        {
            for (uint32_t n = random() % 3000; n > 0; --n)
            {
                out.push_back(source.Allocate());
                out.back()->owner = round;
            }
            most = std::max<uint64_t>(most, out.size());
            for (const Thing* thing : out)
            {
                NS_TEST_ASSERT_MSG_EQ(thing->owner, round, "nobody else has it");
            }
            while (out.size() > round % 2) // one stays out now and then
            {
                sink.Free(out.back());
                out.pop_back();
            }
            for (Thing* thing : out)
            {
                thing->owner = round + 1;
            }
            NS_TEST_ASSERT_MSG_EQ(depot.GetOut() - source.GetIdle() - sink.GetIdle(),
                                  out.size(),
                                  "none is lost");
        }
        // Each pool keeps two batches at most, and all else is used again.
        NS_TEST_EXPECT_MSG_LT_OR_EQ(depot.GetOut(), most + 5 * Pool::BATCH, "bounded");
    }
};

class FramesTestCase : public TestCase
{
  public:
    FramesTestCase()
        : TestCase("frames of a thread that has ended are another one's")
    {
    }

  private:
    void DoRun() override
    {
        const uint64_t before = RdmaFramePool::GetLive();
        for (int i = 0; i < 20; ++i)
        {
            RdmaFrame* frame = nullptr;
            std::thread([&frame] {
                frame = RdmaFramePool::Get().Allocate();
                RdmaFramePool::LeaveThread();
            }).join();
            NS_TEST_EXPECT_MSG_EQ(RdmaFramePool::GetLive(), before + 1, "taken there");
            RdmaFramePool::Get().Free(frame);
            NS_TEST_EXPECT_MSG_EQ(RdmaFramePool::GetLive(), before, "given back here");
        }
    }
};

class PaceTestCase : public TestCase
{
  public:
    PaceTestCase()
        : TestCase("several threads that lose their core give way at once, and come back")
    {
    }

  private:
    /// \return what `periods` cost, one thread's being 1 each, on a machine where two threads take
    /// 0.55 while their cores are theirs, and `busy` while other work has one of them: of `length`
    /// periods of one thread every other one
    double Run(uint32_t periods, double busy, uint32_t length)
    {
        NodeWindowParallelism choice;
        choice.Reset(false);
        double clock = 0;
        for (uint32_t i = 0; i < periods; ++i)
        {
            const bool other = static_cast<uint64_t>(clock) / length % 2;
            const double cost = !choice.IsParallel() ? 1 : other ? busy : 0.55;
            clock += cost;
            choice.Decide(cost, true);
        }
        return clock;
    }

    void DoRun() override
    {
        // Half of the time two threads gain 0.45 of one's. What they lose is the first periods
        // after a core is gone, and trials: four periods in 18 at most.
        for (const double busy : {1.5, 3.0, 8.0})
        {
            for (const uint32_t length : {100, 500, 2000})
            {
                NS_TEST_EXPECT_MSG_LT(Run(20000, busy, length),
                                      20000 * (busy > 4 ? 1.02 : 0.95),
                                      "slower than one thread: " << busy << ", " << length);
            }
        }
        // Alone they are as fast as they can be, but for the trials.
        NS_TEST_EXPECT_MSG_LT(Run(20000, 0.55, 100), 20000 * 0.57, "trials");
        // Where they never gain, the same.
        NodeWindowParallelism choice;
        choice.Reset(false);
        uint32_t parallel = 0;
        for (uint32_t i = 0; i < 20000; ++i)
        {
            parallel += choice.IsParallel();
            choice.Decide(choice.IsParallel() ? 4 : 1, true);
        }
        NS_TEST_EXPECT_MSG_LT(parallel, 200, "they are tried too often");
        // Two slow periods in a row, and there is one thread after the trial's settling.
        choice.Reset(false);
        for (uint32_t i = 0; i < 100; ++i)
        {
            choice.Decide(choice.IsParallel() ? 0.5 : 1, true);
        }
        while (!choice.IsParallel())
        {
            choice.Decide(1, true);
        }
        for (uint32_t i = 0; i < 5; ++i)
        {
            choice.Decide(0.5, true);
        }
        NS_TEST_ASSERT_MSG_EQ(choice.IsParallel(), true, "two threads");
        choice.Decide(2, true);
        NS_TEST_EXPECT_MSG_EQ(choice.IsParallel(), true, "one slow period may be an accident");
        choice.Decide(0.5, true);
        choice.Decide(2, true);
        NS_TEST_EXPECT_MSG_EQ(choice.IsParallel(),
                              true,
                              "nor do two with another one between them");
        choice.Decide(2, true);
        NS_TEST_EXPECT_MSG_EQ(choice.IsParallel(), false, "the core is gone");
        // On a machine where each tenth period takes twice as long, whoever runs it, two threads
        // that take 0.55 run seven eighths of 300 periods: what is lost are the first three, trials
        // of one thread (some five, of three periods), and what accidents in trials cost.
        std::mt19937 random(1);
        parallel = 0;
        for (uint32_t run = 0; run < 100; ++run)
        {
            choice.Reset(false);
            for (uint32_t i = 0; i < 300; ++i)
            {
                parallel += choice.IsParallel();
                choice.Decide((choice.IsParallel() ? 0.55 : 1) * (random() % 10 ? 1 : 2), true);
            }
        }
        NS_TEST_EXPECT_MSG_GT(parallel, 26250, "accidents decide");
    }
};

class DealTestCase : public TestCase
{
  public:
    DealTestCase()
        : TestCase(
              "units are distributed so that all threads have the same to do, as far as may be")
    {
    }

  private:
    /// s that each thread needs, if an event costs 1, and one of a unit that is kept together
    /// `weight`.
    static std::vector<double> Cost(const std::deque<NodeWindowUnit>& units,
                                    const std::vector<uint32_t>& threadOf,
                                    uint32_t threads,
                                    double weight)
    {
        std::vector<double> cost(threads);
        for (std::size_t i = 0; i < units.size(); ++i)
        {
            cost[threadOf[i]] +=
                static_cast<double>(units[i].load) * (units[i].together ? weight : 1);
        }
        return cost;
    }

    void DoRun() override
    {
        std::mt19937 random(11);
        for (int round = 0; round < 200; ++round)
        {
            const uint32_t threads = 2 + random() % 4;
            const double weight = 0.3 + 0.01 * static_cast<double>(random() % 400);
            std::deque<NodeWindowUnit> units(40 + random() % 200);
            uint64_t largest = 0;
            for (NodeWindowUnit& unit : units)
            {
                unit.together = round % 4 && random() % 2;
                unit.kind = static_cast<uint8_t>(random() % 3);
                unit.load = 100 + random() % 200;
                largest = std::max(largest, unit.load);
            }
            NodeWindowBalancer balancer(threads);
            std::vector<uint32_t> threadOf(units.size(), 0);
            for (int turn = 0; turn < 12; ++turn) // it learns the weight by the times
            {
                balancer.Distribute(units, threadOf);
                const auto cost = Cost(units, threadOf, threads, weight);
                for (uint32_t t = 0; t < threads; ++t)
                {
                    balancer.AddBusy(t, cost[t]);
                }
            }
            if (round % 4 == 0) // of each kind all have the same, to a unit
            {
                std::vector<std::vector<double>> ofKind(3, std::vector<double>(threads));
                for (std::size_t i = 0; i < units.size(); ++i)
                {
                    ofKind[units[i].kind][threadOf[i]] += static_cast<double>(units[i].load);
                }
                for (const std::vector<double>& loads : ofKind)
                {
                    const double even = std::accumulate(loads.begin(), loads.end(), 0.0) / threads;
                    for (const double load : loads)
                    {
                        NS_TEST_EXPECT_MSG_LT(std::abs(load - even),
                                              static_cast<double>(largest),
                                              "round " << round);
                    }
                }
            }
            const auto cost = Cost(units, threadOf, threads, weight);
            double together = 0;
            double sum = 0;
            for (std::size_t i = 0; i < units.size(); ++i)
            {
                NS_TEST_ASSERT_MSG_LT(threadOf[i], threads, "a thread");
                NS_TEST_ASSERT_MSG_EQ(!units[i].together || threadOf[i] == 0, true, "together");
                together += units[i].together ? static_cast<double>(units[i].load) * weight : 0;
            }
            sum = std::accumulate(cost.begin(), cost.end(), 0.0);
            // Whoever has what is together may have more than a share; the rest is even to a unit
            // of each kind.
            const double share = std::max(sum / threads, together);
            const double others = (sum - share) / (threads - 1);
            NS_TEST_EXPECT_MSG_LT(cost[0], share + 4.0 * largest + 0.05 * sum, "round " << round);
            for (uint32_t t = 1; t < threads; ++t)
            {
                NS_TEST_EXPECT_MSG_LT(cost[t],
                                      others + 4.0 * largest + 0.05 * sum,
                                      "round " << round << ", thread " << t);
            }
        }
    }
};

class NodeWindowThreadsTestSuite : public TestSuite
{
  public:
    NodeWindowThreadsTestSuite()
        : TestSuite("node-window-threads", UNIT)
    {
        AddTestCase(new ThreadPoolTestCase, TestCase::QUICK);
        AddTestCase(new PoolTestCase, TestCase::QUICK);
        AddTestCase(new FramesTestCase, TestCase::QUICK);
        AddTestCase(new PaceTestCase, TestCase::QUICK);
        AddTestCase(new DealTestCase, TestCase::QUICK);
    }
};

NodeWindowThreadsTestSuite g_nodeWindowThreadsTestSuite;

} // namespace
