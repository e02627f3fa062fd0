/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Settings of places (RdmaNodeSpec::settings, RdmaLinkSpec::settingsA, settingsB): each object has
 * those of its own place, and nothing else changes.
 */
#include "rdma-test-fabric.h"

#include "ns3/ecmp-load-balancer.h"

#include <set>

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

using Settings = std::vector<std::pair<std::string, std::string>>;

std::shared_ptr<const RdmaPlaceSettings>
Of(const Settings& settings)
{
    auto made = std::make_shared<RdmaPlaceSettings>();
    for (const auto& [name, value] : settings)
    {
        const std::string error = made->Add(name, value);
        NS_ABORT_MSG_IF(!error.empty(), error);
    }
    return made;
}

uint64_t
UintegerOf(const Object& object, const std::string& name)
{
    UintegerValue value;
    object.GetAttribute(name, value);
    return value.Get();
}

class LatencyTestCase : public TestCase
{
  public:
    LatencyTestCase()
        : TestCase("one of two switches in a row is slower, to the picosecond")
    {
    }

  private:
    static int64_t Completion(const std::string& latency, int64_t& ideal)
    {
        Bed bed;
        bed.Chain({100 * GBPS, 100 * GBPS, 100 * GBPS});
        if (!latency.empty())
        {
            bed.nodes[3].settings = Of({{"ns3::RdmaSwitch::PipelineLatency", latency}});
        }
        bed.Build();
        bed.Connect(0, 1).first->PostWrite(1000000, 1);
        Simulator::Run();
        ideal = bed.fabric->GetIdealCompletion(0, 1, 1000000, false);
        return bed.notes.messages.at(0).at;
    }

    void DoRun() override
    {
        int64_t ideal = 0;
        const int64_t plain = Completion("", ideal);
        NS_TEST_EXPECT_MSG_EQ(plain, ideal, "the closed form");
        // 9.5 us instead of 500 ns, once on the way.
        NS_TEST_EXPECT_MSG_EQ(Completion("9500ns", ideal), plain + 9 * US, "9 us more");
        NS_TEST_EXPECT_MSG_EQ(ideal, plain + 9 * US, "and so says the closed form");
    }
};

class MarksTestCase : public TestCase
{
  public:
    MarksTestCase()
        : TestCase("a switch that marks among switches that do not")
    {
    }

  private:
    /// Two hosts at the left send to one at the right: the queue is in "left", towards "right", and
    /// the last cable is slower, so that there is one in "right", too.
    static std::pair<uint64_t, uint64_t> Marks(bool left, bool right)
    {
        Bed bed;
        bed.Dumbbell(2, {50 * GBPS});
        bed.helper.SetCongestionOps(CreateObject<RdmaDcqcnCongestionOps>());
        bed.helper.SetSwitchAttribute("EcnKmin", UintegerValue(10000));
        bed.helper.SetSwitchAttribute("EcnKmax", UintegerValue(40000));
        const auto off = Of({{"ns3::RdmaSwitch::Ecn", "false"}});
        bed.nodes[3].settings = left ? nullptr : off;
        bed.nodes[4].settings = right ? nullptr : off;
        bed.Build();
        for (uint32_t i = 0; i < 2; ++i)
        {
            bed.Connect(i, 2).first->PostWrite(2000000, i);
        }
        Simulator::Run();
        std::pair<uint64_t, uint64_t> marks;
        for (const auto& port : bed.fabric->GetPorts())
        {
            const std::string node = port->GetName().substr(0, port->GetName().find(':'));
            (node == "left" ? marks.first : marks.second) += port->GetCounters().ecnMarks;
        }
        return marks;
    }

    void DoRun() override
    {
        const auto both = Marks(true, true);
        NS_TEST_EXPECT_MSG_GT(both.first, 0, "left");
        NS_TEST_EXPECT_MSG_GT(both.second, 0, "right");
        const auto right = Marks(false, true);
        NS_TEST_EXPECT_MSG_EQ(right.first, 0, "not at the left");
        NS_TEST_EXPECT_MSG_GT(right.second, 0, "at the right");
        const auto left = Marks(true, false);
        NS_TEST_EXPECT_MSG_GT(left.first, 0, "at the left");
        NS_TEST_EXPECT_MSG_EQ(left.second, 0, "not at the right");
    }
};

class ObjectsTestCase : public TestCase
{
  public:
    ObjectsTestCase()
        : TestCase("switches, ports, NICs and load balancers have the settings of their places")
    {
    }

  private:
    void DoRun() override
    {
        Bed bed;
        bed.Chain({100 * GBPS, 100 * GBPS, 100 * GBPS});
        bed.nodes[0].settings = Of({{"ns3::RdmaNic::MaxRate", "7000000000"}});
        bed.nodes[2].settings = Of({{"ns3::RdmaPort::PauseResponse", "5"},
                                    {"ns3::EcmpLoadBalancer::HashOffset", "9"},
                                    {"ns3::RdmaSwitch::EcnKmin", "1"},
                                    {"ns3::RdmaSwitch::EcnKmin", "2"}}); // the later one wins
        bed.links[1].settingsA = Of({{"ns3::RdmaPort::PauseResponse", "6"}});
        bed.links[2].settingsB = Of({{"ns3::RdmaNic::RetryCount", "3"}});
        bed.Build();
        const RdmaFabric& f = *bed.fabric;
        NS_TEST_EXPECT_MSG_EQ(UintegerOf(*f.GetNic(0), "MaxRate"), 7000000000, "host 0");
        NS_TEST_EXPECT_MSG_EQ(UintegerOf(*f.GetNic(1), "MaxRate"), 0, "host 1");
        NS_TEST_EXPECT_MSG_EQ(UintegerOf(*f.GetNic(1), "RetryCount"), 3, "its end of the cable");
        NS_TEST_EXPECT_MSG_EQ(UintegerOf(*f.GetNic(0), "RetryCount"), 7, "not of the other");
        const uint64_t expected[] = {0, 5, 6, 0, 0, 0}; // the end's value wins over the node's
        for (uint32_t end = 0; end < 6; ++end)
        {
            NS_TEST_EXPECT_MSG_EQ(UintegerOf(*f.GetPortOfEnd(end), "PauseResponse"),
                                  expected[end],
                                  "end " << end);
        }
        NS_TEST_EXPECT_MSG_EQ(UintegerOf(*f.GetSwitch(2), "EcnKmin"), 2, "the later one");
        NS_TEST_EXPECT_MSG_EQ(UintegerOf(*f.GetSwitch(3), "EcnKmin"), 400000, "the default");
        NS_TEST_EXPECT_MSG_EQ(UintegerOf(*f.GetSwitch(2)->GetLoadBalancer(), "HashOffset"),
                              9,
                              "a part of the switch");
        NS_TEST_EXPECT_MSG_EQ(UintegerOf(*f.GetSwitch(3)->GetLoadBalancer(), "HashOffset"),
                              0,
                              "not of others");
        NS_TEST_EXPECT_MSG_EQ(UintegerOf(*CreateObject<RdmaEcmpLoadBalancer>(), "HashOffset"),
                              0,
                              "the default is as before");
    }
};

class StreamsTestCase : public TestCase
{
  public:
    StreamsTestCase()
        : TestCase("settings without a balancer of their own leave all random draws as they are")
    {
    }

  private:
    static std::vector<uint32_t> Seeds(const Settings& ofOne)
    {
        Bed bed;
        bed.Ring(4);
        if (!ofOne.empty())
        {
            bed.nodes[9].settings = Of(ofOne);
        }
        bed.Build();
        std::vector<uint32_t> seeds;
        for (const auto& device : bed.fabric->GetSwitches())
        {
            seeds.push_back(device->GetLoadBalancer()->GetSeed());
        }
        return seeds;
    }

    void DoRun() override
    {
        const auto plain = Seeds({});
        NS_TEST_EXPECT_MSG_EQ(std::set<uint32_t>(plain.begin(), plain.end()).size(),
                              4,
                              "each its own");
        const bool same = Seeds({{"ns3::RdmaSwitch::Alpha", "1"}}) == plain;
        NS_TEST_EXPECT_MSG_EQ(same, true, "as without");
        const auto sprays = Seeds({{"ns3::RdmaSwitch::LoadBalancer", "spray"}});
        NS_TEST_EXPECT_MSG_EQ(sprays[0], plain[0], "the first one's stream is the first");
        NS_TEST_EXPECT_MSG_EQ(std::set<uint32_t>(sprays.begin(), sprays.end()).size(),
                              4,
                              "each its own, still");
    }
};

class PolarizationTestCase : public TestCase
{
  public:
    PolarizationTestCase()
        : TestCase("one hash seed for two tiers of switches polarizes; an offset ends it")
    {
    }

  private:
    static constexpr uint32_t WAYS = 4;

    /// Of 64 flows, those that the lower switch sends by its first port: by how many ports the next
    /// switch sends them.
    static std::size_t PortsUsed(const Settings& ofAll, const Settings& ofUpper)
    {
        Bed bed;
        bed.Chain({100 * GBPS, 100 * GBPS, 100 * GBPS});
        bed.nodes[2].settings = Of(ofAll);
        Settings upper = ofAll;
        upper.insert(upper.end(), ofUpper.begin(), ofUpper.end());
        bed.nodes[3].settings = Of(upper);
        bed.Build();
        const Ptr<RdmaLoadBalancer> below = bed.fabric->GetSwitch(2)->GetLoadBalancer();
        const Ptr<RdmaLoadBalancer> above = bed.fabric->GetSwitch(3)->GetLoadBalancer();
        const uint16_t ports[WAYS] = {0, 1, 2, 3};
        std::set<uint32_t> used;
        for (uint32_t flow = 0; flow < 64; ++flow)
        {
            const uint32_t hash = rdma::Mix32(flow + 1);
            if (below->PickOfFlow(hash, ports, WAYS) == 0)
            {
                used.insert(above->PickOfFlow(hash, ports, WAYS));
            }
        }
        return used.size();
    }

    void DoRun() override
    {
        const Settings one{{"ns3::EcmpLoadBalancer::HashSeed", "7"}};
        NS_TEST_EXPECT_MSG_EQ(PortsUsed({}, {}), WAYS, "seeds of their own: all of them");
        NS_TEST_EXPECT_MSG_EQ(PortsUsed(one, {}), 1, "one seed: the same choice again");
        NS_TEST_EXPECT_MSG_EQ(PortsUsed(one, {{"ns3::EcmpLoadBalancer::HashOffset", "8"}}),
                              WAYS,
                              "other bits of the hash: all of them");
        NS_TEST_EXPECT_MSG_EQ(PortsUsed(one, {{"ns3::EcmpLoadBalancer::HashSeed", "8"}}),
                              WAYS,
                              "another seed: all of them");
    }
};

class MistakesTestCase : public TestCase
{
  public:
    MistakesTestCase()
        : TestCase("what no place can have is refused")
    {
    }

  private:
    void DoRun() override
    {
        RdmaPlaceSettings settings;
        const auto expect =
            [&](const std::string& name, const std::string& value, const std::string& words) {
                const std::string error = settings.Add(name, value);
                NS_TEST_EXPECT_MSG_NE(error.find(words), std::string::npos, name << ": " << error);
            };
        expect("ns3::RdmaNic::Mtu", "1024", "is one for a whole fabric");
        expect("ns3::RdmaNic::LossRecovery", "go-back-n", "is one for a whole fabric");
        expect("ns3::RdmaPort::TransmitTimeUnit", "1ns", "is one for a whole fabric");
        expect("ns3::RdmaSwich::Alpha", "1", "there is no such class");
        expect("Alpha", "1", "there is no such class");
        expect("ns3::RdmaSwitch::Alfa", "1", "has no attribute Alfa");
        expect("ns3::RdmaSwitch::Alpha", "0", "is no valid value");
        NS_TEST_EXPECT_MSG_EQ(settings.IsEmpty(), true, "none was added");
        // NICs recover by trimming, and one of the switches does not trim.
        Bed bed;
        bed.Chain({100 * GBPS, 100 * GBPS, 100 * GBPS});
        bed.helper.SetNicAttribute("LossRecovery", StringValue("ndp"));
        bed.helper.SetNicAttribute("AckPriority", UintegerValue(5));
        bed.helper.SetSwitchAttribute("TrimPackets", UintegerValue(8));
        bed.helper.SetSwitchAttribute("Pfc", BooleanValue(false));
        bed.nodes[3].settings = Of({{"ns3::RdmaSwitch::TrimPackets", "0"}});
        std::string error;
        bed.fabric = bed.helper.Build(bed.nodes, bed.links, error);
        NS_TEST_EXPECT_MSG_NE(error.find("needs switches that trim"), std::string::npos, error);
    }
};

class LiveTestCase : public TestCase
{
  public:
    LiveTestCase()
        : TestCase("alpha and a longer latency act from the moment on at which they are set")
    {
    }

  private:
    /// Two senders at line rate: PFC pauses them as soon as a port holds more than alpha of the
    /// free pool. \return pauses before and after the change
    static std::pair<uint64_t, uint64_t> Pauses(const std::string& alpha)
    {
        Bed bed(3, 100 * GBPS);
        bed.helper.SetSwitchAttribute("Alpha", DoubleValue(64));
        bed.helper.SetSwitchAttribute("BufferBytes", UintegerValue(20000000));
        bed.Build();
        for (uint32_t i = 0; i < 2; ++i)
        {
            bed.Connect(i, 2).first->PostWrite(10000000, i);
        }
        std::pair<uint64_t, uint64_t> pauses;
        uint64_t* count = &pauses.first;
        Watch<const RdmaPort*, uint8_t, bool, uint64_t, int64_t>(
            bed.Device(),
            "Pfc",
            [&](const RdmaPort*, uint8_t, bool pause, uint64_t, int64_t) { *count += pause; });
        Simulator::Schedule(MicroSeconds(100), [&] {
            count = &pauses.second;
            Config::Set("/NodeList/*/$ns3::RdmaSwitch/Alpha", StringValue(alpha));
        });
        Simulator::Run();
        return pauses;
    }

    /// \return arrivals of two messages, posted at 0 and at 100 us
    static std::pair<int64_t, int64_t> Arrivals(int64_t growth)
    {
        Bed bed(2, 100 * GBPS);
        bed.Build();
        RdmaQueuePair* qp = bed.Connect(0, 1).first;
        qp->PostWrite(1000, 1);
        Simulator::Schedule(MicroSeconds(50), [&] {
            Config::Set("/NodeList/*/$ns3::RdmaSwitch/PipelineLatency",
                        TimeValue(PicoSeconds(500 * NS + growth)));
        });
        Simulator::Schedule(MicroSeconds(100), [&] { qp->PostWrite(1000, 2); });
        Simulator::Run();
        return {bed.notes.messages.at(0).at, bed.notes.messages.at(1).at - 100 * US};
    }

    void DoRun() override
    {
        // 100 us of 100 Gb/s too much are 1.25 MB, of a pool of some 19 MB.
        const auto same = Pauses("64");
        NS_TEST_EXPECT_MSG_EQ(same.first + same.second, 0, "none while alpha is large");
        const auto smaller = Pauses("0.01");
        NS_TEST_EXPECT_MSG_EQ(smaller.first, 0, "none before");
        NS_TEST_EXPECT_MSG_GT(smaller.second, 0, "some after");
        const auto [first, second] = Arrivals(0);
        NS_TEST_EXPECT_MSG_EQ(first, second, "alike");
        const auto [before, after] = Arrivals(3 * US);
        NS_TEST_EXPECT_MSG_EQ(before, first, "as without");
        NS_TEST_EXPECT_MSG_EQ(after, before + 3 * US, "3 us more");
    }
};

class RdmaPlacesTestSuite : public TestSuite
{
  public:
    RdmaPlacesTestSuite()
        : TestSuite("rdma-places", UNIT)
    {
        AddTestCase(new LatencyTestCase, TestCase::QUICK);
        AddTestCase(new MarksTestCase, TestCase::QUICK);
        AddTestCase(new ObjectsTestCase, TestCase::QUICK);
        AddTestCase(new StreamsTestCase, TestCase::QUICK);
        AddTestCase(new PolarizationTestCase, TestCase::QUICK);
        AddTestCase(new MistakesTestCase, TestCase::QUICK);
        AddTestCase(new LiveTestCase, TestCase::QUICK);
    }
};

RdmaPlacesTestSuite g_rdmaPlacesTestSuite;

} // namespace
