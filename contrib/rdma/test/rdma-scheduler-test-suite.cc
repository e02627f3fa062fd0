/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * RdmaQuadHeapScheduler against ns-3's MapScheduler. (That a whole simulation is the same with both
 * is in rdma-fabric.)
 */
#include "rdma-test-fabric.h"

#include "ns3/map-scheduler.h"
#include "ns3/quad-heap-scheduler.h"
#include "ns3/rdma-event-order.h"

#include <random>

using namespace ns3;

class RdmaQuadHeapTestCase : public TestCase
{
  public:
    explicit RdmaQuadHeapTestCase(uint32_t seed)
        : TestCase("random inserts and removes come out in MapScheduler's order, seed " +
                   std::to_string(seed)),
          m_seed(seed)
    {
    }

  private:
    void DoRun() override
    {
        std::mt19937_64 random(m_seed);
        const auto heap = CreateObject<RdmaQuadHeapScheduler>();
        const auto map = CreateObject<MapScheduler>();
        std::vector<Scheduler::Event> held; // what a Remove may name
        uint32_t uid = 4;
        uint64_t now = 0;
        const auto insert = [&]() {
            Scheduler::Event ev;
            ev.impl = nullptr;
            ev.key.m_uid = uid++;
            // Many ties, as packets make them; now and then far away, beyond 2^32.
            ev.key.m_ts = now + (random() % 10 ? random() % 20 : random() % (1ULL << 45));
            ev.key.m_context = uid;
            heap->Insert(ev);
            map->Insert(ev);
            held.push_back(ev);
        };
        const auto drop = [&held](uint32_t which) {
            held.erase(std::find_if(held.begin(), held.end(), [which](const auto& e) {
                return e.key.m_uid == which;
            }));
        };
        bool same = true;
        const auto next = [&]() {
            const auto peeked = heap->PeekNext();
            const auto a = heap->RemoveNext();
            const auto b = map->RemoveNext();
            same = same && a.key.m_uid == b.key.m_uid && a.key.m_ts == b.key.m_ts &&
                   a.key.m_context == b.key.m_context && peeked.key.m_uid == a.key.m_uid;
            now = a.key.m_ts;
            drop(a.key.m_uid);
        };
        for (uint32_t step = 0; step < 20000; ++step)
        {
            NS_TEST_ASSERT_MSG_EQ(heap->IsEmpty(), map->IsEmpty(), "empty alike");
            // Grows to some hundreds, shrinks to nothing, again and again.
            const bool grow = step / 1000 % 2 == 0;
            const uint64_t dice = random() % 10;
            if (held.empty() || dice < (grow ? 6 : 3))
            {
                insert();
            }
            else if (dice < 9)
            {
                next();
            }
            else
            {
                // Removing is O(n) and not what the module does, but ns-3 may (EventId::Remove).
                const auto victim = held[random() % held.size()];
                heap->Remove(victim);
                map->Remove(victim);
                drop(victim.key.m_uid);
            }
        }
        while (!map->IsEmpty())
        {
            next();
        }
        NS_TEST_EXPECT_MSG_EQ(same, true, "the same order");
        NS_TEST_EXPECT_MSG_EQ(heap->IsEmpty(), true, "empty");
    }

    uint32_t m_seed;
};

class RdmaQuadHeapSimulatorTestCase : public TestCase
{
  public:
    RdmaQuadHeapSimulatorTestCase()
        : TestCase("under the simulator: order, ties by insertion, cancel, remove, stop")
    {
    }

  private:
    void DoRun() override
    {
        GlobalValue::Bind("SchedulerType", StringValue("ns3::QuadHeapScheduler"));
        std::string order;
        const auto add = [&order](int64_t ns, char c) {
            return Simulator::Schedule(NanoSeconds(ns), [&order, c]() { order += c; });
        };
        add(30, 'e');
        add(10, 'a');
        const EventId cancelled = add(20, '!');
        add(10, 'b');
        const EventId removed = add(15, '?');
        add(20, 'c');
        add(20, 'd');
        add(50, 'x');
        Simulator::Cancel(cancelled);
        Simulator::Remove(removed);
        Simulator::Stop(NanoSeconds(40));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(order, "abcde", "by time, then by insertion");
        NS_TEST_EXPECT_MSG_EQ(Simulator::Now(), NanoSeconds(40), "stopped");
        Simulator::Destroy();
        GlobalValue::Bind("SchedulerType", StringValue("ns3::MapScheduler"));
    }
};

class RdmaEventOrderTestCase : public TestCase
{
  public:
    RdmaEventOrderTestCase()
        : TestCase("events of one time: by node, then arrivals by port, whenever scheduled")
    {
    }

  private:
    void DoRun() override
    {
        const auto heap = CreateObject<RdmaQuadHeapScheduler>();
        uint32_t uid = 4;
        const auto insert = [&](uint64_t ts, uint32_t context) {
            Scheduler::Event ev;
            ev.impl = nullptr;
            ev.key.m_ts = ts;
            ev.key.m_uid = uid++;
            ev.key.m_context = context;
            heap->Insert(ev);
        };
        // Last first, as it should come out: (time, context that is seen, uid).
        const uint32_t none = 0xffffffff;
        const uint32_t pause = RdmaEventOrder::ArrivalContext(3, 1) | RdmaEventOrder::CONTROL;
        insert(5, none);                                     // 4
        insert(5, RdmaEventOrder::ArrivalContext(70000, 0)); // 5
        insert(5, RdmaEventOrder::ArrivalContext(3, 2));     // 6
        insert(5, pause);                                    // 7
        insert(5, RdmaEventOrder::ArrivalContext(3, 1));     // 8
        insert(5, 70000);                                    // 9
        insert(5, 3);                                        // 10
        insert(5, 3);                                        // 11: behind 10
        insert(4, none);                                     // 12
        const std::vector<std::pair<uint32_t, uint32_t>> expected = {{none, 12},
                                                                     {3, 10},
                                                                     {3, 11},
                                                                     {70000, 9},
                                                                     {3, 8},
                                                                     {3, 7},
                                                                     {3, 6},
                                                                     {70000, 5},
                                                                     {none, 4}};
        for (const auto& [context, number] : expected)
        {
            const auto peeked = heap->PeekNext();
            const auto ev = heap->RemoveNext();
            NS_TEST_EXPECT_MSG_EQ(ev.key.m_uid, number, "order");
            NS_TEST_EXPECT_MSG_EQ(ev.key.m_context, context, "the node's number is seen");
            NS_TEST_EXPECT_MSG_EQ(peeked.key.m_context, context, "peeking too");
        }
        // Ports of a node are in order, however many there are; limits are where they are said.
        constexpr uint32_t PORTS = RdmaEventOrder::MAX_PORTS;
        constexpr uint32_t WIDE_PORTS = RdmaEventOrder::MAX_WIDE_PORTS;
        for (const uint32_t node : {0U, 7U, RdmaEventOrder::MAX_WIDE_NODES - 1})
        {
            uint32_t before = node; // its own events come first
            for (const uint32_t port :
                 {0U, 1U, PORTS - 1, PORTS, PORTS + 1, 2 * PORTS, WIDE_PORTS - 1})
            {
                const uint32_t context = RdmaEventOrder::ArrivalContext(node, port);
                NS_TEST_EXPECT_MSG_GT(context, before, "port " << port << " of node " << node);
                before = context | RdmaEventOrder::CONTROL;
                NS_TEST_EXPECT_MSG_GT(before, context, "a MAC control frame is last");
                NS_TEST_EXPECT_MSG_EQ(RdmaEventOrder::NodeOf(context), node, "of its node");
                NS_TEST_EXPECT_MSG_EQ(RdmaEventOrder::NodeOf(before), node, "of its node");
                NS_TEST_EXPECT_MSG_EQ(RdmaEventOrder::IsGlobal(before), false, "of a node");
            }
        }
        const uint32_t last = RdmaEventOrder::ArrivalContext(RdmaEventOrder::MAX_NODES - 1,
                                                             RdmaEventOrder::MAX_PORTS - 1);
        NS_TEST_EXPECT_MSG_NE((last | RdmaEventOrder::CONTROL), none, "not taken for no context");
        NS_TEST_EXPECT_MSG_EQ(RdmaEventOrder::NodeOf(last | RdmaEventOrder::CONTROL),
                              RdmaEventOrder::MAX_NODES - 1,
                              "the last one");
        // Beyond what a context has room for: plain node numbers.
        for (const auto& [node, port] : {std::pair{RdmaEventOrder::MAX_NODES, 0U},
                                         std::pair{RdmaEventOrder::MAX_WIDE_NODES, PORTS},
                                         std::pair{7U, WIDE_PORTS}})
        {
            NS_TEST_EXPECT_MSG_EQ(RdmaEventOrder::ArrivalContext(node, port),
                                  node,
                                  "port " << port << " of node " << node);
        }
    }
};

class RdmaSchedulerTestSuite : public TestSuite
{
  public:
    RdmaSchedulerTestSuite()
        : TestSuite("rdma-scheduler", UNIT)
    {
        for (const uint32_t seed : {1, 2, 3})
        {
            AddTestCase(new RdmaQuadHeapTestCase(seed), TestCase::QUICK);
        }
        AddTestCase(new RdmaQuadHeapSimulatorTestCase, TestCase::QUICK);
        AddTestCase(new RdmaEventOrderTestCase, TestCase::QUICK);
    }
};

static RdmaSchedulerTestSuite g_rdmaSchedulerTestSuite;
