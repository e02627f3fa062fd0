/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Enhanced transmission selection in a NIC: turns of priorities among its queue pairs.
 */
#include "rdma-test-fabric.h"

#include <map>
#include <vector>

using namespace ns3;
using namespace ns3::rdmatest;

class RdmaNicEtsTestCase : public TestCase
{
  public:
    RdmaNicEtsTestCase()
        : TestCase("queue pairs of two priorities share their NIC by weights, paced ones too")
    {
    }

  private:
    void DoRun() override
    {
        // 20 MB: 4,882 full packets and one of 3,328 B; 82 B each on top, 16 B of one RETH:
        // 20,400,422 B, 1,632.034 us. The first packet, 335.52 ns, is at the switch's egress after
        // 1,000 + 500 ns; from then on that line never rests. + 1,000 ns.
        constexpr int64_t BOTH = 2 * int64_t{20400422} * 80 + 335520 + 2500 * NS;
        const std::vector<int64_t> off = Run(false, 9, 1, 0);
        NS_TEST_EXPECT_MSG_EQ_TOL(off[0], 1634900000, 100000, "without: the higher one first");
        NS_TEST_EXPECT_MSG_EQ(off[1], BOTH, "then the lower one");
        // 90:10: 1,632.034 / 0.9 + 2.8 = 1,816.2 us; the line never rests, so the other one ends
        // when all is sent. A round (16,000 B) and a frame early or late: 1.6 us.
        const std::vector<int64_t> on = Run(true, 9, 1, 0);
        NS_TEST_EXPECT_MSG_EQ_TOL(on[0], 1816200000, 1700000, "90% of the line");
        NS_TEST_EXPECT_MSG_EQ(on[1], BOTH, "the rest of it");
        // The lower priority with the larger weight.
        const std::vector<int64_t> turned = Run(true, 3, 7, 0);
        NS_TEST_EXPECT_MSG_EQ_TOL(turned[1], 2334300000, 1700000, "1,632.034 / 0.7 + 2.8");
        NS_TEST_EXPECT_MSG_EQ(turned[0], BOTH, "the rest of it");
        // A bus of 64 GB/s is no limit for the line, but packets are chosen one ahead.
        const std::vector<int64_t> bus = Run(true, 9, 1, 512 * GBPS);
        NS_TEST_EXPECT_MSG_EQ_TOL(bus[0], 1816200000, 2500000, "90% of the line, with a bus");
        CheckPaced();
    }

    static std::vector<int64_t> Run(bool ets, uint32_t high, uint32_t low, uint64_t bus)
    {
        Bed bed(2, 100 * GBPS);
        bed.helper.SetNicAttribute("Ets", BooleanValue(ets));
        bed.helper.SetNicAttribute("PcieBandwidth", DataRateValue(DataRate(bus)));
        bed.Build();
        const Ptr<RdmaPort> port = bed.fabric->GetNic(0)->GetPort();
        port->SetStrictMask(0);
        port->SetWeight(5, 1600 * high);
        port->SetWeight(3, 1600 * low);
        const auto [first, ofFirst] = bed.Connect(0, 1, 5);
        const auto [second, ofSecond] = bed.Connect(0, 1, 3);
        first->PostWrite(20000000, 1);
        second->PostWrite(20000000, 2);
        Simulator::Run();
        std::vector<int64_t> ends(2);
        for (const auto& message : bed.notes.messages)
        {
            ends[message.qp == ofFirst ? 0 : 1] = message.at;
        }
        return ends;
    }

    /// Six queue pairs of 40 Gb/s, five of a class of weight 3 and one of a class of weight 1: they
    /// would have 200 and 40 Gb/s of a line of 100, and get 75 and 25. A class that waits for its
    /// rate now and then loses no share by it.
    void CheckPaced()
    {
        Bed bed(2, 100 * GBPS);
        auto ops = CreateObject<RdmaNoneCongestionOps>();
        ops->SetAttribute("Rate", UintegerValue(40 * GBPS));
        bed.helper.SetCongestionOps(ops);
        bed.helper.SetNicAttribute("Ets", BooleanValue(true));
        bed.Build();
        const Ptr<RdmaPort> port = bed.fabric->GetNic(0)->GetPort();
        port->SetStrictMask(0);
        port->SetWeight(5, 4800);
        port->SetWeight(3, 1600);
        std::map<uint8_t, double> bytes;
        WatchFrames(port, "PhyTx", [&bytes](const RdmaPort*, const RdmaFrame* f, int64_t) {
            bytes[f->priority] += f->wireBytes;
        });
        for (int i = 0; i < 6; ++i)
        {
            bed.Connect(0, 1, i < 5 ? 5 : 3).first->PostWrite(20000000, 1);
        }
        Simulator::Stop(MilliSeconds(1));
        Simulator::Run();
        const double sum = bytes[3] + bytes[5];
        NS_TEST_EXPECT_MSG_EQ_TOL(sum * 8 / 1e-3 / 1e9, 100, 0.1, "the line is full");
        NS_TEST_EXPECT_MSG_EQ_TOL(bytes[5] / sum, 0.75, 0.0075, "three quarters");
    }
};

class RdmaNicEtsTestSuite : public TestSuite
{
  public:
    RdmaNicEtsTestSuite()
        : TestSuite("rdma-nic-ets", UNIT)
    {
        AddTestCase(new RdmaNicEtsTestCase, TestCase::QUICK);
    }
};

static RdmaNicEtsTestSuite g_rdmaNicEtsTestSuite;
