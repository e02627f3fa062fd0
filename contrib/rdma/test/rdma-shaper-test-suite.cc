/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Shapers of ports: closed forms, bounds, laws.
 */
#include "contrib/rdma/core/class-shapers.h"
#include "rdma-disc-bench.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

/// A port of 100 Gb/s with shapers: 1,250 B take 100 ns, and 400 ns at 25 Gb/s.
class ShapedBench : public DiscBench
{
  public:
    ShapedBench(const std::string& disc, const std::string& shapers, uint8_t strict = 0)
        : DiscBench(disc, strict)
    {
        const std::string error = (*this)->StartShapers(shapers);
        NS_ABORT_MSG_UNLESS(error.empty(), error);
    }

    /// \return when frames of a priority were sent, ns
    std::vector<int64_t> Times(uint8_t priority) const
    {
        std::vector<int64_t> times;
        for (const Sent& s : sent)
        {
            if (s.priority == priority)
            {
                times.push_back(s.at / NS);
            }
        }
        return times;
    }

    static constexpr int64_t NS = 1000;
};

class RdmaShaperByHandTestCase : public TestCase
{
  public:
    RdmaShaperByHandTestCase()
        : TestCase("a shaper by hand: spacing, burst, the rest for others, to the picosecond")
    {
    }

  private:
    using Times = std::vector<int64_t>;

    void DoRun() override
    {
        // Alone and without a burst: a frame each 400 ns, with every discipline.
        for (const std::string disc : {"", "strict", "wrr", "fq", "srpt", "pifo"})
        {
            Expect(disc, "3:25Gbps:0B", 4, 0, {0, 400, 800, 1200}, {});
        }
        // The bucket holds one frame: after the first it is empty but without debt, so the second
        // goes at once, and leaves a debt of one frame until 400 ns.
        Expect("", "3:25Gbps:1250B", 5, 0, {0, 100, 400, 800, 1200}, {});
        // No rate of this priority, or none at all.
        Expect("", "4:25Gbps", 4, 0, {0, 100, 200, 300}, {});
        // Two classes. The first frame comes alone; at 400 ns it is priority 3's turn, which the
        // round comes to before 5; the line never rests while 5 has frames.
        Expect("", "3:25Gbps:0B", 4, 6, {0, 400, 800, 1200}, {100, 200, 300, 500, 600, 700});
        // The higher priority is strict and shaped, and does not starve the other.
        Expect("strict", "5:25Gbps:0B", 6, 4, {0, 200, 300, 400, 600, 700}, {100, 500, 900, 1300});
        // Nothing is saved up beyond the burst: 1 us later there is one frame to go at once.
        ShapedBench bench("", "3:25Gbps:1250B");
        bench.Enqueue({3, 1250, 1, 0, 0});
        Simulator::Schedule(MicroSeconds(10), [&bench] {
            for (uint32_t i = 1; i < 5; ++i)
            {
                bench.Enqueue({3, 1250, 1, i, 0});
            }
        });
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ((bench.Times(3) == Times{0, 10000, 10100, 10400, 10800}),
                              true,
                              "a pause");
    }

    void Expect(const std::string& disc,
                const std::string& shapers,
                uint32_t three,
                uint32_t five,
                const Times& ofThree,
                const Times& ofFive)
    {
        ShapedBench bench(disc, shapers);
        for (uint32_t i = 0; i < three; ++i)
        {
            bench.Enqueue({3, 1250, 1, i, 1});
        }
        for (uint32_t i = 0; i < five; ++i)
        {
            bench.Enqueue({5, 1250, 2, i, 1});
        }
        Simulator::Run();
        const std::string of = disc + " " + shapers;
        NS_TEST_EXPECT_MSG_EQ((bench.Times(3) == ofThree), true, "priority 3, " << of);
        NS_TEST_EXPECT_MSG_EQ((bench.Times(5) == ofFive), true, "priority 5, " << of);
        for (const auto& s : bench.sent)
        {
            NS_TEST_EXPECT_MSG_EQ(s.at % ShapedBench::NS, 0, "to the picosecond, " << of);
        }
    }
};

class RdmaShaperLawsTestCase : public TestCase
{
  public:
    RdmaShaperLawsTestCase()
        : TestCase("random rates, bursts and arrivals: no interval exceeds rate x t + burst and a "
                   "frame, and the line rests only while all that wait are held")
    {
    }

  private:
    void DoRun() override
    {
        auto random = CreateObject<UniformRandomVariable>();
        random->SetStream(79);
        for (const std::string disc : {"", "strict", "wrr", "fq", "srpt", "pifo"})
        {
            for (int round = 0; round < 5; ++round)
            {
                Check(disc, *random);
            }
        }
    }

    static constexpr uint32_t FRAMES = 400;

    void Check(const std::string& disc, UniformRandomVariable& random)
    {
        // Priority 1 has no rate; 3 and 6 have.
        std::map<uint8_t, std::pair<uint64_t, uint64_t>> shaped; // Gb/s, burst in bytes
        std::string text;
        for (const uint8_t p : {3, 6})
        {
            shaped[p] = {random.GetInteger(1, 60), random.GetInteger(0, 20000)};
            text += (text.empty() ? "" : ",") + std::to_string(p) + ":" +
                    std::to_string(shaped[p].first) + "Gbps:" + std::to_string(shaped[p].second);
        }
        ShapedBench bench(disc, text, 0x40);
        std::map<uint32_t, int64_t> came;
        int64_t at = 0;
        for (uint32_t i = 0; i < FRAMES; ++i)
        {
            const uint8_t priority = std::vector<uint8_t>{1, 3, 6}[random.GetInteger(0, 2)];
            const DiscBench::Frame frame{priority, random.GetInteger(84, 4178), priority, i, 9};
            at += random.GetInteger(0, 300) * ShapedBench::NS;
            came[i] = at;
            Simulator::Schedule(NanoSeconds(at / ShapedBench::NS),
                                [&bench, frame] { bench.Enqueue(frame); });
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bench.sent.size(), FRAMES, "all are sent, " << disc);
        NS_TEST_EXPECT_MSG_EQ(bench->GetQueuedBytes(), 0, "nothing is left, " << disc);
        for (const auto& [priority, of] : shaped)
        {
            CheckRate(bench,
                      priority,
                      static_cast<double>(of.first),
                      static_cast<double>(of.second));
        }
        CheckWork(bench, came);
    }

    void CheckRate(const ShapedBench& bench, uint8_t priority, double gbps, double burst)
    {
        std::vector<DiscBench::Sent> sent;
        std::copy_if(bench.sent.begin(),
                     bench.sent.end(),
                     std::back_inserter(sent),
                     [priority](const auto& s) { return s.priority == priority; });
        for (std::size_t i = 0; i < sent.size(); ++i)
        {
            double bytes = 0;
            for (std::size_t j = i; j < sent.size(); ++j)
            {
                // Before frame j goes the bucket has no debt. A charge is rounded to the ps: 400
                // of them to 200 ps, 1.5 B at 60 Gb/s.
                const auto passed = static_cast<double>(sent[j].at - sent[i].at);
                const double most = gbps * passed / 8000 + burst + 2;
                NS_TEST_ASSERT_MSG_LT_OR_EQ(bytes, most, "bytes of priority " << +priority);
                bytes += sent[j].wire;
            }
        }
    }

    /// The line rests before a frame without a rate only until it comes.
    void CheckWork(const ShapedBench& bench, const std::map<uint32_t, int64_t>& came)
    {
        int64_t idleFrom = 0;
        for (const auto& s : bench.sent)
        {
            if (s.priority == 1 && s.at > idleFrom)
            {
                NS_TEST_EXPECT_MSG_EQ(s.at, came.at(s.number), "the line rests");
            }
            idleFrom = s.at + 80 * int64_t{s.wire};
        }
    }
};

class RdmaShaperOfFabricTestCase : public TestCase
{
  public:
    RdmaShaperOfFabricTestCase()
        : TestCase("a switch's shapers, a port's own, and what is wrong with them")
    {
    }

  private:
    void DoRun() override
    {
        // 100 packets of 4,178 B on the wire, the first 16 B longer, of priority 3. The last starts
        // when those before it are through: 80 ps a byte on the line, 320 ps at 25 Gb/s. A burst
        // of 8,192 B is spent at the beginning, and never comes back as long as frames wait.
        const int64_t shaped = End("3:25Gbps:0B", "");
        const int64_t free = End("", "");
        const int64_t wire = 98 * 4178 + 4194;
        NS_TEST_EXPECT_MSG_EQ(shaped - free, wire * (320 - 80), "at the switch's rate");
        NS_TEST_EXPECT_MSG_EQ(End("3:25Gbps", ""), shaped - 8192 * 320, "with the usual burst");
        NS_TEST_EXPECT_MSG_EQ(End("3:25Gbps:0B", "none"), free, "the port has none");
        NS_TEST_EXPECT_MSG_EQ(End("", "3:25Gbps:0B"), shaped, "the port alone has one");
        NS_TEST_EXPECT_MSG_EQ(End("4:25Gbps:0B", ""), free, "of another priority");
        for (const std::string wrong : {"3",
                                        "3:",
                                        "8:1Gbps",
                                        "3:1Gbps,",
                                        "3:1Gbps,3:2Gbps",
                                        "3:9Mbps",
                                        "3:1Gbps:2GB",
                                        "3:1Gbps:x",
                                        "x"})
        {
            const std::string error = Error(wrong, "");
            NS_TEST_EXPECT_MSG_NE(error.find("'" + wrong + "'; allowed: none, or a list of"),
                                  std::string::npos,
                                  error);
        }
        NS_TEST_EXPECT_MSG_NE(Error("", "3:1Gbps").find("NIC"), std::string::npos, "of NICs");
        NS_TEST_EXPECT_MSG_EQ(Error("0:10Mbps,7:1Tbps:1MB", ""), "", "right");
    }

    /// \return when a message of 100 packets is there. \param ofPort of the switch's ports
    static int64_t End(const std::string& ofSwitch, const std::string& ofPort)
    {
        Bed bed(2, 100 * GBPS);
        bed.helper.SetSwitchAttribute("Shaper", StringValue(ofSwitch));
        auto own = std::make_shared<RdmaPlaceSettings>();
        own->Add("ns3::RdmaPort::Shaper", ofPort);
        for (RdmaLinkSpec& link : bed.links)
        {
            link.settingsB = own;
        }
        bed.Build();
        const auto [from, to] = bed.Connect(0, 1);
        from->PostWrite(uint64_t{4096} * 100, 0);
        Simulator::Run();
        return bed.notes.messages.back().at;
    }

    static std::string Error(const std::string& ofSwitch, const std::string& ofAll)
    {
        Bed bed(2, 100 * GBPS);
        bed.helper.SetSwitchAttribute("Shaper", StringValue(ofSwitch));
        bed.helper.SetPortAttribute("Shaper", StringValue(ofAll));
        std::string error;
        bed.helper.Build(bed.nodes, bed.links, error);
        return error;
    }
};

class RdmaShaperTestSuite : public TestSuite
{
  public:
    RdmaShaperTestSuite()
        : TestSuite("rdma-shaper", UNIT)
    {
        AddTestCase(new RdmaShaperByHandTestCase, TestCase::QUICK);
        AddTestCase(new RdmaShaperLawsTestCase, TestCase::QUICK);
        AddTestCase(new RdmaShaperOfFabricTestCase, TestCase::QUICK);
    }
};

RdmaShaperTestSuite g_rdmaShaperTestSuite;

} // namespace
