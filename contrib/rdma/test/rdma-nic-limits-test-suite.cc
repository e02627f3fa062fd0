/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What bounds a NIC beside its line: bus, message rate, queue pair cache; a slow receiver. All
 * times are closed forms, to the picosecond.
 *
 * Two or more hosts around a switch at 100 Gb/s, 1 us of cable, 500 ns of pipeline: 80 ps a byte. A
 * full packet takes W = 4,178 x 80 = 334,240 ps of the line, a FIRST one (RETH, 16 B more) F =
 * 335,520 ps. A packet that starts at s has arrived at s + 2 F (or 2 W) + 2,500 ns.
 */
#include "rdma-test-fabric.h"

#include "ns3/data-rate.h"
#include "ns3/rdma-nic-limits.h"

#include <algorithm>
#include <map>
#include <random>

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

constexpr int64_t W = FULL_WIRE * 80;
constexpr int64_t F = (FULL_WIRE + 16) * 80;
constexpr int64_t WAY = 2500 * NS;      //!< two cables and a pipeline
constexpr uint32_t LARGEST = 4096 + 82; //!< frame with RETH and immediate
constexpr uint8_t LOSSLESS = 1 << 3;
constexpr uint64_t MTU = 4096;

/// Limits of one NIC alone.
void
Limit(Ptr<RdmaNic> nic, std::initializer_list<std::pair<const char*, const char*>> attributes)
{
    for (const auto& [name, value] : attributes)
    {
        nic->SetAttribute(name, StringValue(value));
    }
    const std::string error = nic->StartLimits(LOSSLESS, LARGEST);
    NS_ABORT_MSG_UNLESS(error.empty(), error);
}

/// Two hosts at 100 Gb/s with buses of 50.
struct HalfBuses : Bed
{
    HalfBuses()
        : Bed(2, 100 * GBPS)
    {
        helper.SetNicAttribute("PcieBandwidth", StringValue("50Gbps"));
        Build();
    }
};

} // namespace

/**
 * A bus slower than the line: packets leave L / P apart (payload L, bus rate P), the first at L /
 * P. At the receiver each crosses the bus once more; it comes no sooner than the one before is
 * through (the first packet is the longest), so the bus is never idle from the first arrival on,
 * and the last of n packets is through n L / P after it. Goodput is P.
 */
class RdmaPcieTestCase : public TestCase
{
  public:
    explicit RdmaPcieTestCase(uint32_t flows)
        : TestCase("PCIe at half the line rate, " + std::to_string(flows) +
                   " queue pairs: half the goodput, to the picosecond"),
          m_flows(flows)
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint64_t packets = 500;
        HalfBuses bed;
        for (uint32_t i = 0; i < m_flows; ++i)
        {
            bed.Connect(0, 1).first->PostWrite(packets * MTU, i);
        }
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(bed.notes.messages.size(), m_flows, "arrived");
        constexpr int64_t bus = MTU * 8 * 20; // 50 Gb/s: 20 ps a bit
        const int64_t n = static_cast<int64_t>(packets) * m_flows;
        const int64_t first = bus + 2 * F + WAY;
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.back().at, first + n * bus, "the last byte");
        // Bits over the time for which the bus is busy: half of 100 Gb/s.
        NS_TEST_EXPECT_MSG_EQ(n * static_cast<int64_t>(MTU) * 8 * 1000 / (n * bus), 50, "Gb/s");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNicTotals().receiveBufferDrops, 0, "no limit");
    }

    uint32_t m_flows;
};

/// A bus faster than the line costs one crossing at each end and nothing more; a limit that never
/// binds costs nothing.
class RdmaWideLimitsTestCase : public TestCase
{
  public:
    RdmaWideLimitsTestCase()
        : TestCase("limits wider than the line cost their latency only")
    {
    }

  private:
    void DoRun() override
    {
        for (const uint64_t bytes : {0UL, 1UL, 64UL, 4096UL, 4097UL, 1000000UL})
        {
            for (const bool bus : {true, false})
            {
                Bed bed(2, 100 * GBPS);
                if (bus)
                {
                    bed.helper.SetNicAttribute("PcieBandwidth", StringValue("200Gbps"));
                }
                else
                {
                    bed.helper.SetNicAttribute("MessageRate", UintegerValue(1000000000));
                }
                bed.Build();
                bed.Connect(0, 1).first->PostWrite(bytes, 1);
                Simulator::Run();
                NS_TEST_ASSERT_MSG_EQ(bed.notes.messages.size(), 1, "arrived");
                // 200 Gb/s: 40 ps a byte. The first packet's payload before it goes; then the
                // line is the bottleneck; the last packet's payload once it is there, if the bus
                // is idle by then: the packet before it may come shortly before a short last one.
                const int64_t ideal = bed.fabric->GetIdealCompletion(0, 1, bytes, false);
                const int64_t first = static_cast<int64_t>(std::min(bytes, MTU)) * 40;
                const uint64_t rest = bytes % MTU;
                const int64_t last = static_cast<int64_t>(rest || !bytes ? rest : MTU) * 40;
                const int64_t wire = static_cast<int64_t>((rest + 3) / 4 * 4 + 82) * 80;
                const int64_t behind =
                    bytes > MTU && rest ? std::max<int64_t>(0, MTU * 40 - wire) : 0;
                NS_TEST_EXPECT_MSG_EQ(bed.notes.messages[0].at,
                                      ideal + (bus ? first + behind + last : 0),
                                      bytes << " B");
            }
        }
    }
};

/// Two hosts whose NICs begin a million messages a second.
struct OneMessagePerMicrosecond : Bed
{
    OneMessagePerMicrosecond()
    {
        Star(2, 100 * GBPS);
        helper.SetNicAttribute("MessageRate", UintegerValue(1000000));
        Build();
    }
};

/**
 * A million messages a second: message k starts at k us, whichever queue pair posts it, and has
 * arrived one idle path later.
 */
class RdmaMessageRateTestCase : public TestCase
{
  public:
    explicit RdmaMessageRateTestCase(uint32_t flows)
        : TestCase("message rate bounds small messages, " + std::to_string(flows) + " queue pairs"),
          m_flows(flows)
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint32_t messages = 240;
        OneMessagePerMicrosecond bed;
        std::vector<RdmaQueuePair*> qps;
        for (uint32_t i = 0; i < m_flows; ++i)
        {
            qps.push_back(bed.Connect(0, 1).first);
        }
        for (uint32_t i = 0; i < messages; ++i)
        {
            qps[i % m_flows]->PostWrite(64, i);
        }
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(bed.notes.messages.size(), messages, "arrived");
        const int64_t ideal = bed.fabric->GetIdealCompletion(0, 1, 64, false);
        for (uint32_t i = 0; i < messages; ++i)
        {
            NS_TEST_EXPECT_MSG_EQ(bed.notes.messages[i].at, i * US + ideal, "message " << i);
        }
    }

    uint32_t m_flows;
};

/**
 * Who waits for a message's slot does not hold up others. A bulk transfer of 1,000 packets, 334 us,
 * beside a queue pair of 64 B messages, one a us: the bulk waits at most for those of its time, at
 * most 340 of 162 B on the line.
 */
class RdmaMessageRateBulkTestCase : public TestCase
{
  public:
    RdmaMessageRateBulkTestCase()
        : TestCase("message rate does not slow packets of messages under way")
    {
    }

  private:
    void DoRun() override
    {
        OneMessagePerMicrosecond bed;
        RdmaQueuePair* bulk = bed.Connect(0, 1).first;
        RdmaQueuePair* small = bed.Connect(0, 1).first;
        bulk->PostWrite(1000 * MTU, 1);
        for (uint32_t i = 0; i < 1000; ++i)
        {
            small->PostWrite(64, 2);
        }
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(bed.notes.messages.size(), 1001, "arrived");
        const int64_t ideal = bed.fabric->GetIdealCompletion(0, 1, 1000 * MTU, false);
        for (const auto& m : bed.notes.messages)
        {
            if (m.message.bytes > 64)
            {
                NS_TEST_EXPECT_MSG_GT(m.at, ideal, "some small ones went between");
                NS_TEST_EXPECT_MSG_LT_OR_EQ(m.at, ideal + 340 * 162 * 80, "and nothing else");
            }
        }
        // 1,001 slots, at least 1 us apart; more only while a small one waited for two packets of
        // the bulk, 0.67 us, and its next one came too late for the next slot by as much.
        const int64_t last = 1000 * US + bed.fabric->GetIdealCompletion(0, 1, 64, false);
        NS_TEST_EXPECT_MSG_GT_OR_EQ(bed.notes.messages.back().at, last, "never faster");
        NS_TEST_EXPECT_MSG_LT(bed.notes.messages.back().at, last + 2 * W, "hardly slower");
    }
};

/**
 * READ responses need no slot, whatever else their queue pair has to send: 1,000 packets of them,
 * 334 us, beside a WRITE of 64 B a us. Those that go between are at most 350, of 162 B on the line.
 */
class RdmaMessageRateReadTestCase : public TestCase
{
  public:
    RdmaMessageRateReadTestCase()
        : TestCase("message rate does not slow READ responses of the same queue pair")
    {
    }

  private:
    void DoRun() override
    {
        OneMessagePerMicrosecond bed;
        const auto [a, b] = bed.Connect(0, 1);
        a->PostRead(1000 * MTU, 1);
        for (uint32_t i = 0; i < 1000; ++i)
        {
            b->PostWrite(64, 2);
        }
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(bed.notes.completions.size(), 1001, "all complete");
        const int64_t ideal =
            bed.fabric->GetIdealCompletion(0, 1, 1000 * MTU, false, RdmaOperation::READ);
        for (const auto& c : bed.notes.completions)
        {
            if (c.qp == a)
            {
                NS_TEST_EXPECT_MSG_GT(c.at, ideal, "some WRITEs went between");
                NS_TEST_EXPECT_MSG_LT(c.at, ideal + 350 * 162 * 80 + US, "and nothing else");
            }
        }
        NS_TEST_EXPECT_MSG_GT_OR_EQ(bed.notes.messages.back().at,
                                    999 * US + bed.fabric->GetIdealCompletion(1, 0, 64, false),
                                    "the WRITEs wait for theirs");
    }
};

/**
 * A NIC that holds 8 contexts; a miss takes M = 1 us, more than a packet on the line. Queue pair 0
 * posts first and sends its first two packets before the others' turn comes (a context is there for
 * the second); it has one packet more than the others, so that then all take turns to the end.
 *
 * 9 queue pairs of k packets: the least recently used context is always the one that is needed
 * next, so every packet but the second misses: 9 k misses. Sending: the first packet starts at M,
 * the second F later, each of the 9 k - 1 others M after the one before. Receiving: the first
 * packet is through M after its arrival, the second at once, the others M apart.
 *
 * 8 queue pairs: 8 misses, of their first packets. The last of these starts at M + F + 7 M; from
 * there on the line is the bottleneck (8 k - 8 packets of W each; the FIRST packet before them is
 * the longest, so they queue behind it on the second link).
 */
class RdmaQpCacheTestCase : public TestCase
{
  public:
    RdmaQpCacheTestCase(uint32_t flows, bool sender)
        : TestCase(std::to_string(flows) + " queue pairs over a cache of 8 contexts of the " +
                   (sender ? "sender" : "receiver")),
          m_flows(flows),
          m_sender(sender)
    {
    }

  private:
    void DoRun() override
    {
        constexpr int64_t k = 20;
        Bed bed(2, 100 * GBPS);
        bed.Build();
        Ptr<RdmaNic> limited = bed.fabric->GetNic(m_sender ? 0 : 1);
        Limit(limited, {{"QpCacheEntries", "8"}, {"QpCacheMissLatency", "1us"}});
        std::vector<RdmaQueuePair*> qps;
        for (uint32_t i = 0; i < m_flows; ++i)
        {
            qps.push_back(bed.Connect(0, 1).first);
        }
        for (uint32_t i = 0; i < m_flows; ++i)
        {
            qps[i]->PostWrite((i ? k : k + 1) * MTU, i);
        }
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(bed.notes.messages.size(), m_flows, "arrived");
        const bool fits = m_flows <= 8;
        const int64_t misses = fits ? m_flows : m_flows * k;
        NS_TEST_EXPECT_MSG_EQ(limited->GetCounters().qpCacheMisses,
                              static_cast<uint64_t>(misses),
                              "misses");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNicTotals().qpCacheMisses,
                              static_cast<uint64_t>(misses),
                              "of this NIC alone");
        int64_t expected;
        if (!m_sender)
        {
            expected = 2 * F + WAY + misses * US;
            if (fits)
            {
                // 8 us of misses for what takes the line 9 packets, 3 us: the unit is behind; it
                // is level with the line again long before the end.
                expected = F + F + WAY + 7 * F + (8 * k - 7) * W;
            }
        }
        else if (!fits)
        {
            expected = US + F + (m_flows * k - 1) * US + 2 * W + WAY;
        }
        else
        {
            expected = US + F + 7 * US + 2 * F + WAY + (8 * k - 8) * W;
        }
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.back().at, expected, "the last byte");
    }

    uint32_t m_flows;
    bool m_sender;
};

/**
 * A receiver whose bus (P) is slower than the line and that holds 100 KB: it pauses the switch,
 * nothing is lost, and the bus is never idle from the first arrival on (XON comes with more in the
 * buffer than the bus takes in the time that the line needs to fill up again: 54 KB against 2.4
 * us), so n packets are through after n L / P.
 *
 * At 100 Mb/s the two frames between XOFF and XON take 670 us, a pause 335 us: without refresh it
 * would run out and the buffer would overflow.
 */
class RdmaSlowReceiverTestCase : public TestCase
{
  public:
    RdmaSlowReceiverTestCase(uint64_t bps, uint32_t packets)
        : TestCase("a receiver with a bus of " + std::to_string(bps / 1000000) +
                   " Mb/s pauses its switch: no loss, bus never idle"),
          m_bps(bps),
          m_packets(packets)
    {
    }

  private:
    void DoRun() override
    {
        Bed bed(2, 100 * GBPS);
        bed.Build();
        Ptr<RdmaNic> slow = bed.fabric->GetNic(1);
        Limit(slow, {{"PcieReceiveBuffer", "100000"}});
        NS_TEST_EXPECT_MSG_EQ(!slow->GetLimits(), true, "a buffer alone limits nothing");
        const std::string rate = std::to_string(m_bps) + "bps";
        Limit(slow, {{"PcieBandwidth", rate.c_str()}});
        // 2 x 12,500 B on the wire + 1, 3 x (4,178 + 20), 84: shared-buffer.h.
        constexpr uint64_t headroom = 25001 + 12594 + 84;
        NS_TEST_ASSERT_MSG_EQ(slow->GetLimits()->GetXoffBytes(), 100000 - headroom, "XOFF");
        uint64_t peak = 0;
        uint64_t received = 0;
        WatchFrames(slow->GetPort(), "PhyRx", [&](const RdmaPort*, const RdmaFrame* f, int64_t) {
            received += IsData(f->opcode);
            peak = std::max(peak, slow->GetLimits()->GetHeldBytes() + f->FrameBytes());
        });
        bed.Connect(0, 1).first->PostWrite(m_packets * MTU, 1);
        Simulator::Run(); // ends: a NIC that pauses nobody sleeps
        NS_TEST_ASSERT_MSG_EQ(bed.notes.messages.size(), 1, "arrived");
        const int64_t bus = static_cast<int64_t>(MTU * 8 * 1000000 / (m_bps / 1000000));
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages[0].at,
                              2 * F + WAY + m_packets * bus,
                              "the bus is never idle");
        const RdmaNicCounters& counters = slow->GetCounters();
        NS_TEST_EXPECT_MSG_EQ(bed.Drops() + counters.receiveBufferDrops, 0, "no loss");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNicTotals().retransmittedPackets, 0, "no repetition");
        NS_TEST_EXPECT_MSG_EQ(static_cast<int64_t>(received), m_packets, "each once");
        NS_TEST_EXPECT_MSG_EQ(slow->GetLimits()->GetHeldBytes(), 0, "empty in the end");
        NS_TEST_EXPECT_MSG_GT(peak, 100000 - headroom, "above XOFF");
        NS_TEST_EXPECT_MSG_LT_OR_EQ(peak, 100000, "never above the buffer");
        NS_TEST_EXPECT_MSG_GT(counters.nicPauses, 3, "paused again and again");
        const RdmaPortCounters& port = slow->GetPort()->GetCounters();
        NS_TEST_EXPECT_MSG_EQ(port.resumesSent, counters.nicPauses, "and resumed");
        if (m_bps < GBPS)
        {
            NS_TEST_EXPECT_MSG_GT(port.pausesSent, counters.nicPauses, "refreshed");
        }
        else
        {
            // One timer, every 168 us (half a pause), tells again what is so at that moment.
            NS_TEST_EXPECT_MSG_LT_OR_EQ(
                port.pausesSent - counters.nicPauses,
                static_cast<uint64_t>(bed.notes.messages[0].at / (167 * US)),
                "hardly a refresh");
        }
        // The switch's transmitter: busy W a packet, idle only while paused; each pause stops it
        // for at most W less than it lasts.
        const Ptr<RdmaPort> egress = bed.fabric->GetPorts()[3];
        const int64_t paused = static_cast<int64_t>(egress->GetCounters().pausedPs);
        const int64_t pauses = static_cast<int64_t>(counters.nicPauses);
        // What it would be if the transmitter had never stopped until the last packet left.
        const int64_t busy = m_packets * W + 1280;
        const int64_t sent = bed.notes.messages[0].at; // not later than that
        NS_TEST_EXPECT_MSG_LT_OR_EQ(paused, sent - busy + pauses * W, "stopped no longer than so");
        NS_TEST_EXPECT_MSG_GT(paused, (sent - busy) * 3 / 5, "and for most of the rest");
        bed.Destroy();
        NS_TEST_EXPECT_MSG_EQ(RdmaFramePool::Get().GetLive(), 0, "no frame left over");
    }

    uint64_t m_bps;
    int64_t m_packets;
};

/// The same receiver without PFC: what does not fit is dropped and counted, and go-back-N repairs
/// it.
class RdmaSlowReceiverLossyTestCase : public TestCase
{
  public:
    RdmaSlowReceiverLossyTestCase()
        : TestCase("without PFC a slow receiver drops; every byte arrives, every packet is counted")
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint64_t flows = 3;
        constexpr uint64_t packets = 200;
        Bed bed(flows + 1, 100 * GBPS);
        bed.helper.SetSwitchAttribute("Pfc", BooleanValue(false));
        bed.helper.SetNicAttribute("TimeoutExponent", UintegerValue(8));
        bed.helper.SetNicAttribute("PcieBandwidth", StringValue("25Gbps"));
        bed.helper.SetNicAttribute("PcieReceiveBuffer", UintegerValue(50000));
        bed.Build();
        Ptr<RdmaNic> slow = bed.fabric->GetNic(0);
        NS_TEST_EXPECT_MSG_EQ(slow->GetLimits()->GetXoffBytes(), 50000, "no headroom set aside");
        uint64_t received = 0;
        uint64_t dropped = 0;
        WatchFrames(slow->GetPort(), "PhyRx", [&](const RdmaPort*, const RdmaFrame* f, int64_t) {
            received += IsData(f->opcode);
        });
        WatchFrames(slow->GetPort(), "PhyRx", [&](const RdmaPort*, const RdmaFrame*, int64_t) {
            NS_TEST_EXPECT_MSG_LT_OR_EQ(slow->GetLimits()->GetHeldBytes(), 50000, "never above");
        });
        Watch<const RdmaPort*, const RdmaFrame*, int64_t>(
            slow,
            "ReceiveDrop",
            [&](const RdmaPort*, const RdmaFrame*, int64_t) { ++dropped; });
        for (uint32_t i = 1; i <= flows; ++i)
        {
            bed.Connect(i, 0).first->PostWrite(packets * MTU, i);
        }
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(bed.notes.messages.size(), flows, "arrived");
        for (const auto& m : bed.notes.messages)
        {
            NS_TEST_EXPECT_MSG_EQ(m.message.bytes, packets * MTU, "whole");
        }
        const RdmaNicCounters& c = slow->GetCounters();
        NS_TEST_EXPECT_MSG_GT(c.receiveBufferDrops, 0, "drops");
        NS_TEST_EXPECT_MSG_EQ(c.receiveBufferDrops, dropped, "each told");
        NS_TEST_EXPECT_MSG_EQ(c.nicPauses, 0, "no pauses");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetPortTotals().pausesSent, 0, "of nobody");
        NS_TEST_EXPECT_MSG_EQ(received,
                              flows * packets + c.duplicatesReceived + c.outOfOrderDropped +
                                  c.receiveBufferDrops,
                              "received = taken + taken before + out of order + dropped");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNicTotals().dataPackets,
                              received + bed.Drops(),
                              "sent = received + dropped in the switch");
        NS_TEST_EXPECT_MSG_EQ(slow->GetLimits()->GetHeldBytes(), 0, "empty in the end");
    }
};

/// A prepared packet whose priority is paused does not hold up the others, and goes first when the
/// pause is over.
class RdmaPreparedPauseTestCase : public TestCase
{
  public:
    RdmaPreparedPauseTestCase()
        : TestCase("what is prepared and paused holds up no other priority")
    {
    }

  private:
    void DoRun() override
    {
        HalfBuses bed;
        std::map<uint8_t, std::vector<int64_t>> starts;
        WatchFrames(bed.fabric->GetPorts()[0],
                    "PhyTx",
                    [&](const RdmaPort*, const RdmaFrame* f, int64_t now) {
                        starts[f->priority].push_back(now);
                    });
        bed.Connect(0, 1, 3).first->PostWrite(100 * MTU, 1);
        bed.Connect(0, 1, 2).first->PostWrite(100 * MTU, 1);
        // 10,000 quanta of 5.12 ns: 51.2 us from the frame's arrival at 1,006.72 ns.
        bed.fabric->GetPorts()[1]->SendPause(1 << 3, 10000, 0);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(bed.notes.messages.size(), 2, "arrived");
        const int64_t from = 1006720;
        const int64_t to = from + 51200 * NS;
        constexpr int64_t bus = MTU * 8 * 20;
        int64_t during = 0;
        for (const int64_t at : starts[2])
        {
            during += at >= from && at < to;
        }
        int64_t after = 0;
        for (const int64_t at : starts[3])
        {
            NS_TEST_EXPECT_MSG_EQ((at >= from && at < to), false, "paused");
            after = at >= to && !after ? at : after;
        }
        // Priority 3 sends at 655 ns, and its next packet is prepared at 1,311 ns, when it is
        // paused; the unit turns to priority 2 when the line is next asked for: at 991 ns (not
        // paused yet) or when a packet is prepared in vain. The first packet of priority 2 starts
        // by 655 + 3 x 655 ns; then one every 655 ns.
        NS_TEST_EXPECT_MSG_GT_OR_EQ(during, (to - from) / bus - 3, "the bus was full meanwhile");
        NS_TEST_EXPECT_MSG_LT(after, to + W + 1000, "prepared: as soon as the line was idle");
    }
};

/**
 * A READ of n packets over buses of half the line rate: the request's way (98 B on the line: 78
 * with RETH, preamble and gap; it has no payload), the responder's first packet over its bus, its
 * way (AETH: 4 B more than a MIDDLE), and n packets over the requester's bus.
 */
class RdmaReadOverBusTestCase : public TestCase
{
  public:
    RdmaReadOverBusTestCase()
        : TestCase("a READ crosses both buses")
    {
    }

  private:
    void DoRun() override
    {
        constexpr int64_t packets = 300;
        HalfBuses bed;
        bed.Connect(0, 1).first->PostRead(packets * MTU, 1);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(bed.notes.completions.size(), 1, "read");
        constexpr int64_t bus = MTU * 8 * 20;
        NS_TEST_EXPECT_MSG_EQ(bed.notes.completions[0].at,
                              2 * 98 * 80 + WAY + bus + 2 * (FULL_WIRE + 4) * 80 + WAY +
                                  packets * bus,
                              "the last byte");
    }
};

/**
 * READ requests have no payload, and yet do not overtake the data before them: a responder would
 * take that for a loss. Nothing is lost here, so nothing is sent twice and nobody complains.
 */
class RdmaLimitsOrderTestCase : public TestCase
{
  public:
    explicit RdmaLimitsOrderTestCase(uint32_t seed)
        : TestCase("limits keep the order of all verbs, seed " + std::to_string(seed)),
          m_seed(seed)
    {
    }

  private:
    void DoRun() override
    {
        std::mt19937 random(m_seed);
        Bed bed(2, 100 * GBPS);
        bed.helper.SetNicAttribute("PcieBandwidth", StringValue(m_seed % 2 ? "25Gbps" : "150Gbps"));
        bed.helper.SetNicAttribute("PcieReceiveBuffer", UintegerValue(m_seed % 3 ? 80000 : 0));
        bed.helper.SetNicAttribute("QpCacheEntries", UintegerValue(2));
        bed.helper.SetNicAttribute("MessageRate", UintegerValue(m_seed % 5 ? 0 : 3000000));
        bed.Build();
        uint64_t posts = 0;
        for (uint32_t i = 0; i < 4; ++i)
        {
            const auto [a, b] = bed.Connect(0, 1);
            for (RdmaQueuePair* qp : {a, b})
            {
                for (uint32_t k = 0; k < 30; ++k)
                {
                    qp->PostReceive(100000, 0);
                }
            }
            for (RdmaQueuePair* qp : {a, b})
            {
                for (uint32_t k = 0; k < 30; ++k)
                {
                    const uint64_t size = random() % (random() % 2 ? 500 : 40000);
                    const uint32_t verb = random() % 3;
                    verb == 0   ? qp->PostWrite(size, k)
                    : verb == 1 ? qp->PostSend(size, k)
                                : qp->PostRead(size, k);
                    ++posts;
                }
            }
        }
        Simulator::Run();
        uint64_t good = 0;
        for (const auto& c : bed.notes.completions)
        {
            good += c.status == RdmaStatus::SUCCESS;
        }
        NS_TEST_EXPECT_MSG_EQ(good, posts, "all complete");
        const RdmaNicCounters c = bed.fabric->GetNicTotals();
        NS_TEST_EXPECT_MSG_EQ(c.receiveBufferDrops + bed.Drops(), 0, "nothing is lost");
        NS_TEST_EXPECT_MSG_EQ(c.naksSent, 0, "nobody complains");
        NS_TEST_EXPECT_MSG_EQ(c.retransmittedPackets, 0, "nothing goes twice");
        NS_TEST_EXPECT_MSG_EQ(c.duplicatesReceived + c.outOfOrderDropped, 0, "all in order");
        bed.Destroy();
        NS_TEST_EXPECT_MSG_EQ(RdmaFramePool::Get().GetLive(), 0, "no frame left over");
    }

    uint32_t m_seed;
};

/**
 * All limits at once, drawn by lot, with either loss recovery, with and without PFC, with DCQCN and
 * bit errors: every byte arrives once, and what a NIC's port has received is taken, had been taken
 * before, came out of order, was dropped or is held.
 */
class RdmaRandomLimitsTestCase : public TestCase
{
  public:
    explicit RdmaRandomLimitsTestCase(uint32_t seed)
        : TestCase("limits drawn by lot, seed " + std::to_string(seed) +
                   ": every byte arrives, every packet is accounted for"),
          m_seed(seed)
    {
    }

  private:
    void DoRun() override
    {
        std::mt19937 random(m_seed);
        const auto pick = [&random](std::initializer_list<uint64_t> choices) {
            return *(choices.begin() + random() % choices.size());
        };
        Bed bed;
        const uint32_t hosts = 3 + random() % 6;
        bed.Star(hosts, pick({25, 100, 400}) * GBPS, US, random() % 3 ? 0 : 1e-8);
        const bool pfc = random() % 2;
        const bool selective = random() % 2;
        bed.helper.SetSwitchAttribute("Pfc", BooleanValue(pfc));
        bed.helper.SetSwitchAttribute("LosslessPriorities", UintegerValue(0x18));
        bed.helper.SetNicAttribute("TimeoutExponent", UintegerValue(10));
        bed.helper.SetNicAttribute("LossRecovery",
                                   StringValue(selective ? "selective-repeat" : "go-back-n"));
        bed.helper.SetNicAttribute("QpCacheEntries", UintegerValue(pick({0, 1, 3, 100})));
        bed.helper.SetNicAttribute("QpCacheMissLatency",
                                   TimeValue(NanoSeconds(pick({0, 77, 900}))));
        bed.helper.SetNicAttribute("PcieBandwidth",
                                   DataRateValue(DataRate(pick({0, 7, 33, 90, 250}) * GBPS)));
        // 400 Gb/s: 100,000 B on the wire and four frames.
        bed.helper.SetNicAttribute("PcieReceiveBuffer", UintegerValue(pick({0, 130000, 300000})));
        bed.helper.SetNicAttribute("MessageRate", UintegerValue(pick({0, 100000, 33333333})));
        if (random() % 2)
        {
            bed.helper.SetCongestionOps(CreateObject<RdmaDcqcnCongestionOps>());
        }
        bed.Build();
        std::vector<uint64_t> received(hosts);
        std::vector<uint64_t> packets(hosts);
        for (uint32_t i = 0; i < hosts; ++i)
        {
            WatchFrames(bed.fabric->GetNic(i)->GetPort(),
                        "PhyRx",
                        [&received, i](const RdmaPort*, const RdmaFrame* f, int64_t) {
                            received[i] += IsData(f->opcode);
                        });
            Watch<const RdmaPort*, const RdmaFrame*, int64_t>(
                bed.fabric->GetNic(i),
                "ReceiveDrop",
                [&](const RdmaPort*, const RdmaFrame* f, int64_t) {
                    NS_TEST_EXPECT_MSG_EQ((!pfc || f->priority == 2),
                                          true,
                                          "lossy priorities only");
                });
        }
        const uint32_t flows = 5 + random() % 20;
        uint64_t messages = 0;
        std::vector<std::pair<RdmaQueuePair*, uint64_t>> qps;
        for (uint32_t i = 0; i < flows; ++i)
        {
            const uint32_t to = random() % (random() % 2 ? 1 : hosts);
            const uint32_t from = (to + 1 + random() % (hosts - 1)) % hosts;
            const auto [a, b] = bed.Connect(from, to, 2 + random() % 3);
            uint64_t bytes = 0;
            for (uint32_t k = random() % 12 + 1; k > 0; --k)
            {
                const uint64_t size = random() % (random() % 2 ? 300 : 90000);
                Simulator::Schedule(NanoSeconds(random() % 50000),
                                    [qp = a, size] { qp->PostWrite(size, 0); });
                bytes += size;
                packets[to] += std::max<uint64_t>(1, (size + MTU - 1) / MTU);
                ++messages;
            }
            qps.emplace_back(b, bytes);
        }
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(bed.notes.messages.size(), messages, "all arrive");
        for (const auto& [qp, bytes] : qps)
        {
            NS_TEST_EXPECT_MSG_EQ(qp->GetBytesReceived(), bytes, "every byte, once");
        }
        for (uint32_t i = 0; i < hosts; ++i)
        {
            const RdmaNicCounters& c = bed.fabric->GetNic(i)->GetCounters();
            const RdmaNicLimits* limits = bed.fabric->GetNic(i)->GetLimits();
            NS_TEST_EXPECT_MSG_EQ((limits ? limits->GetHeldBytes() : 0), 0, "nothing held");
            if (!selective) // there, packets out of order are kept and counted otherwise
            {
                NS_TEST_EXPECT_MSG_EQ(received[i],
                                      packets[i] + c.duplicatesReceived + c.outOfOrderDropped +
                                          c.receiveBufferDrops,
                                      "received = taken + taken before + out of order + dropped");
            }
            else
            {
                NS_TEST_EXPECT_MSG_EQ(received[i],
                                      packets[i] + c.duplicatesReceived + c.receiveBufferDrops,
                                      "received = taken + taken before + dropped");
            }
            if (!pfc)
            {
                NS_TEST_EXPECT_MSG_EQ(c.nicPauses, 0, "no pauses");
            }
        }
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNicTotals().failedQps, 0, "nobody gives up");
        bed.Destroy();
        NS_TEST_EXPECT_MSG_EQ(RdmaFramePool::Get().GetLive(), 0, "no frame left over");
    }

    uint32_t m_seed;
};

class RdmaLimitErrorsTestCase : public TestCase
{
  public:
    RdmaLimitErrorsTestCase()
        : TestCase("a receive buffer without room for headroom is refused")
    {
    }

  private:
    void DoRun() override
    {
        // Headroom 37,679 B and two frames of 4,178 B: 46,035.
        for (const uint64_t bytes : {46034UL, 46035UL})
        {
            Bed bed(2, 100 * GBPS);
            bed.helper.SetNicAttribute("PcieBandwidth", StringValue("50Gbps"));
            bed.helper.SetNicAttribute("PcieReceiveBuffer", UintegerValue(bytes));
            std::string error;
            bed.fabric = bed.helper.Build(bed.nodes, bed.links, error);
            NS_TEST_EXPECT_MSG_EQ(!bed.fabric, (bytes < 46035), error);
            NS_TEST_EXPECT_MSG_EQ((error.find("h0:0: ns3::RdmaNic::PcieReceiveBuffer: 46034") == 0),
                                  (bytes < 46035),
                                  error);
            NS_TEST_EXPECT_MSG_EQ((error.find("at least 46035") != std::string::npos),
                                  (bytes < 46035),
                                  error);
        }
    }
};

class RdmaNicLimitsTestSuite : public TestSuite
{
  public:
    RdmaNicLimitsTestSuite()
        : TestSuite("rdma-nic-limits", UNIT)
    {
        AddTestCase(new RdmaPcieTestCase(1), TestCase::QUICK);
        AddTestCase(new RdmaPcieTestCase(5), TestCase::QUICK);
        AddTestCase(new RdmaWideLimitsTestCase, TestCase::QUICK);
        AddTestCase(new RdmaMessageRateTestCase(1), TestCase::QUICK);
        AddTestCase(new RdmaMessageRateTestCase(8), TestCase::QUICK);
        AddTestCase(new RdmaMessageRateBulkTestCase, TestCase::QUICK);
        AddTestCase(new RdmaMessageRateReadTestCase, TestCase::QUICK);
        for (const uint32_t flows : {8, 9})
        {
            AddTestCase(new RdmaQpCacheTestCase(flows, true), TestCase::QUICK);
            AddTestCase(new RdmaQpCacheTestCase(flows, false), TestCase::QUICK);
        }
        AddTestCase(new RdmaSlowReceiverTestCase(25 * GBPS, 1000), TestCase::QUICK);
        AddTestCase(new RdmaSlowReceiverTestCase(GBPS / 10, 100), TestCase::QUICK);
        AddTestCase(new RdmaSlowReceiverLossyTestCase, TestCase::QUICK);
        AddTestCase(new RdmaPreparedPauseTestCase, TestCase::QUICK);
        AddTestCase(new RdmaLimitErrorsTestCase, TestCase::QUICK);
        AddTestCase(new RdmaReadOverBusTestCase, TestCase::QUICK);
        for (uint32_t seed = 1; seed <= 20; ++seed)
        {
            AddTestCase(new RdmaLimitsOrderTestCase(seed), TestCase::QUICK);
        }
        for (uint32_t seed = 1; seed <= 40; ++seed)
        {
            AddTestCase(new RdmaRandomLimitsTestCase(seed), TestCase::QUICK);
        }
    }
};

static RdmaNicLimitsTestSuite g_rdmaNicLimitsTestSuite;
