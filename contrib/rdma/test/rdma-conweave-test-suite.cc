/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * ConWeave on two leaves: flows that meet on a link leave it, and hosts see packets in order.
 */
#include "rdma-test-fabric.h"

#include "ns3/conweave-load-balancer.h"

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

constexpr uint32_t HOSTS = 8; // a leaf
constexpr uint32_t SPINES = 4;

/// Two leaves, four spines, 100 Gb/s to hosts and spines: 2:1.
class WeaveBed : public Bed
{
  public:
    explicit WeaveBed(const std::string& balancer)
    {
        for (uint32_t h = 0; h < 2 * HOSTS; ++h)
        {
            Host("h" + std::to_string(h));
        }
        const uint32_t leaf[2] = {Switch("l0"), Switch("l1")};
        for (uint32_t h = 0; h < 2 * HOSTS; ++h)
        {
            Link(h, leaf[h / HOSTS], 100 * GBPS, US);
        }
        for (uint32_t s = 0; s < SPINES; ++s)
        {
            const uint32_t spine = Switch("p" + std::to_string(s));
            Link(leaf[0], spine, 100 * GBPS, US);
            Link(leaf[1], spine, 100 * GBPS, US);
        }
        helper.SetSwitchAttribute("LoadBalancer", StringValue(balancer));
    }

    const RdmaConweaveLoadBalancer& Balancer(uint32_t leaf) const
    {
        return *DynamicCast<RdmaConweaveLoadBalancer>(
            fabric->GetSwitches()[leaf]->GetLoadBalancer());
    }

    /// From each of the first hosts of leaf 0 to its own on leaf 1.
    void Send(uint32_t flows, uint64_t bytes)
    {
        for (uint32_t h = 0; h < flows; ++h)
        {
            Connect(h, HOSTS + h).first->PostWrite(bytes, h);
        }
    }
};

} // namespace

/// Alone a flow has its answers in time: it stays on its path, is as fast as with ECMP, and each
/// epoch costs one answer.
class RdmaConweaveAloneTestCase : public TestCase
{
  public:
    RdmaConweaveAloneTestCase()
        : TestCase("a flow alone stays where it is")
    {
    }

  private:
    void DoRun() override
    {
        int64_t arrived[2];
        for (const bool weaves : {false, true})
        {
            WeaveBed bed(weaves ? "conweave" : "ecmp");
            bed.Build();
            bed.Send(1, 2000000);
            Simulator::Run();
            NS_TEST_ASSERT_MSG_EQ(bed.notes.messages.size(), 1, "it arrives");
            arrived[weaves] = bed.notes.messages[0].at;
            NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNicTotals().pathChanges, 0, "on one path");
            for (const auto& device : bed.fabric->GetSwitches())
            {
                NS_TEST_EXPECT_MSG_EQ(device->GetReceived(),
                                      device->GetForwarded(),
                                      "nothing left");
            }
        }
        NS_TEST_EXPECT_MSG_EQ(arrived[1], arrived[0], "reports go the other way");
        NS_TEST_EXPECT_MSG_EQ(RdmaFramePool::GetLive(), 0, "frames left");
    }
};

/// Flows that meet: they move, packets overtake each other on the way, and no host sees it.
class RdmaConweaveOrderTestCase : public TestCase
{
  public:
    RdmaConweaveOrderTestCase()
        : TestCase("flows move, and hosts see their packets in order")
    {
    }

  private:
    void DoRun() override
    {
        // How late TAIL may be is a guess: held packets that go on before it arrive out of order.
        Config::SetDefault("ns3::ConweaveLoadBalancer::FlushTime", TimeValue(MilliSeconds(1)));
        for (const uint64_t run : {1, 2, 3})
        {
            RngSeedManager::SetRun(run);
            WeaveBed bed("conweave");
            bed.Build();
            bed.Send(HOSTS, 4000000);
            Simulator::Run();
            const RdmaNicCounters nics = bed.fabric->GetNicTotals();
            NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), HOSTS, "all arrive");
            NS_TEST_EXPECT_MSG_GT(nics.pathChanges, 0, "flows move");
            NS_TEST_EXPECT_MSG_EQ(nics.pathChanges, bed.Balancer(0).GetPathChanges(), "at leaf 0");
            NS_TEST_EXPECT_MSG_GT(bed.Balancer(1).GetHeld(), 0, "leaf 1 holds packets");
            NS_TEST_EXPECT_MSG_EQ(nics.outOfOrderReceived, 0, "in order, run " << run);
            NS_TEST_EXPECT_MSG_EQ(nics.retransmittedPackets + nics.timeouts, 0, "each once");
            NS_TEST_EXPECT_MSG_EQ(bed.Drops(), 0, "nothing is dropped");
            uint64_t received = 0;
            uint64_t forwarded = 0;
            for (const auto& device : bed.fabric->GetSwitches())
            {
                received += device->GetReceived();
                forwarded += device->GetForwarded();
            }
            NS_TEST_EXPECT_MSG_EQ(received, forwarded, "no frame is left anywhere");
            bed.Destroy();
            NS_TEST_EXPECT_MSG_EQ(RdmaFramePool::GetLive(), 0, "frames left");
        }
        RngSeedManager::SetRun(1);
        Config::SetDefault("ns3::ConweaveLoadBalancer::FlushTime", TimeValue(MicroSeconds(16)));
    }
};

/// A link fails on the way, and works again: flows leave it at once, and all arrives.
class RdmaConweaveFailureTestCase : public TestCase
{
  public:
    RdmaConweaveFailureTestCase()
        : TestCase("a link fails")
    {
    }

  private:
    void DoRun() override
    {
        WeaveBed bed("conweave");
        bed.helper.SetNicAttribute("LossRecovery", StringValue("selective-repeat"));
        bed.Build();
        bed.Send(HOSTS, 2000000);
        const uint32_t cable = 2 * HOSTS + 2; // of leaf 0 to the second spine
        Simulator::Schedule(MicroSeconds(50), [&] { bed.fabric->SetLinkDown(cable, true); });
        Simulator::Schedule(MicroSeconds(150), [&] { bed.fabric->SetLinkDown(cable, false); });
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), HOSTS, "all arrive");
        bed.Destroy();
        NS_TEST_EXPECT_MSG_EQ(RdmaFramePool::GetLive(), 0, "frames left");
    }
};

class RdmaConweaveTestSuite : public TestSuite
{
  public:
    RdmaConweaveTestSuite()
        : TestSuite("rdma-conweave", UNIT)
    {
        AddTestCase(new RdmaConweaveAloneTestCase, TestCase::QUICK);
        AddTestCase(new RdmaConweaveOrderTestCase, TestCase::QUICK);
        AddTestCase(new RdmaConweaveFailureTestCase, TestCase::QUICK);
    }
};

static RdmaConweaveTestSuite g_rdmaConweaveTestSuite;
