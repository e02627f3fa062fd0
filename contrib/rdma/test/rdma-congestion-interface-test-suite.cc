/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What queue pairs do with what a congestion control returns and asks for, whichever it is: changes
 * of the rate while a packet waits for its pace, echoes of marks, the switches' marking.
 */
#include "contrib/rdma/core/added-bytes.h"
#include "rdma-test-fabric.h"

#include "ns3/object-factory.h"
#include "ns3/string.h"

#include <set>

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

/// Sends at a tenth of the line rate; at the first ACK or CNP it changes to another rate.
class StepOps : public RdmaCongestionOps
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::RdmaTestStepOps").SetParent<RdmaCongestionOps>();
        return tid;
    }

    std::string GetName() const override
    {
        return "step";
    }

    uint16_t GetNeeds() const override
    {
        return ACK_PER_PACKET | ECN_ECHO;
    }

    bool GetEcn(rdma::BitRate port, rdma::EcnParameters& ecn) const override
    {
        ecn.kmin = ecn.kmax = rdma::ScaleToRate(rdma::Bytes(50000), rdma::Gbps(100), port);
        ecn.pmax = 1;
        return true;
    }

    Ptr<RdmaCongestionOps> Fork() const override
    {
        return CopyObject<StepOps>(Ptr<const StepOps>(this));
    }

    void Init(RdmaCongestionState& state) override
    {
        state.rateBps = first ? first : state.line.bps;
        state.repace = repace;
    }

    void OnAck(RdmaCongestionState& state, const RdmaAckInfo& ack, rdma::TimePoint now) override
    {
        state.rateBps = then ? then : state.rateBps;
        *marks += ack.ecnEcho;
        if (!*firstAck)
        {
            *firstAck = now.ps;
        }
    }

    uint64_t first{0};
    uint64_t then{0};
    RdmaCongestionState::Repace repace{RdmaCongestionState::Repace::SHORTEN};
    int64_t* firstAck{nullptr};
    uint64_t* marks{nullptr};
};

} // namespace

class RdmaRepaceTestCase : public TestCase
{
  public:
    RdmaRepaceTestCase()
        : TestCase("a rate that changes on an ACK changes the wait of the next packet, or not")
    {
    }

  private:
    void DoRun() override
    {
        using Repace = RdmaCongestionState::Repace;
        // 100 Gb/s; at 2.5 Gb/s the first packet (with an RETH) is followed by the second after
        // 3.2 ns a byte. Its ACK is there at some 7 us of these 13.4.
        const int64_t gap = 3200 * (FULL_WIRE + 16);
        for (const auto& [repace, then] : std::vector<std::pair<Repace, uint64_t>>{
                 {Repace::SHORTEN, 10 * GBPS},
                 {Repace::KEEP, 10 * GBPS},
                 {Repace::SHIFT, 10 * GBPS},
                 {Repace::SHORTEN, GBPS},
                 {Repace::SHIFT, GBPS},
             })
        {
            Bed bed(2, 100 * GBPS);
            int64_t acked = 0;
            uint64_t marks = 0;
            auto ops = CreateObject<StepOps>();
            ops->first = 2500000000;
            ops->then = then;
            ops->repace = repace;
            ops->firstAck = &acked;
            ops->marks = &marks;
            bed.helper.SetCongestionOps(ops);
            bed.Build();
            std::vector<int64_t> sent;
            WatchFrames(
                bed.fabric->GetNic(0)->GetPort(),
                "PhyTx",
                [&](const RdmaPort*, const RdmaFrame*, int64_t now) { sent.push_back(now); });
            bed.Connect(0, 1).first->PostWrite(2 * 4096, 1);
            Simulator::Run();
            NS_TEST_ASSERT_MSG_EQ(sent.size(), 2, "packets");
            NS_TEST_ASSERT_MSG_LT(acked, gap, "the ACK comes during the wait");
            const int64_t newGap = static_cast<int64_t>(8000 * GBPS / then) * (FULL_WIRE + 16);
            int64_t expected = gap; // kept, and not lengthened by a cut
            if (repace == Repace::SHIFT)
            {
                // As if it had always been that rate: before the ACK came, so at once.
                expected = std::max(acked, newGap);
            }
            else if (repace == Repace::SHORTEN && then > 2500000000)
            {
                expected = acked + (gap - acked) * 2500000000 / static_cast<int64_t>(then);
            }
            NS_TEST_EXPECT_MSG_EQ_TOL(sent[1] - sent[0],
                                      expected,
                                      1,
                                      "case " << static_cast<int>(repace) << " " << then);
        }
    }
};

class RdmaEcnEchoTestCase : public TestCase
{
  public:
    RdmaEcnEchoTestCase()
        : TestCase("each packet's mark comes back in its ACK; switches mark as the algorithm asks")
    {
    }

  private:
    void DoRun() override
    {
        for (const bool userSet : {false, true})
        {
            Bed bed(3, 100 * GBPS);
            int64_t acked = 0;
            uint64_t marks = 0;
            auto ops = CreateObject<StepOps>();
            ops->firstAck = &acked;
            ops->marks = &marks;
            bed.helper.SetCongestionOps(ops);
            if (userSet)
            {
                bed.helper.SetSwitchAttribute("EcnKmin", UintegerValue(30000));
                bed.helper.SetSwitchAttribute("EcnKmax", UintegerValue(30000));
            }
            bed.Build();
            UintegerValue kmin;
            bed.Device()->GetAttribute("EcnKmin", kmin);
            NS_TEST_EXPECT_MSG_EQ(kmin.Get(), (userSet ? 30000 : 50000), "the user's, or its own");
            bed.Connect(1, 0).first->PostWrite(100 * 4096, 1);
            bed.Connect(2, 0).first->PostWrite(100 * 4096, 1);
            Simulator::Run();
            const uint64_t marked = bed.fabric->GetPortTotals().ecnMarks;
            NS_TEST_EXPECT_MSG_GT(marked, 50, "two into one");
            NS_TEST_EXPECT_MSG_LT(marked, 200, "not the first ones");
            NS_TEST_EXPECT_MSG_EQ(marks, marked, "echoes");
            NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNicTotals().cnpsSent, 0, "no CNPs");
        }
    }
};

/// Each class has its name, its presets and their marking from core/, and no others.
class RdmaCongestionNamesTestCase : public TestCase
{
  public:
    RdmaCongestionNamesTestCase()
        : TestCase("congestion controls have the names, presets and marking that core/ says")
    {
    }

  private:
    void DoRun() override
    {
        std::set<std::string> classes;
        for (const auto& [name, type] : RdmaCongestionOps::GetNames())
        {
            const rdma::CongestionControl* control = rdma::FindCongestionControl(name);
            NS_TEST_ASSERT_MSG_NE(control, nullptr, name << " is not in core/");
            classes.insert(name);
            ObjectFactory factory(type);
            for (const auto& preset : control->presets)
            {
                const auto ops = factory.Create<RdmaCongestionOps>();
                if (name != "none") // the same at any
                {
                    NS_TEST_ASSERT_MSG_EQ(
                        ops->SetAttributeFailSafe("Preset", StringValue(preset.name)),
                        true,
                        name << " does not know " << preset.name);
                    rdma::EcnParameters ecn;
                    NS_TEST_ASSERT_MSG_EQ(ops->GetEcn(rdma::Gbps(25), ecn), true, name);
                    // A quarter of the rate: a quarter of the bytes.
                    NS_TEST_EXPECT_MSG_EQ(ecn.kmin.value, preset.marking.kmin.value / 4, name);
                    NS_TEST_EXPECT_MSG_EQ(ecn.kmax.value, preset.marking.kmax.value / 4, name);
                    NS_TEST_EXPECT_MSG_EQ(ecn.pmax, preset.marking.pmax, name);
                }
                NS_TEST_EXPECT_MSG_EQ(ops->GetHeaderBytes().data,
                                      rdma::AddsToData::Of(name, preset.name),
                                      name << " " << preset.name);
            }
        }
        for (const auto& [name, control] : rdma::CongestionControls())
        {
            NS_TEST_EXPECT_MSG_EQ(classes.count(name), 1, name << " has no class");
        }
    }
};

class RdmaCongestionInterfaceTestSuite : public TestSuite
{
  public:
    RdmaCongestionInterfaceTestSuite()
        : TestSuite("rdma-congestion-interface", UNIT)
    {
        AddTestCase(new RdmaRepaceTestCase, TestCase::QUICK);
        AddTestCase(new RdmaEcnEchoTestCase, TestCase::QUICK);
        AddTestCase(new RdmaCongestionNamesTestCase, TestCase::QUICK);
    }
};

static RdmaCongestionInterfaceTestSuite g_rdmaCongestionInterfaceTestSuite;
