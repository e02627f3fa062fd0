/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Captures: read back byte by byte, and by tshark where it is installed.
 */
#include "contrib/rdma/core/flow-hash.h"
#include "rdma-test-fabric.h"

#include "ns3/packet.h"
#include "ns3/pcap-file.h"
#include "ns3/rdma-pcap-helper.h"

#include <cstdio>
#include <sstream>

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

/// Standard output of a command.
std::string
OutputOf(const std::string& command)
{
    std::string text;
    if (std::FILE* pipe = popen((command + " 2>/dev/null").c_str(), "r"))
    {
        char buffer[4096];
        size_t n;
        while ((n = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0)
        {
            text.append(buffer, n);
        }
        pclose(pipe);
    }
    return text;
}

size_t
LinesOf(const std::string& text)
{
    return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

/// Three hosts send to a fourth one, hard: PFC, ECN and CNPs. One link loses frames: NAKs and
/// retransmissions. Plus an ordinary packet, immediate data, an empty message and an odd length.
void
DescribeBusy(Bed& bed)
{
    bed.Star(4, 100 * GBPS);
    bed.links[0].bitErrorRate = 1e-6;
    bed.helper.SetSwitchAttribute("BufferPer100G", UintegerValue(100000));
    bed.helper.SetSwitchAttribute("EcnKmin", UintegerValue(20000));
    bed.helper.SetSwitchAttribute("EcnKmax", UintegerValue(40000));
    bed.helper.SetNicAttribute("TimeoutExponent", UintegerValue(6));
    bed.helper.SetCongestionOps(CreateObject<DcqcnCongestionOps>());
    bed.Build();
}

void
RunBusy(Bed& bed)
{
    for (uint32_t i = 0; i < 3; ++i)
    {
        RdmaQueuePair* qp = bed.Connect(i, 3).first;
        qp->PostWrite(1000003, 1);
        qp->PostWriteWithImmediate(0, 2, 0xdeadbeef);
        qp->PostWriteWithImmediate(8193, 3, 0x1234);
        qp->PostWrite(1, 4);
    }
    bed.fabric->GetPorts()[2]->Send(Create<Packet>(100), Mac48Address::GetBroadcast(), 0x88b5);
    Simulator::Run();
}

} // namespace

class RdmaPcapSelectTestCase : public TestCase
{
  public:
    RdmaPcapSelectTestCase()
        : TestCase("ports are selected by name; an unknown name gets the nearest valid one")
    {
    }

  private:
    void DoRun() override
    {
        Bed bed;
        const uint32_t a = bed.Host("host-1");
        const uint32_t b = bed.Host("host-2");
        const uint32_t s = bed.Switch("edge-1-2");
        bed.Link(a, s, 100 * GBPS);
        bed.Link(b, s, 100 * GBPS);
        bed.Link(a, s, 100 * GBPS); // a second cable
        bed.Build();
        const auto select = [&](const std::string& selector) {
            std::vector<Ptr<RdmaPort>> ports;
            std::string text = RdmaPcapHelper::Select(*bed.fabric, selector, ports);
            for (const auto& port : ports)
            {
                text += port->GetName() + " ";
            }
            return text;
        };
        NS_TEST_EXPECT_MSG_EQ(select("all"),
                              "host-1:0 edge-1-2:0 host-2:0 edge-1-2:1 host-1:1 edge-1-2:2 ",
                              "all");
        NS_TEST_EXPECT_MSG_EQ(select("host-1"), "host-1:0 host-1:1 ", "a node");
        NS_TEST_EXPECT_MSG_EQ(select("edge-1-2:1"), "edge-1-2:1 ", "a port");
        NS_TEST_EXPECT_MSG_EQ(select("edge-1-2->host-1"), "edge-1-2:0 edge-1-2:2 ", "both cables");
        NS_TEST_EXPECT_MSG_EQ(select("host-2-edge-1-2"), "host-2:0 ", "names with dashes");
        NS_TEST_EXPECT_MSG_EQ(select("host-2,edge-1-2:1,host-2:0"), "host-2:0 edge-1-2:1 ", "once");
        NS_TEST_EXPECT_MSG_EQ(select("hots-2"),
                              "no port is called \"hots-2\"; the nearest name is \"host-2\" "
                              "(allowed: all, a node, node:port, a->b)",
                              "a typing error");
        NS_TEST_EXPECT_MSG_NE(select("host-1->host-2").find("edge-1-2"),
                              std::string::npos,
                              "no such link");
        NS_TEST_EXPECT_MSG_NE(select("").find("no port is called"), std::string::npos, "empty");
        RdmaPcapHelper pcap(*bed.fabric);
        NS_TEST_EXPECT_MSG_NE(
            pcap.EnablePcap("/nonexistent/folder", "host-2").find("/nonexistent/folder"),
            std::string::npos,
            "a folder that is not there");
    }
};

class RdmaPcapBytesTestCase : public TestCase
{
  public:
    RdmaPcapBytesTestCase()
        : TestCase("one packet and its ACK, byte by byte, with nanoseconds")
    {
    }

  private:
    void DoRun() override
    {
        const std::string folder = CreateTempDirFilename("");
        Bed bed;
        bed.Star(2, 100 * GBPS);
        bed.Build();
        RdmaPcapHelper pcap(*bed.fabric);
        pcap.SetSnapLength(96);
        NS_TEST_ASSERT_MSG_EQ(pcap.EnablePcap(folder, "h1"), "", "opens");
        const auto qps = bed.Connect(0, 1);
        qps.first->PostWriteWithImmediate(1000, 7, 0xcafe);
        Simulator::Run();
        bed.Destroy();

        PcapFile file;
        file.Open(folder + "/h1-0.pcap", std::ios::in);
        NS_TEST_ASSERT_MSG_EQ(file.Fail(), false, "a pcap file");
        NS_TEST_EXPECT_MSG_EQ(file.IsNanoSecMode(), true, "nanoseconds");
        NS_TEST_EXPECT_MSG_EQ(file.GetDataLinkType(), 1, "Ethernet");
        uint8_t d[2048];
        uint32_t sec;
        uint32_t nsec;
        uint32_t included;
        uint32_t length;
        uint32_t read;
        file.Read(d, sizeof(d), sec, nsec, included, length, read);
        // WRITE ONLY with immediate: 62 - FCS 4 + RETH 16 + ImmDt 4 + 1000.
        NS_TEST_EXPECT_MSG_EQ(length, 1078, "true length");
        NS_TEST_EXPECT_MSG_EQ(included, 96, "snap length");
        // Two links at 0.08 ns/B: 2 x (1102 B x 0.08) + 2 x 1000 + 500 = 2676.32 ns.
        NS_TEST_EXPECT_MSG_EQ(sec, 0, "time");
        NS_TEST_EXPECT_MSG_EQ(nsec, 2676, "time");
        const auto at = [&d](size_t i, size_t n) {
            uint64_t v = 0;
            for (size_t k = 0; k < n; ++k)
            {
                v = v << 8 | d[i + k];
            }
            return v;
        };
        NS_TEST_EXPECT_MSG_EQ(at(12, 2), 0x0800, "EtherType");
        NS_TEST_EXPECT_MSG_EQ(at(15, 1), 0x62, "DSCP 24, ECT(0)");
        NS_TEST_EXPECT_MSG_EQ(at(26, 4), 0x0a000001, "source 10.0.0.1");
        NS_TEST_EXPECT_MSG_EQ(at(30, 4), 0x0a000002, "destination 10.0.0.2");
        NS_TEST_EXPECT_MSG_EQ(at(34, 2), rdma::RoceSourcePort(2, 2), "the port that ECMP hashes");
        NS_TEST_EXPECT_MSG_EQ(at(36, 2), 4791, "RoCEv2");
        NS_TEST_EXPECT_MSG_EQ(at(42, 1), 0x0b, "WRITE ONLY with immediate");
        NS_TEST_EXPECT_MSG_EQ(at(47, 3), 2, "queue pair");
        NS_TEST_EXPECT_MSG_EQ(at(50, 1), 0x80, "AckReq");
        NS_TEST_EXPECT_MSG_EQ(at(54 + 12, 4), 1000, "DMA length");
        NS_TEST_EXPECT_MSG_EQ(at(54 + 16, 4), 0xcafe, "immediate");
        file.Read(d, sizeof(d), sec, nsec, included, length, read);
        NS_TEST_EXPECT_MSG_EQ(length, 62, "ACK");
        NS_TEST_EXPECT_MSG_EQ(at(42, 1), 0x11, "ACK");
        NS_TEST_EXPECT_MSG_EQ(at(54, 4), 0x1f000001, "no credits, MSN 1");
        file.Read(d, sizeof(d), sec, nsec, included, length, read);
        NS_TEST_EXPECT_MSG_EQ(file.Eof(), true, "nothing else");
    }
};

class RdmaPcapWholeRecordsTestCase : public TestCase
{
  public:
    RdmaPcapWholeRecordsTestCase()
        : TestCase("at any moment of the run the file on disk ends with a whole record")
    {
    }

  private:
    void DoRun() override
    {
        const std::string folder = CreateTempDirFilename("");
        Bed bed;
        bed.Star(2, 100 * GBPS);
        bed.Build();
        RdmaPcapHelper pcap(*bed.fabric);
        NS_TEST_ASSERT_MSG_EQ(pcap.EnablePcap(folder, "s:0"), "", "opens");
        bed.Connect(0, 1).first->PostWrite(4000000, 1);
        uint32_t last = 0;
        for (uint32_t us = 0; us <= 400; us += 50)
        {
            Simulator::Stop(MicroSeconds(50));
            Simulator::Run();
            // As a reader sees it while the program runs, or after it was killed.
            std::FILE* file = std::fopen((folder + "/s-0.pcap").c_str(), "rb");
            uint32_t header[6];
            NS_TEST_ASSERT_MSG_EQ(std::fread(header, sizeof(header), 1, file), 1, "header");
            uint32_t records = 0;
            size_t n;
            while ((n = std::fread(header, 1, 16, file)) == 16)
            {
                char bytes[5000];
                NS_TEST_ASSERT_MSG_EQ(std::fread(bytes, 1, header[2], file), header[2], "cut");
                ++records;
            }
            NS_TEST_EXPECT_MSG_EQ(n, 0, "cut within a record's header");
            std::fclose(file);
            NS_TEST_EXPECT_MSG_GT_OR_EQ(records, last, "grows");
            last = records;
        }
        NS_TEST_EXPECT_MSG_GT(last, 900, "977 packets, less at most a buffer");
    }
};

class RdmaPcapTsharkTestCase : public TestCase
{
  public:
    RdmaPcapTsharkTestCase()
        : TestCase(
              "tshark dissects every frame as RoCEv2, PFC or what it is, and none as malformed")
    {
    }

  private:
    void DoRun() override
    {
        const std::string folder = CreateTempDirFilename("");
        uint64_t frames = 0;
        RdmaNicCounters nic;
        uint64_t pauses = 0;
        {
            Bed bed;
            DescribeBusy(bed);
            RdmaPcapHelper pcap(*bed.fabric);
            NS_TEST_ASSERT_MSG_EQ(pcap.EnablePcap(folder, "all"), "", "opens");
            RunBusy(bed);
            for (const auto& port : bed.fabric->GetPorts())
            {
                const RdmaPortCounters& c = port->GetCounters();
                frames += c.txFrames + c.rxFrames - c.corrupted;
                pauses += c.pausesSent + c.resumesSent;
            }
            nic = bed.fabric->GetNicTotals();
            NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 12, "all arrived");
        }
        // The scenario has everything in it.
        NS_TEST_EXPECT_MSG_GT(nic.cnpsSent, 0, "CNPs");
        NS_TEST_EXPECT_MSG_GT(nic.naksSent, 0, "NAKs");
        NS_TEST_EXPECT_MSG_GT(nic.ecnMarkedReceived, 0, "marks");
        NS_TEST_EXPECT_MSG_GT(pauses, 0, "pauses");

        const char* names[] = {"h0-0", "s-0", "h1-0", "s-1", "h2-0", "s-2", "h3-0", "s-3"};
        uint64_t records = 0;
        for (const char* name : names)
        {
            PcapFile file;
            file.Open(folder + "/" + name + ".pcap", std::ios::in);
            uint8_t d[8192];
            for (uint32_t a, b, c, e, f;;)
            {
                file.Read(d, sizeof(d), a, b, c, e, f);
                if (file.Fail())
                {
                    break;
                }
                ++records;
            }
        }
        NS_TEST_EXPECT_MSG_EQ(records,
                              frames,
                              "every frame is captured where it is sent and received");

        if (OutputOf("tshark --version").empty())
        {
            return; // not installed
        }
        const auto tshark = [&folder](const std::string& name, const std::string& options) {
            return OutputOf("tshark -r " + folder + "/" + name + ".pcap " + options);
        };
        // Asked for the good ones: a filter that tshark does not know gives none.
        const std::string good = "-o ip.check_checksum:TRUE -Y '!(_ws.malformed || "
                                 "ip.checksum.status == 0 || ip.bogus_header_length || "
                                 "udp.length.bad || eth.len.past_end)'";
        for (const char* name : {"h0-0", "s-3"})
        {
            NS_TEST_EXPECT_MSG_EQ(LinesOf(tshark(name, good)),
                                  LinesOf(tshark(name, "")),
                                  "malformed in " << name);
        }
        const size_t all = LinesOf(tshark("s-0", "-T fields -e frame.number"));
        const size_t roce = LinesOf(tshark("s-0", "-Y 'udp.dstport == 4791'"));
        const size_t infiniband = LinesOf(tshark("s-0", "-Y infiniband"));
        const size_t pfc = LinesOf(tshark("s-0", "-Y 'macc.opcode == 0x0101'"));
        NS_TEST_EXPECT_MSG_EQ(infiniband, roce, "UDP 4791 is RoCE");
        NS_TEST_EXPECT_MSG_EQ(roce + pfc, all, "and nothing is left over");
        NS_TEST_EXPECT_MSG_GT(pfc, 0, "pauses");
        NS_TEST_EXPECT_MSG_EQ(LinesOf(tshark("h1-0", "-Y 'eth.type == 0x88b5'")), 1, "a packet");
        // Every opcode of the scenario is seen, by its number in the BTH.
        std::istringstream opcodes(
            tshark("s-3", "-Y infiniband -T fields -e infiniband.bth.opcode"));
        std::map<int, int> count;
        for (int opcode; opcodes >> opcode;)
        {
            ++count[opcode];
        }
        for (const int opcode : {6, 7, 8, 9, 10, 11, 17, 129})
        {
            NS_TEST_EXPECT_MSG_GT(count[opcode], 0, "opcode " << opcode);
        }
        NS_TEST_EXPECT_MSG_GT(LinesOf(tshark("s-3", "-Y 'ip.dsfield.ecn == 3'")), 0, "marked CE");
        NS_TEST_EXPECT_MSG_GT(LinesOf(tshark("s-0", "-Y 'infiniband.aeth.syndrome == 0x60'")),
                              0,
                              "NAKs");
    }
};

class RdmaPcapTestSuite : public TestSuite
{
  public:
    RdmaPcapTestSuite()
        : TestSuite("rdma-pcap", UNIT)
    {
        AddTestCase(new RdmaPcapSelectTestCase, TestCase::QUICK);
        AddTestCase(new RdmaPcapBytesTestCase, TestCase::QUICK);
        AddTestCase(new RdmaPcapWholeRecordsTestCase, TestCase::QUICK);
        AddTestCase(new RdmaPcapTsharkTestCase, TestCase::QUICK);
    }
};

static RdmaPcapTestSuite g_rdmaPcapTestSuite;
