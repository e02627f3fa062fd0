/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * EnableAscii of RdmaHelper: a line a frame, as helpers of ns-3 write them.
 */
#include "rdma-test-fabric.h"

#include "ns3/rdma-helper.h"

#include <sstream>

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

class AsciiTestCase : public TestCase
{
  public:
    AsciiTestCase()
        : TestCase("a WRITE of a packet and its ACK, by the lines of both NICs")
    {
    }

  private:
    void DoRun() override
    {
        NodeContainer nodes(3);
        RdmaHelper rdma;
        const NetDeviceContainer nics = rdma.InstallNics(NodeContainer(nodes.Get(0), nodes.Get(1)));
        rdma.InstallSwitches(nodes.Get(2));
        rdma.Connect(nodes.Get(0), nodes.Get(2));
        rdma.Connect(nodes.Get(1), nodes.Get(2));
        rdma.Finish();
        std::ostringstream text;
        rdma.EnableAscii(Create<OutputStreamWrapper>(&text), nics);
        RdmaQueuePair* from = RdmaHelper::GetNic(nics.Get(0))->CreateQueuePair(3);
        RdmaNic::Connect(from, RdmaHelper::GetNic(nics.Get(1))->CreateQueuePair(3));
        from->PostWrite(1000, 1);
        Simulator::Run();
        Simulator::Destroy();
        // 1,000 B in 82 + 16 B: 1,098 B, 87.84 ns a link at 100 Gb/s. Two links, two cables of 1 us
        // and 500 ns in the switch make 2.67568 us; the ACK of 86 B takes 6.88 ns a link, so that
        // it is there 2.51376 us later.
        const std::string path = "/DeviceList/0/$ns3::RdmaPort/";
        const std::string expected =
            "t 0.000000000000 /NodeList/0" + path +
            "PhyTx WRITE_ONLY 0->1 qp 2 psn 0 payload 1000 wire 1098 priority 3\n"
            "r 0.000002675680 /NodeList/1" +
            path +
            "PhyRx WRITE_ONLY 0->1 qp 2 psn 0 payload 1000 wire 1098 priority 3\n"
            "t 0.000002675680 /NodeList/1" +
            path +
            "PhyTx ACKNOWLEDGE 1->0 qp 2 psn 0 wire 86 priority 3\n"
            "r 0.000005189440 /NodeList/0" +
            path + "PhyRx ACKNOWLEDGE 1->0 qp 2 psn 0 wire 86 priority 3\n";
        std::string told = text.str();
        for (std::size_t ect = told.find(" ECT"); ect != std::string::npos; ect = told.find(" ECT"))
        {
            told.erase(ect, 4); // whether it may be marked is the congestion control's
        }
        NS_TEST_EXPECT_MSG_EQ(told, expected, "the lines");
    }
};

class AsciiTestSuite : public TestSuite
{
  public:
    AsciiTestSuite()
        : TestSuite("rdma-ascii", UNIT)
    {
        AddTestCase(new AsciiTestCase, TestCase::QUICK);
    }
};

AsciiTestSuite g_asciiTestSuite;

} // namespace
