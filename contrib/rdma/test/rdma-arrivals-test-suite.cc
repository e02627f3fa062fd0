/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What keeps equal senders from being exactly equal: the lottery among arrivals at a full queue,
 * clocks that are off, packets that start a little late; and how long NICs take to send CNPs.
 */
#include "rdma-test-fabric.h"

#include <algorithm>
#include <map>

using namespace ns3;
using namespace ns3::rdmatest;

class RdmaArrivalsTestCase : public TestCase
{
  public:
    RdmaArrivalsTestCase(uint32_t senders, uint64_t bps, bool lottery)
        : TestCase(std::to_string(senders) + " equal senders of " + std::to_string(bps / GBPS) +
                   " Gbps into a full queue" + (lottery ? "" : ", fixed")),
          m_senders(senders),
          m_bps(bps),
          m_lottery(lottery)
    {
    }

  private:
    void DoRun() override
    {
        // Datagrams, so that nobody sends anything again.
        Bed bed;
        std::vector<uint64_t> rates(m_senders, m_bps);
        rates.push_back(100 * GBPS);
        bed.Star(rates);
        bed.helper.SetSwitchAttribute("Pfc", BooleanValue(false));
        bed.helper.SetSwitchAttribute("Ecn", BooleanValue(false));
        bed.helper.SetSwitchAttribute("BufferBytes", UintegerValue(1000000));
        if (!m_lottery)
        {
            bed.helper.SetSwitchAttribute("Arrivals", StringValue("fixed"));
        }
        bed.Build();
        std::map<uint32_t, uint64_t> lost;
        Watch<const RdmaSwitchBase*,
              const RdmaPort*,
              const RdmaFrame*,
              RdmaSwitchBase::DropReason,
              int64_t>(bed.Device(),
                       "Drop",
                       [&](const RdmaSwitchBase*,
                           const RdmaPort*,
                           const RdmaFrame* frame,
                           RdmaSwitchBase::DropReason,
                           int64_t) { ++lost[frame->src]; });
        uint64_t sent = 0;
        RdmaQueuePairInit init;
        init.service = RdmaService::UD;
        RdmaQueuePair* to = bed.fabric->GetNic(m_senders)->CreateQueuePair(init);
        MakeReady(to);
        for (uint32_t i = 0; i < m_senders; ++i)
        {
            RdmaQueuePair* from = bed.fabric->GetNic(i)->CreateQueuePair(init);
            MakeReady(from);
            for (uint32_t k = 0; k < 6000; ++k, ++sent)
            {
                from->Post(Datagram(to, 4096, k));
            }
        }
        Simulator::Run();
        uint64_t all = 0;
        uint64_t most = 0;
        for (const auto& [sender, drops] : lost)
        {
            all += drops;
            most = std::max(most, drops);
        }
        NS_TEST_ASSERT_MSG_GT(all, 1000, "a full queue");
        NS_TEST_EXPECT_MSG_EQ(all, bed.Drops(), "each drop is told");
        const RdmaSwitch& device = *bed.Device();
        NS_TEST_EXPECT_MSG_EQ(device.GetReceived(),
                              device.GetForwarded() + all,
                              "received = forwarded + dropped");
        NS_TEST_EXPECT_MSG_EQ(device.GetBuffer().Stored(), 0, "and the buffer is empty");
        if (!m_lottery)
        {
            NS_TEST_EXPECT_MSG_GT(most, all * 0.9, "all of the last one, but for the beginning");
            return;
        }
        // A share p of N drops has the standard deviation sqrt(p (1 - p) / N): with two senders and
        // 1,000 drops 1.6%. Five of these.
        const double p = 1. / m_senders;
        const double tolerance = 5 * std::sqrt(p * (1 - p) / static_cast<double>(all));
        for (uint32_t i = 0; i < m_senders; ++i)
        {
            NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(lost[i]) / static_cast<double>(all),
                                      p,
                                      tolerance,
                                      "the share of sender " << i << " of " << all << " drops");
        }
    }

    uint32_t m_senders;
    uint64_t m_bps;
    bool m_lottery;
};

/// All packets are marked, so the first one asks for a CNP.
class RdmaCnpDelayTestCase : public TestCase
{
  public:
    RdmaCnpDelayTestCase()
        : TestCase("a CNP leaves CnpDelay after the packet that asks for it")
    {
    }

  private:
    static std::vector<int64_t> CnpsWith(Time delay)
    {
        Bed bed;
        bed.Star(2, 100 * GBPS);
        bed.helper.SetCongestionOps(CreateObject<RdmaDcqcnCongestionOps>());
        bed.helper.SetSwitchAttribute("EcnKmin", UintegerValue(0));
        bed.helper.SetSwitchAttribute("EcnKmax", UintegerValue(0));
        bed.helper.SetNicAttribute("CnpDelay", TimeValue(delay));
        bed.Build();
        std::vector<int64_t> times;
        Watch<RdmaQueuePair*, uint64_t, int64_t>(
            bed.fabric->GetNic(0),
            "CnpReceived",
            [&](RdmaQueuePair*, uint64_t, int64_t now) { times.push_back(now); });
        bed.Connect(0, 1).first->PostWrite(3 * 4096, 1);
        Simulator::Run();
        NS_ABORT_MSG_IF(bed.Of(1).cnpsSent != times.size(), "each CNP that is counted comes");
        return times;
    }

    void DoRun() override
    {
        const std::vector<int64_t> atOnce = CnpsWith(Time(0));
        const std::vector<int64_t> late = CnpsWith(MicroSeconds(55));
        NS_TEST_ASSERT_MSG_EQ(atOnce.size(), 1, "one CNP: the next is 4 us away");
        NS_TEST_ASSERT_MSG_EQ(late.size(), 1, "the same");
        NS_TEST_EXPECT_MSG_EQ(late[0] - atOnce[0], 55 * US, "later by the delay");
    }
};

class RdmaPaceJitterTestCase : public TestCase
{
  public:
    RdmaPaceJitterTestCase()
        : TestCase("PaceJitter: packets of a paced queue pair start up to so much later")
    {
    }

  private:
    static std::vector<int64_t> GapsWith(Time jitter)
    {
        Bed bed;
        bed.Star(2, 100 * GBPS);
        const auto ops = CreateObject<RdmaNoneCongestionOps>();
        ops->SetAttribute("Rate", UintegerValue(40 * GBPS));
        bed.helper.SetCongestionOps(ops);
        bed.helper.SetNicAttribute("PaceJitter", TimeValue(jitter));
        bed.Build();
        std::vector<int64_t> starts;
        WatchFrames(bed.fabric->GetNic(0)->GetPort(),
                    "PhyTx",
                    [&](const RdmaPort*, const RdmaFrame*, int64_t now) { starts.push_back(now); });
        bed.Connect(0, 1).first->PostWrite(2002 * 4096, 1);
        Simulator::Run();
        std::vector<int64_t> gaps;
        for (std::size_t i = 2; i + 1 < starts.size(); ++i) // the first and last have more headers
        {
            gaps.push_back(starts[i] - starts[i - 1]);
        }
        return gaps;
    }

    void DoRun() override
    {
        // 4,178 B at 40 Gb/s.
        constexpr int64_t GAP = FULL_WIRE * 200;
        for (const int64_t gap : GapsWith(Time(0)))
        {
            NS_TEST_EXPECT_MSG_EQ_TOL(gap, GAP, NS, "exact, but for the tick");
        }
        double sum = 0;
        const std::vector<int64_t> gaps = GapsWith(NanoSeconds(200));
        for (const int64_t gap : gaps)
        {
            NS_TEST_EXPECT_MSG_GT_OR_EQ(gap, GAP - NS, "not sooner");
            NS_TEST_EXPECT_MSG_LT_OR_EQ(gap, GAP + 201 * NS, "nor later than that");
            sum += static_cast<double>(gap - GAP);
        }
        // Uniform in 200 ns: mean 100 ns, and of 2,000 draws 200 / sqrt(12 x 2,000) = 1.3 ns.
        NS_TEST_EXPECT_MSG_EQ_TOL(sum / static_cast<double>(gaps.size()),
                                  100. * NS,
                                  8. * NS,
                                  "half of it on average");
    }
};

class RdmaClockToleranceTestCase : public TestCase
{
  public:
    RdmaClockToleranceTestCase()
        : TestCase("ClockTolerance: each port has a clock of its own, the same in each run")
    {
    }

  private:
    static std::vector<int64_t> SerializationsWith(double ppm)
    {
        Config::SetDefault("ns3::RdmaPort::ClockTolerance", DoubleValue(ppm));
        Bed bed(20, 10 * GBPS);
        bed.Build();
        Config::SetDefault("ns3::RdmaPort::ClockTolerance", DoubleValue(0));
        std::vector<int64_t> times;
        for (const auto& port : bed.fabric->GetPorts())
        {
            times.push_back(port->GetSerialization(10000));
        }
        return times;
    }

    void DoRun() override
    {
        constexpr int64_t EXACT = 8000000; // 80,000 bits at 10 Gb/s, ps
        for (const int64_t ps : SerializationsWith(0))
        {
            NS_TEST_EXPECT_MSG_EQ(ps, EXACT, "exact");
        }
        const std::vector<int64_t> off = SerializationsWith(100);
        std::vector<int64_t> sorted = off;
        std::sort(sorted.begin(), sorted.end());
        NS_TEST_EXPECT_MSG_GT_OR_EQ(sorted.front(), EXACT - 800, "at most 100 ppm fast");
        NS_TEST_EXPECT_MSG_LT_OR_EQ(sorted.back(), EXACT + 800, "or slow");
        // The widest gap to an end, of 40 uniform draws, is 200 ppm / 41 on average.
        NS_TEST_EXPECT_MSG_LT(sorted.front(), EXACT - 400, "some are fast");
        NS_TEST_EXPECT_MSG_GT(sorted.back(), EXACT + 400, "some are slow");
        NS_TEST_EXPECT_MSG_EQ((SerializationsWith(100) == off), true, "the seed decides");
    }
};

class RdmaArrivalsTestSuite : public TestSuite
{
  public:
    RdmaArrivalsTestSuite()
        : TestSuite("rdma-arrivals", UNIT)
    {
        AddTestCase(new RdmaArrivalsTestCase(2, 100 * GBPS, false), TestCase::QUICK);
        AddTestCase(new RdmaArrivalsTestCase(2, 100 * GBPS, true), TestCase::QUICK);
        AddTestCase(new RdmaArrivalsTestCase(8, 100 * GBPS, true), TestCase::QUICK);
        AddTestCase(new RdmaArrivalsTestCase(3, 40 * GBPS, true), TestCase::QUICK);
        AddTestCase(new RdmaCnpDelayTestCase, TestCase::QUICK);
        AddTestCase(new RdmaPaceJitterTestCase, TestCase::QUICK);
        AddTestCase(new RdmaClockToleranceTestCase, TestCase::QUICK);
    }
};

static RdmaArrivalsTestSuite g_rdmaArrivalsTestSuite;
