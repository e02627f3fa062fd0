/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Faults of a fabric: how much a cut cable loses, what is left, who gives up, and that nothing is
 * lost without a word.
 */
#include "rdma-test-fabric.h"

#include "ns3/random-variable-stream.h"
#include "ns3/rdma-faults.h"

#include <cmath>
#include <map>
#include <set>

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

using Kind = RdmaFaults::Kind;

constexpr uint32_t HOSTS = 4; //!< at each of the two leaves

/// Two leaves of four hosts, `spines` spines: links 0 to 7 are the hosts', then leaf l, spine s is
/// link 8 + l * spines + s.
void
DescribeLeafSpine(Bed& bed, uint32_t spines, bool infiniBand)
{
    for (uint32_t h = 0; h < 2 * HOSTS; ++h)
    {
        bed.Host("h" + std::to_string(h));
    }
    const uint32_t leaf[2] = {bed.Switch("l0"), bed.Switch("l1")};
    std::vector<uint32_t> spine;
    for (uint32_t s = 0; s < spines; ++s)
    {
        spine.push_back(bed.Switch("p" + std::to_string(s)));
    }
    for (uint32_t h = 0; h < 2 * HOSTS; ++h)
    {
        bed.Link(h, leaf[h / HOSTS], 100 * GBPS);
    }
    for (const uint32_t l : leaf)
    {
        for (const uint32_t s : spine)
        {
            bed.Link(l, s, 100 * GBPS);
        }
    }
    if (infiniBand)
    {
        bed.helper.SetInfiniBand({});
    }
}

/// A cable, both ends.
RdmaFaults::Fault
Cut(uint32_t link, int64_t begin, int64_t end)
{
    return {Kind::DOWN, {2 * link, 2 * link + 1}, {}, 0, begin, end};
}

/// What was sent on a link was received, or lost with the link and counted; what a switch received
/// it forwarded or dropped and counted. Nothing is left anywhere.
void
ExpectNothingVanished(Bed& bed, const std::function<void(bool, const std::string&)>& expect)
{
    for (const auto& port : bed.fabric->GetPorts())
    {
        const RdmaPortCounters in = port->GetCounters();
        const RdmaPortCounters out = port->GetPeer()->GetCounters();
        expect(out.txFrames == in.rxFrames + in.linkDownLost + out.linkDownSent,
               port->GetName() + ": " + std::to_string(out.txFrames) + " frames sent here, " +
                   std::to_string(in.rxFrames) + " received, " + std::to_string(in.linkDownLost) +
                   " lost on the wire, " + std::to_string(out.linkDownSent) + " sent in vain");
        expect(port->GetQueuedBytes() == 0, port->GetName() + ": something is queued");
    }
    for (const auto& device : bed.fabric->GetSwitches())
    {
        uint64_t gone = device->GetForwarded();
        for (uint8_t r = 0; r < RdmaSwitch::DROP_REASONS; ++r)
        {
            gone += device->GetDrops(static_cast<RdmaSwitch::DropReason>(r));
        }
        expect(device->GetReceived() == gone,
               device->GetName() + ": " + std::to_string(device->GetReceived()) +
                   " frames received, " + std::to_string(gone) + " gone");
        if (const Ptr<RdmaSwitch> ethernet = AsEthernet(device))
        {
            expect(ethernet->GetBuffer().Stored() == 0,
                   device->GetName() + ": the buffer holds bytes");
        }
    }
}

} // namespace

/// A cable between a leaf and a spine is cut for good, under full load.
class RdmaFaultsCutTestCase : public TestCase
{
  public:
    RdmaFaultsCutTestCase(bool infiniBand, uint32_t spines, int64_t detection)
        : TestCase(std::string(infiniBand ? "InfiniBand" : "Ethernet") + ", " +
                   std::to_string(spines) + " spines, a cable cut, known after " +
                   std::to_string(detection / NS) + " ns"),
          m_infiniBand(infiniBand),
          m_spines(spines),
          m_detection(detection)
    {
    }

  private:
    void DoRun() override
    {
        Bed bed;
        DescribeLeafSpine(bed, m_spines, m_infiniBand);
        bed.helper.SetNicAttribute("AckEvery", UintegerValue(1));
        bed.helper.SetNicAttribute("TimeoutExponent", UintegerValue(7)); // 524 us
        bed.Build();
        const uint64_t bytes = 4000000;
        for (uint32_t h = 0; h < HOSTS; ++h)
        {
            bed.Connect(h, HOSTS + h).first->PostWrite(bytes, h);
        }
        const uint32_t link = 2 * HOSTS;
        const int64_t cut = 100 * US;
        const int64_t convergence = 200 * US;
        RdmaFaults faults(*bed.fabric, {m_detection, convergence});
        const uint32_t fault = faults.Add(Cut(link, cut, RdmaFaults::NEVER));
        std::vector<RdmaFaults::Step> steps;
        faults.SetListener([&](const RdmaFaults::Event& e) { steps.push_back(e.step); });
        faults.Start();
        // Frames that wait for the link when it is given up: a picosecond before.
        uint64_t queued = 0;
        Simulator::ScheduleWithContext(
            Simulator::NO_CONTEXT,
            RdmaClock::At(cut + m_detection) - NanoSeconds(1),
            [&] {
                for (const uint32_t end : {2 * link, 2 * link + 1})
                {
                    for (uint8_t p = 0; p < RdmaPort::PRIORITIES; ++p)
                    {
                        const RdmaFrame* f = bed.fabric->GetPortOfEnd(end)->GetQueueFront(p);
                        for (; f; f = f->next)
                        {
                            ++queued;
                        }
                    }
                }
            });
        Simulator::Run();
        // No flow is lost while there is a way.
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), HOSTS, "all arrive");
        for (const auto& c : bed.notes.completions)
        {
            NS_TEST_EXPECT_MSG_EQ((c.status == RdmaStatus::SUCCESS), true, "and are acknowledged");
        }
        // One way data of 4096 B + headers, the other way an ACK for each at most: so many frames
        // of 4096 B are sent in `time`, plus one that had begun, one that was cut off.
        const double time = static_cast<double>(m_detection + US); // propagation: 1 us
        const double perFrame = 4096.0 * 8e12 / (100e9);
        const RdmaFaults::Record record = faults.GetRecord(fault);
        const uint64_t bound = 2 * static_cast<uint64_t>(std::ceil(time / perFrame) + 2) + queued;
        NS_TEST_EXPECT_MSG_LT_OR_EQ(record.framesLost, bound, "rate x (detection + propagation)");
        NS_TEST_EXPECT_MSG_EQ(record.beginPs, cut, "began");
        NS_TEST_EXPECT_MSG_EQ(record.detectedPs, cut + m_detection, "noticed");
        NS_TEST_EXPECT_MSG_EQ(record.reroutedPs, cut + m_detection + convergence, "new tables");
        NS_TEST_EXPECT_MSG_EQ(record.endPs, RdmaFaults::NEVER, "for good");
        using Step = RdmaFaults::Step;
        const std::vector<Step> expected{Step::BEGINS,
                                         Step::DETECTED,
                                         Step::DETECTED,
                                         Step::REROUTED};
        NS_TEST_EXPECT_MSG_EQ((steps == expected), true, "told in order");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->IsLinkDown(link), true, "the tables know");
        ExpectNothingVanished(bed, [this](bool good, const std::string& what) {
            NS_TEST_EXPECT_MSG_EQ(good, true, what);
        });
    }

    bool m_infiniBand;
    uint32_t m_spines;
    int64_t m_detection;
};

/// One of two paths is left: all flows share its rate.
class RdmaFaultsRateTestCase : public TestCase
{
  public:
    explicit RdmaFaultsRateTestCase(bool infiniBand)
        : TestCase(std::string(infiniBand ? "InfiniBand" : "Ethernet") +
                   ": what is left has its rate, a slower link its own"),
          m_infiniBand(infiniBand)
    {
    }

  private:
    void DoRun() override
    {
        // 0: a cable is cut; else what a single link's rate is lowered to.
        for (const uint64_t rate : {uint64_t{0}, 50 * GBPS, 25 * GBPS})
        {
            Bed bed;
            DescribeLeafSpine(bed, rate ? 1 : 2, m_infiniBand);
            bed.Build();
            RdmaFaults faults(*bed.fabric, {0, 0});
            const uint32_t link = 2 * HOSTS;
            if (rate)
            {
                faults.Add({Kind::RATE,
                            {2 * link, 2 * link + 1},
                            {},
                            static_cast<double>(rate),
                            0,
                            RdmaFaults::NEVER});
            }
            else
            {
                faults.Add(Cut(link, 0, RdmaFaults::NEVER));
            }
            faults.Start();
            const uint64_t bytes = 4096 * 500;
            std::vector<RdmaQueuePair*> senders;
            for (uint32_t h = 0; h < HOSTS; ++h)
            {
                senders.push_back(bed.Connect(h, HOSTS + h).first);
            }
            Simulator::Schedule(MicroSeconds(1), [&] {
                for (RdmaQueuePair* qp : senders)
                {
                    qp->PostWrite(bytes, 1);
                }
            });
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), HOSTS, "all arrive");
            int64_t last = 0;
            for (const auto& m : bed.notes.messages)
            {
                last = std::max(last, m.at);
            }
            // All packets one after the other over the one link that there is, with their headers;
            // without congestion control nothing but PFC or credits holds them back. Besides
            // four links, three switches and the first packet on the other three, at most 20 us.
            const uint32_t wire = bed.fabric->GetFrameSizes().dataOverhead + 4096;
            const double shared =
                4.0 * 500 * wire * 8e12 / static_cast<double>(rate ? rate : 100 * GBPS);
            NS_TEST_EXPECT_MSG_GT(static_cast<double>(last), shared, "not faster than the link");
            NS_TEST_EXPECT_MSG_LT(static_cast<double>(last), shared * 1.02 + 20 * US, "nor slower");
        }
    }

    bool m_infiniBand;
};

/// A NIC that is down for less than its queue pairs retry, and for more.
class RdmaFaultsNicTestCase : public TestCase
{
  public:
    explicit RdmaFaultsNicTestCase(bool infiniBand)
        : TestCase(std::string(infiniBand ? "InfiniBand" : "Ethernet") +
                   ": a NIC that is down, for less than its queue pairs retry and for more"),
          m_infiniBand(infiniBand)
    {
    }

  private:
    void DoRun() override
    {
        // 4.096 us x 2^6 is waited 8 times, 7 of them end with a retry: the first may have begun
        // up to a round trip before the NIC went down.
        const int64_t budget = 8 * 64 * 4096 * NS;
        for (const int64_t length : {budget / 16, budget - 400 * US, budget + 400 * US})
        {
            Bed bed;
            DescribeLeafSpine(bed, 2, m_infiniBand);
            bed.helper.SetNicAttribute("TimeoutExponent", UintegerValue(6));
            bed.Build();
            const uint64_t bytes = 3000000; // 240 us
            bed.Connect(0, HOSTS).first->PostWrite(bytes, 1);
            bed.Connect(HOSTS + 1, 0).first->PostWrite(bytes, 2);
            bed.Connect(1, HOSTS + 2).first->PostWrite(bytes, 3); // has nothing to do with it
            const int64_t at = 60 * US;
            RdmaFaults faults(*bed.fabric, {5 * US, 50 * US});
            RdmaFaults::Fault fault = Cut(0, at, at + length);
            fault.dead = {0};
            faults.Add(fault);
            faults.Start();
            Simulator::Run();
            const bool fails = length > budget;
            NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), (fails ? 1 : 3), "what can arrives");
            NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNicTotals().failedQps, (fails ? 2 : 0), "errors");
            NS_TEST_ASSERT_MSG_EQ(bed.notes.completions.size(), 3, "each ends");
            for (const auto& c : bed.notes.completions)
            {
                const bool good = !fails || c.id == 3;
                NS_TEST_EXPECT_MSG_EQ(
                    (c.status == (good ? RdmaStatus::SUCCESS : RdmaStatus::RETRY_EXCEEDED)),
                    true,
                    "message " << c.id);
            }
            NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetPath(HOSTS, 0).size(), 4, "there is a way again");
            ExpectNothingVanished(bed, [this](bool good, const std::string& what) {
                NS_TEST_EXPECT_MSG_EQ(good, true, what);
            });
        }
    }

    bool m_infiniBand;
};

/// Faults of all kinds at random times and places, under random traffic.
class RdmaFaultsRandomTestCase : public TestCase
{
  public:
    RdmaFaultsRandomTestCase(bool infiniBand, uint32_t seed)
        : TestCase(std::string(infiniBand ? "InfiniBand" : "Ethernet") + ", random faults " +
                   std::to_string(seed)),
          m_infiniBand(infiniBand),
          m_seed(seed)
    {
    }

  private:
    void DoRun() override
    {
        RngSeedManager::SetSeed(m_seed);
        const uint64_t live = RdmaFramePool::Get().GetLive();
        {
            Bed bed;
            Run(bed);
        }
        NS_TEST_EXPECT_MSG_EQ(RdmaFramePool::Get().GetLive(), live, "no frame leaks");
    }

    void Run(Bed& bed)
    {
        Ptr<UniformRandomVariable> random = CreateObject<UniformRandomVariable>();
        random->SetStream(m_seed);
        const uint32_t spines = random->GetInteger(1, 4);
        DescribeLeafSpine(bed, spines, m_infiniBand);
        if (!m_infiniBand)
        {
            bed.helper.SetSwitchAttribute("Pfc", BooleanValue(random->GetInteger(0, 1)));
            bed.helper.SetSwitchAttribute("BufferBytes", UintegerValue(3000000));
        }
        bed.helper.SetNicAttribute("TimeoutExponent", UintegerValue(6)); // 262 us
        bed.helper.SetNicAttribute(
            "LossRecovery",
            StringValue(random->GetInteger(0, 1) ? "selective-repeat" : "go-back-n"));
        bed.Build();
        const uint32_t messages = 40;
        std::map<RdmaQueuePair*, uint32_t> to;
        for (uint32_t i = 0; i < messages; ++i)
        {
            const uint32_t from = random->GetInteger(0, 2 * HOSTS - 1);
            const uint32_t peer = (from + random->GetInteger(1, 2 * HOSTS - 1)) % (2 * HOSTS);
            const auto [qp, receiver] = bed.Connect(from, peer);
            to[receiver] = i;
            const uint64_t bytes = random->GetInteger(1, 300000);
            Simulator::ScheduleWithContext(from,
                                           NanoSeconds(random->GetInteger(0, 500000)),
                                           [qp = qp, bytes, i] { qp->PostWrite(bytes, i); });
        }
        RdmaFaults faults(*bed.fabric,
                          {static_cast<int64_t>(random->GetInteger(0, 20)) * US,
                           static_cast<int64_t>(random->GetInteger(0, 200)) * US});
        const uint32_t count = random->GetInteger(1, 6);
        for (uint32_t i = 0; i < count; ++i)
        {
            faults.Add(RandomFault(*bed.fabric, *random));
        }
        faults.Start();
        Simulator::Run();
        // Each message arrived once, or its sender was told that it failed; no third thing.
        std::set<uint64_t> completed;
        std::set<uint64_t> failed;
        for (const auto& c : bed.notes.completions)
        {
            const bool first = completed.count(c.id) + failed.count(c.id) == 0;
            NS_TEST_EXPECT_MSG_EQ(first, true, "message " << c.id << " ends once");
            (c.status == RdmaStatus::SUCCESS ? completed : failed).insert(c.id);
        }
        NS_TEST_EXPECT_MSG_EQ(completed.size() + failed.size(), messages, "each ends");
        std::set<uint64_t> arrived;
        for (const auto& m : bed.notes.messages)
        {
            NS_TEST_EXPECT_MSG_EQ(arrived.insert(to.at(m.qp)).second, true, "arrives once");
        }
        for (const uint64_t id : completed)
        {
            NS_TEST_EXPECT_MSG_EQ(arrived.count(id), 1, "message " << id << " is there");
        }
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNicTotals().failedQps, failed.size(), "all told");
        for (uint32_t f = 0; f < faults.GetN(); ++f)
        {
            NS_TEST_EXPECT_MSG_GT(faults.GetRecord(f).times, 0, "fault " << f << " was there");
        }
        ExpectNothingVanished(bed, [this](bool good, const std::string& what) {
            NS_TEST_EXPECT_MSG_EQ(good, true, what);
        });
        for (const auto& port : bed.fabric->GetPorts())
        {
            NS_TEST_EXPECT_MSG_EQ(+port->GetPausedMask(), 0, port->GetName() << " is held");
        }
    }

    RdmaFaults::Fault RandomFault(const RdmaFabric& fabric, UniformRandomVariable& random) const
    {
        const uint32_t link = random.GetInteger(0, fabric.GetNEnds() / 2 - 1);
        const int64_t begin = static_cast<int64_t>(random.GetInteger(0, 600000)) * NS;
        const int64_t end = begin + static_cast<int64_t>(random.GetInteger(1, 900000)) * NS;
        RdmaFaults::Fault fault = Cut(link, begin, end);
        switch (random.GetInteger(0, m_infiniBand ? 6 : 7))
        {
        case 0: // for good
            fault.endPs = RdmaFaults::NEVER;
            break;
        case 1: // a node
        {
            const uint32_t node = random.GetInteger(0, fabric.GetNNodes() - 1);
            fault.ends.clear();
            for (const uint32_t e : fabric.GetEndsOfNode(node))
            {
                fault.dead.push_back(e);
                fault.ends.push_back(e);
                fault.ends.push_back(e ^ 1);
            }
            std::sort(fault.ends.begin(), fault.ends.end());
            break;
        }
        case 2: // it flaps
            fault.periodPs = static_cast<int64_t>(random.GetInteger(2, 90000)) * NS;
            fault.upPs = fault.periodPs / static_cast<int64_t>(random.GetInteger(2, 5));
            break;
        case 3:
            fault.kind = Kind::RATE;
            fault.value = random.GetValue(1e9, 100e9);
            break;
        case 4:
            fault.kind = Kind::BIT_ERRORS;
            fault.value = random.GetValue(1e-8, 1e-6);
            break;
        case 5:
            fault.kind = Kind::SILENT_DROPS;
            fault.value = random.GetValue(0.001, 0.05);
            break;
        case 7:
            fault.kind = Kind::PAUSE_STORM;
            fault.ends = {2 * link + random.GetInteger(0, 1)};
            fault.value = 0x08;
            break;
        default:
            break;
        }
        return fault;
    }

    bool m_infiniBand;
    uint32_t m_seed;
};

/// A cable that flaps for two seconds, with traffic now and then.
class RdmaFaultsFlapTestCase : public TestCase
{
  public:
    explicit RdmaFaultsFlapTestCase(bool infiniBand)
        : TestCase(std::string(infiniBand ? "InfiniBand" : "Ethernet") + ": a cable flaps"),
          m_infiniBand(infiniBand)
    {
    }

  private:
    void DoRun() override
    {
        const uint64_t live = RdmaFramePool::Get().GetLive();
        {
            Bed bed;
            DescribeLeafSpine(bed, 2, m_infiniBand);
            bed.Build();
            const int64_t ms = 1000 * US;
            RdmaFaults faults(*bed.fabric, {10 * US, 300 * US});
            RdmaFaults::Fault fault = Cut(2 * HOSTS, 0, 2000 * ms);
            fault.periodPs = ms;
            fault.upPs = ms / 4;
            const uint32_t number = faults.Add(fault);
            faults.Start();
            RdmaQueuePair* qp = bed.Connect(0, HOSTS).first;
            for (uint32_t i = 0; i < 20; ++i)
            {
                Simulator::ScheduleWithContext(0, MilliSeconds(100 * i), [qp, i] {
                    qp->PostWrite(1000000, i);
                });
            }
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ(faults.GetRecord(number).times, 2000, "once a millisecond");
            NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 20, "all arrive");
            NS_TEST_EXPECT_MSG_EQ(bed.fabric->IsLinkDown(2 * HOSTS), false, "whole in the end");
            ExpectNothingVanished(bed, [this](bool good, const std::string& what) {
                NS_TEST_EXPECT_MSG_EQ(good, true, what);
            });
        }
        NS_TEST_EXPECT_MSG_EQ(RdmaFramePool::Get().GetLive(), live, "no frame leaks");
    }

    bool m_infiniBand;
};

/// The mean rate of a port between any two times is that of its faults' steps, added up here ns by
/// ns.
class RdmaFaultsMeanRateTestCase : public TestCase
{
  public:
    RdmaFaultsMeanRateTestCase()
        : TestCase("the mean rate of a port between two times")
    {
    }

  private:
    void DoRun() override
    {
        Bed bed;
        bed.Star(2, 100 * GBPS);
        bed.Build();
        RdmaFaults faults(*bed.fabric, {0, 0});
        // Faults of 90, 50 and 10 Gb/s: they overlap, begin together, and one ends when another
        // begins.
        const std::vector<RdmaFaults::Fault> all = {
            {Kind::RATE, {0, 1}, {}, 50e9, 10 * US, 30 * US},
            {Kind::RATE, {0, 1}, {}, 10e9, 17 * US, 41 * US},
            {Kind::RATE, {0, 1}, {}, 0.9, 10 * US, 60 * US, true},
            {Kind::RATE, {0, 1}, {}, 50e9, 60 * US, 61 * US},
        };
        for (const RdmaFaults::Fault& fault : all)
        {
            faults.Add(fault);
        }
        faults.Start();
        Simulator::Run();
        const auto rateAt = [&all](int64_t now) {
            double rate = 100e9;
            for (const RdmaFaults::Fault& fault : all)
            {
                const double value = fault.isShare ? fault.value * 100e9 : fault.value;
                rate = now >= fault.beginPs && now < fault.endPs ? std::min(rate, value) : rate;
            }
            return rate;
        };
        const RdmaPort& port = *bed.fabric->GetPortOfEnd(0);
        const RdmaPort& other = *bed.fabric->GetPortOfEnd(2);
        for (int64_t from = 0; from < 70 * US; from += 3 * US)
        {
            double bits = 0;
            int64_t until = from;
            for (const int64_t length : {1 * US, 6 * US, 13 * US, 37 * US, 91 * US})
            {
                for (; until < from + length; until += NS)
                {
                    bits += rateAt(until);
                }
                const double mean = bits * NS / static_cast<double>(length);
                NS_TEST_EXPECT_MSG_EQ_TOL(port.GetMeanRate(from, until), mean, 1e3, from);
                NS_TEST_EXPECT_MSG_EQ(other.GetMeanRate(from, until), 100e9, "no fault there");
            }
            NS_TEST_EXPECT_MSG_EQ(port.GetMeanRate(from, from), rateAt(from), from);
        }
    }
};

class RdmaFaultsTestSuite : public TestSuite
{
  public:
    RdmaFaultsTestSuite()
        : TestSuite("rdma-faults", UNIT)
    {
        AddTestCase(new RdmaFaultsMeanRateTestCase, TestCase::QUICK);
        for (const bool infiniBand : {false, true})
        {
            for (const uint32_t spines : {2U, 3U, 5U})
            {
                for (const int64_t detection : {1 * US, 7 * US, 30 * US})
                {
                    AddTestCase(new RdmaFaultsCutTestCase(infiniBand, spines, detection),
                                TestCase::QUICK);
                }
            }
            AddTestCase(new RdmaFaultsRateTestCase(infiniBand), TestCase::QUICK);
            AddTestCase(new RdmaFaultsNicTestCase(infiniBand), TestCase::QUICK);
            AddTestCase(new RdmaFaultsFlapTestCase(infiniBand), TestCase::QUICK);
            // RDMA_FAULTS_SEEDS=1000 runs as many.
            const char* given = std::getenv("RDMA_FAULTS_SEEDS");
            const uint32_t seeds = given ? static_cast<uint32_t>(std::atoi(given)) : 100;
            for (uint32_t seed = 1; seed <= seeds; ++seed)
            {
                AddTestCase(new RdmaFaultsRandomTestCase(infiniBand, seed), TestCase::QUICK);
            }
        }
    }
};

static RdmaFaultsTestSuite g_rdmaFaultsTestSuite;
