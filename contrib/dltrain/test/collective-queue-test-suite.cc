/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The queue in front of collectives: who goes first, and that all ranks do the same.
 */
#include "contrib/dltrain/runners/collective-queue.h"
#include "contrib/dltrain/runners/rank-runner.h"

#include "ns3/test.h"

#include <utility>
#include <vector>

using namespace ns3;
using namespace dltrain;
using training::CollectiveOrder;

namespace
{

/// Three collectives of one group, of layers 2, 1 and 0 in that order; layer 1 in two chunks.
class Layers
{
  public:
    Layers()
    {
        for (const int16_t layer : {2, 1, 1, 0})
        {
            training::Task task;
            task.kind = training::TaskKind::kCollective;
            task.layer = layer;
            tables.places.push_back(static_cast<uint32_t>(graph.tasks.size()));
            graph.tasks.push_back(task);
        }
        tables.tasks = {{0, 1, 2, 3}};
    }

    training::StepGraph graph;
    CollectiveQueue::Tables tables;
};

class QueueOrderCase : public TestCase
{
  public:
    QueueOrderCase(CollectiveOrder order, uint32_t inFlight, std::vector<uint32_t> expected)
        : TestCase("Order " + std::to_string(static_cast<int>(order)) + ", " +
                   std::to_string(inFlight) + " in flight"),
          m_order(order),
          m_inFlight(inFlight),
          m_expected(std::move(expected))
    {
    }

  private:
    /// Layer 2 is ready at 0, and layers 1 and 0 while it is under way.
    void DoRun() override
    {
        const Layers layers;
        CollectiveQueue queue({m_order, m_inFlight}, {7}, {true});
        queue.Begin(layers.graph, layers.tables, 5);
        std::vector<uint32_t> begun;
        std::vector<uint32_t> underWay;
        const auto goOn = [&](int64_t now) {
            for (const CollectiveChoice& choice : queue.Choose())
            {
                NS_TEST_EXPECT_MSG_EQ(choice.communicator, 7, "communicator");
                NS_TEST_EXPECT_MSG_EQ(choice.round, 5, "round");
                queue.OnTold(choice);
            }
            while (const auto task = queue.Next(now))
            {
                begun.push_back(*task);
                underWay.push_back(*task);
            }
            NS_TEST_EXPECT_MSG_LT_OR_EQ(underWay.size(), m_inFlight, "slots");
        };
        queue.OnReady(0, 0);
        goOn(0);
        queue.OnReady(1, 10);
        queue.OnReady(2, 10);
        goOn(10);
        queue.OnReady(3, 20);
        goOn(20);
        for (int64_t now = 100; !underWay.empty(); now += 100)
        {
            const CollectiveQueue::Times times = queue.End(underWay.front());
            NS_TEST_EXPECT_MSG_LT_OR_EQ(times.ready, times.begin, "times");
            underWay.erase(underWay.begin());
            goOn(now);
        }
        NS_TEST_EXPECT_MSG_EQ((begun == m_expected), true, "order");
    }

    CollectiveOrder m_order;
    uint32_t m_inFlight;
    std::vector<uint32_t> m_expected;
};

/// A rank that does not choose begins what it is told, in that order, when it has the data.
class QueueFollowerCase : public TestCase
{
  public:
    QueueFollowerCase()
        : TestCase("Another rank has chosen")
    {
    }

  private:
    void DoRun() override
    {
        const Layers layers;
        CollectiveQueue queue({CollectiveOrder::kPriority, 1}, {7}, {false});
        queue.Begin(layers.graph, layers.tables, 5);
        queue.OnReady(0, 0);
        queue.OnReady(1, 10);
        NS_TEST_EXPECT_MSG_EQ(queue.MayChoose(), false, "it is not the first rank");
        NS_TEST_EXPECT_MSG_EQ(queue.Next(10).has_value(), false, "nothing was told");
        queue.OnTold({7, 0, 5, 3});
        queue.OnTold({7, 0, 5, 0});
        queue.OnTold({7, 0, 6, 0});
        NS_TEST_EXPECT_MSG_EQ(queue.Next(20).has_value(), false, "layer 0 has no data yet");
        queue.OnReady(3, 30);
        NS_TEST_EXPECT_MSG_EQ(queue.Next(30).value_or(99), 3, "told first");
        NS_TEST_EXPECT_MSG_EQ(queue.Next(30).value_or(99), 0, "told then");
        NS_TEST_EXPECT_MSG_EQ(queue.Next(30).has_value(), false, "that is of the next round");
        const CollectiveQueue::Times times = queue.End(3);
        NS_TEST_EXPECT_MSG_EQ(times.begin - times.ready, 0, "wait of layer 0");
        NS_TEST_EXPECT_MSG_EQ(queue.End(0).begin, 30, "begin of layer 2");
        queue.Begin(layers.graph, layers.tables, 6);
        queue.OnReady(0, 40);
        NS_TEST_EXPECT_MSG_EQ(queue.Next(50).value_or(99), 0, "of its own round");
    }
};

/// Chunks of a collective are tasks, and what follows waits for each of them.
class ManyChunksCase : public TestCase
{
  public:
    ManyChunksCase()
        : TestCase("A task behind 70,000 others")
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint32_t kChunks = 70000; // more than 16 bits count
        training::StepGraph graph;
        graph.streams = {"compute"};
        training::Task last;
        for (uint32_t i = 0; i < kChunks; ++i)
        {
            graph.tasks.emplace_back();
            last.after.push_back(i);
        }
        graph.tasks.push_back(last);
        const GraphTables tables(graph, {}, [](const std::string&) { return 0; });
        NS_TEST_EXPECT_MSG_EQ(tables.dependencies.back(), kChunks, "what it waits for");
    }
};

class CollectiveQueueTestSuite : public TestSuite
{
  public:
    CollectiveQueueTestSuite()
        : TestSuite("dltrain-collective-queue", UNIT)
    {
        using Order = CollectiveOrder;
        AddTestCase(new QueueOrderCase(Order::kFifo, 1, {0, 1, 2, 3}), TestCase::QUICK);
        AddTestCase(new QueueOrderCase(Order::kLifo, 1, {0, 3, 1, 2}), TestCase::QUICK);
        AddTestCase(new QueueOrderCase(Order::kPriority, 1, {0, 3, 1, 2}), TestCase::QUICK);
        // The first chunk of layer 1 has begun before layer 0 is ready.
        AddTestCase(new QueueOrderCase(Order::kPriority, 2, {0, 1, 3, 2}), TestCase::QUICK);
        AddTestCase(new QueueOrderCase(Order::kFifo, 2, {0, 1, 2, 3}), TestCase::QUICK);
        AddTestCase(new QueueFollowerCase, TestCase::QUICK);
        AddTestCase(new ManyChunksCase, TestCase::QUICK);
    }
};

const CollectiveQueueTestSuite g_collectiveQueueTestSuite;

} // namespace
