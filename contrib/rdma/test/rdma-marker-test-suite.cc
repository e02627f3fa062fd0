/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Markers and buffer policies on a running switch: against the marking that a switch has inline,
 * against closed forms, and what is wrong with their attributes.
 */
#include "rdma-test-fabric.h"

#include <map>
#include <tuple>

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

/// (port, PSN, ps) of each mark
using MarksOfRun = std::vector<std::tuple<uint16_t, uint32_t, int64_t>>;

/// Four hosts send to one, of ports with the rate given; all ports of the switch are watched.
struct MarkerBed : Bed
{
    explicit MarkerBed(uint64_t egressGbps = 100)
    {
        Star({egressGbps * GBPS, 100 * GBPS, 100 * GBPS, 100 * GBPS, 100 * GBPS});
    }

    MarksOfRun Run(const std::vector<uint8_t>& priorities = {3, 3, 3, 3}, uint64_t bytes = 400000)
    {
        Build();
        MarksOfRun marks;
        Watch<const RdmaPort*, const RdmaFrame*, uint64_t, int64_t>(
            Device(),
            "EcnMark",
            [&](const RdmaPort* port, const RdmaFrame* frame, uint64_t, int64_t now) {
                marks.emplace_back(port->GetPortIndex(), frame->psn, now);
                ++ofPriority[frame->priority];
            });
        for (uint32_t i = 0; i < priorities.size(); ++i)
        {
            Connect(i + 1, 0, priorities[i]).first->PostWrite(bytes, i);
        }
        Simulator::Run();
        arrived = notes.messages.size();
        return marks;
    }

    std::map<uint8_t, uint64_t> ofPriority;
    std::size_t arrived{0};
};

} // namespace

/// A marker that has the rule of the inline marking marks the same frames at the same times.
class RdmaMarkerLikeInlineTestCase : public TestCase
{
  public:
    /// \param flag of the inline marking; empty: by bytes as frames leave
    RdmaMarkerLikeInlineTestCase(const std::string& marker,
                                 const std::string& flag,
                                 uint64_t egressGbps)
        : TestCase(marker + " marks as the inline law with Kmin = Kmax" +
                   (flag.empty() ? "" : " and " + flag) + ", egress of " +
                   std::to_string(egressGbps) + " Gb/s"),
          m_marker(marker),
          m_flag(flag),
          m_egressGbps(egressGbps)
    {
    }

  private:
    MarksOfRun Of(bool inlined) const
    {
        MarkerBed bed(m_egressGbps);
        bed.helper.SetSwitchAttribute("EcnKmin", UintegerValue(50000));
        bed.helper.SetSwitchAttribute("EcnKmax", UintegerValue(50000));
        if (inlined && !m_flag.empty())
        {
            bed.helper.SetSwitchAttribute(m_flag, BooleanValue(true));
        }
        else if (!inlined)
        {
            bed.helper.SetSwitchAttribute("Marker", StringValue(m_marker));
        }
        return bed.Run();
    }

    void DoRun() override
    {
        const MarksOfRun expected = Of(true);
        NS_TEST_ASSERT_MSG_GT(expected.size(), 20, "marks");
        NS_TEST_EXPECT_MSG_EQ((Of(false) == expected), true, "the same ones");
    }

    std::string m_marker;
    std::string m_flag;
    uint64_t m_egressGbps;
};

/**
 * One host sends at the rate of the link, so no more than a frame is ever queued. Frame i (from 0)
 * starts to be sent by the switch when i frames have been: T1 wire bytes the first, W all others.
 * The phantom queue then has (1 - share) of T1 + (i - 1) W, and marks from its threshold on.
 */
class RdmaPhantomMarkerTestCase : public TestCase
{
  public:
    RdmaPhantomMarkerTestCase(uint64_t gbps, double share, uint64_t threshold)
        : TestCase("a phantom queue at " + std::to_string(share) + " of " + std::to_string(gbps) +
                   " Gb/s marks from " + std::to_string(threshold) + " B on"),
          m_gbps(gbps),
          m_share(share),
          m_threshold(threshold)
    {
    }

  private:
    void DoRun() override
    {
        Config::SetDefault("ns3::PhantomMarker::Share", DoubleValue(m_share));
        Config::SetDefault("ns3::PhantomMarker::Threshold", UintegerValue(m_threshold));
        Bed bed(2, m_gbps * GBPS);
        bed.helper.SetSwitchAttribute("Marker", StringValue("phantom"));
        bed.helper.SetNicAttribute("AckEvery", UintegerValue(65536));
        bed.Build();
        int64_t first = -1;
        uint32_t sent = 0; // frames with data to the receiver
        uint32_t firstFrame = 0;
        uint64_t maxQueue = 0;
        WatchFrames(bed.Device()->GetPort(1),
                    "PhyTx",
                    [&](const RdmaPort*, const RdmaFrame* frame, int64_t now) {
                        if ((frame->flags & RdmaFrame::CE) && first < 0)
                        {
                            first = now;
                            firstFrame = sent;
                        }
                        ++sent;
                    });
        bed.Connect(0, 1).first->PostWrite(4096 * 400, 1);
        Simulator::Run();
        maxQueue = bed.Device()->GetPort(1)->GetCounters().maxQueueBytes;
        // The first packet holds up all others by the 16 B that it is longer.
        NS_TEST_EXPECT_MSG_LT_OR_EQ(maxQueue, FULL_FRAME, "no more than one frame waits");
        uint32_t expected = 1;
        const double scaled = static_cast<double>(m_threshold * m_gbps / 100);
        while ((1 - m_share) * (4194 + (expected - 1) * double{FULL_WIRE}) < scaled)
        {
            ++expected;
        }
        NS_TEST_EXPECT_MSG_EQ(sent, 400, "all are sent");
        NS_TEST_EXPECT_MSG_EQ(firstFrame, expected, "first frame with a mark");
        Config::SetDefault("ns3::PhantomMarker::Share", DoubleValue(0.95));
        Config::SetDefault("ns3::PhantomMarker::Threshold", UintegerValue(100000));
    }

    uint64_t m_gbps;
    double m_share;
    uint64_t m_threshold;
};

/// Thresholds of a priority alone, and none.
class RdmaEcnOfPriorityTestCase : public TestCase
{
  public:
    RdmaEcnOfPriorityTestCase()
        : TestCase("EcnOfPriority: each priority has its curve, or none; markers leave those out")
    {
    }

  private:
    std::map<uint8_t, uint64_t> Of(const std::string& curves, const std::string& marker = "")
    {
        MarkerBed bed;
        bed.helper.SetSwitchAttribute("EcnKmin", UintegerValue(20000));
        bed.helper.SetSwitchAttribute("EcnKmax", UintegerValue(20000));
        bed.helper.SetSwitchAttribute("LosslessPriorities", UintegerValue(0x18));
        bed.helper.SetSwitchAttribute("EcnOfPriority", StringValue(curves));
        bed.helper.SetSwitchAttribute("Marker", StringValue(marker));
        bed.Run({3, 3, 4, 4});
        NS_TEST_EXPECT_MSG_EQ(bed.arrived, 4, "all arrive");
        return bed.ofPriority;
    }

    void DoRun() override
    {
        auto both = Of("");
        NS_TEST_ASSERT_MSG_GT(both[3], 20, "priority 3 has marks");
        NS_TEST_ASSERT_MSG_GT(both[4], 20, "priority 4 has marks");
        auto same = Of("3:20kB-20kB-1,4:20kB-20kB");
        NS_TEST_EXPECT_MSG_EQ((same == both), true, "the same curves as of all");
        auto off = Of("4:off");
        NS_TEST_EXPECT_MSG_GT(off[3], 20, "priority 3 has marks");
        NS_TEST_EXPECT_MSG_EQ(off[4], 0, "priority 4 has none");
        auto high = Of("3:1GB-1GB");
        NS_TEST_EXPECT_MSG_EQ(high[3], 0, "its queue is not that long");
        NS_TEST_EXPECT_MSG_GT(high[4], 20, "by the curve of all");
        auto low = Of("3:0B-0B");
        NS_TEST_EXPECT_MSG_GT(low[3], both[3], "each frame");
        auto marker = Of("4:off", "step");
        NS_TEST_EXPECT_MSG_EQ(marker[3], off[3], "step marks the same");
        NS_TEST_EXPECT_MSG_EQ(marker[4], 0, "and leaves priority 4 out");
    }
};

/// Each marker and policy that there is: all arrives, a queue that stays is marked, and a second
/// run is the same.
class RdmaEachMarkerTestCase : public TestCase
{
  public:
    explicit RdmaEachMarkerTestCase(const std::string& marker)
        : TestCase("marker " + marker + ": marks a queue that stays, and the same ones again"),
          m_marker(marker)
    {
    }

  private:
    MarksOfRun Of(uint64_t& arrived) const
    {
        MarkerBed bed;
        bed.helper.SetSwitchAttribute("Marker", StringValue(m_marker));
        bed.helper.SetSwitchAttribute("EcnKmin", UintegerValue(50000));
        bed.helper.SetSwitchAttribute("EcnKmax", UintegerValue(200000));
        const MarksOfRun marks = bed.Run({3, 3, 3, 3}, 2000000);
        arrived = bed.arrived;
        return marks;
    }

    void DoRun() override
    {
        uint64_t arrived = 0;
        const MarksOfRun once = Of(arrived);
        NS_TEST_EXPECT_MSG_EQ(arrived, 4, "all arrive");
        NS_TEST_ASSERT_MSG_GT(once.size(), 3, "marks");
        for (const auto& [port, psn, at] : once)
        {
            NS_TEST_EXPECT_MSG_EQ(port, 0, "where the queue is");
        }
        NS_TEST_EXPECT_MSG_EQ((Of(arrived) == once), true, "the same again");
    }

    std::string m_marker;
};

class RdmaMarkerSettingsTestCase : public TestCase
{
  public:
    RdmaMarkerSettingsTestCase()
        : TestCase("what is wrong with markers, EcnOfPriority and policies is said")
    {
    }

  private:
    using Set = std::vector<std::pair<std::string, std::string>>;

    static std::string Error(const Set& set)
    {
        Bed bed(2, 100 * GBPS);
        for (const auto& [name, value] : set)
        {
            bed.helper.SetSwitchAttribute(name, StringValue(value));
        }
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
        Contains(Error({{"Marker", "codle"}}),
                 "ns3::RdmaSwitch::Marker: 'codle' is unknown; allowed: codel, phantom, pie, "
                 "red-average, step, tcn; did you mean codel?");
        NS_TEST_EXPECT_MSG_EQ(Error({{"Marker", "ns3::CodelMarker"}}), "", "by its class");
        Contains(Error({{"Marker", "pie"}, {"EcnBehind", "true"}}), "EcnBehind");
        Contains(Error({{"Marker", "pie"}, {"EcnOfPriority", "3:1kB-2kB"}}), "off");
        NS_TEST_EXPECT_MSG_EQ(Error({{"Marker", "codle"}, {"Ecn", "false"}}).empty(),
                              false,
                              "without marks, too");
        for (const char* wrong : {"3",
                                  "3:",
                                  "8:off",
                                  "3:1kB",
                                  "3:2kB-1kB",
                                  "3:1kB-2kB-2",
                                  "3:1kB-2kB-",
                                  "3:1kB-2kB-0.5x",
                                  "3:1kB-",
                                  "3:-1kB",
                                  "3:off,",
                                  "3:off,3:off",
                                  "3:of",
                                  "33:off",
                                  ",",
                                  "3:1kB-2TB"})
        {
            Contains(Error({{"EcnOfPriority", wrong}}), "3:400KB-1.6MB,4:off");
        }
        for (const char* right : {"3:off", "0:1kB-1kB,7:0-0-0.5", "3:400KB-1.6MB,4:off"})
        {
            NS_TEST_EXPECT_MSG_EQ(Error({{"EcnOfPriority", right}}), "", right);
        }
        Contains(Error({{"BufferPolicy", "fari"}}), "did you mean fair?");
        Config::SetDefault("ns3::HeadroomPoolsBufferPolicy::Pools", UintegerValue(3));
        Contains(Error({{"BufferPolicy", "headroom-pools"}}), "3 pools are more than its 2 ports");
        Config::SetDefault("ns3::HeadroomPoolsBufferPolicy::Pools", UintegerValue(1));
    }
};

/// Four hosts to one: what a port holds at its first XOFF.
class RdmaOwnLimitTestCase : public TestCase
{
  public:
    RdmaOwnLimitTestCase(const std::string& policy, uint64_t staticXoff)
        : TestCase("XOFF by policy " + policy + ", StaticXoff " + std::to_string(staticXoff)),
          m_policy(policy),
          m_staticXoff(staticXoff)
    {
    }

  private:
    void DoRun() override
    {
        Bed bed(5, 100 * GBPS);
        bed.helper.SetSwitchAttribute("BufferPolicy", StringValue(m_policy));
        bed.helper.SetSwitchAttribute("StaticXoff", UintegerValue(m_staticXoff));
        bed.helper.SetSwitchAttribute("Ecn", BooleanValue(false));
        bed.Build();
        const rdma::SharedBuffer& buffer = bed.Device()->GetBuffer();
        uint64_t stored = 0; // of a port, at the first XOFF
        Watch<const RdmaPort*, uint8_t, bool, uint64_t, int64_t>(
            bed.Device(),
            "Pfc",
            [&](const RdmaPort*, uint8_t, bool, uint64_t bytes, int64_t) {
                stored = stored ? stored : bytes;
            });
        for (uint32_t i = 1; i < 5; ++i)
        {
            bed.Connect(i, 0).first->PostWrite(5000000, i);
        }
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(bed.notes.messages.size(), 4, "all arrive");
        // Four ports at once need more headroom than the half of it that is set aside in a pool.
        NS_TEST_EXPECT_MSG_EQ((bed.Drops() == 0 || m_policy == "headroom-pools"), true, "no drop");
        NS_TEST_EXPECT_MSG_EQ(buffer.Stored() + buffer.SharedUsed(), 0, "empty in the end");
        NS_TEST_ASSERT_MSG_GT(stored, 0, "XOFF");
        // Without the guaranteed minimum and the frame in headroom. Fair: four queues share 7/8.
        const double held = static_cast<double>(stored) - 4096 - FULL_FRAME;
        const double limit = m_staticXoff ? static_cast<double>(m_staticXoff)
                                          : static_cast<double>(buffer.SharedSize()) * 7 / 8 / 4;
        NS_TEST_EXPECT_MSG_LT_OR_EQ(held, limit, "not above the limit");
        NS_TEST_EXPECT_MSG_GT(held + FULL_FRAME, limit, "nor a frame below");
        const uint64_t headroom = std::accumulate(buffer.Config().headroomBytes.begin(),
                                                  buffer.Config().headroomBytes.end(),
                                                  uint64_t{0});
        const uint64_t setAside = buffer.Config().totalBytes - buffer.SharedSize() - 5 * 4096;
        NS_TEST_EXPECT_MSG_EQ(setAside,
                              (m_policy == "headroom-pools" ? headroom / 2 : headroom),
                              "headroom set aside");
    }

    std::string m_policy;
    uint64_t m_staticXoff;
};

class RdmaMarkerTestSuite : public TestSuite
{
  public:
    RdmaMarkerTestSuite()
        : TestSuite("rdma-marker", UNIT)
    {
        for (const uint64_t gbps : {25, 100, 200})
        {
            AddTestCase(new RdmaMarkerLikeInlineTestCase("step", "", gbps), TestCase::QUICK);
            AddTestCase(new RdmaMarkerLikeInlineTestCase("tcn", "EcnBySojourn", gbps),
                        TestCase::QUICK);
        }
        AddTestCase(new RdmaPhantomMarkerTestCase(100, 0.95, 6250), TestCase::QUICK);
        AddTestCase(new RdmaPhantomMarkerTestCase(400, 0.9, 20000), TestCase::QUICK);
        AddTestCase(new RdmaPhantomMarkerTestCase(25, 0.8, 100000), TestCase::QUICK);
        AddTestCase(new RdmaEcnOfPriorityTestCase, TestCase::QUICK);
        for (const char* marker : {"codel", "phantom", "pie", "red-average", "step", "tcn"})
        {
            AddTestCase(new RdmaEachMarkerTestCase(marker), TestCase::QUICK);
        }
        AddTestCase(new RdmaMarkerSettingsTestCase, TestCase::QUICK);
        AddTestCase(new RdmaOwnLimitTestCase("fair", 0), TestCase::QUICK);
        AddTestCase(new RdmaOwnLimitTestCase("dynamic", 60000), TestCase::QUICK);
        AddTestCase(new RdmaOwnLimitTestCase("abm", 40000), TestCase::QUICK);
        AddTestCase(new RdmaOwnLimitTestCase("headroom-pools", 60000), TestCase::QUICK);
    }
};

static RdmaMarkerTestSuite g_rdmaMarkerTestSuite;
