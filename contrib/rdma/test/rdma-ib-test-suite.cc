/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * InfiniBand's link layer in a running simulator: latency and bandwidth against closed forms,
 * credits under random traffic and corruption, too small a buffer for a cable.
 */
#include "contrib/rdma/core/ib/ib-link.h"
#include "contrib/rdma/core/ib/ib-sizes.h"
#include "rdma-ib-times.h"

#include "ns3/ib-link-credits.h"
#include "ns3/random-variable-stream.h"

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

constexpr uint32_t RETH = 16;
/// Flow-control packet: 6 and delimiters.
constexpr uint32_t FCP = 8;

/// a - s0 - s1 ... - b with these rates.
void
DescribeChain(Bed& bed, const std::vector<uint64_t>& rates, int64_t delayPs, double ber = 0)
{
    uint32_t last = bed.Host("a");
    for (std::size_t i = 0; i < rates.size(); ++i)
    {
        const uint32_t next =
            i + 1 == rates.size() ? bed.Host("b") : bed.Switch("s" + std::to_string(i));
        bed.Link(last, next, rates[i], delayPs, ber);
        last = next;
    }
}

/// On a bed that is described, one WRITE from host 0 to host 1. \return when it has arrived, ps
int64_t
TimeOfOne(Bed& bed, const IbFabricConfig& config, uint64_t bytes)
{
    bed.helper.SetInfiniBand(config);
    bed.Build();
    bed.Connect(0, 1, 0).first->PostWrite(bytes, 1);
    Simulator::Run();
    NS_ABORT_MSG_IF(bed.notes.messages.size() != 1, "it does not arrive");
    return bed.notes.messages[0].at;
}

/// Nothing, if everything that was lent has been given back: nothing is held, every sender may fill
/// the buffer at the other end.
std::string
LeakedCredits(const Bed& bed)
{
    std::string leaked;
    const auto expect = [&leaked](bool good, const std::string& text) {
        leaked += good ? "" : text + "; ";
    };
    for (const auto& port : bed.fabric->GetPorts())
    {
        const IbLinkCredits& credits = *port->GetCredits();
        for (uint32_t v = 0; v < credits.config.lanes; ++v)
        {
            const auto& lane = credits.lanes[v];
            const std::string where = port->GetName() + " VL " + std::to_string(v) + ": ";
            const uint32_t leaving = lane.GetLeaving(); // has left by now
            expect(lane.receiver.Occupied() == leaving,
                   where + std::to_string(lane.receiver.Occupied()) + " blocks held");
            const uint32_t available = lane.sender.Available();
            expect(available == credits.config.bufferBlocks,
                   where + std::to_string(available) + " credits of " +
                       std::to_string(credits.config.bufferBlocks));
        }
    }
    return leaked;
}

} // namespace

class RdmaIbLatencyTestCase : public TestCase
{
  public:
    RdmaIbLatencyTestCase()
        : TestCase("latency through 0 to 3 switches at every rate, to the picosecond")
    {
    }

  private:
    void DoRun() override
    {
        for (const char* name : {"SDR", "DDR", "QDR", "FDR10", "FDR", "EDR", "HDR", "NDR", "XDR"})
        {
            const uint64_t bps = rdma::ParseIbLink(name)->Rate().bps;
            for (uint32_t switches = 0; switches <= 3; ++switches)
            {
                for (const uint32_t bytes : {0U, 1U, 64U, 2048U, 4096U, 5000U, 20000U})
                {
                    Check(name, bps, switches, bytes);
                }
            }
        }
    }

    void Check(const std::string& name, uint64_t bps, uint32_t switches, uint32_t bytes)
    {
        const int64_t delay = 25 * NS; // 5 m of cable
        Bed bed;
        DescribeChain(bed, std::vector<uint64_t>(switches + 1, bps), delay);
        bed.helper.SetInfiniBand({});
        bed.Build();
        auto [a, b] = bed.Connect(0, 1, 0);
        // Ping, and pong when it has arrived whole.
        RdmaQueuePair* back = b;
        bed.notes.onMessage = [&](const Notes::Message& m) {
            if (m.qp == back)
            {
                back->PostWrite(bytes, 2);
            }
        };
        a->PostWrite(bytes, 1);
        Simulator::Run();
        // The head of the first packet is at the other end after all cables and switches; then the
        // line time of all packets follows, each rounded: nothing is stored on the way.
        int64_t line = 0;
        for (uint32_t left = bytes, first = 1; left || first; first = 0)
        {
            const uint32_t payload = std::min(left, 4096U);
            line += LineTime(OVERHEAD + (first ? RETH : 0) + (payload + 3) / 4 * 4, bps);
            left -= payload;
        }
        const int64_t way = (switches + 1) * delay + switches * LATENCY + line;
        const std::string what =
            name + ", " + std::to_string(switches) + " switches, " + std::to_string(bytes) + " B";
        NS_TEST_ASSERT_MSG_EQ(bed.notes.messages.size(), 2, what);
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages[0].at, way, what << ": ping");
        // The ACK of the ping, 32 B, is queued before the pong is made.
        // Tests run at nanoseconds: it is posted at the next whole one.
        NS_TEST_EXPECT_MSG_EQ_TOL(bed.notes.messages[1].at,
                                  2 * way + LineTime(ACK_PACKET, bps),
                                  NS,
                                  what << ": pong");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetIdealCompletion(0, 1, bytes, false), way, "ideal");
        NS_TEST_EXPECT_MSG_EQ(LeakedCredits(bed), "", "credits");
    }
};

class RdmaIbRateMismatchTestCase : public TestCase
{
  public:
    RdmaIbRateMismatchTestCase()
        : TestCase("to a faster link a packet goes once it is whole, to a slower one at once")
    {
    }

  private:
    void DoRun() override
    {
        const uint64_t edr = 100 * GBPS;
        const uint64_t qdr = 32 * GBPS;
        const int64_t delay = 25 * NS;
        const int64_t fast = LineTime(OVERHEAD + RETH + 4096, edr);
        const int64_t slow = LineTime(OVERHEAD + RETH + 4096, qdr);
        // EDR to QDR: the head passes, the slow link ends last.
        Check({edr, qdr}, 2 * delay + LATENCY + slow, "to a slower link");
        // QDR to EDR: whole at the switch after `slow`, then again its length at EDR.
        Check({qdr, edr}, 2 * delay + LATENCY + slow + fast, "to a faster link");
        // EDR - QDR - EDR: through the first, whole at the second.
        Check({edr, qdr, edr}, 3 * delay + 2 * LATENCY + slow + fast, "over a slow link");
    }

    void Check(const std::vector<uint64_t>& rates, int64_t expected, const std::string& what)
    {
        Bed bed;
        DescribeChain(bed, rates, 25 * NS);
        NS_TEST_EXPECT_MSG_EQ(TimeOfOne(bed, {}, 4096), expected, what);
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetIdealCompletion(0, 1, 4096, false), expected, "ideal");
    }
};

class RdmaIbBandwidthTestCase : public TestCase
{
  public:
    RdmaIbBandwidthTestCase()
        : TestCase("bandwidth of a long message: headers and flow-control packets")
    {
    }

  private:
    void DoRun() override
    {
        for (const uint32_t mtu : {256U, 1024U, 2048U, 4096U})
        {
            const uint64_t bps = 100 * GBPS;
            Bed bed;
            DescribeChain(bed, {bps, bps}, 25 * NS);
            bed.helper.SetNicAttribute("Mtu", UintegerValue(mtu));
            const uint64_t bytes = 16000000 / mtu * mtu;
            const double share = 8e12 * static_cast<double>(bytes) /
                                 static_cast<double>(TimeOfOne(bed, {}, bytes)) /
                                 static_cast<double>(bps);
            // Every packet has OVERHEAD; the RETH of the first and the way are below 1e-4 here.
            // Flow-control packets share the direction only to give back the ACKs' credits: one of
            // 8 B for each timer of 65,536 symbols of 0.32 ns = 21 us, 262 kB of line.
            const double headers = static_cast<double>(mtu) / (mtu + OVERHEAD);
            NS_TEST_EXPECT_MSG_LT(share, headers, "MTU " << mtu);
            NS_TEST_EXPECT_MSG_GT(share, headers * (1 - 8. / 262144 - 3e-4), "MTU " << mtu);
            NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetPortTotals().creditStalls, 0, "enough buffer");
        }
    }
};

class RdmaIbBufferRoundTripTestCase : public TestCase
{
  public:
    RdmaIbBufferRoundTripTestCase()
        : TestCase("too small a buffer for the cable: throughput is buffer / round trip")
    {
    }

  private:
    void DoRun() override
    {
        const uint64_t bps = 100 * GBPS;
        const int64_t delay = 2 * US; // 400 m
        const int64_t packet = LineTime(OVERHEAD + 4096, bps);
        for (const uint32_t packets : {1U, 2U, 4U, 8U})
        {
            for (const uint32_t switches : {0U, 1U})
            {
                Bed bed;
                DescribeChain(bed, std::vector<uint64_t>(switches + 1, bps), delay);
                IbFabricConfig config;
                // A full packet is 4096 + 26 B: 65 blocks. The least buffer is of the largest
                // packet that the architecture knows, 66.
                config.laneBuffer = 64 * (65 * packets + 1);
                config.updateShare = 0.001; // each packet's credits are told at once
                const uint64_t count = 2000;
                const int64_t all = TimeOfOne(bed, config, count * 4096);
                // Credits of a packet that starts at 0 are back: its last bit is at an adapter, and
                // gone from the buffer, after delay + packet; from a switch it has gone after
                // delay + latency + packet. Then the flow-control packet: its line time and delay.
                // The ACKs and flow-control packets of the other direction are behind nothing, but
                // an ACK in its way may hold a flow-control packet up by its own length.
                const int64_t round =
                    2 * delay + packet + (switches ? LATENCY : 0) + LineTime(FCP, bps);
                const double expected =
                    static_cast<double>(std::max<int64_t>(packet * packets, // the line
                                                          round));
                const double each = static_cast<double>(all) / static_cast<double>(count) * packets;
                NS_TEST_EXPECT_MSG_EQ_TOL(each,
                                          expected,
                                          0.003 * expected,
                                          packets << " packets of buffer, " << switches
                                                  << " switches: a round trip");
                NS_TEST_EXPECT_MSG_GT(bed.fabric->GetPortTotals().creditStalls,
                                      count / packets / 2,
                                      "the sender waits for credits");
            }
        }
    }
};

/// Random messages between all pairs of a network of two stages, with and without bit errors.
class RdmaIbConservationTestCase : public TestCase
{
  public:
    RdmaIbConservationTestCase(double ber, uint8_t lanes, bool selective, uint32_t seed)
        : TestCase("credits are never leaked: " + std::to_string(ber * 1e9) +
                   " bit errors in 10^9, " + std::to_string(lanes) + " VLs, " +
                   (selective ? "selective repeat" : "go-back-N") + ", seed " +
                   std::to_string(seed)),
          m_ber(ber),
          m_lanes(lanes),
          m_selective(selective),
          m_seed(seed)
    {
    }

  private:
    void DoRun() override
    {
        RngSeedManager::SetSeed(m_seed);
        Bed bed;
        const uint32_t hosts = 8;
        for (uint32_t h = 0; h < hosts; ++h)
        {
            bed.Host("h" + std::to_string(h));
        }
        // Two leaves of four hosts, two spines, rates that differ.
        const uint32_t leaf[2] = {bed.Switch("l0"), bed.Switch("l1")};
        const uint32_t spine[2] = {bed.Switch("p0"), bed.Switch("p1")};
        for (uint32_t h = 0; h < hosts; ++h)
        {
            bed.Link(h, leaf[h / 4], (h % 4 == 3 ? 32 : 100) * GBPS, 100 * NS, m_ber);
        }
        for (const uint32_t l : leaf)
        {
            bed.Link(l, spine[0], 100 * GBPS, 300 * NS, m_ber);
            bed.Link(l, spine[1], 200 * GBPS, 300 * NS, m_ber);
        }
        IbFabricConfig config;
        config.routing = "updn";
        config.lanes = m_lanes;
        config.laneBuffer = 16384;
        bed.helper.SetInfiniBand(config);
        bed.helper.SetNicAttribute("LossRecovery",
                                   StringValue(m_selective ? "selective-repeat" : "go-back-n"));
        bed.helper.SetNicAttribute("TimeoutExponent", UintegerValue(8)); // 1 ms
        bed.Build();
        auto random = CreateObject<UniformRandomVariable>();
        random->SetStream(77);
        std::vector<RdmaQueuePair*> qps;
        for (uint32_t a = 0; a < hosts; ++a)
        {
            for (uint32_t b = 0; b < hosts; ++b)
            {
                if (a != b)
                {
                    qps.push_back(
                        bed.Connect(a, b, static_cast<uint8_t>(random->GetInteger(0, m_lanes - 1)))
                            .first);
                }
            }
        }
        uint64_t posted = 0;
        for (RdmaQueuePair* qp : qps)
        {
            for (uint32_t i = 0; i < 4; ++i)
            {
                qp->PostWrite(random->GetInteger(0, 200000), i);
                ++posted;
            }
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), posted, "all arrive, each once");
        const RdmaPortCounters ports = bed.fabric->GetPortTotals();
        NS_TEST_EXPECT_MSG_EQ((ports.corrupted > 0), (m_ber > 0), "packets are corrupted");
        NS_TEST_EXPECT_MSG_EQ((ports.creditBlocksLost > 0), (m_ber > 0), "credits with them");
        NS_TEST_EXPECT_MSG_GT(ports.creditStalls, 0U, "buffers are short");
        uint64_t received = 0;
        for (const auto& device : bed.fabric->GetSwitches())
        {
            NS_TEST_EXPECT_MSG_EQ(device->GetReceived(), device->GetForwarded(), "no packet lost");
            received += device->GetReceived();
        }
        NS_TEST_EXPECT_MSG_GT(received, 2 * bed.fabric->GetNicTotals().dataPackets / 3, "counted");
        NS_TEST_EXPECT_MSG_EQ(LeakedCredits(bed), "", "credits");
    }

    double m_ber;
    uint8_t m_lanes;
    bool m_selective;
    uint32_t m_seed;
};

class RdmaIbStaticRateTestCase : public TestCase
{
  public:
    RdmaIbStaticRateTestCase()
        : TestCase("static rate control: no queue in front of a slower link")
    {
    }

  private:
    void DoRun() override
    {
        for (const bool on : {false, true})
        {
            Bed bed;
            DescribeChain(bed, {100 * GBPS, 32 * GBPS}, 25 * NS);
            IbFabricConfig config;
            config.staticRate = on;
            const uint64_t packets = 1000;
            const int64_t all = TimeOfOne(bed, config, packets * 4096);
            // 100 / 32 is more than 3, so a packet waits 3 packet times: 25 Gb/s of 4124 B each.
            const double expected = packets * 4124 * 8e12 / (on ? 25e9 : 32e9);
            NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(all), expected, 0.002 * expected, "time");
            const uint64_t queue = bed.fabric->GetPorts()[2]->GetCounters().maxQueueBytes;
            NS_TEST_EXPECT_MSG_EQ((queue <= 2 * 4140), on, "queue at the switch: " << queue);
        }
    }
};

class RdmaIbSlowBusTestCase : public TestCase
{
  public:
    RdmaIbSlowBusTestCase()
        : TestCase("a host whose bus is slower than its link holds credits back")
    {
    }

  private:
    void DoRun() override
    {
        Bed bed(3, 100 * GBPS, 25 * NS);
        bed.helper.SetInfiniBand({});
        bed.helper.SetNicAttribute("PcieBandwidth", StringValue("40Gbps"));
        bed.Build();
        const uint64_t bytes = 8000000;
        bed.Connect(0, 2, 0).first->PostWrite(bytes, 1);
        bed.Connect(1, 2, 0).first->PostWrite(bytes, 2);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(bed.notes.messages.size(), 2, "both arrive");
        // 16 MB of payload at 40 Gb/s: 3.2 ms; what the senders' own buses take for the first
        // packet and the way are below 1%.
        const double expected = 16e6 * 8 / 40e9 * 1e12;
        NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(bed.notes.messages[1].at),
                                  expected,
                                  0.01 * expected,
                                  "the bus");
        NS_TEST_EXPECT_MSG_GT(bed.fabric->GetPortTotals().creditStalls, 0U, "senders are held");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNicTotals().receiveBufferDrops,
                              0,
                              "and nothing is lost");
        NS_TEST_EXPECT_MSG_EQ(LeakedCredits(bed), "", "credits");
    }
};

class RdmaIbAdaptiveRoutingTestCase : public TestCase
{
  public:
    RdmaIbAdaptiveRoutingTestCase()
        : TestCase("adaptive routing spreads what the table puts on one cable; order is restored")
    {
    }

  private:
    /// Two leaves of four hosts, two spines; h0 sends to h4 and h1 to h6. \return when both have
    /// arrived, ps
    int64_t Run(bool adaptive)
    {
        Bed bed;
        for (uint32_t h = 0; h < 8; ++h)
        {
            bed.Host("h" + std::to_string(h));
        }
        const uint32_t leaf[2] = {bed.Switch("l0"), bed.Switch("l1")};
        for (uint32_t h = 0; h < 8; ++h)
        {
            bed.Link(h, leaf[h / 4], 100 * GBPS, 100 * NS);
        }
        for (uint32_t s = 0; s < 2; ++s)
        {
            const uint32_t spine = bed.Switch("p" + std::to_string(s));
            bed.Link(leaf[0], spine, 100 * GBPS, 100 * NS);
            bed.Link(leaf[1], spine, 100 * GBPS, 100 * NS);
        }
        bed.helper.SetInfiniBand({});
        bed.helper.SetSwitchAttribute("LoadBalancer", StringValue(adaptive ? "adaptive" : ""));
        bed.helper.SetNicAttribute("LossRecovery", StringValue("out-of-order"));
        bed.Build();
        NS_TEST_EXPECT_MSG_EQ(IbLinkLayer::GetSubnet(*bed.fabric)->GetNextPort(leaf[0], 4),
                              IbLinkLayer::GetSubnet(*bed.fabric)->GetNextPort(leaf[0], 6),
                              "destination mod 2: the same spine");
        bed.Connect(0, 4, 0).first->PostWrite(4000000, 1);
        bed.Connect(1, 6, 0).first->PostWrite(4000000, 2);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 2, "both arrive, once");
        const RdmaNicCounters nics = bed.fabric->GetNicTotals();
        NS_TEST_EXPECT_MSG_EQ(nics.retransmittedPackets + nics.naksSent + nics.timeouts,
                              0,
                              "nothing is taken for lost");
        uint64_t rerouted = 0;
        for (const auto& device : bed.fabric->GetSwitches())
        {
            rerouted += device->GetRerouted();
        }
        NS_TEST_EXPECT_MSG_EQ((rerouted > 0), adaptive, "other ways taken");
        return bed.notes.messages.back().at;
    }

    void DoRun() override
    {
        // 4 MB are 977 packets of 4124 B on the line: 322 us at 100 Gb/s; over one cable both take
        // twice that. With both cables neither has to wait, but for the few packets that make the
        // queue which sends others around.
        const double alone = 977 * 4124 * 80.;
        NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(Run(false)),
                                  2 * alone,
                                  0.02 * alone,
                                  "table");
        NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(Run(true)), alone, 0.05 * alone, "adaptive");
    }
};

class RdmaIbTestSuite : public TestSuite
{
  public:
    RdmaIbTestSuite()
        : TestSuite("rdma-ib", UNIT)
    {
        AddTestCase(new RdmaIbLatencyTestCase, TestCase::QUICK);
        AddTestCase(new RdmaIbRateMismatchTestCase, TestCase::QUICK);
        AddTestCase(new RdmaIbBandwidthTestCase, TestCase::QUICK);
        AddTestCase(new RdmaIbBufferRoundTripTestCase, TestCase::QUICK);
        AddTestCase(new RdmaIbStaticRateTestCase, TestCase::QUICK);
        AddTestCase(new RdmaIbSlowBusTestCase, TestCase::QUICK);
        AddTestCase(new RdmaIbAdaptiveRoutingTestCase, TestCase::QUICK);
        for (uint32_t seed = 1; seed <= 5; ++seed)
        {
            for (const double ber : {0., 1e-7, 1e-6})
            {
                AddTestCase(new RdmaIbConservationTestCase(ber, 1U << seed % 4, seed % 2, seed),
                            TestCase::QUICK);
            }
        }
    }
};

static RdmaIbTestSuite g_rdmaIbTestSuite;
