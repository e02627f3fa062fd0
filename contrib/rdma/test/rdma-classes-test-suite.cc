/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Classes of queue pairs: several congestion controls, recoveries and rates on the same NICs.
 */
#include "rdma-test-fabric.h"

#include "ns3/hpcc-congestion-ops.h"
#include "ns3/rdma-connections.h"
#include "ns3/rdma-transport-schemes.h"
#include "ns3/swift-congestion-ops.h"

#include <map>

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

/// Bytes that HPCC's telemetry adds to data frames and ACKs.
constexpr uint32_t TELEMETRY = 42;

RdmaTrafficClass
ClassOf(Ptr<RdmaCongestionOps> prototype, const char* recovery = nullptr, uint64_t rate = 0)
{
    RdmaTrafficClass of;
    of.prototype = prototype;
    of.recovery = recovery ? RdmaTransportSchemes::Find(recovery) : nullptr;
    of.maxRateBps = rate;
    return of;
}

/// \return both ends of a connection
std::pair<RdmaQueuePair*, RdmaQueuePair*>
Connect(Bed& bed, uint32_t from, uint32_t to, uint8_t priority, uint8_t trafficClass)
{
    RdmaQueuePair* a = bed.fabric->GetNic(from)->CreateQueuePair(priority, 0, trafficClass);
    RdmaQueuePair* b = bed.fabric->GetNic(to)->CreateQueuePair(priority, 0, trafficClass);
    RdmaNic::Connect(a, b);
    return {a, b};
}

} // namespace

class RdmaClassFramesTestCase : public TestCase
{
  public:
    RdmaClassFramesTestCase()
        : TestCase("frames of a class have what its congestion control needs, those of others not")
    {
    }

  private:
    void DoRun() override
    {
        Bed bed(2, 100 * GBPS);
        bed.helper.SetCongestionOps(CreateObject<RdmaDcqcnCongestionOps>());
        const uint8_t hpcc =
            bed.helper.AddTrafficClass(ClassOf(CreateObject<RdmaHpccCongestionOps>()));
        const uint8_t slow = bed.helper.AddTrafficClass(ClassOf(nullptr, "selective-repeat"));
        bed.Build();
        NS_TEST_EXPECT_MSG_EQ(+hpcc, 1, "the first");
        NS_TEST_EXPECT_MSG_EQ(+slow, 2, "the second");
        std::map<uint32_t, std::pair<uint32_t, bool>> data; // by queue pair of the receiver
        std::map<uint32_t, uint32_t> acks;
        const auto watch = [&](const RdmaPort*, const RdmaFrame* frame, int64_t) {
            const bool tells = frame->extra && frame->extra->hasTelemetry;
            if (frame->opcode == RdmaOpcode::ACKNOWLEDGE)
            {
                acks[frame->destQp] = frame->wireBytes;
            }
            else
            {
                data[frame->destQp] = {frame->wireBytes, tells};
            }
        };
        WatchFrames(bed.fabric->GetNic(0)->GetPort(), "PhyTx", watch);
        WatchFrames(bed.fabric->GetNic(1)->GetPort(), "PhyTx", watch);
        for (uint8_t c = 0; c < 3; ++c)
        {
            const auto [sender, receiver] = Connect(bed, 0, 1, 3 + c, c);
            sender->PostWrite(2 * 4096, c);
            const bool isHpcc = c == hpcc;
            Simulator::Run();
            const auto [wire, tells] = data[receiver->GetNumber()];
            NS_TEST_EXPECT_MSG_EQ(wire, FULL_WIRE + (isHpcc ? TELEMETRY : 0), "data of " << +c);
            NS_TEST_EXPECT_MSG_EQ(tells, isHpcc, "telemetry of " << +c);
            NS_TEST_EXPECT_MSG_EQ(acks[sender->GetNumber()],
                                  ACK_WIRE + (isHpcc ? TELEMETRY : 0),
                                  "ACKs of " << +c);
            NS_TEST_EXPECT_MSG_EQ(sender->GetTransport().GetName(),
                                  (c == slow ? "selective-repeat" : "go-back-n"),
                                  "recovery of " << +c);
            NS_TEST_EXPECT_MSG_EQ(sender->GetCongestionOps()->GetName(),
                                  (isHpcc ? "hpcc" : "dcqcn"),
                                  "law of " << +c);
        }
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetLargestFrame(),
                              FULL_FRAME + 16 + 4 + TELEMETRY,
                              "with RETH and immediate");
        // As NICs find the round trip, and as the fabric does for several ranks.
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNic(0)->GetBaseRtt(hpcc),
                              bed.fabric->GetBaseRtt(0, hpcc),
                              "round trip");
        NS_TEST_EXPECT_MSG_GT(bed.fabric->GetBaseRtt(0, hpcc), bed.fabric->GetBaseRtt(0), "longer");
    }
};

class RdmaClassAloneTestCase : public TestCase
{
  public:
    RdmaClassAloneTestCase()
        : TestCase("alone, a class's law does what it does as the only one of the fabric")
    {
    }

  private:
    int64_t Take(Ptr<RdmaCongestionOps> law, bool asClass, const char* recovery)
    {
        Bed bed(4, 100 * GBPS);
        if (!asClass)
        {
            bed.helper.SetCongestionOps(law);
            bed.helper.SetNicAttribute("LossRecovery", StringValue(recovery));
        }
        const uint8_t number =
            asClass ? bed.helper.AddTrafficClass(ClassOf(law, recovery)) : uint8_t{0};
        bed.Build();
        for (uint32_t from = 0; from < 3; ++from)
        {
            Connect(bed, from, 3, 4, number).first->PostWrite(1000000 + from, from);
        }
        Simulator::Run();
        return bed.notes.completions.size() == 3 ? bed.notes.completions.back().at : 0;
    }

    void DoRun() override
    {
        for (const char* recovery : {"go-back-n", "selective-repeat"})
        {
            const std::vector<std::function<Ptr<RdmaCongestionOps>()>> laws{
                [] { return CreateObject<RdmaHpccCongestionOps>(); },
                [] { return CreateObject<RdmaSwiftCongestionOps>(); }};
            for (const auto& make : laws)
            {
                const int64_t whole = Take(make(), false, recovery);
                NS_TEST_EXPECT_MSG_GT(whole, 0, "all arrive");
                NS_TEST_EXPECT_MSG_EQ(Take(make(), true, recovery),
                                      whole,
                                      make()->GetName() << " " << recovery);
            }
        }
    }
};

class RdmaClassRateTestCase : public TestCase
{
  public:
    RdmaClassRateTestCase()
        : TestCase("a class's rate is its queue pairs' line")
    {
    }

  private:
    void DoRun() override
    {
        for (const uint64_t gbps : {5, 30, 99, 100, 400})
        {
            Bed bed(2, 100 * GBPS);
            const uint8_t number =
                bed.helper.AddTrafficClass(ClassOf(nullptr, nullptr, gbps * GBPS));
            bed.Build();
            std::vector<int64_t> sent;
            WatchFrames(
                bed.fabric->GetNic(0)->GetPort(),
                "PhyTx",
                [&](const RdmaPort*, const RdmaFrame*, int64_t now) { sent.push_back(now); });
            RdmaQueuePair* qp = Connect(bed, 0, 1, 3, number).first;
            NS_TEST_EXPECT_MSG_EQ(qp->GetCongestionState().line.bps,
                                  std::min<uint64_t>(gbps, 100) * GBPS,
                                  "line");
            qp->PostWrite(3 * 4096, 1);
            Simulator::Run();
            NS_TEST_ASSERT_MSG_EQ(sent.size(), 3, "packets");
            // Paced by the packet before.
            const double gap = FULL_WIRE * 8e3 / static_cast<double>(std::min<uint64_t>(gbps, 100));
            NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(sent[2] - sent[1]), gap, 1, gbps);
        }
    }
};

class RdmaClassReuseTestCase : public TestCase
{
  public:
    RdmaClassReuseTestCase()
        : TestCase("a queue pair that has rested serves its own class again, and no other")
    {
    }

  private:
    struct Passive : RdmaConnectionUser
    {
        void OnAccepted(RdmaQueuePair* qp, uint64_t, int64_t) override
        {
            accepted.push_back(qp->GetClass());
        }

        std::vector<uint8_t> accepted;
    };

    void DoRun() override
    {
        Bed bed(2, 100 * GBPS);
        const uint8_t number =
            bed.helper.AddTrafficClass(ClassOf(CreateObject<RdmaHpccCongestionOps>()));
        bed.Build();
        RdmaConnections& connections = bed.fabric->GetConnections();
        Passive passive;
        std::vector<RdmaQueuePair*> opened;
        const std::vector<uint8_t> order{number, 0, number, 0};
        for (uint32_t i = 0; i < order.size(); ++i)
        {
            RdmaConnectionRequest request;
            request.from = 0;
            request.to = 1;
            request.name = i + 1;
            request.user = &passive;
            request.trafficClass = order[i];
            const auto open = [&, request] {
                opened.push_back(connections.Open(request));
                opened.back()->PostWrite(1000, 1);
            };
            const uint32_t context = bed.fabric->GetNic(0)->GetPort()->GetNode()->GetId();
            Simulator::ScheduleWithContext(context, MilliSeconds(3 * i), open);
            Simulator::ScheduleWithContext(context, MilliSeconds(3 * i) + MicroSeconds(100), [&] {
                connections.Close(opened.back());
            });
        }
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(opened.size(), order.size(), "all are opened");
        NS_TEST_EXPECT_MSG_EQ((passive.accepted == order), true, "both ends are of one class");
        NS_TEST_EXPECT_MSG_EQ((opened[0] != opened[1]), true, "of two classes");
        NS_TEST_EXPECT_MSG_EQ((opened[0] == opened[2]), true, "the class's own again");
        NS_TEST_EXPECT_MSG_EQ((opened[1] == opened[3]), true, "and that of class 0");
        NS_TEST_EXPECT_MSG_EQ(+opened[2]->GetClass(), +number, "it stays what it was");
    }
};

class RdmaClassMarksTestCase : public TestCase
{
  public:
    RdmaClassMarksTestCase()
        : TestCase("ECN thresholds of single priorities, and what is no list of these")
    {
    }

  private:
    void DoRun() override
    {
        // Three to one in each priority: all queues grow beyond 100 kB and stay below 1 MB.
        std::map<uint8_t, uint64_t> marks;
        Bed bed(10, 100 * GBPS);
        bed.helper.SetSwitchAttribute("EcnKmin", UintegerValue(1000000000));
        bed.helper.SetSwitchAttribute("EcnKmax", UintegerValue(1000000000));
        bed.helper.SetSwitchAttribute("BufferPer100G", UintegerValue(10000000));
        bed.helper.SetSwitchAttribute("EcnOfPriority", StringValue("3:50kB-50kB-1,4:off"));
        bed.Build();
        bed.Device()->TraceConnectWithoutContext(
            "EcnMark",
            Callback<void, const RdmaPort*, const RdmaFrame*, uint64_t, int64_t>(
                [&marks](const RdmaPort*, const RdmaFrame* frame, uint64_t, int64_t) {
                    ++marks[frame->priority];
                }));
        for (uint32_t from = 0; from < 9; ++from)
        {
            bed.Connect(from, 9, static_cast<uint8_t>(3 + from % 3)).first->PostWrite(300000, from);
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_GT(marks[3], 0, "marks from 50 kB on");
        NS_TEST_EXPECT_MSG_EQ(marks[4], 0, "off");
        NS_TEST_EXPECT_MSG_EQ(marks[5], 0, "as all: from 1 GB on");
        for (const std::string& text : {"3",
                                        "8:1kB-2kB",
                                        "3:2kB-1kB",
                                        "3:1kB-2kB-2",
                                        "3:1kB,",
                                        "3:1kB-2kB,3:off",
                                        "a:off",
                                        "3:1kB-2kB-0.5-1"})
        {
            auto device = CreateObject<RdmaSwitch>();
            device->SetAttribute("EcnOfPriority", StringValue(text));
            NS_TEST_EXPECT_MSG_NE(device->CheckEcn(), "", text);
        }
    }
};

class RdmaClassesTestSuite : public TestSuite
{
  public:
    RdmaClassesTestSuite()
        : TestSuite("rdma-classes", UNIT)
    {
        AddTestCase(new RdmaClassFramesTestCase, TestCase::QUICK);
        AddTestCase(new RdmaClassAloneTestCase, TestCase::QUICK);
        AddTestCase(new RdmaClassRateTestCase, TestCase::QUICK);
        AddTestCase(new RdmaClassReuseTestCase, TestCase::QUICK);
        AddTestCase(new RdmaClassMarksTestCase, TestCase::QUICK);
    }
};

static RdmaClassesTestSuite g_rdmaClassesTestSuite;
