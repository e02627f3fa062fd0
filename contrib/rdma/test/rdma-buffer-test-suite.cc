/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Buffer and PFC of a running switch against closed forms: how a pause spreads from switch to
 * switch along a chain, what headroom is needed for it, thresholds by policy, marks by time in the
 * queue.
 */
#include "rdma-test-fabric.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

using namespace ns3;
using namespace ns3::rdmatest;

/**
 * h0 - s0 - s1 - ... - s(n-1) - h1, one flow at line rate; h1 stops all of a sudden.
 *
 * Times, C = 100 Gb/s: T1 = 4,194 B x 80 ps of the first packet, T = 4,178 B x 80 ps of all others,
 * d of each cable, P of each switch, and E = 84 B x 80 ps of a PFC frame. Nothing else is under
 * way.
 *
 *     frame i (from 0) is admitted at s(j) at   a(i, j) = (j + 1) (T1 + d + P) + i T
 *     and, as nothing stops it, sent on at      b(i, j) = a(i, j) + (i ? T1 - T : 0)
 *
 * for the first packet holds up the second by T1 - T at each switch, and that one nobody. s(j),
 * told to stop at q(j), still sends the frames with b < q(j), and stores the others, from frame
 * k(j) on. m frames of f bytes fit below the threshold, the next one goes to headroom and raises
 * XOFF:
 *
 *     n f - g <= alpha (B - ((n - 1) f - g))    for n = m, not for m + 1: dynamic threshold,
 *                                               B of the shared pool, g guaranteed
 *     XOFF of s(j) at     x(j) = a(k(j) + m, j)
 *     s(j - 1) stops at   q(j - 1) = x(j) + E + d
 *     headroom of s(j) =  f x number of frames from k(j) + m on with b(i, j - 1) < q(j - 1)
 *
 * and the same for h0 in the place of s(-1), with b(i, -1) = T1 + (i - 1) T, b(0, -1) = 0.
 */
class RdmaPausePropagationTestCase : public TestCase, ChainTimes
{
  public:
    RdmaPausePropagationTestCase(uint32_t switches, int64_t delay, uint64_t bufferPer100G)
        : TestCase("a pause spreads hop by hop as derived: " + std::to_string(switches) +
                   " switches, cables of " + std::to_string(delay / NS) + " ns, " +
                   std::to_string(bufferPer100G) + " B per 100G"),
          m_switches(switches),
          m_delay(delay),
          m_bufferPer100G(bufferPer100G)
    {
    }

  private:
    int64_t Admitted(int64_t i, int64_t j) const
    {
        return (j + 1) * (T1 + m_delay + P) + i * T;
    }

    /// j = -1: the host
    int64_t Sent(int64_t i, int64_t j) const
    {
        return (j < 0 ? i * T : Admitted(i, j)) + (i ? T1 - T : 0);
    }

    /// First frame that s(j), or the host, told to stop at `q`, does not send.
    int64_t FirstHeld(int64_t q, int64_t j) const
    {
        int64_t i = 0;
        while (Sent(i, j) < q)
        {
            ++i;
        }
        // Closer than a tick the order of events would be left to chance.
        NS_ABORT_MSG_IF(Sent(i, j) - q < NS || (i && q - Sent(i - 1, j) < NS), "choose otherwise");
        return i;
    }

    void DoRun() override
    {
        Bed bed;
        // Fabric port 2 j + 1 is of s(j), towards s(j - 1) or h0.
        bed.Chain(std::vector<uint64_t>(m_switches + 1, 100 * GBPS), m_delay);
        bed.helper.SetSwitchAttribute("BufferPer100G", UintegerValue(m_bufferPer100G));
        bed.helper.SetSwitchAttribute("Ecn", BooleanValue(false));
        bed.helper.SetNicAttribute("AckEvery", UintegerValue(65536));
        bed.Build();
        std::vector<int64_t> xoff(m_switches, -1); // first of each switch
        std::vector<uint64_t> headroomPeak(m_switches);
        for (uint32_t j = 0; j < m_switches; ++j)
        {
            Watch<const RdmaPort*, uint8_t, bool, uint64_t, int64_t>(
                bed.Device(j),
                "Pfc",
                [&xoff, j](const RdmaPort*, uint8_t, bool pause, uint64_t, int64_t now) {
                    xoff[j] = pause && xoff[j] < 0 ? now : xoff[j];
                });
        }
        int64_t hostStopped = -1;
        Watch<const RdmaPort*, uint8_t, uint8_t, int64_t>(
            bed.fabric->GetPorts()[0],
            "Paused",
            [&](const RdmaPort*, uint8_t paused, uint8_t, int64_t now) {
                hostStopped = paused && hostStopped < 0 ? now : hostStopped;
            });
        const uint64_t bytes = 1000 * 4096;
        bed.Connect(0, 1).first->PostWrite(bytes, 1);
        const int64_t stop = 40 * US;
        const Ptr<RdmaPort> last = bed.fabric->GetPorts()[2 * m_switches + 1];
        Simulator::Schedule(MicroSeconds(40), [last, stop] { last->SendPause(8, 65535, stop); });
        Simulator::Schedule(MicroSeconds(340), [&] {
            for (uint32_t j = 0; j < m_switches; ++j) // all is at rest
            {
                headroomPeak[j] = bed.Device(j)->GetBuffer().HeadroomPeak();
            }
        });
        Simulator::Run();

        const rdma::SharedBuffer& buffer = bed.Device(0)->GetBuffer();
        const double alpha = 1.0 / 8;
        const double g = 4096;
        const double f = FULL_FRAME;
        const double pool = static_cast<double>(buffer.SharedSize());
        const int64_t m =
            static_cast<int64_t>(std::floor((alpha * (pool + g + f) + g) / (f * (1 + alpha))));
        NS_TEST_EXPECT_MSG_GT(m, 2, "something fits");
        int64_t q = stop + E + m_delay;
        for (int64_t j = m_switches - 1; j >= 0; --j)
        {
            const int64_t k = FirstHeld(q, j);
            const int64_t x = Admitted(k + m, j);
            NS_TEST_EXPECT_MSG_EQ(xoff[j], x, "XOFF of switch " << j << ", to the picosecond");
            q = x + E + m_delay;
            const uint64_t inHeadroom =
                static_cast<uint64_t>(FirstHeld(q, j - 1) - (k + m)) * FULL_FRAME;
            NS_TEST_EXPECT_MSG_EQ(headroomPeak[j], inHeadroom, "headroom of switch " << j);
            // What is set aside: never less, and at most this much more. A PFC frame that waited
            // for a whole frame, and whose receiver had just begun one, would have needed two of
            // the three frames; preambles and gaps are counted, but not stored.
            const uint64_t headroom = buffer.Config().headroomBytes[0];
            const uint64_t wire = static_cast<uint64_t>((2 * m_delay + P) / 80);
            NS_TEST_EXPECT_MSG_GT_OR_EQ(headroom, inHeadroom, "suffices");
            NS_TEST_EXPECT_MSG_LT_OR_EQ(headroom - inHeadroom,
                                        3 * (4174 + 20) + 84 + 1 + FULL_FRAME +
                                            20 * wire / FULL_WIRE,
                                        "three frames, one PFC frame, rounding");
        }
        NS_TEST_EXPECT_MSG_EQ(hostStopped, q, "the host stops");
        NS_TEST_EXPECT_MSG_EQ(bed.Drops(), 0, "no drop");
        NS_TEST_ASSERT_MSG_EQ(bed.notes.messages.size(), 1, "goes on when the pause is over");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages[0].message.bytes, bytes, "whole");
    }

    uint32_t m_switches;
    int64_t m_delay;
    uint64_t m_bufferPer100G;
};

/// Two hosts of 100 Gb/s to one: how much of the pool is used when the first of them is paused.
class RdmaPolicyTestCase : public TestCase
{
  public:
    RdmaPolicyTestCase(const std::string& policy, const std::string& alphas, double alpha)
        : TestCase("thresholds by policy " + policy + (alphas.empty() ? "" : ", " + alphas)),
          m_policy(policy),
          m_alphas(alphas),
          m_alpha(alpha)
    {
    }

  private:
    void DoRun() override
    {
        Bed bed(5, 100 * GBPS);
        bed.helper.SetSwitchAttribute("BufferPolicy", StringValue(m_policy));
        bed.helper.SetSwitchAttribute("AlphaOfPriority", StringValue(m_alphas));
        bed.helper.SetSwitchAttribute("Ecn", BooleanValue(false));
        bed.Build();
        uint64_t stored = 0; // of a port, at the first XOFF
        uint64_t used = 0;
        Watch<const RdmaPort*, uint8_t, bool, uint64_t, int64_t>(
            bed.Device(),
            "Pfc",
            [&](const RdmaPort*, uint8_t, bool, uint64_t bytes, int64_t) {
                if (!stored)
                {
                    stored = bytes;
                    used = bed.Device()->GetBuffer().SharedUsed();
                }
            });
        for (uint32_t i = 1; i < 5; ++i)
        {
            bed.Connect(i, 0).first->PostWrite(5000000, i);
        }
        Simulator::Run();
        const rdma::SharedBuffer& buffer = bed.Device()->GetBuffer();
        NS_TEST_ASSERT_MSG_EQ(bed.notes.messages.size(), 4, "all arrive");
        NS_TEST_EXPECT_MSG_EQ(bed.Drops(), 0, "no drop");
        NS_TEST_EXPECT_MSG_EQ(buffer.Stored() + buffer.SharedUsed(), 0, "empty in the end");
        NS_TEST_ASSERT_MSG_GT(stored, 0, "XOFF");
        const double pool = static_cast<double>(buffer.SharedSize());
        double threshold = m_alpha * pool;
        if (m_policy != "static")
        {
            threshold -= m_alpha * static_cast<double>(used);
        }
        // What the port holds without its guaranteed minimum and the frame in headroom.
        const double held = static_cast<double>(stored) - 4096 - FULL_FRAME;
        if (m_policy == "abm")
        {
            // Four congested queues, each drained at a quarter of the rate at the most: far less.
            NS_TEST_EXPECT_MSG_LT_OR_EQ(held, threshold / 4 + FULL_FRAME, "divided by n");
            return;
        }
        NS_TEST_EXPECT_MSG_LT_OR_EQ(held, threshold + FULL_FRAME, "not above the threshold");
        NS_TEST_EXPECT_MSG_GT(held + FULL_FRAME, threshold, "nor a frame below");
    }

    std::string m_policy;
    std::string m_alphas;
    double m_alpha;
};

class RdmaBufferSettingsTestCase : public TestCase
{
  public:
    RdmaBufferSettingsTestCase()
        : TestCase("buffer of a chip, or by bytes; what is wrong is said with what is allowed")
    {
    }

  private:
    static std::string Error(const std::string& name, const AttributeValue& value)
    {
        Bed bed(2, 100 * GBPS);
        bed.helper.SetSwitchAttribute(name, value);
        std::string error;
        bed.helper.Build(bed.nodes, bed.links, error);
        return error;
    }

    void Contains(const std::string& text, const std::string& part)
    {
        NS_TEST_EXPECT_MSG_NE(text.find(part), std::string::npos, part << " in '" << text << "'");
    }

    void DoRun() override
    {
        Contains(Error("Chip", StringValue("tridnet3")), "trident3");
        Contains(Error("BufferPolicy", StringValue("dynmic")), "allowed: dynamic, static, abm");
        for (const char* wrong :
             {"3", "3:", "8:1", "3:0", "3:65", "3:1;4:1", ":", "33:1", "3:1,", "a"})
        {
            const std::string error = Error("AlphaOfPriority", StringValue(wrong));
            if (std::string(wrong) == "3:1,")
            {
                NS_TEST_EXPECT_MSG_EQ(error, "", "a comma at the end does no harm");
                continue;
            }
            Contains(error, "0.0001 to 64");
        }
        {
            Bed bed(2, 100 * GBPS);
            bed.helper.SetSwitchAttribute("EcnBySojourn", BooleanValue(true));
            bed.helper.SetSwitchAttribute("EcnMarkOnEnqueue", BooleanValue(true));
            std::string error;
            bed.helper.Build(bed.nodes, bed.links, error);
            Contains(error, "EcnMarkOnEnqueue");
        }
        for (const bool bytes : {false, true})
        {
            Bed bed(2, 100 * GBPS);
            bed.helper.SetSwitchAttribute("Chip", StringValue("trident3"));
            bed.helper.SetSwitchAttribute("BufferBytes", UintegerValue(bytes ? 7000000 : 0));
            bed.Build();
            NS_TEST_EXPECT_MSG_EQ(bed.Device()->GetBuffer().Config().totalBytes,
                                  (bytes ? 7000000 : 32000000),
                                  "the whole switch");
        }
    }
};

/// Marks by time in the queue: a frame is marked exactly if it was queued for Kmin / 100 Gb/s.
class RdmaSojournTestCase : public TestCase
{
  public:
    RdmaSojournTestCase(uint64_t gbps)
        : TestCase("ECN by time in the queue, step; egress of " + std::to_string(gbps) + " Gb/s"),
          m_gbps(gbps)
    {
    }

  private:
    void DoRun() override
    {
        Bed bed;
        bed.Star({m_gbps * GBPS, 100 * GBPS, 100 * GBPS});
        // A step at 125,000 B at 100 Gb/s, 10 us: whatever the port's rate.
        bed.helper.SetSwitchAttribute("EcnKmin", UintegerValue(125000));
        bed.helper.SetSwitchAttribute("EcnKmax", UintegerValue(125000));
        bed.helper.SetSwitchAttribute("EcnBySojourn", BooleanValue(true));
        bed.helper.SetSwitchAttribute("BufferPer100G", UintegerValue(4000000));
        bed.Build();
        std::map<std::pair<uint32_t, uint32_t>, int64_t> joined; // (source, PSN)
        for (const size_t port : {3, 5})
        {
            WatchFrames(bed.fabric->GetPorts()[port],
                        "PhyRx",
                        [&](const RdmaPort*, const RdmaFrame* f, int64_t now) {
                            joined[{f->src, f->psn}] = now;
                        });
        }
        uint32_t marked = 0;
        uint32_t unmarked = 0;
        uint32_t wrong = 0;
        WatchFrames(bed.fabric->GetPorts()[1],
                    "PhyTx",
                    [&](const RdmaPort*, const RdmaFrame* f, int64_t now) {
                        if (!IsData(f->opcode))
                        {
                            return;
                        }
                        const int64_t queued = now - joined.at({f->src, f->psn});
                        const bool mark = f->flags & RdmaFrame::CE;
                        (mark ? marked : unmarked) += 1;
                        wrong += mark != (queued >= 10 * US);
                    });
        bed.Connect(1, 0).first->PostWrite(400000, 1);
        bed.Connect(2, 0).first->PostWrite(400000, 2);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 2, "arrived");
        NS_TEST_EXPECT_MSG_EQ(wrong, 0, "marked exactly if 10 us old");
        NS_TEST_EXPECT_MSG_GT(marked, 50, "marks");
        NS_TEST_EXPECT_MSG_GT(unmarked, 5, "not all");
    }

    uint64_t m_gbps;
};

/**
 * A million random packets over two leaves and two spines, lossless and lossy at once: by port and
 * priority, bytes admitted = released + stored, at every frame that leaves a switch, by a count of
 * its own; no lossless frame is refused.
 */
class RdmaMillionPacketsTestCase : public TestCase
{
  public:
    RdmaMillionPacketsTestCase(const std::string& policy, uint32_t seed)
        : TestCase("a million random packets, policy " + policy + ": all laws hold"),
          m_policy(policy),
          m_seed(seed)
    {
    }

  private:
    /// What should be in the buffer of a switch.
    struct Tally
    {
        Ptr<RdmaSwitch> device;
        uint16_t ingress{0};                //!< of the frame that comes now
        const RdmaFrame* arriving{nullptr}; //!< that one
        std::vector<std::array<int64_t, 8>> stored;
        uint64_t checks{0}; //!< frames that left
        uint64_t wrong{0};
        uint64_t losslessDrops{0};
    };

    void DoRun() override
    {
        const uint32_t hosts = 16;
        Bed bed;
        for (uint32_t i = 0; i < hosts; ++i)
        {
            bed.Host("h" + std::to_string(i));
        }
        for (int i = 0; i < 4; ++i)
        {
            bed.Switch("s" + std::to_string(i));
        }
        for (uint32_t i = 0; i < hosts; ++i)
        {
            bed.Link(i, hosts + i % 2, 100 * GBPS, (i % 4) * 300 * NS);
        }
        for (uint32_t leaf = 0; leaf < 2; ++leaf)
        {
            for (uint32_t spine = 2; spine < 4; ++spine)
            {
                bed.Link(hosts + leaf, hosts + spine, 200 * GBPS, 2 * US);
            }
        }
        bed.helper.SetSwitchAttribute("BufferPer100G", UintegerValue(150000));
        bed.helper.SetSwitchAttribute("BufferPolicy", StringValue(m_policy));
        bed.helper.SetSwitchAttribute("LosslessPriorities", UintegerValue(0x18));
        bed.helper.SetSwitchAttribute("AlphaOfPriority", StringValue("4:0.5"));
        bed.helper.SetSwitchAttribute("Ecn", BooleanValue(false));
        bed.helper.SetNicAttribute("Mtu", UintegerValue(1024));
        bed.helper.SetNicAttribute("TimeoutExponent", UintegerValue(9)); // 2 ms
        bed.Build();
        std::vector<Tally> tallies(4);
        for (uint32_t d = 0; d < 4; ++d)
        {
            Tally& t = tallies[d];
            t.device = bed.Device(d);
            t.stored.resize(t.device->GetNPorts());
            for (uint16_t p = 0; p < t.device->GetNPorts(); ++p)
            {
                WatchFrames(t.device->GetPort(p),
                            "PhyRx",
                            [&t, p](const RdmaPort*, const RdmaFrame* f, int64_t) {
                                if (f->opcode != RdmaOpcode::PAUSE)
                                {
                                    t.ingress = p;
                                    t.arriving = f;
                                    t.stored[p][f->priority] += f->FrameBytes();
                                }
                            });
                WatchFrames(t.device->GetPort(p),
                            "PhyTx",
                            [&t](const RdmaPort*, const RdmaFrame* f, int64_t) {
                                if (f->opcode != RdmaOpcode::PAUSE)
                                {
                                    int64_t& stored = t.stored[f->inPort][f->priority];
                                    stored -= f->FrameBytes();
                                    const rdma::SharedBuffer& b = t.device->GetBuffer();
                                    ++t.checks;
                                    t.wrong += b.StoredOf(f->inPort, f->priority) !=
                                               static_cast<uint64_t>(stored);
                                    t.wrong += b.SharedUsed() > b.SharedSize();
                                }
                            });
            }
            Watch<const RdmaSwitchBase*,
                  const RdmaPort*,
                  const RdmaFrame*,
                  RdmaSwitch::DropReason,
                  int64_t>(t.device,
                           "Drop",
                           [&t](const RdmaSwitchBase*,
                                const RdmaPort*,
                                const RdmaFrame* f,
                                RdmaSwitch::DropReason,
                                int64_t) {
                               // The one that comes, or one that it takes the place of.
                               const uint16_t ingress = f == t.arriving ? t.ingress : f->inPort;
                               t.stored[ingress][f->priority] -= f->FrameBytes();
                               t.losslessDrops += 0x18 >> f->priority & 1;
                           });
        }
        // Each host sends to three others, on a priority each; half of them to h0 or h1.
        std::mt19937 random(m_seed);
        uint64_t left = 1000000; // packets to be posted
        uint64_t across = 0;     // of them, those from one leaf to the other
        uint32_t failed = 0;
        const auto post = [&](RdmaQueuePair* qp) {
            const uint64_t packets = std::min<uint64_t>(left, 1 + random() % 400);
            if (packets)
            {
                left -= packets;
                // Host i is at leaf i % 2.
                const bool far = (qp->GetNic()->GetEndpoint() + qp->GetPeerEndpoint()) % 2;
                across += far ? packets : 0;
                qp->PostWrite(packets * 1024, 0);
            }
        };
        bed.notes.onCompletion = [&](Notes::Completion c) {
            if (c.status == RdmaStatus::SUCCESS)
            {
                post(c.qp);
            }
            else
            {
                ++failed;
            }
        };
        for (uint32_t i = 0; i < hosts; ++i)
        {
            for (const uint8_t priority : {1, 3, 4})
            {
                uint32_t to = random() % 2 ? i % 2 : random() % hosts;
                to = to == i ? (i + 1) % hosts : to;
                post(bed.Connect(i, to, priority).first);
            }
        }
        Simulator::Run();

        NS_TEST_EXPECT_MSG_EQ(left, 0, "all posted");
        NS_TEST_EXPECT_MSG_GT_OR_EQ(bed.fabric->GetNicTotals().dataPackets, 1000000, "a million");
        // Each of them arrived, so it left the leaf of its sender, and if it went across, one spine
        // and the leaf of its receiver too. (How many those are is up to the traffic: who is
        // through posts again.)
        NS_TEST_EXPECT_MSG_GT_OR_EQ(tallies[0].checks + tallies[1].checks,
                                    1000000 + across,
                                    "leaves looked at");
        NS_TEST_EXPECT_MSG_GT_OR_EQ(tallies[2].checks + tallies[3].checks,
                                    across,
                                    "spines looked at");
        NS_TEST_EXPECT_MSG_GT(across, 0, "somebody goes across");
        uint64_t drops = 0;
        for (uint32_t d = 0; d < 4; ++d)
        {
            const Tally& t = tallies[d];
            const rdma::SharedBuffer& b = t.device->GetBuffer();
            uint64_t sent = 0;
            for (uint16_t p = 0; p < t.device->GetNPorts(); ++p)
            {
                const RdmaPortCounters& c = t.device->GetPort(p)->GetCounters();
                sent += c.txFrames - c.pausesSent - c.resumesSent;
            }
            NS_TEST_EXPECT_MSG_EQ(t.checks, sent, "looked at each frame that left");
            drops += t.device->GetDrops(RdmaSwitch::THRESHOLD) +
                     t.device->GetDrops(RdmaSwitch::POOL_FULL);
            NS_TEST_EXPECT_MSG_GT(t.checks, 0, "looked at");
            NS_TEST_EXPECT_MSG_EQ(t.wrong, 0, "admitted = released + stored; pool not overdrawn");
            NS_TEST_EXPECT_MSG_EQ(t.losslessDrops, 0, "no lossless frame is refused");
            NS_TEST_EXPECT_MSG_EQ(b.Stored() + b.SharedUsed(), 0, "empty in the end");
            const auto& headroom = b.Config().headroomBytes;
            NS_TEST_EXPECT_MSG_LT_OR_EQ(b.HeadroomPeak(),
                                        *std::max_element(headroom.begin(), headroom.end()),
                                        "headroom is not exceeded");
        }
        NS_TEST_EXPECT_MSG_GT(bed.fabric->GetPortTotals().pausesSent, 1000, "pauses");
        NS_TEST_EXPECT_MSG_GT(drops, 100, "lossy frames are dropped");
        NS_TEST_EXPECT_MSG_EQ(failed, 0, "nobody gives up");
    }

    std::string m_policy;
    uint32_t m_seed;
};

class RdmaBufferTestSuite : public TestSuite
{
  public:
    RdmaBufferTestSuite()
        : TestSuite("rdma-buffer", UNIT)
    {
        AddTestCase(new RdmaPausePropagationTestCase(1, US, 300000), TestCase::QUICK);
        AddTestCase(new RdmaPausePropagationTestCase(5, US, 300000), TestCase::QUICK);
        AddTestCase(new RdmaPausePropagationTestCase(8, 1500 * NS, 500000), TestCase::QUICK);
        AddTestCase(new RdmaPausePropagationTestCase(4, 100 * NS, 1000000), TestCase::QUICK);
        AddTestCase(new RdmaPolicyTestCase("dynamic", "", 1.0 / 8), TestCase::QUICK);
        AddTestCase(new RdmaPolicyTestCase("dynamic", "3:0.5", 0.5), TestCase::QUICK);
        AddTestCase(new RdmaPolicyTestCase("static", "", 1.0 / 8), TestCase::QUICK);
        AddTestCase(new RdmaPolicyTestCase("abm", "", 1.0 / 8), TestCase::QUICK);
        AddTestCase(new RdmaBufferSettingsTestCase, TestCase::QUICK);
        for (const char* policy : {"dynamic", "static", "abm", "fair"})
        {
            AddTestCase(new RdmaMillionPacketsTestCase(policy, 7), TestCase::QUICK);
        }
        AddTestCase(new RdmaSojournTestCase(100), TestCase::QUICK);
        AddTestCase(new RdmaSojournTestCase(25), TestCase::QUICK);
    }
};

static RdmaBufferTestSuite g_rdmaBufferTestSuite;
