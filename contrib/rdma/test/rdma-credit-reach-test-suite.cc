/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How far credits reach: a lane runs at full rate if and only if its credits cover the round trip
 * (core/ib-credit-reach.h), over rates, lanes, buffers, credit blocks and lengths.
 */
#include "contrib/rdma/core/ib/ib-credit-reach.h"
#include "contrib/rdma/core/ib/ib-link.h"
#include "rdma-ib-times.h"

#include "ns3/ib-link-credits.h"

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

constexpr uint32_t MTU = 4096;
constexpr uint32_t FULL_PACKET = MTU + OVERHEAD;
constexpr uint64_t PACKETS = 4000;

class RdmaCreditReachTestCase : public TestCase
{
  public:
    RdmaCreditReachTestCase(const std::string& link,
                            uint8_t lanes,
                            uint64_t laneBuffer,
                            uint32_t creditBlock)
        : TestCase(link + ", " + std::to_string(lanes) + " VLs of " + std::to_string(laneBuffer) +
                   " B, credits of " + std::to_string(creditBlock) +
                   " B: full rate if and only if they cover the round trip"),
          m_bps(rdma::ParseIbLink(link)->Rate().bps)
    {
        m_config.lanes = lanes;
        m_config.laneBuffer = laneBuffer;
        m_config.creditBlock = creditBlock;
    }

  private:
    int64_t LineTime(uint32_t bytes) const
    {
        return rdma::SerializationTime(rdma::Bytes(bytes), rdma::BitRate(m_bps)).ps;
    }

    /// As MakeIbPortConfig has it.
    rdma::IbCreditLoop Loop(bool toSwitch) const
    {
        rdma::IbCreditLoop loop;
        loop.bufferBlocks = static_cast<uint32_t>(m_config.laneBuffer / 64);
        loop.shift = static_cast<uint32_t>(__builtin_ctz(m_config.creditBlock / 64));
        loop.updateBlocks = rdma::IbUpdateBlocks(loop.bufferBlocks,
                                                 m_config.updateShare,
                                                 rdma::IbLargestPacketBlocks(MTU),
                                                 loop.shift);
        loop.packetBlocks = rdma::IbBlocksOfWire(FULL_PACKET);
        loop.packet = rdma::Duration(LineTime(FULL_PACKET));
        loop.update = rdma::Duration(LineTime(rdma::kIbFlowControlWire));
        loop.latency = rdma::Duration(toSwitch ? LATENCY : 0);
        return loop;
    }

    /// \return the least share of the line that a long message gets, of one direction or of both
    double Share(int64_t delay, uint32_t switches, bool bothWays)
    {
        Bed bed;
        uint32_t last = bed.Host("a");
        for (uint32_t s = 0; s < switches; ++s)
        {
            const uint32_t next = bed.Switch("s" + std::to_string(s));
            bed.Link(last, next, m_bps, delay);
            last = next;
        }
        bed.Link(last, bed.Host("b"), m_bps, delay);
        bed.helper.SetInfiniBand(m_config);
        bed.Build();
        bed.Connect(0, 1, 0).first->PostWrite(PACKETS * MTU, 1);
        if (bothWays)
        {
            bed.Connect(1, 0, 0).first->PostWrite(PACKETS * MTU, 2);
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), (bothWays ? 2 : 1), "arrived");
        const int64_t line = static_cast<int64_t>(PACKETS) * LineTime(FULL_PACKET);
        const int64_t way = (switches + 1) * delay + switches * LATENCY;
        double least = 1;
        for (const auto& message : bed.notes.messages)
        {
            least =
                std::min(least, static_cast<double>(line) / static_cast<double>(message.at - way));
        }
        return least;
    }

    void DoRun() override
    {
        for (const uint32_t switches : {0U, 1U, 2U})
        {
            rdma::IbCreditLoop loop = Loop(switches > 0);
            // Its own ACKs are all that is in the way of an update.
            loop.blocking = rdma::Duration(LineTime(ACK_PACKET));
            const int64_t longest = loop.LongestDelay().ps;
            const std::string what = std::to_string(switches) + " switches";
            if (longest >= 0)
            {
                NS_TEST_EXPECT_MSG_GT(Share(longest, switches, false), 0.9995, what << ", covered");
                NS_TEST_EXPECT_MSG_GT(Share(longest / 3, switches, false),
                                      0.9995,
                                      what << ", short");
            }
            // Two packet times beyond: the line is idle for at least one each round.
            loop.blocking = rdma::Duration(0);
            loop.delay =
                rdma::Duration(std::max<int64_t>(0, loop.LongestDelay().ps) + loop.packet.ps);
            const double share = Share(loop.delay.ps, switches, false);
            NS_TEST_EXPECT_MSG_LT(share, 1 - 0.5 / loop.Packets(), what << ", not covered");
            NS_TEST_EXPECT_MSG_EQ_TOL(share, loop.Share(), 0.06, what << ": its share, about");
            // Far beyond.
            loop.delay = rdma::Duration(4 * loop.delay.ps + 100 * NS);
            NS_TEST_EXPECT_MSG_EQ_TOL(Share(loop.delay.ps, switches, false),
                                      loop.Share(),
                                      0.1,
                                      what << ", far: its share, about");
        }
        // Both ways: a packet may be in the way of an update.
        rdma::IbCreditLoop loop = Loop(true);
        loop.blocking = loop.packet;
        loop.otherBlocks = loop.Packets() / 16 + 1; // an ACK each 16 packets
        if (loop.LongestDelay().ps >= 0)
        {
            // An ACK of 32 B each 16 packets, an update of 8 B at least each 2 packets.
            const double others = 32. / 16 / FULL_PACKET + 8. / 2 / FULL_PACKET;
            NS_TEST_EXPECT_MSG_GT(Share(loop.LongestDelay().ps, 1, true),
                                  1 - others - 0.0005,
                                  "both ways, covered");
        }
    }

    uint64_t m_bps;
    IbFabricConfig m_config;
};

class RdmaCreditBlockErrorsTestCase : public TestCase
{
  public:
    RdmaCreditBlockErrorsTestCase()
        : TestCase("credit blocks and buffers that cannot be are refused")
    {
    }

  private:
    std::string Error(uint32_t creditBlock, uint64_t laneBuffer)
    {
        Bed bed(2, 100 * GBPS);
        IbFabricConfig config;
        config.creditBlock = creditBlock;
        config.laneBuffer = laneBuffer;
        bed.helper.SetInfiniBand(config);
        std::string error;
        bed.fabric = bed.helper.Build(bed.nodes, bed.links, error);
        NS_TEST_EXPECT_MSG_EQ((bed.fabric == nullptr), !error.empty(), "one of both");
        return error;
    }

    void DoRun() override
    {
        for (const uint32_t block : {0U, 1U, 63U, 65U, 96U, 8192U, 0xffffffffU})
        {
            NS_TEST_EXPECT_MSG_NE(
                Error(block, 65536)
                    .find("credit blocks of " + std::to_string(block) + " B; allowed"),
                std::string::npos,
                block);
        }
        NS_TEST_EXPECT_MSG_EQ(Error(64, 131072), "", "what 64 B can tell");
        NS_TEST_EXPECT_MSG_NE(Error(64, 131073), "", "more");
        NS_TEST_EXPECT_MSG_EQ(Error(512, 1048576), "", "what 512 B can tell");
        NS_TEST_EXPECT_MSG_NE(Error(512, 1048577), "", "more");
        // The largest packet, 66 blocks, and two credit blocks.
        NS_TEST_EXPECT_MSG_EQ(Error(4096, 4224 + 8192), "", "the least");
        NS_TEST_EXPECT_MSG_NE(Error(4096, 4224 + 8191), "", "less");
    }
};

class RdmaCreditReachTestSuite : public TestSuite
{
  public:
    RdmaCreditReachTestSuite()
        : TestSuite("rdma-credit-reach", UNIT)
    {
        for (const char* link : {"SDR", "EDR", "HDR100", "HDR", "NDR", "XDR"})
        {
            AddTestCase(new RdmaCreditReachTestCase(link, 1, 131072, 64), TestCase::QUICK);
        }
        // Lanes that share 100 kB; a buffer of one packet; larger credit blocks.
        AddTestCase(new RdmaCreditReachTestCase("NDR", 8, 100000, 64), TestCase::QUICK);
        AddTestCase(new RdmaCreditReachTestCase("EDR", 4, 50000, 64), TestCase::QUICK);
        AddTestCase(new RdmaCreditReachTestCase("FDR", 2, 8448, 64), TestCase::QUICK);
        AddTestCase(new RdmaCreditReachTestCase("XDR", 1, 262144, 128), TestCase::QUICK);
        AddTestCase(new RdmaCreditReachTestCase("NDR", 2, 800000, 512), TestCase::QUICK);
        AddTestCase(new RdmaCreditReachTestCase("XDR", 1, 1048576, 4096), TestCase::QUICK);
        AddTestCase(new RdmaCreditBlockErrorsTestCase, TestCase::QUICK);
    }
};

RdmaCreditReachTestSuite g_rdmaCreditReachTestSuite;

} // namespace
