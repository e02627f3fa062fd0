/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Ports that take their time to obey a pause, interfaces that delay frames: headroom allows for
 * both, as much as IEEE 802.3 lets them take (core/pfc-delays.h), and not for much more.
 */
#include "contrib/rdma/core/pfc-delays.h"
#include "contrib/rdma/core/unit-strings.h"
#include "rdma-test-fabric.h"

using namespace ns3;
using namespace ns3::rdmatest;

class RdmaPfcDelaysTestCase : public TestCase
{
  public:
    explicit RdmaPfcDelaysTestCase(const rdma::PfcDelayBound& bound)
        : TestCase("no drop with the delays that IEEE 802.3 allows at " +
                   rdma::ToString(bound.rate)),
          m_bound(bound)
    {
    }

  private:
    void DoRun() override
    {
        const uint64_t bps = m_bound.rate.bps;
        // 15 kB at 100 Gb/s where nothing is known.
        const uint32_t bits = m_bound.interfaceBitTimes
                                  ? m_bound.interfaceBitTimes
                                  : static_cast<uint32_t>(122880 * (bps / GBPS) / 100);
        const int64_t response =
            static_cast<int64_t>(512e12 * m_bound.responseQuanta / static_cast<double>(bps));
        const int64_t interface = static_cast<int64_t>(bits * 1e12 / static_cast<double>(bps));
        for (const bool slow : {false, true})
        {
            Bed bed;
            const uint32_t hosts = 9;
            bed.Star(hosts, bps, 500 * NS);
            if (slow)
            {
                bed.helper.SetPortAttribute("PauseResponse", UintegerValue(m_bound.responseQuanta));
                bed.helper.SetPortAttribute("InterfaceDelay", UintegerValue(bits));
            }
            bed.helper.SetSwitchAttribute("Ecn", BooleanValue(false));
            bed.Build();
            const Ptr<RdmaPort> port = bed.fabric->GetNic(1)->GetPort();
            NS_TEST_EXPECT_MSG_EQ_TOL(port->GetPauseResponsePs(), (slow ? response : 0), 1, "ps");
            NS_TEST_EXPECT_MSG_EQ_TOL(port->GetDelayPs(),
                                      500 * NS + (slow ? interface : 0),
                                      1,
                                      "the link's delay");
            const rdma::SharedBuffer& buffer = bed.Device()->GetBuffer();
            const uint64_t headroom = buffer.Config().headroomBytes[1];
            if (slow)
            {
                // Two interfaces, and what comes in during the response.
                const double more = 2. * bits / 8 + 64. * m_bound.responseQuanta;
                NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(headroom - m_without),
                                          more,
                                          4,
                                          "headroom for it");
            }
            m_without = headroom;
            // Eight to one: each sender is paused again and again.
            int64_t resumed = 0;
            int64_t heldLate = 0;
            int64_t paused = -1;
            Watch<const RdmaPort*, uint8_t, bool, uint64_t, int64_t>(
                bed.Device(),
                "Pfc",
                [&](const RdmaPort* p, uint8_t, bool pause, uint64_t, int64_t now) {
                    paused = pause && p->GetPortIndex() == 1 && paused < 0 ? now : paused;
                });
            Watch<const RdmaPort*, uint8_t, uint8_t, int64_t>(
                port,
                "Paused",
                [&](const RdmaPort*, uint8_t mask, uint8_t, int64_t now) {
                    heldLate = mask && heldLate == 0 ? now - paused : heldLate;
                    resumed += mask == 0;
                });
            for (uint32_t h = 1; h < hosts; ++h)
            {
                bed.Connect(h, 0).first->PostWrite(3 * bps / 8 / 10000, h); // 300 us alone
            }
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), hosts - 1, "all arrive");
            NS_TEST_EXPECT_MSG_EQ(bed.Drops(), 0, "nothing is dropped");
            NS_TEST_EXPECT_MSG_GT(resumed, 1, "pauses");
            NS_TEST_EXPECT_MSG_GT(buffer.HeadroomPeak(), headroom / 2, "headroom is used");
            NS_TEST_EXPECT_MSG_LT(buffer.HeadroomPeak(), headroom, "and suffices");
            // A frame under way, the pause itself, 84 B, the link, the response.
            const int64_t least = static_cast<int64_t>(84 * 8e12 / static_cast<double>(bps)) +
                                  port->GetDelayPs() + (slow ? response : 0);
            NS_TEST_EXPECT_MSG_GT(heldLate, least - 2, "it holds when it has come, and later");
            NS_TEST_EXPECT_MSG_LT(
                heldLate,
                least + static_cast<int64_t>(2 * FULL_WIRE * 8e12 / static_cast<double>(bps)),
                "but not much");
        }
    }

    rdma::PfcDelayBound m_bound;
    uint64_t m_without{0};
};

/// Interfaces are in closed forms and round-trip times as the cable is.
class RdmaInterfaceDelayTestCase : public TestCase
{
  public:
    RdmaInterfaceDelayTestCase()
        : TestCase("the delay of interfaces is in completion times and their closed forms")
    {
    }

  private:
    void DoRun() override
    {
        int64_t before = 0;
        for (const uint32_t bits : {0U, 1000U, 122880U})
        {
            Bed bed(2, 100 * GBPS);
            bed.helper.SetPortAttribute("InterfaceDelay", UintegerValue(bits));
            bed.Build();
            bed.Connect(0, 1).first->PostWrite(50000, 1);
            Simulator::Run();
            NS_TEST_ASSERT_MSG_EQ(bed.notes.messages.size(), 1, "arrived");
            const int64_t at = bed.notes.messages[0].at;
            NS_TEST_EXPECT_MSG_EQ(at, bed.fabric->GetIdealCompletion(0, 1, 50000, false), "ideal");
            before = bits ? before : at;
            // Two links, 10 ps a bit.
            NS_TEST_EXPECT_MSG_EQ(at - before, 2 * 10 * static_cast<int64_t>(bits), "bits");
        }
    }
};

class RdmaPfcDelaysTestSuite : public TestSuite
{
  public:
    RdmaPfcDelaysTestSuite()
        : TestSuite("rdma-pfc-delays", UNIT)
    {
        for (const rdma::PfcDelayBound& bound : rdma::kPfcDelayBounds)
        {
            AddTestCase(new RdmaPfcDelaysTestCase(bound), TestCase::QUICK);
        }
        AddTestCase(new RdmaInterfaceDelayTestCase, TestCase::QUICK);
    }
};

static RdmaPfcDelaysTestSuite g_rdmaPfcDelaysTestSuite;
