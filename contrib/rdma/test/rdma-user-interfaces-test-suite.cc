/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a user of ns-3 looks for first: frames as packets, a congestion control set late.
 */
#include "rdma-test-fabric.h"

#include "ns3/rdma-packet-view.h"

using namespace ns3;
using namespace ns3::rdmatest;

class RdmaPacketViewTestCase : public TestCase
{
  public:
    RdmaPacketViewTestCase()
        : TestCase("a frame as an ns3::Packet: length, UDP port, opcode")
    {
    }

  private:
    void DoRun() override
    {
        Bed bed(2, 100 * GBPS);
        bed.Build();
        const RdmaPacketView view(*bed.fabric);
        std::vector<Ptr<Packet>> packets;
        WatchFrames(bed.fabric->GetNic(0)->GetPort(),
                    "PhyTx",
                    [&](const RdmaPort* port, const RdmaFrame* frame, int64_t now) {
                        packets.push_back(view.Make(port, *frame, now));
                    });
        bed.Connect(0, 1).first->PostWrite(4096, 1);
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(packets.size(), 1, "one packet");
        // Ethernet 14, IPv4 20, UDP 8, BTH 12, RETH 16, 4,096 B and ICRC 4: no FCS.
        NS_TEST_EXPECT_MSG_EQ(packets[0]->GetSize(), 4170, "bytes");
        std::vector<uint8_t> bytes(packets[0]->GetSize());
        packets[0]->CopyData(bytes.data(), packets[0]->GetSize());
        NS_TEST_EXPECT_MSG_EQ((bytes[36] << 8 | bytes[37]), 4791, "UDP destination port: RoCEv2");
        NS_TEST_EXPECT_MSG_EQ(+bytes[42], 0x0a, "BTH: RC RDMA WRITE Only");
    }
};

class RdmaLateCongestionControlTestCase : public TestCase
{
  public:
    RdmaLateCongestionControlTestCase()
        : TestCase("a congestion control set once the fabric is built: as set before")
    {
    }

  private:
    /// Two hosts send 5 MB each to a third one. \return when messages arrive, and CNPs
    static std::vector<int64_t> Run(bool late)
    {
        const auto law = CreateObject<RdmaDcqcnCongestionOps>();
        Bed bed(3, 100 * GBPS);
        if (!late)
        {
            bed.helper.SetCongestionOps(law);
        }
        bed.Build();
        for (uint32_t host = 0; late && host < 3; ++host)
        {
            bed.fabric->GetNic(host)->SetCongestionOps(law);
        }
        bed.Connect(1, 0).first->PostWrite(5000000, 1);
        bed.Connect(2, 0).first->PostWrite(5000000, 2);
        Simulator::Run();
        std::vector<int64_t> told;
        for (const auto& message : bed.notes.messages)
        {
            told.push_back(message.at);
        }
        told.push_back(static_cast<int64_t>(bed.Of(1).cnpsReceived + bed.Of(2).cnpsReceived));
        return told;
    }

    void DoRun() override
    {
        const std::vector<int64_t> before = Run(false);
        const std::vector<int64_t> late = Run(true);
        NS_TEST_ASSERT_MSG_EQ(before.size(), 3, "both arrive");
        NS_TEST_EXPECT_MSG_GT(before[2], 0, "CNPs: the law works");
        NS_TEST_EXPECT_MSG_EQ((before == late), true, "the same times and CNPs");
    }
};

static class RdmaUserInterfacesTestSuite : public TestSuite
{
  public:
    RdmaUserInterfacesTestSuite()
        : TestSuite("rdma-user-interfaces", UNIT)
    {
        AddTestCase(new RdmaPacketViewTestCase, TestCase::QUICK);
        AddTestCase(new RdmaLateCongestionControlTestCase, TestCase::QUICK);
    }
} g_rdmaUserInterfacesTestSuite;
