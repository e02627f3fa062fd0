/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * TIMELY and patched TIMELY with a running network (the laws themselves are tested in
 * tests/unit/core/timely-rate-test.cc).
 */
#include "rdma-congestion-bed.h"

#include "ns3/timely-congestion-ops.h"

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

/// At 10 Gb/s, as in both papers.
constexpr uint64_t BPS = 10 * GBPS;

Ptr<RdmaCongestionOps>
Timely(rdma::TimelyPreset preset)
{
    auto ops = CreateObject<RdmaTimelyCongestionOps>();
    ops->SetAttribute("Preset", EnumValue(preset));
    return ops;
}

} // namespace

class RdmaTimelyRttTestCase : public TestCase
{
  public:
    RdmaTimelyRttTestCase()
        : TestCase("round-trip times by time stamps: what the idle network takes, to the ps")
    {
    }

  private:
    /// Notes what it is told.
    class Listener : public RdmaCongestionOps
    {
      public:
        static TypeId GetTypeId()
        {
            static TypeId tid = TypeId("ns3::RdmaTestListener").SetParent<RdmaCongestionOps>();
            return tid;
        }

        std::string GetName() const override
        {
            return "listener";
        }

        uint16_t GetNeeds() const override
        {
            return ACK_PER_PACKET | TIME_STAMP | BASE_RTT;
        }

        Ptr<RdmaCongestionOps> Fork() const override
        {
            return CopyObject<Listener>(Ptr<const Listener>(this));
        }

        void Init(RdmaCongestionState& state) override
        {
            RdmaCongestionOps::Init(state);
            s_baseRtt = state.baseRtt;
        }

        void OnAck(RdmaCongestionState& state, const RdmaAckInfo& ack, rdma::TimePoint) override
        {
            s_rtts.push_back(ack.rtt);
            s_positions.emplace_back(state.ackedPosition, state.sentPosition);
        }

        static int64_t s_baseRtt;
        static std::vector<int64_t> s_rtts;
        static std::vector<std::pair<uint64_t, uint64_t>> s_positions;
    };

    void DoRun() override
    {
        Bed bed(2, BPS);
        bed.helper.SetCongestionOps(CreateObject<Listener>());
        bed.Build();
        bed.Connect(0, 1).first->PostWrite(3 * 4096, 1);
        Simulator::Run();
        // 10 Gb/s: 800 ps a byte, over two links each way, 1 us each and 500 ns of pipeline each
        // way; the first packet has an RETH of 16 B, the others a packet before them.
        const int64_t fixed = 4 * US + 2 * 500 * NS + 2 * 800 * ACK_WIRE;
        // The base RTT is that of the longest packet: with RETH and immediate data, 20 B.
        NS_TEST_EXPECT_MSG_EQ(Listener::s_baseRtt, fixed + 2 * 800 * (FULL_WIRE + 20), "base RTT");
        NS_TEST_ASSERT_MSG_EQ(Listener::s_rtts.size(), 3, "an ACK each");
        NS_TEST_EXPECT_MSG_EQ(Listener::s_rtts[0], fixed + 2 * 800 * (FULL_WIRE + 16), "first");
        // The second link is busy with the RETH for 16 B longer than the second packet took.
        NS_TEST_EXPECT_MSG_EQ(Listener::s_rtts[1], fixed + 800 * (2 * FULL_WIRE + 16), "second");
        NS_TEST_EXPECT_MSG_EQ(Listener::s_rtts[2], fixed + 800 * (2 * FULL_WIRE + 16), "third");
        for (size_t i = 0; i < 3; ++i)
        {
            NS_TEST_EXPECT_MSG_EQ(Listener::s_positions[i].first, 4096 * (i + 1), "acknowledged");
            NS_TEST_EXPECT_MSG_EQ(Listener::s_positions[i].second, 3 * 4096, "sent");
        }
    }
};

int64_t RdmaTimelyRttTestCase::Listener::s_baseRtt = 0;
std::vector<int64_t> RdmaTimelyRttTestCase::Listener::s_rtts;
std::vector<std::pair<uint64_t, uint64_t>> RdmaTimelyRttTestCase::Listener::s_positions;

/// Four flows that begin one after the other, in a network that never pauses.
struct FourFlows : CongestionBed
{
    FourFlows(rdma::TimelyPreset preset, Time step)
        : CongestionBed(4, BPS, Timely(preset), MicroSeconds(100))
    {
        helper.SetSwitchAttribute("BufferPer100G", UintegerValue(100000000));
        Build();
        for (uint32_t i = 1; i <= 4; ++i)
        {
            Flow(i, step * (i - 1), 1000000000);
        }
    }
};

class RdmaTimelyPatchedTestCase : public TestCase
{
  public:
    RdmaTimelyPatchedTestCase()
        : TestCase("patched TIMELY: N flows converge, at the queue that its fixed point has")
    {
    }

  private:
    void DoRun() override
    {
        // RTT = RTT_ref (1 + N delta / (beta C)): 50 us x (1 + 4 x 10 Mb/s / (0.008 x 10 Gb/s)) =
        // 75 us for N = 4. Of these some 13 us are the base RTT; the rest is queue.
        FourFlows bed(rdma::kTimelyConext16, MilliSeconds(1));
        bed.Run(MilliSeconds(400));
        NS_TEST_EXPECT_MSG_GT(bed.Jain(3000, 4000), 0.95, "fair from 300 to 400 ms");
        NS_TEST_EXPECT_MSG_EQ_TOL(bed.Share(3000, 4000), 1, 0.01, "full link");
        const auto queue = bed.Queues(3000, 4000);
        const double base = 4 + 1 + 2 * 0.8e-3 * (FULL_WIRE + ACK_WIRE); // us
        const double expected = (75 - base) * 1250;                      // B at 10 Gb/s
        NS_TEST_EXPECT_MSG_EQ_TOL(queue[queue.size() / 2] / expected, 1, 0.1, "queue");
        NS_TEST_EXPECT_MSG_GT(queue.front() / expected, 0.6, "at rest");
        NS_TEST_EXPECT_MSG_LT(queue.back() / expected, 1.4, "at rest");
    }
};

class RdmaTimelyTestCase : public TestCase
{
  public:
    RdmaTimelyTestCase()
        : TestCase("TIMELY: keeps the link full and round-trip times below T_high; oscillates")
    {
    }

  private:
    void DoRun() override
    {
        // It has no fixed point (CoNEXT 2016, section 4.2), so no share and no queue can be asked
        // for: fairness is the patched one's.
        FourFlows bed(rdma::kTimely15, MilliSeconds(0));
        bed.Run(MilliSeconds(200));
        NS_TEST_EXPECT_MSG_GT(bed.Share(1000, 2000), 0.9, "link in use");
        const auto queue = bed.Queues(1000, 2000);
        NS_TEST_EXPECT_MSG_LT(queue.back(), 500 * 1250, "below T_high");
        NS_TEST_EXPECT_MSG_GT(queue.back() - queue.front(),
                              20 * 1250,
                              "it moves by 20 us at least");
        NS_TEST_EXPECT_MSG_EQ(bed.Drops(), 0, "no drop");
    }
};

class RdmaTimelyTestSuite : public TestSuite
{
  public:
    RdmaTimelyTestSuite()
        : TestSuite("rdma-timely", UNIT)
    {
        AddTestCase(new RdmaTimelyRttTestCase, TestCase::QUICK);
        AddTestCase(new RdmaTimelyPatchedTestCase, TestCase::QUICK);
        AddTestCase(new RdmaTimelyTestCase, TestCase::QUICK);
    }
};

static RdmaTimelyTestSuite g_rdmaTimelyTestSuite;
