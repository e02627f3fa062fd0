/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * ns-3's TCP over NICs of this fabric: alone, beside RDMA, over lossy links, on several shapes.
 */
#include "ordinary-bed.h"

#include <cmath>

using namespace ns3;
using namespace ns3::ordinarytest;

namespace
{

/// Of one flow all bytes arrive, in the time that the line needs for them.
class BulkCase : public OrdinaryCase
{
  public:
    BulkCase(uint64_t gbps, uint64_t bytes)
        : OrdinaryCase("BulkSend of " + std::to_string(bytes) + " B at " + std::to_string(gbps) +
                       " Gb/s, addresses by ARP"),
          m_gbps(gbps),
          m_bytes(bytes)
    {
    }

  private:
    void DoRun() override
    {
        OrdinaryBed bed(3, m_gbps * GBPS);
        bed.BuildAll();
        const Ptr<PacketSink> sink = bed.Bulk(0, 2, m_bytes, 9, true);
        int64_t first = 0;
        int64_t last = 0;
        Watch<Ptr<const Packet>, const Address&>(sink,
                                                 "Rx",
                                                 [&](Ptr<const Packet>, const Address&) {
                                                     last = RdmaClock::Now();
                                                     first = first ? first : last;
                                                 });
        Simulator::Stop(Seconds(20));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(sink->GetTotalRx(), m_bytes, "bytes");
        NS_TEST_EXPECT_MSG_EQ(bed.Drops(), 0, "one flow and no loss");
        // All but the first segment, at the line's rate.
        const double bytes = std::max(0., static_cast<double>(m_bytes) - SEGMENT);
        const double line = 8e12 * bytes * (1500 + LINE) / SEGMENT / (m_gbps * 1e9);
        const auto took = static_cast<double>(last - first);
        NS_TEST_EXPECT_MSG_GT_OR_EQ(took, line - 1e6, "no faster than the line");
        // The window of slow start, 10 segments at first, doubles each round trip of some 6 us
        // until the pipe is full: 14 are plenty for 100 Gb/s x 6 us = 52 segments.
        NS_TEST_EXPECT_MSG_LT(took, 1.02 * line + 14 * 6e6, "the line is full");
        // h0 asks all for h2, and h2, which learns nothing of that, for h0.
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNic(1)->GetPackets()->GetCounters().received,
                              2,
                              "broadcasts that the third host hears");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNic(1)->GetPackets()->GetCounters().foreign,
                              0,
                              "and nothing else");
        End(bed);
    }

    uint64_t m_gbps;
    uint64_t m_bytes;
};

/// TCP and RDMA share the way to a host, with equal weights or not.
class SharedPortCase : public OrdinaryCase
{
  public:
    SharedPortCase(uint32_t weightTcp, uint32_t weightRdma, bool oneSender)
        : OrdinaryCase("a port's weights " + std::to_string(weightTcp) + ":" +
                       std::to_string(weightRdma) + " are TCP's and RDMA's shares, " +
                       (oneSender ? "in the NIC of one sender" : "at the switch")),
          m_tcp(weightTcp),
          m_rdma(weightRdma),
          m_oneSender(oneSender)
    {
    }

  private:
    void DoRun() override
    {
        OrdinaryBed bed(3, 25 * GBPS);
        bed.BuildAll();
        // A window that the NIC's queue and the switch's have room for: TCP does not lose, it
        // waits.
        Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(100000));
        for (const auto& port : bed.fabric->GetPorts())
        {
            port->SetWeight(0, m_tcp);
            port->SetWeight(3, m_rdma);
        }
        const Ptr<PacketSink> sink = bed.Bulk(0, 2, 0);
        RdmaQueuePair* qp = bed.Connect(m_oneSender ? 0 : 1, 2).first;
        qp->PostWrite(1000000000, 1);
        // TCP has found its rate after some ms: what it gets then.
        uint64_t tcpAt = 0;
        uint64_t rdmaAt = 0;
        const RdmaPort* down = PeekPointer(bed.fabric->GetPorts()[5]); // switch to h2
        const auto frames = [&](uint64_t& tcp, uint64_t& rdma) {
            tcp = bed.fabric->GetNic(2)->GetPackets()->GetCounters().receivedBytes;
            rdma = down->GetTxWireBytes();
        };
        Simulator::Schedule(MilliSeconds(10), [&] { frames(tcpAt, rdmaAt); });
        Simulator::Stop(MilliSeconds(30));
        Simulator::Run();
        uint64_t tcp = 0;
        uint64_t all = 0;
        frames(tcp, all);
        // On the line a full packet of TCP has 38 B more than the packet.
        const double share = static_cast<double>(tcp - tcpAt) * (1500 + LINE) / 1500 /
                             static_cast<double>(all - rdmaAt);
        const double expected = static_cast<double>(m_tcp) / (m_tcp + m_rdma);
        NS_TEST_EXPECT_MSG_EQ_TOL(share, expected, 0.02, "TCP's share of the line");
        // The line is full, as both have enough to send: 25 Gb/s x 20 ms.
        NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(all - rdmaAt), 62.5e6, 62.5e6 * 0.01, "line");
        CheckPauses(bed);
        End(bed);
    }

    /// A lossy class makes no pauses of its own; RDMA's may be paused by RDMA alone.
    void CheckPauses(OrdinaryBed& bed)
    {
        for (const auto& port : bed.fabric->GetPorts())
        {
            NS_TEST_EXPECT_MSG_EQ(port->GetPausedPs(0, RdmaClock::Now()), 0, "priority 0 paused");
        }
    }

    uint32_t m_tcp;
    uint32_t m_rdma;
    bool m_oneSender;
};

/// Incast of TCP beside an idle lossless class: the buffer drops, nothing is paused.
class DropsCase : public OrdinaryCase
{
  public:
    DropsCase()
        : OrdinaryCase(
              "seven senders to one: the lossy queue drops at its threshold, PFC is silent")
    {
    }

  private:
    void DoRun() override
    {
        OrdinaryBed bed(8, 10 * GBPS);
        bed.helper.SetSwitchAttribute("BufferBytes", UintegerValue(300000));
        bed.BuildAll();
        std::vector<Ptr<PacketSink>> sinks;
        constexpr uint64_t BYTES = 3000017;
        for (uint32_t i = 1; i < 8; ++i)
        {
            sinks.push_back(bed.Bulk(i, 0, BYTES, 100 + i));
        }
        Simulator::Stop(Seconds(60));
        Simulator::Run();
        for (const auto& sink : sinks)
        {
            NS_TEST_EXPECT_MSG_EQ(sink->GetTotalRx(), BYTES, "every byte, in spite of losses");
        }
        NS_TEST_EXPECT_MSG_GT(bed.fabric->GetDrops(RdmaSwitchBase::THRESHOLD) +
                                  bed.fabric->GetDrops(RdmaSwitchBase::POOL_FULL),
                              0,
                              "7 windows of 4 MB into 300 kB");
        // With alpha 1 a queue may grow until as much is free as it holds: half of the pool.
        const auto half = static_cast<double>(bed.Device()->GetBuffer().SharedSize()) / 2;
        const auto peak =
            static_cast<double>(bed.fabric->GetPorts()[1]->GetCounters().maxQueueBytes);
        NS_TEST_EXPECT_MSG_GT(half, 20 * 1518, "a pool of some packets");
        NS_TEST_EXPECT_MSG_EQ_TOL(peak, half, 1518, "the threshold is reached and kept");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetPortTotals().pausedPs, 0, "nobody is paused");
        End(bed);
    }
};

/// Bit errors: TCP gets all bytes through.
class LossCase : public OrdinaryCase
{
  public:
    explicit LossCase(const std::string& control)
        : OrdinaryCase(control + " over links with bit errors: all bytes arrive"),
          m_control(control)
    {
    }

  private:
    void DoRun() override
    {
        // Of packets of 1,518 B every 82nd is lost on each of 2 links.
        OrdinaryBed bed(2, 10 * GBPS, US, 1e-6);
        bed.BuildAll(m_control);
        const Ptr<PacketSink> sink = bed.Bulk(0, 1, 2000003);
        Simulator::Stop(Seconds(100));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(sink->GetTotalRx(), 2000003, "bytes");
        NS_TEST_EXPECT_MSG_GT(bed.fabric->GetPortTotals().corrupted, 5, "some were lost");
        End(bed);
    }

    std::string m_control;
};

class OrdinaryTcpTestSuite : public TestSuite
{
  public:
    OrdinaryTcpTestSuite()
        : TestSuite("ordinary-tcp", UNIT)
    {
        AddTestCase(new BulkCase(100, 10000019), TestCase::QUICK);
        AddTestCase(new BulkCase(25, 1000), TestCase::QUICK);
        AddTestCase(new BulkCase(7, 3000000), TestCase::QUICK);
        AddTestCase(new SharedPortCase(8192, 8192, false), TestCase::QUICK);
        AddTestCase(new SharedPortCase(3000, 9000, false), TestCase::QUICK);
        AddTestCase(new SharedPortCase(8192, 8192, true), TestCase::QUICK);
        AddTestCase(new SharedPortCase(3000, 9000, true), TestCase::QUICK);
        AddTestCase(new SharedPortCase(12000, 4000, true), TestCase::QUICK);
        AddTestCase(new DropsCase, TestCase::QUICK);
        for (const char* control : {"ns3::TcpNewReno",
                                    "ns3::TcpCubic",
                                    "ns3::TcpBbr",
                                    "ns3::TcpVegas",
                                    "ns3::TcpLinuxReno",
                                    "ns3::TcpHighSpeed"})
        {
            AddTestCase(new LossCase(control), TestCase::QUICK);
        }
    }
};

OrdinaryTcpTestSuite g_ordinaryTcpTestSuite;

} // namespace
