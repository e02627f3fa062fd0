/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Ethernet links that go down and come up: what is lost and counted where, ways around, pauses.
 */
#include "rdma-test-fabric.h"

#include "ns3/packet.h"
#include "ns3/random-variable-stream.h"
#include "ns3/rdma-nic-limits.h"

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

/// Two leaves of four hosts, `spines` spines: links 0 to 7 are the hosts', then leaf l, spine s is
/// link 8 + l * spines + s.
void
DescribeLeafSpine(Bed& bed, uint32_t spines)
{
    for (uint32_t h = 0; h < 8; ++h)
    {
        bed.Host("h" + std::to_string(h));
    }
    const uint32_t leaf[2] = {bed.Switch("l0"), bed.Switch("l1")};
    std::vector<uint32_t> spine;
    for (uint32_t s = 0; s < spines; ++s)
    {
        spine.push_back(bed.Switch("p" + std::to_string(s)));
    }
    for (uint32_t h = 0; h < 8; ++h)
    {
        bed.Link(h, leaf[h / 4], 100 * GBPS);
    }
    for (const uint32_t l : leaf)
    {
        for (const uint32_t s : spine)
        {
            bed.Link(l, s, 100 * GBPS);
        }
    }
}

void
At(int64_t ps, std::function<void()> what)
{
    Simulator::Schedule(PicoSeconds(static_cast<uint64_t>(ps)), std::move(what));
}

/// What was sent on a link was received, corrupted or lost with the link.
void
ExpectNothingVanished(Bed& bed, std::function<void(bool, const std::string&)> expect)
{
    for (const auto& port : bed.fabric->GetPorts())
    {
        const RdmaPortCounters& in = port->GetCounters();
        const RdmaPortCounters& out = port->GetPeer()->GetCounters();
        expect(out.txFrames == in.rxFrames + in.linkDownLost,
               port->GetName() + ": " + std::to_string(out.txFrames) + " frames sent here, " +
                   std::to_string(in.rxFrames) + " received, " + std::to_string(in.linkDownLost) +
                   " lost");
        expect(port->GetQueuedBytes() == 0, port->GetName() + ": something is queued");
    }
    for (const auto& device : bed.fabric->GetSwitches())
    {
        uint64_t drops = 0;
        for (uint8_t r = 0; r < RdmaSwitch::DROP_REASONS; ++r)
        {
            drops += device->GetDrops(static_cast<RdmaSwitch::DropReason>(r));
        }
        // What is dropped from a queue was received, too, and has not been forwarded.
        expect(device->GetReceived() == device->GetForwarded() + drops,
               device->GetName() + ": frames received and frames gone differ");
        expect(AsEthernet(device)->GetBuffer().Stored() == 0,
               device->GetName() + ": the buffer holds bytes");
    }
}

} // namespace

/// Random messages among all, and links between switches that go down and up at random.
class RdmaLinkDownRandomTestCase : public TestCase
{
  public:
    RdmaLinkDownRandomTestCase(uint32_t seed, bool pfc, bool selective)
        : TestCase("links flap under random traffic, " + std::string(pfc ? "PFC" : "lossy") +
                   (selective ? ", selective repeat" : ", go-back-N") + ", seed " +
                   std::to_string(seed)),
          m_seed(seed),
          m_pfc(pfc),
          m_selective(selective)
    {
    }

  private:
    void DoRun() override
    {
        RngSeedManager::SetSeed(m_seed);
        const uint64_t live = RdmaFramePool::Get().GetLive();
        uint64_t lost = 0;
        {
            Bed bed;
            const uint32_t spines = 3;
            DescribeLeafSpine(bed, spines);
            bed.helper.SetSwitchAttribute("Pfc", BooleanValue(m_pfc));
            bed.helper.SetSwitchAttribute("BufferBytes", UintegerValue(m_pfc ? 3000000 : 400000));
            // With drawn losses go-back-N, one NAK a gap and no congestion control, gives up.
            bed.helper.SetSwitchAttribute("Arrivals", StringValue("fixed"));
            bed.helper.SetNicAttribute("TimeoutExponent", UintegerValue(6)); // 262 us
            bed.helper.SetNicAttribute("LossRecovery",
                                       StringValue(m_selective ? "selective-repeat" : "go-back-n"));
            bed.Build();
            Ptr<UniformRandomVariable> random = CreateObject<UniformRandomVariable>();
            random->SetStream(m_seed);
            const uint32_t messages = 120;
            for (uint32_t i = 0; i < messages; ++i)
            {
                const uint32_t from = random->GetInteger(0, 7);
                const uint32_t to = i % 3 ? (from + random->GetInteger(1, 7)) % 8 : from ? 0 : 7;
                RdmaQueuePair* qp = bed.Connect(from, to).first;
                const uint64_t bytes = random->GetInteger(1, 300000);
                At(static_cast<int64_t>(random->GetInteger(0, 200)) * US,
                   [qp, bytes, i] { qp->PostWrite(bytes, i); });
            }
            // One spine stays whole, so that there is always a way.
            uint32_t failures = 0;
            for (int64_t at = 5 * US; at < 400 * US; at += 7 * US)
            {
                const uint32_t link =
                    8 + random->GetInteger(0, 1) * spines + random->GetInteger(0, spines - 2);
                At(at + static_cast<int64_t>(random->GetInteger(0, 6999)) * NS, [&bed, link, this] {
                    const bool down = !bed.fabric->IsLinkDown(link);
                    NS_TEST_EXPECT_MSG_EQ(bed.fabric->SetLinkDown(link, down), "", "a way around");
                    NS_TEST_EXPECT_MSG_EQ(bed.fabric->IsLinkDown(link), down, "it is so");
                });
                ++failures;
            }
            NS_TEST_EXPECT_MSG_GT(failures, 50, "links flap");
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), messages, "all arrive");
            NS_TEST_EXPECT_MSG_EQ(bed.notes.completions.size(), messages, "and are acknowledged");
            for (const auto& c : bed.notes.completions)
            {
                NS_TEST_EXPECT_MSG_EQ((c.status == RdmaStatus::SUCCESS), true, "in order");
            }
            const RdmaPortCounters totals = bed.fabric->GetPortTotals();
            lost = totals.linkDownLost;
            NS_TEST_EXPECT_MSG_GT(lost + bed.fabric->GetDrops(RdmaSwitch::LINK_DOWN),
                                  20,
                                  "frames are lost with their links");
            NS_TEST_EXPECT_MSG_EQ(totals.linkDownQueued, 0, "no host's link failed");
            if (m_pfc)
            {
                NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetDrops(RdmaSwitch::HEADROOM_FULL),
                                      0,
                                      "pauses hold, whatever fails");
            }
            ExpectNothingVanished(bed, [this](bool good, const std::string& what) {
                NS_TEST_EXPECT_MSG_EQ(good, true, what);
            });
            for (const auto& port : bed.fabric->GetPorts())
            {
                NS_TEST_EXPECT_MSG_EQ(+port->GetPausedMask(), 0, port->GetName() << " is paused");
            }
        }
        NS_TEST_EXPECT_MSG_EQ(RdmaFramePool::Get().GetLive(), live, "no frame leaks");
    }

    uint32_t m_seed;
    bool m_pfc;
    bool m_selective;
};

/// A host with one link: its queue pairs wait, and go on or fail.
class RdmaLinkDownHostTestCase : public TestCase
{
  public:
    RdmaLinkDownHostTestCase()
        : TestCase("a host's only link: its messages wait for it, those to it fail in the end")
    {
    }

  private:
    void DoRun() override
    {
        for (const bool comesBack : {true, false})
        {
            Bed bed(3, 100 * GBPS);
            bed.helper.SetNicAttribute("TimeoutExponent", UintegerValue(6));
            bed.Build();
            bed.Connect(0, 1).first->PostWrite(4000000, 1); // 320 us
            bed.Connect(2, 1).first->PostWrite(4000000, 2);
            bed.Connect(2, 0).first->PostWrite(4000000, 3);
            uint32_t changes = 0;
            const Ptr<RdmaPort> port = bed.fabric->GetNic(0)->GetPort();
            port->AddLinkChangeCallback(MakeBoundCallback(&Count, &changes));
            uint32_t traced = 0;
            for (const auto& p : bed.fabric->GetPorts())
            {
                WatchFrames(p, "LinkDown", [&](const RdmaPort*, const RdmaFrame*, int64_t) {
                    ++traced;
                });
            }
            At(100 * US, [&] {
                NS_TEST_EXPECT_MSG_EQ(port->IsLinkUp(), true, "up");
                NS_TEST_EXPECT_MSG_EQ(bed.fabric->SetLinkDown(0, true), "", "down");
                NS_TEST_EXPECT_MSG_EQ(bed.fabric->SetLinkDown(0, true), "", "down as it was");
                NS_TEST_EXPECT_MSG_EQ(port->IsLinkUp(), false, "down");
                NS_TEST_EXPECT_MSG_EQ(port->Send(Create<Packet>(10), port->GetAddress(), 1),
                                      false,
                                      "an ordinary packet finds no link");
                NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetPath(0, 1).empty(), true, "and no path");
            });
            if (comesBack)
            {
                At(700 * US, [&] {
                    NS_TEST_EXPECT_MSG_EQ(bed.fabric->SetLinkDown(0, false), "", "up");
                    NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetPath(0, 1).size(), 2, "a path");
                });
            }
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(),
                                  (comesBack ? 3 : 1),
                                  "what can arrives");
            NS_TEST_ASSERT_MSG_EQ(bed.notes.completions.size(), (comesBack ? 3 : 2), "ends");
            for (const auto& c : bed.notes.completions)
            {
                NS_TEST_EXPECT_MSG_EQ((c.status == RdmaStatus::SUCCESS),
                                      (comesBack || c.id == 2),
                                      "after 7 retries it fails: " << c.id);
            }
            NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNicTotals().failedQps, (comesBack ? 0 : 1), "one");
            NS_TEST_EXPECT_MSG_EQ(changes, (comesBack ? 2 : 1), "the change is told");
            const RdmaPortCounters totals = bed.fabric->GetPortTotals();
            NS_TEST_EXPECT_MSG_GT(totals.linkDownLost, 0, "what is on the cable");
            NS_TEST_EXPECT_MSG_EQ(traced, totals.linkDownLost + totals.linkDownQueued, "traced");
            ExpectNothingVanished(bed, [this](bool good, const std::string& what) {
                NS_TEST_EXPECT_MSG_EQ(good, true, what);
            });
        }
    }

    static void Count(uint32_t* changes)
    {
        ++*changes;
    }
};

/// A switch has paused a sender whose link fails; frames of it are still in the headroom.
class RdmaLinkDownPausedTestCase : public TestCase
{
  public:
    RdmaLinkDownPausedTestCase()
        : TestCase("a paused sender's link fails and comes back: no frame too many, no pause for "
                   "ever")
    {
    }

  private:
    void DoRun() override
    {
        for (const int64_t after : {0 * NS, 300 * NS, 1000 * NS, 5 * US, 50 * US, 600 * US})
        {
            Bed bed(6, 100 * GBPS);
            bed.helper.SetSwitchAttribute("BufferBytes", UintegerValue(1200000));
            bed.helper.SetSwitchAttribute("Ecn", BooleanValue(false));
            bed.helper.SetNicAttribute("TimeoutExponent", UintegerValue(7)); // 524 us
            bed.Build();
            for (uint32_t h = 1; h < 6; ++h)
            {
                bed.Connect(h, 0).first->PostWrite(2000000, h);
            }
            // The moment at which the switch has asked host 1 to pause, and 100 ns steps after it.
            bool done = false;
            const Ptr<RdmaSwitch> device = bed.Device();
            Watch<const RdmaPort*, uint8_t, bool, uint64_t, int64_t>(
                device,
                "Pfc",
                [&](const RdmaPort* port, uint8_t, bool pause, uint64_t, int64_t now) {
                    if (pause && !done && port->GetPortIndex() == 1)
                    {
                        done = true;
                        Simulator::Schedule(NanoSeconds(700), [&] {
                            NS_TEST_EXPECT_MSG_EQ(bed.fabric->SetLinkDown(1, true), "", "down");
                        });
                        Simulator::Schedule(
                            NanoSeconds(static_cast<uint64_t>(700 + after / NS)),
                            [&] {
                                NS_TEST_EXPECT_MSG_EQ(bed.fabric->SetLinkDown(1, false), "", "up");
                            });
                    }
                });
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ(done, true, "something was paused");
            NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 5, "all arrive");
            NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetDrops(RdmaSwitch::HEADROOM_FULL), 0, "no drop");
            for (const auto& port : bed.fabric->GetPorts())
            {
                NS_TEST_EXPECT_MSG_EQ(+port->GetPausedMask(), 0, port->GetName() << " is paused");
            }
            ExpectNothingVanished(bed, [this](bool good, const std::string& what) {
                NS_TEST_EXPECT_MSG_EQ(good, true, what);
            });
        }
    }
};

/// NICs that pause their switch; adaptive things left aside.
class RdmaLinkDownNicPauseTestCase : public TestCase
{
  public:
    RdmaLinkDownNicPauseTestCase()
        : TestCase("a NIC that pauses its switch: its link fails and comes back")
    {
    }

  private:
    void DoRun() override
    {
        Bed bed;
        bed.Star(3, 100 * GBPS); // the buses of two senders are twice that of one
        bed.helper.SetNicAttribute("PcieBandwidth", StringValue("40Gbps"));
        bed.helper.SetNicAttribute("PcieReceiveBuffer", UintegerValue(200000));
        bed.helper.SetNicAttribute("TimeoutExponent", UintegerValue(7));
        bed.Build();
        const uint64_t bytes = 2000000; // together 800 us at 40 Gb/s
        bed.Connect(1, 0).first->PostWrite(bytes, 1);
        bed.Connect(2, 0).first->PostWrite(bytes, 2);
        for (uint32_t i = 1; i <= 8; ++i)
        {
            At(i * 60 * US, [&] { bed.fabric->SetLinkDown(0, true); });
            At(i * 60 * US + i * i * 300 * NS, [&] { bed.fabric->SetLinkDown(0, false); });
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 2, "they arrive");
        NS_TEST_EXPECT_MSG_GT(bed.fabric->GetNicTotals().nicPauses, 0, "the NIC paused");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNicTotals().receiveBufferDrops, 0, "and dropped none");
        NS_TEST_EXPECT_MSG_EQ(bed.Drops() - bed.fabric->GetDrops(RdmaSwitch::LINK_DOWN) -
                                  bed.fabric->GetDrops(RdmaSwitch::NO_ROUTE),
                              0,
                              "nor did the switch for want of room");
    }
};

class RdmaLinkDownErrorsTestCase : public TestCase
{
  public:
    RdmaLinkDownErrorsTestCase()
        : TestCase("links that do not exist, hosts that nothing leads to, ways that come back")
    {
    }

  private:
    void DoRun() override
    {
        for (const bool infiniBand : {false, true})
        {
            Bed bed;
            DescribeLeafSpine(bed, 2);
            if (infiniBand)
            {
                bed.helper.SetInfiniBand({});
            }
            bed.Build();
            const std::string error = bed.fabric->SetLinkDown(12, true);
            NS_TEST_EXPECT_MSG_EQ(error,
                                  "link 12; allowed: 0 to 11, as the fabric has 12 links",
                                  "named");
        }
        Bed bed;
        DescribeLeafSpine(bed, 2);
        bed.Build();
        // Both spines of a leaf: half of the hosts are out of reach, and back with the first.
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetPath(0, 7).size(), 4, "by a spine");
        bed.fabric->SetLinkDown(8, true);
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetPath(0, 7).size(), 4, "by the other");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->SetLinkDown(9, true), "", "as asked");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetPath(0, 7).empty(), true, "by none");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetPath(0, 3).size(), 2, "its own leaf");
        bed.Connect(0, 3).first->PostWrite(100000, 1);
        bed.Connect(0, 7).first->PostWrite(100000, 2);
        At(50 * US, [&] {
            NS_TEST_EXPECT_MSG_GT(bed.fabric->GetDrops(RdmaSwitch::NO_ROUTE), 0, "no route");
            bed.fabric->SetLinkDown(8, false);
        });
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 2, "both arrive in the end");
    }
};

class RdmaLinkDownTestSuite : public TestSuite
{
  public:
    RdmaLinkDownTestSuite()
        : TestSuite("rdma-link-down", UNIT)
    {
        for (uint32_t seed = 1; seed <= 4; ++seed)
        {
            for (const bool pfc : {true, false})
            {
                AddTestCase(new RdmaLinkDownRandomTestCase(seed, pfc, seed % 2 == 0),
                            TestCase::QUICK);
            }
        }
        AddTestCase(new RdmaLinkDownHostTestCase, TestCase::QUICK);
        AddTestCase(new RdmaLinkDownPausedTestCase, TestCase::QUICK);
        AddTestCase(new RdmaLinkDownNicPauseTestCase, TestCase::QUICK);
        AddTestCase(new RdmaLinkDownErrorsTestCase, TestCase::QUICK);
    }
};

static RdmaLinkDownTestSuite g_rdmaLinkDownTestSuite;
