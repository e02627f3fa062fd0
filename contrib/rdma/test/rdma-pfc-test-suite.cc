/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Shared buffer and PFC with a running network: no drop, conservation at every moment, pauses that
 * act with their real delay; and what happens without PFC.
 */
#include "rdma-test-fabric.h"

#include <set>

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

/// Checks the laws of a switch again and again while it has something to do.
class LawKeeper
{
  public:
    explicit LawKeeper(Ptr<RdmaSwitch> device)
        : m_device(device)
    {
        for (uint16_t i = 0; i < device->GetNPorts(); ++i)
        {
            WatchFrames(device->GetPort(i),
                        "PhyRx",
                        [this](const RdmaPort*, const RdmaFrame* f, int64_t) {
                            m_inside += f->opcode != RdmaOpcode::PAUSE;
                        });
            WatchFrames(device->GetPort(i),
                        "PhyTx",
                        [this](const RdmaPort*, const RdmaFrame* f, int64_t) {
                            m_inside -= f->opcode != RdmaOpcode::PAUSE;
                        });
        }
        Watch<const RdmaSwitchBase*,
              const RdmaPort*,
              const RdmaFrame*,
              RdmaSwitch::DropReason,
              int64_t>(device, "Drop", [this](auto...) { --m_inside; });
        Simulator::Schedule(NanoSeconds(500), &LawKeeper::Look, this);
    }

    void Look()
    {
        ++looks;
        uint64_t queued = 0;
        for (uint16_t i = 0; i < m_device->GetNPorts(); ++i)
        {
            queued += m_device->GetPort(i)->GetQueuedBytes();
        }
        uint64_t drops = 0;
        for (uint8_t r = 0; r < RdmaSwitch::DROP_REASONS; ++r)
        {
            drops += m_device->GetDrops(static_cast<RdmaSwitch::DropReason>(r));
        }
        wrongBytes += m_device->GetBuffer().Stored() != queued;
        wrongFrames += m_device->GetReceived() !=
                       m_device->GetForwarded() + drops + static_cast<uint64_t>(m_inside);
        wrongShared += m_device->GetBuffer().SharedUsed() > m_device->GetBuffer().SharedSize();
        if (m_inside > 0 || looks < 200)
        {
            Simulator::Schedule(NanoSeconds(997), &LawKeeper::Look, this);
        }
    }

    uint32_t looks{0};
    uint32_t wrongBytes{0};
    uint32_t wrongFrames{0};
    uint32_t wrongShared{0};

  private:
    Ptr<RdmaSwitch> m_device;
    int64_t m_inside{0};
};

} // namespace

class RdmaIncastTestCase : public TestCase
{
  public:
    RdmaIncastTestCase(uint32_t senders, bool pfc, bool dcqcn)
        : TestCase("incast of " + std::to_string(senders) + (pfc ? ", PFC" : ", no PFC") +
                   (dcqcn ? ", DCQCN" : "") +
                   (pfc ? ": no drop, all laws hold" : ": drops, every byte arrives")),
          m_senders(senders),
          m_pfc(pfc),
          m_dcqcn(dcqcn)
    {
    }

  private:
    void DoRun() override
    {
        Bed bed(m_senders + 1, 100 * GBPS);
        // Tight: headroom is 44 KB of 60 KB a port (2 x 1 us and 500 ns at 12.5 KB/us and 3
        // frames).
        bed.helper.SetSwitchAttribute("BufferPer100G", UintegerValue(60000));
        bed.helper.SetSwitchAttribute("Pfc", BooleanValue(m_pfc));
        // 1 ms where loss has to be repaired (drop synchronized: less and some give up); else the
        // default, 67 ms: a paused queue pair waits 64 x 24 us here, and DCQCN at its least rate
        // takes 5 ms for the 16 packets of an ACK.
        const bool lossy = !m_pfc && !m_dcqcn;
        bed.helper.SetNicAttribute("TimeoutExponent", UintegerValue(lossy ? 8 : 14));
        if (m_dcqcn)
        {
            bed.helper.SetCongestionOps(CreateObject<RdmaDcqcnCongestionOps>());
        }
        bed.Build();
        const uint64_t bytes = 300000;
        for (uint32_t i = 1; i <= m_senders; ++i)
        {
            bed.Connect(i, 0).first->PostWrite(bytes, i);
        }
        LawKeeper laws(bed.Device());
        Simulator::Run();

        NS_TEST_ASSERT_MSG_EQ(bed.notes.messages.size(), m_senders, "every message arrives");
        for (const auto& m : bed.notes.messages)
        {
            NS_TEST_EXPECT_MSG_EQ(m.message.bytes, bytes, "whole");
        }
        for (uint32_t i = 1; i <= m_senders; ++i)
        {
            NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNic(i)->GetQueuePair(0)->GetBytesAcknowledged(),
                                  bytes,
                                  "acknowledged");
        }
        NS_TEST_EXPECT_MSG_GT_OR_EQ(laws.looks, 200, "looked at");
        NS_TEST_EXPECT_MSG_EQ(laws.wrongBytes, 0, "bytes in the buffer = in the egress queues");
        NS_TEST_EXPECT_MSG_EQ(laws.wrongFrames, 0, "received = forwarded + dropped + queued");
        NS_TEST_EXPECT_MSG_EQ(laws.wrongShared, 0, "the pool is not overdrawn");
        const rdma::SharedBuffer& buffer = bed.Device()->GetBuffer();
        NS_TEST_EXPECT_MSG_EQ(buffer.Stored(), 0, "empty in the end");
        NS_TEST_EXPECT_MSG_EQ(buffer.SharedUsed(), 0, "empty in the end");
        const RdmaNicCounters nic = bed.fabric->GetNicTotals();
        const RdmaPortCounters port = bed.fabric->GetPortTotals();
        if (m_pfc)
        {
            NS_TEST_EXPECT_MSG_EQ(bed.Drops(), 0, "no drop of any kind");
            NS_TEST_EXPECT_MSG_EQ(nic.retransmittedPackets, 0, "nothing sent twice");
            NS_TEST_EXPECT_MSG_GT(port.pausesSent, m_senders, "pauses");
            NS_TEST_EXPECT_MSG_GT(buffer.HeadroomPeak(), 0, "headroom was needed");
            NS_TEST_EXPECT_MSG_LT_OR_EQ(buffer.HeadroomPeak(),
                                        buffer.Config().headroomBytes[1],
                                        "and sufficed");
            if (!m_dcqcn)
            {
                // The bottleneck never idles: last byte = all frames over it one after the
                // other, and the first one's way there. A post is FIRST 4,194 B, 72 MIDDLEs of
                // 4,178 B and a LAST of 300,000 - 73 x 4,096 + 82 = 1,074 B, 80 ps each.
                const int64_t each = (4194 + 72 * 4178 + 1074) * 80;
                NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.back().at,
                                      4194 * 80 + 2500 * NS + m_senders * each,
                                      "work-conserving");
            }
        }
        else
        {
            NS_TEST_EXPECT_MSG_GT(bed.Drops(), 0, "drops");
            NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetDrops(RdmaSwitch::HEADROOM_FULL),
                                  0,
                                  "no headroom");
            NS_TEST_EXPECT_MSG_EQ(port.pausesSent, 0, "no pauses");
            NS_TEST_EXPECT_MSG_GT(nic.retransmittedPackets, 0, "sent again");
            NS_TEST_EXPECT_MSG_EQ(nic.failedQps, 0, "nobody gave up");
        }
        bed.Destroy();
        NS_TEST_EXPECT_MSG_EQ(RdmaFramePool::Get().GetLive(), 0, "no frame left over");
    }

    uint32_t m_senders;
    bool m_pfc;
    bool m_dcqcn;
};

class RdmaPauseDelayTestCase : public TestCase
{
  public:
    RdmaPauseDelayTestCase()
        : TestCase(
              "a pause acts when its frame has arrived: not sooner, not later, to the picosecond")
    {
    }

  private:
    void DoRun() override
    {
        Bed bed(3, 100 * GBPS);
        bed.helper.SetSwitchAttribute("BufferPer100G", UintegerValue(100000));
        bed.Build();
        // Host 1 and 2 send to 0. Everything of the link h1 - s.
        Ptr<RdmaPort> up = bed.fabric->GetPorts()[2];
        Ptr<RdmaPort> down = bed.fabric->GetPorts()[3];
        std::vector<std::pair<int64_t, bool>> decided; // at the switch: XOFF, XON
        Watch<const RdmaPort*, uint8_t, bool, uint64_t, int64_t>(
            bed.Device(),
            "Pfc",
            [&](const RdmaPort* port, uint8_t priority, bool pause, uint64_t, int64_t now) {
                if (port == PeekPointer(down))
                {
                    decided.emplace_back(now, pause);
                    NS_TEST_EXPECT_MSG_EQ(+priority, 3, "of the lossless priority");
                }
            });
        std::vector<std::pair<int64_t, bool>> sent; // pause frames leave the switch
        WatchFrames(down, "PhyTx", [&](const RdmaPort*, const RdmaFrame* f, int64_t now) {
            if (f->opcode == RdmaOpcode::PAUSE)
            {
                sent.emplace_back(now, f->aux > 0);
            }
        });
        std::vector<std::pair<int64_t, bool>> acted; // at the host
        Watch<const RdmaPort*, uint8_t, uint8_t, int64_t>(
            up,
            "Paused",
            [&](const RdmaPort*, uint8_t paused, uint8_t changed, int64_t now) {
                acted.emplace_back(now, paused >> 3 & 1);
                NS_TEST_EXPECT_MSG_EQ(+changed, 8, "priority 3 alone");
            });
        std::vector<int64_t> data;
        WatchFrames(up, "PhyTx", [&](const RdmaPort*, const RdmaFrame* f, int64_t now) {
            if (IsData(f->opcode))
            {
                data.push_back(now);
            }
        });
        bed.Connect(1, 0).first->PostWrite(900000, 1);
        bed.Connect(2, 0).first->PostWrite(900000, 1);
        Simulator::Run();

        NS_TEST_ASSERT_MSG_GT(decided.size(), 10, "paused and resumed many times");
        NS_TEST_ASSERT_MSG_EQ(sent.size(), decided.size(), "no refresh in so short a time");
        NS_TEST_ASSERT_MSG_EQ(acted.size(), decided.size(), "each acts");
        for (size_t i = 0; i < decided.size(); ++i)
        {
            NS_TEST_EXPECT_MSG_EQ(decided[i].second, (i % 2 == 0), "XOFF and XON alternate");
            NS_TEST_EXPECT_MSG_EQ(sent[i].second, decided[i].second, "the same");
            NS_TEST_EXPECT_MSG_EQ(acted[i].second, decided[i].second, "the same");
            // It goes before everything else, but waits for an ACK under way (86 B x 80 ps).
            NS_TEST_EXPECT_MSG_GT_OR_EQ(sent[i].first, decided[i].first, "after the decision");
            NS_TEST_EXPECT_MSG_LT_OR_EQ(sent[i].first - decided[i].first, 6880, "at once");
            // 64 + 20 B x 80 ps on the line, 1 us of cable.
            NS_TEST_EXPECT_MSG_EQ(acted[i].first - sent[i].first, 6720 + 1000 * NS, "real delay");
        }
        for (size_t i = 0; i + 1 < acted.size(); i += 2)
        {
            size_t during = 0;
            size_t between = 0;
            bool resumed = false;
            for (const int64_t at : data)
            {
                during += at >= acted[i].first && at < acted[i + 1].first;
                between += at >= decided[i].first && at < acted[i].first;
                resumed |= at == acted[i + 1].first;
            }
            NS_TEST_EXPECT_MSG_EQ(during, 0, "a paused priority starts no frame");
            if (data.back() < acted[i + 1].first)
            {
                continue; // nothing was left to send
            }
            // The line is busy until then: 1,006.72 ns are three frames and a bit.
            NS_TEST_EXPECT_MSG_GT_OR_EQ(between, 3, "what the pause could not stop yet");
            NS_TEST_EXPECT_MSG_EQ(resumed, true, "goes on the moment XON is there");
        }
        NS_TEST_EXPECT_MSG_EQ(bed.Drops(), 0, "no drop");
        NS_TEST_EXPECT_MSG_EQ(up->GetPausedPs(0), up->GetCounters().pausedPs, "no pause lasts");
        uint64_t paused = 0;
        for (size_t i = 0; i < acted.size(); i += 2)
        {
            paused += static_cast<uint64_t>(acted[i + 1].first - acted[i].first);
        }
        NS_TEST_EXPECT_MSG_EQ(up->GetCounters().pausedPs, paused, "time paused");
    }
};

class RdmaPauseExpiryTestCase : public TestCase
{
  public:
    RdmaPauseExpiryTestCase()
        : TestCase("a pause ends by itself after its quanta; other priorities go on meanwhile")
    {
    }

  private:
    void DoRun() override
    {
        Bed bed(2, 100 * GBPS);
        bed.Build();
        std::map<uint8_t, std::vector<int64_t>> starts;
        Ptr<RdmaPort> up = bed.fabric->GetPorts()[0];
        WatchFrames(up, "PhyTx", [&](const RdmaPort*, const RdmaFrame* f, int64_t now) {
            starts[f->priority].push_back(now);
        });
        bed.Connect(0, 1, 3).first->PostWrite(100 * 4096, 1);
        bed.Connect(0, 1, 2).first->PostWrite(100 * 4096, 1);
        // 1,000 quanta of 512 bits at 100 Gb/s: 5.12 us, from the frame's arrival at 1,006.72 ns.
        bed.fabric->GetPorts()[1]->SendPause(1 << 3, 1000, 0);
        Simulator::Run();
        const int64_t from = 1006720;
        const int64_t to = from + 5120 * NS;
        // Strict NIC arbitration: priority 3 before, only 2 during, 3 again when the frame under
        // way at the end is through (the timer fires at the next whole ns).
        int64_t firstAfter = 0;
        for (const int64_t at : starts[3])
        {
            NS_TEST_EXPECT_MSG_EQ((at >= from && at < to), false, "paused");
            firstAfter = at >= to && firstAfter == 0 ? at : firstAfter;
        }
        NS_TEST_EXPECT_MSG_GT(firstAfter, to, "resumed");
        NS_TEST_EXPECT_MSG_LT(firstAfter, to + 334240 + 1000, "as soon as the line was idle");
        uint32_t during = 0;
        for (const int64_t at : starts[2])
        {
            NS_TEST_EXPECT_MSG_EQ((at < from), false, "the higher priority went first");
            during += at < to;
        }
        // Packet 3 of priority 3 starts at 1,004 ns and takes until 1,338.24 ns. From there to the
        // end of the pause at 6,126.72 ns: 4,788.48 / 334.24 = 14.3, so 15 start.
        NS_TEST_EXPECT_MSG_EQ(during, 15, "the line was full meanwhile");
        NS_TEST_EXPECT_MSG_EQ(up->GetCounters().pausesReceived, 1, "one pause");
        NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(up->GetCounters().pausedPs),
                                  5120000.0,
                                  1000.0,
                                  "time paused");
    }
};

class RdmaPauseRefreshTestCase : public TestCase
{
  public:
    RdmaPauseRefreshTestCase()
        : TestCase(
              "a pause that outlasts its quanta is refreshed in time: the upstream never wakes")
    {
    }

  private:
    void DoRun() override
    {
        // Two hosts of 100 Gb/s to one of 10: each stays paused for as long as 8 KB take at 5 Gb/s,
        // some 13 us. Quanta for 5.12 us.
        Bed bed;
        bed.Star({10 * GBPS, 100 * GBPS, 100 * GBPS});
        bed.helper.SetSwitchAttribute("PauseQuanta", UintegerValue(1000));
        bed.helper.SetSwitchAttribute("BufferPer100G", UintegerValue(150000));
        bed.Build();
        uint32_t decisions = 0;
        Watch<const RdmaPort*, uint8_t, bool, uint64_t, int64_t>(bed.Device(), "Pfc", [&](auto...) {
            ++decisions;
        });
        uint32_t changes = 0;
        int64_t longest = 0;
        for (const size_t port : {2, 4})
        {
            auto since = std::make_shared<int64_t>(0);
            Watch<const RdmaPort*, uint8_t, uint8_t, int64_t>(
                bed.fabric->GetPorts()[port],
                "Paused",
                [&, since](const RdmaPort*, uint8_t paused, uint8_t, int64_t now) {
                    ++changes;
                    longest = paused ? longest : std::max(longest, now - *since);
                    *since = now;
                });
        }
        bed.Connect(1, 0).first->PostWrite(1000000, 1);
        bed.Connect(2, 0).first->PostWrite(1000000, 1);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 2, "arrived");
        NS_TEST_EXPECT_MSG_EQ(bed.Drops(), 0, "no drop");
        NS_TEST_EXPECT_MSG_GT(decisions, 4, "pauses");
        NS_TEST_EXPECT_MSG_EQ(changes, decisions, "no pause ran out before XON");
        NS_TEST_EXPECT_MSG_GT(longest, 2 * 5120 * NS, "some lasted longer than the quanta");
        const RdmaPortCounters c = bed.fabric->GetPortTotals();
        NS_TEST_EXPECT_MSG_GT(c.pausesSent, decisions / 2, "refreshes");
        NS_TEST_EXPECT_MSG_EQ(c.resumesSent, decisions / 2, "XON once each");
    }
};

class RdmaSpreadingTestCase : public TestCase
{
  public:
    RdmaSpreadingTestCase()
        : TestCase(
              "congestion spreads over two switches without a drop; a bystander is held up too")
    {
    }

  private:
    void DoRun() override
    {
        // 8 hosts on "left" send to one slow host on "right"; host 8 on "left" to another one
        // there.
        Bed bed;
        // The long cable: 139 KB of headroom.
        bed.Dumbbell(9, {25 * GBPS, 100 * GBPS}, 5 * US);
        bed.helper.SetSwitchAttribute("BufferPer100G", UintegerValue(200000));
        bed.Build();
        for (uint32_t i = 0; i < 8; ++i)
        {
            bed.Connect(i, 9).first->PostWrite(500000, i);
        }
        bed.Connect(8, 10).first->PostWrite(500000, 8);
        LawKeeper a(bed.Device(0));
        LawKeeper b(bed.Device(1));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 9, "arrived");
        NS_TEST_EXPECT_MSG_EQ(bed.Drops(), 0, "no drop");
        NS_TEST_EXPECT_MSG_EQ(a.wrongBytes + a.wrongFrames + a.wrongShared, 0, "laws, left");
        NS_TEST_EXPECT_MSG_EQ(b.wrongBytes + b.wrongFrames + b.wrongShared, 0, "laws, right");
        const Ptr<RdmaPort> trunk = bed.fabric->GetPorts()[18]; // left's end
        NS_TEST_EXPECT_MSG_GT(trunk->GetCounters().pausesReceived, 0, "right pauses left");
        NS_TEST_EXPECT_MSG_GT(bed.fabric->GetPorts()[16]->GetCounters().pausesReceived,
                              0,
                              "left pauses the bystander");
        for (const auto& m : bed.notes.messages)
        {
            if (m.qp->GetNic()->GetEndpoint() == 10)
            {
                NS_TEST_EXPECT_MSG_GT(m.at,
                                      2 * bed.fabric->GetIdealCompletion(8, 10, 500000, false),
                                      "head-of-line blocking");
            }
        }
    }
};

class RdmaPfcTestSuite : public TestSuite
{
  public:
    RdmaPfcTestSuite()
        : TestSuite("rdma-pfc", UNIT)
    {
        for (const uint32_t senders : {16, 64})
        {
            AddTestCase(new RdmaIncastTestCase(senders, true, false), TestCase::QUICK);
            AddTestCase(new RdmaIncastTestCase(senders, true, true), TestCase::QUICK);
            AddTestCase(new RdmaIncastTestCase(senders, false, false), TestCase::QUICK);
        }
        AddTestCase(new RdmaIncastTestCase(16, false, true), TestCase::QUICK);
        AddTestCase(new RdmaPauseDelayTestCase, TestCase::QUICK);
        AddTestCase(new RdmaPauseExpiryTestCase, TestCase::QUICK);
        AddTestCase(new RdmaPauseRefreshTestCase, TestCase::QUICK);
        AddTestCase(new RdmaSpreadingTestCase, TestCase::QUICK);
    }
};

static RdmaPfcTestSuite g_rdmaPfcTestSuite;
