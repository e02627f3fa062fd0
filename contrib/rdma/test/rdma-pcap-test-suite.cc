/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Captures: read back byte by byte, and by tshark where it is installed.
 */
#include "contrib/rdma/core/flow-hash.h"
#include "contrib/rdma/core/ib/ib-wire.h"
#include "rdma-test-fabric.h"

#include "ns3/ib-congestion-ops.h"
#include "ns3/packet.h"
#include "ns3/pcap-file.h"
#include "ns3/rdma-completion-queue.h"
#include "ns3/rdma-pcap-helper.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
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

/// A frame as a capture has it.
struct Record
{
    uint32_t interface {
        0
    };
    uint32_t direction{0}; //!< epb_flags; 0 in pcap
    uint64_t ns{0};
    uint32_t length{0}; //!< of the whole frame
    std::vector<uint8_t> bytes;

    /// Opcode of the BTH. \pre RoCEv2, and not cut off
    uint8_t Opcode() const
    {
        return bytes.at(42);
    }

    bool IsRoce() const
    {
        return bytes.size() > 42 && bytes[12] == 8 && bytes[13] == 0;
    }

    /// Last byte of the IPv4 address: endpoint + 1.
    uint8_t Source() const
    {
        return bytes.at(29);
    }

    uint8_t Destination() const
    {
        return bytes.at(33);
    }
};

/// A capture file read back, without any of the code that wrote it.
struct Contents
{
    bool whole{false}; //!< ends with a whole record, and was understood
    uint64_t size{0};
    std::vector<std::string> interfaces;
    std::vector<Record> records;
};

Contents
ReadCapture(const std::string& path)
{
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> text{std::istreambuf_iterator<char>(file), {}};
    Contents c;
    c.size = text.size();
    const auto u32 = [&text](size_t at) {
        uint32_t v = 0;
        std::memcpy(&v, text.data() + at, 4);
        return v;
    };
    const auto record = [&](size_t at, uint32_t kept) {
        Record r;
        r.bytes.assign(text.begin() + at, text.begin() + at + kept);
        return r;
    };
    if (text.size() >= 24 && u32(0) == 0xa1b23c4d)
    {
        size_t at = 24;
        while (at + 16 <= text.size() && at + 16 + u32(at + 8) <= text.size())
        {
            Record r = record(at + 16, u32(at + 8));
            r.ns = u32(at) * 1000000000ULL + u32(at + 4);
            r.length = u32(at + 12);
            c.records.push_back(r);
            at += 16 + r.bytes.size();
        }
        c.whole = at == text.size();
        return c;
    }
    size_t at = 0;
    while (at + 12 <= text.size())
    {
        const uint32_t length = u32(at + 4);
        if (length % 4 || length < 12 || at + length > text.size() ||
            u32(at + length - 4) != length)
        {
            return c;
        }
        if ((u32(at) == 0x0a0d0d0a) != (at == 0))
        {
            return c;
        }
        if (u32(at) == 1 && u32(at + 16) % 65536 == 2) // the first option is the name
        {
            c.interfaces.emplace_back(text.data() + at + 20, u32(at + 16) >> 16);
        }
        if (u32(at) == 6)
        {
            const uint32_t kept = u32(at + 20);
            Record r = record(at + 28, kept);
            r.interface = u32(at + 8);
            r.ns = static_cast<uint64_t>(u32(at + 12)) << 32 | u32(at + 16);
            r.length = u32(at + 24);
            const size_t options = at + 28 + (kept + 3) / 4 * 4;
            r.direction = u32(options) == (4U << 16 | 2) ? u32(options + 4) : 0;
            c.records.push_back(r);
        }
        at += length;
    }
    c.whole = at == text.size() && at > 0;
    return c;
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
    bed.helper.SetCongestionOps(CreateObject<RdmaDcqcnCongestionOps>());
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

/// InfiniBand, two leaves of two hosts and a spine, two VLs, two LIDs a host, a link with bit
/// errors.
void
DescribeInfiniBand(Bed& bed)
{
    for (uint32_t h = 0; h < 4; ++h)
    {
        bed.Host("h" + std::to_string(h));
    }
    const uint32_t leaf[] = {bed.Switch("l0"), bed.Switch("l1")};
    const uint32_t spine = bed.Switch("p");
    for (uint32_t h = 0; h < 4; ++h)
    {
        bed.Link(h, leaf[h / 2], 100 * GBPS, 100 * NS, h == 0 ? 1e-6 : 0);
    }
    bed.Link(leaf[0], spine, 100 * GBPS, 300 * NS);
    bed.Link(leaf[1], spine, 200 * GBPS, 300 * NS);
    IbFabricConfig config;
    config.routing = "updn";
    config.lanes = 2;
    config.lmc = 1;
    config.laneBuffer = 16384;
    bed.helper.SetInfiniBand(config);
    bed.helper.SetSwitchAttribute("CongestionThreshold", UintegerValue(15));
    bed.helper.SetNicAttribute("TimeoutExponent", UintegerValue(6));
    bed.helper.SetCongestionOps(CreateObject<IbCongestionOps>());
    bed.Build();
}

/// Something of everything: three hosts WRITE to a fourth, a READ, a SEND, a datagram with
/// immediate data, an ordinary packet, odd lengths and an empty message.
void
RunInfiniBand(Bed& bed)
{
    for (uint32_t i = 0; i < 3; ++i)
    {
        RdmaQueuePair* qp = bed.Connect(i, 3, i % 2).first;
        qp->PostWrite(1000003, 1);
        qp->PostWriteWithImmediate(0, 2, 0xdeadbeef);
        qp->PostWriteWithImmediate(8193, 3, 0x1234);
        qp->PostWrite(1, 4);
    }
    const auto [reader, read] = bed.Connect(2, 0, 1);
    reader->PostRead(100001, 5);
    read->PostReceive(20000, 6);
    reader->PostSend(20000, 7);
    const Ptr<RdmaCompletionQueue> queue = CreateObject<RdmaCompletionQueue>();
    RdmaQueuePairInit init;
    init.sendQueue = init.receiveQueue = PeekPointer(queue);
    init.service = RdmaService::UD;
    init.serviceLevel = 1;
    RdmaQueuePair* datagrams[2];
    for (uint32_t i = 0; i < 2; ++i)
    {
        datagrams[i] = bed.fabric->GetNic(i)->CreateQueuePair(init);
        MakeReady(datagrams[i]);
    }
    datagrams[0]->PostReceive(4096, 8);
    RdmaSendRequest datagram = Datagram(datagrams[0], 1001, 9);
    datagram.hasImmediate = true;
    datagram.immediate = 0xabcd;
    datagrams[1]->Post(datagram);
    bed.fabric->GetPorts()[2]->Send(Create<Packet>(101), Mac48Address::GetBroadcast(), 0x88b5);
    Simulator::Run();
}

RdmaPcapHelper
TwoHosts(Bed& bed)
{
    bed.Star(2, 100 * GBPS);
    bed.Build();
    return RdmaPcapHelper(*bed.fabric);
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
        RdmaPcapHelper pcap = TwoHosts(bed);
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
        RdmaPcapHelper pcap = TwoHosts(bed);
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

class RdmaPcapngTestCase : public TestCase
{
  public:
    RdmaPcapngTestCase()
        : TestCase("pcapng: one file, an interface per port, directions, the frames of pcap")
    {
    }

  private:
    void DoRun() override
    {
        const std::string folder = CreateTempDirFilename("");
        std::vector<std::string> names;
        std::vector<uint64_t> sent;
        std::vector<uint64_t> received;
        {
            Bed bed;
            DescribeBusy(bed);
            RdmaPcapHelper pcap(*bed.fabric);
            NS_TEST_ASSERT_MSG_EQ(pcap.EnablePcap(folder, "all"), "", "pcap");
            RdmaPcapHelper pcapng(*bed.fabric);
            pcapng.SetFormat(RdmaPcapHelper::Format::PCAPNG);
            NS_TEST_ASSERT_MSG_EQ(pcapng.EnablePcap(folder, "all"), "", "pcapng");
            RunBusy(bed);
            for (const auto& port : bed.fabric->GetPorts())
            {
                names.push_back(port->GetName());
                sent.push_back(port->GetCounters().txFrames);
                received.push_back(port->GetCounters().rxFrames - port->GetCounters().corrupted);
            }
        }
        const Contents ng = ReadCapture(folder + "/capture.pcapng");
        NS_TEST_ASSERT_MSG_EQ(ng.whole, true, "whole blocks");
        NS_TEST_ASSERT_MSG_EQ(ng.interfaces.size(), names.size(), "interfaces");
        std::vector<std::vector<const Record*>> perPort(names.size());
        std::vector<std::array<uint64_t, 3>> directions(names.size(), {0, 0, 0});
        uint64_t last = 0;
        for (const Record& r : ng.records)
        {
            perPort.at(r.interface).push_back(&r);
            ++directions[r.interface].at(r.direction);
            NS_TEST_ASSERT_MSG_GT_OR_EQ(r.ns, last, "in order of time");
            last = r.ns;
        }
        for (size_t i = 0; i < names.size(); ++i)
        {
            NS_TEST_EXPECT_MSG_EQ(ng.interfaces[i], names[i], "name");
            NS_TEST_EXPECT_MSG_EQ(directions[i][0], 0, names[i] << " direction unknown");
            NS_TEST_EXPECT_MSG_EQ(directions[i][1], received[i], names[i] << " inbound");
            NS_TEST_EXPECT_MSG_EQ(directions[i][2], sent[i], names[i] << " outbound");
            std::string name = names[i];
            name[name.rfind(':')] = '-';
            const Contents one = ReadCapture(folder + "/" + name + ".pcap");
            NS_TEST_ASSERT_MSG_EQ(one.records.size(), perPort[i].size(), name);
            bool same = true;
            for (size_t k = 0; k < one.records.size(); ++k)
            {
                same = same && one.records[k].ns == perPort[i][k]->ns &&
                       one.records[k].bytes == perPort[i][k]->bytes;
            }
            NS_TEST_EXPECT_MSG_EQ(same, true, name << " has other frames");
        }
        if (!OutputOf("tshark --version").empty())
        {
            const size_t lines = LinesOf(OutputOf("tshark -r " + folder +
                                                  "/capture.pcapng -Y '!_ws.malformed && "
                                                  "frame.packet_flags_direction && "
                                                  "(infiniband || macc || eth.type == 0x88b5)'"));
            NS_TEST_EXPECT_MSG_EQ(lines, ng.records.size(), "tshark");
        }
    }
};

class RdmaPcapSnapLengthTestCase : public TestCase
{
  public:
    RdmaPcapSnapLengthTestCase()
        : TestCase("a snap length keeps the first bytes of the very same frames")
    {
    }

  private:
    void DoRun() override
    {
        const std::string folder = CreateTempDirFilename("");
        // An odd frame (8193 B: the last packet has one byte, 3 of padding) like full ones: in
        // headers, at their end, in the payload, the padding, the ICRC, and all.
        const uint32_t lengths[] =
            {14, 42, 54, 58, 59, 60, 62, 63, 65, 74, 96, 2000, 4150, 4151, 4154, 4155, 5000};
        std::map<uint32_t, std::string> files;
        {
            Bed bed;
            DescribeBusy(bed);
            RdmaPcapHelper full(*bed.fabric);
            NS_TEST_ASSERT_MSG_EQ(full.EnablePcap(folder, "s:3"), "", "opens");
            for (const uint32_t length : lengths)
            {
                RdmaPcapHelper pcap(*bed.fabric);
                pcap.SetFormat(RdmaPcapHelper::Format::PCAPNG);
                pcap.SetSnapLength(length);
                files[length] = CreateTempDirFilename(std::to_string(length));
                NS_TEST_ASSERT_MSG_EQ(std::system(("mkdir -p " + files[length]).c_str()),
                                      0,
                                      "folder");
                NS_TEST_ASSERT_MSG_EQ(pcap.EnablePcap(files[length], "s:3"), "", "opens");
            }
            RunBusy(bed);
        }
        const Contents full = ReadCapture(folder + "/s-3.pcap");
        NS_TEST_ASSERT_MSG_GT(full.records.size(), 700, "frames");
        for (const uint32_t length : lengths)
        {
            const Contents cut = ReadCapture(files[length] + "/capture.pcapng");
            NS_TEST_ASSERT_MSG_EQ(cut.whole, true, length);
            NS_TEST_ASSERT_MSG_EQ(cut.records.size(), full.records.size(), length);
            uint64_t wrong = 0;
            for (size_t i = 0; i < cut.records.size(); ++i)
            {
                std::vector<uint8_t> expected = full.records[i].bytes;
                expected.resize(std::min<size_t>(expected.size(), length));
                wrong += cut.records[i].bytes != expected ||
                         cut.records[i].length != full.records[i].length;
            }
            NS_TEST_EXPECT_MSG_EQ(wrong, 0, "frames that differ at snap length " << length);
        }
    }
};

class RdmaPcapSizeTestCase : public TestCase
{
  public:
    RdmaPcapSizeTestCase(RdmaPcapHelper::Format format)
        : TestCase(std::string("the size of files is limited, and a ring has the last frames, ") +
                   (format == RdmaPcapHelper::Format::PCAP ? "pcap" : "pcapng")),
          m_format(format)
    {
    }

  private:
    void DoRun() override
    {
        const std::string folder = CreateTempDirFilename("");
        const bool ng = m_format == RdmaPcapHelper::Format::PCAPNG;
        const std::string extension = ng ? ".pcapng" : ".pcap";
        const std::string name = folder + (ng ? "/capture" : "/s-0");
        constexpr uint64_t SIZE = 100000;
        constexpr uint32_t FILES = 11;
        // A file of an earlier run: must not be taken for this one's.
        std::ofstream(name + ".10" + extension) << "stale";
        {
            Bed bed(2, 100 * GBPS);
            bed.Build();
            const auto enable = [&](uint64_t bytes, uint32_t files, const std::string& where) {
                NS_TEST_ASSERT_MSG_EQ(std::system(("mkdir -p " + where).c_str()), 0, "folder");
                RdmaPcapHelper pcap(*bed.fabric);
                pcap.SetFormat(m_format);
                pcap.SetFileSize(bytes, files);
                NS_TEST_ASSERT_MSG_EQ(pcap.EnablePcap(where, "s:0"), "", "opens");
            };
            enable(0, 0, folder + "/all");
            enable(SIZE, 0, folder + "/stop");
            enable(SIZE, FILES, folder);
            RdmaPcapHelper small(*bed.fabric);
            small.SetFormat(m_format);
            small.SetFileSize(20);
            NS_TEST_EXPECT_MSG_NE(small.EnablePcap(folder + "/all", "s:1").find("size limit of 20"),
                                  std::string::npos,
                                  "less than a header");
            bed.Connect(0, 1).first->PostWrite(4000000, 1);
            Simulator::Run();
        }
        const auto path = [&](const std::string& where) {
            return folder + where + (ng ? "/capture" : "/s-0") + extension;
        };
        const Contents all = ReadCapture(path("/all"));
        const Contents stop = ReadCapture(path("/stop"));
        NS_TEST_ASSERT_MSG_EQ(all.whole && stop.whole, true, "whole records");
        NS_TEST_EXPECT_MSG_GT(all.size, 4000000, "no limit");
        NS_TEST_EXPECT_MSG_LT_OR_EQ(stop.size, SIZE, "limit");
        NS_TEST_EXPECT_MSG_GT(stop.size, SIZE - 4300, "full but for less than a frame");
        const auto same = [](const Record& a, const Record& b) {
            return a.ns == b.ns && a.bytes == b.bytes;
        };
        NS_TEST_EXPECT_MSG_EQ(
            std::equal(stop.records.begin(), stop.records.end(), all.records.begin(), same),
            true,
            "the first frames");
        // The ring: its files in order of their first frame are the last frames, without a gap.
        std::map<uint64_t, Contents> ring;
        for (uint32_t k = 0; k < FILES; ++k)
        {
            const Contents one =
                ReadCapture(name + (k < 10 ? ".0" : ".") + std::to_string(k) + extension);
            NS_TEST_ASSERT_MSG_EQ(one.whole, true, "file " << k);
            NS_TEST_EXPECT_MSG_LT_OR_EQ(one.size, SIZE, "limit");
            NS_TEST_ASSERT_MSG_GT(one.records.size(), 0, "not empty");
            ring[one.records[0].ns] = one;
        }
        std::vector<Record> last;
        for (const auto& [ns, one] : ring)
        {
            last.insert(last.end(), one.records.begin(), one.records.end());
        }
        NS_TEST_EXPECT_MSG_GT(last.size(), 22 * (FILES - 1), "about 23 frames a file");
        NS_TEST_ASSERT_MSG_LT(last.size(), all.records.size(), "not all");
        NS_TEST_EXPECT_MSG_EQ(
            std::equal(last.begin(), last.end(), all.records.end() - last.size(), same),
            true,
            "the last frames");
    }

    const RdmaPcapHelper::Format m_format;
};

class RdmaPcapFlowTestCase : public TestCase
{
  public:
    RdmaPcapFlowTestCase()
        : TestCase("a flow filter takes its data, ACKs, NAKs and CNPs, and nothing else")
    {
    }

  private:
    void DoRun() override
    {
        const std::string folder = CreateTempDirFilename("");
        const std::vector<std::pair<std::string, std::string>> filters = {
            {"all", ""},
            {"one", "h0->h3"},
            {"back", "h3->h0"},
            {"two", "h0->h3,h1:0->h3:0"},
            {"pfc", "h0->h3,pfc"},
        };
        std::map<std::string, Contents> got;
        {
            Bed bed;
            DescribeBusy(bed);
            for (const auto& [name, filter] : filters)
            {
                RdmaPcapHelper pcap(*bed.fabric);
                pcap.SetFormat(RdmaPcapHelper::Format::PCAPNG);
                pcap.SetSnapLength(100);
                NS_TEST_ASSERT_MSG_EQ(pcap.SetFlows(filter), "", "filter");
                NS_TEST_ASSERT_MSG_EQ(std::system(("mkdir -p " + folder + "/" + name).c_str()),
                                      0,
                                      "folder");
                NS_TEST_ASSERT_MSG_EQ(pcap.EnablePcap(folder + "/" + name, "s,h1"), "", "opens");
            }
            RdmaPcapHelper wrong(*bed.fabric);
            NS_TEST_EXPECT_MSG_EQ(wrong.SetFlows("h0->h4"),
                                  "no host or port of a host is called \"h4\"; the nearest name is "
                                  "\"h0\"",
                                  "no such host");
            NS_TEST_EXPECT_MSG_NE(wrong.SetFlows("s->h0").find("\"s\""),
                                  std::string::npos,
                                  "a switch");
            NS_TEST_EXPECT_MSG_NE(wrong.SetFlows("h0->h0").find("to itself"),
                                  std::string::npos,
                                  "one host");
            NS_TEST_EXPECT_MSG_NE(wrong.SetFlows("h0-h1").find("is no flow"),
                                  std::string::npos,
                                  "no arrow");
            NS_TEST_EXPECT_MSG_NE(wrong.SetFlows("h0->h1,").find("is no flow"),
                                  std::string::npos,
                                  "an empty part");
            bed.Connect(3, 0).first->PostWrite(50000, 9); // the other way: a flow of its own
            RunBusy(bed);
        }
        for (const auto& [name, filter] : filters)
        {
            got[name] = ReadCapture(folder + "/" + name + "/capture.pcapng");
            NS_TEST_ASSERT_MSG_EQ(got[name].whole, true, name);
        }
        // What belongs to a flow, of all that was captured. Endpoint e has the address e + 1.
        const auto expected = [&](std::set<std::pair<int, int>> flows, bool pfc) {
            std::vector<const Record*> kept;
            for (const Record& r : got["all"].records)
            {
                bool wanted = pfc && r.bytes[12] == 0x88 && r.bytes[13] == 0x08;
                if (r.IsRoce())
                {
                    const bool data = r.Opcode() < 0x0d;
                    wanted =
                        flows.count(data ? std::make_pair(r.Source() - 1, r.Destination() - 1)
                                         : std::make_pair(r.Destination() - 1, r.Source() - 1));
                }
                if (wanted)
                {
                    kept.push_back(&r);
                }
            }
            return kept;
        };
        const auto check = [&](const std::string& name, const std::vector<const Record*>& want) {
            const auto& records = got[name].records;
            NS_TEST_EXPECT_MSG_GT(want.size(), 10, name);
            NS_TEST_EXPECT_MSG_LT(want.size(), got["all"].records.size(), name);
            NS_TEST_ASSERT_MSG_EQ(records.size(), want.size(), name);
            uint64_t wrong = 0;
            for (size_t i = 0; i < want.size(); ++i)
            {
                wrong += records[i].bytes != want[i]->bytes || records[i].ns != want[i]->ns;
            }
            NS_TEST_EXPECT_MSG_EQ(wrong, 0, name);
        };
        check("one", expected({{0, 3}}, false));
        check("back", expected({{3, 0}}, false));
        check("two", expected({{0, 3}, {1, 3}}, false));
        check("pfc", expected({{0, 3}}, true));
        std::map<int, int> opcodes;
        for (const Record& r : got["one"].records)
        {
            ++opcodes[r.Opcode()];
        }
        for (const int opcode : {6, 7, 8, 17, 129})
        {
            NS_TEST_EXPECT_MSG_GT(opcodes[opcode], 0, "opcode " << opcode);
        }
    }
};

class RdmaPcapIbBytesTestCase : public TestCase
{
  public:
    RdmaPcapIbBytesTestCase()
        : TestCase("InfiniBand: one packet, its ACK and a flow-control packet, byte by byte")
    {
    }

  private:
    void DoRun() override
    {
        const std::string folder = CreateTempDirFilename("");
        Bed bed(2, 100 * GBPS, 25 * NS);
        IbFabricConfig config;
        config.updateShare = 0.001; // each packet's credits are told at once
        bed.helper.SetInfiniBand(config);
        bed.Build();
        RdmaPcapHelper pcap(*bed.fabric);
        NS_TEST_ASSERT_MSG_EQ(pcap.EnablePcap(folder, "h0"), "", "opens");
        RdmaPcapHelper ng(*bed.fabric);
        ng.SetFormat(RdmaPcapHelper::Format::PCAPNG);
        NS_TEST_ASSERT_MSG_EQ(ng.EnablePcap(folder, "h0"), "", "opens");
        const auto& endpoints = IbLinkLayer::GetSubnet(*bed.fabric)->GetSubnet().Endpoints();
        const uint64_t lids[] = {endpoints[0].lid, endpoints[1].lid};
        NS_TEST_ASSERT_MSG_NE(lids[0], lids[1], "LIDs");
        bed.Connect(0, 1, 0).first->PostWriteWithImmediate(1001, 7, 0xcafe);
        Simulator::Run();
        bed.Destroy();

        PcapFile file;
        file.Open(folder + "/h0-0.pcap", std::ios::in);
        NS_TEST_ASSERT_MSG_EQ(file.Fail(), false, "a pcap file");
        NS_TEST_EXPECT_MSG_EQ(file.IsNanoSecMode(), true, "nanoseconds");
        NS_TEST_EXPECT_MSG_EQ(file.GetDataLinkType(), 197, "ERF");
        file.Close();
        const Contents c = ReadCapture(folder + "/h0-0.pcap");
        const Contents same = ReadCapture(folder + "/capture.pcapng");
        // The packet, the switch's word that it has passed on, the ACK, and that it is consumed.
        NS_TEST_ASSERT_MSG_EQ(c.records.size(), 4, "records");
        NS_TEST_ASSERT_MSG_EQ(same.records.size(), 4, "records of pcapng");
        for (size_t i = 0; i < 4; ++i)
        {
            NS_TEST_EXPECT_MSG_EQ((c.records[i].bytes == same.records[i].bytes), true, "pcapng");
        }
        const Record* r = &c.records[0];
        const auto at = [&r](size_t i, size_t n) {
            uint64_t v = 0;
            for (size_t k = 0; k < n; ++k)
            {
                v = v << 8 | r->bytes.at(i + k);
            }
            return v;
        };
        // ERF 16, LRH 8, BTH 12, RETH 16, ImmDt 4, 1001 and 3 of padding, ICRC 4, VCRC 2.
        const uint64_t length = 8 + 12 + 16 + 4 + 1004 + 4 + 2;
        NS_TEST_EXPECT_MSG_EQ(r->bytes.size(), 16 + length, "record");
        NS_TEST_EXPECT_MSG_EQ(r->ns, 0, "sent at once");
        NS_TEST_EXPECT_MSG_EQ(at(0, 8), 0, "ERF: time");
        NS_TEST_EXPECT_MSG_EQ(at(8, 1), 21, "ERF: a packet");
        NS_TEST_EXPECT_MSG_EQ(at(10, 2), 16 + length, "ERF: record");
        NS_TEST_EXPECT_MSG_EQ(at(14, 2), length, "ERF: on the wire");
        NS_TEST_EXPECT_MSG_EQ(at(16, 2), 0x0002, "VL 0, version 0, SL 0, BTH follows");
        NS_TEST_EXPECT_MSG_EQ(at(18, 2), lids[1], "DLID");
        NS_TEST_EXPECT_MSG_EQ(at(20, 2), (length - 2) / 4, "packet length in words");
        NS_TEST_EXPECT_MSG_EQ(at(22, 2), lids[0], "SLID");
        NS_TEST_EXPECT_MSG_EQ(at(24, 1), 0x0b, "WRITE ONLY with immediate");
        NS_TEST_EXPECT_MSG_EQ(at(25, 1), 0x70, "migrated, 3 of padding");
        NS_TEST_EXPECT_MSG_EQ(at(28, 4), 2, "no FECN, no BECN, queue pair 2");
        NS_TEST_EXPECT_MSG_EQ(at(32, 1), 0x80, "AckReq");
        NS_TEST_EXPECT_MSG_EQ(at(36, 12), 0, "virtual address, key");
        NS_TEST_EXPECT_MSG_EQ(at(48, 4), 1001, "DMA length");
        NS_TEST_EXPECT_MSG_EQ(at(52, 4), 0xcafe, "immediate");
        NS_TEST_EXPECT_MSG_EQ(at(56 + 1000, 4), 0xe8000000, "byte 1000 is 1000 mod 256, padding");

        r = &c.records[1];
        NS_TEST_EXPECT_MSG_EQ(at(8, 1), 25, "ERF: a link packet");
        NS_TEST_EXPECT_MSG_EQ(at(10, 2), 64, "ERF: record");
        NS_TEST_EXPECT_MSG_EQ(at(16, 2), 0, "normal, FCTBS 0: the switch has sent nothing");
        // 1050 B are 17 blocks.
        NS_TEST_EXPECT_MSG_EQ(at(18, 2), 17 + 65536 / 64, "VL 0; FCCL: 17 and all free");

        r = &c.records[2];
        NS_TEST_EXPECT_MSG_EQ(r->bytes.size(), 16 + 30, "ACK");
        NS_TEST_EXPECT_MSG_EQ(at(18, 2), lids[0], "DLID");
        NS_TEST_EXPECT_MSG_EQ(at(22, 2), lids[1], "SLID");
        NS_TEST_EXPECT_MSG_EQ(at(24, 1), 0x11, "ACK");
        NS_TEST_EXPECT_MSG_EQ(at(36, 4), 0x1f000001, "no credits, MSN 1");
        // Two cables and the switch's 90 ns each way; the packet, 1052 B with delimiters, and the
        // ACK, 32 B, are whole at the NICs, 0.08 ns a byte; before the ACK the NIC tells its
        // credits, 8 B: 367.36 ns.
        NS_TEST_EXPECT_MSG_EQ(r->ns,
                              static_cast<uint64_t>(4 * 25 + 2 * 90 + (1052 + 8 + 32) * 0.08),
                              "time");
        // ERF: 2^-32 s, least significant byte first; it rounds to the same nanosecond.
        uint64_t fraction = 0;
        std::memcpy(&fraction, r->bytes.data(), 8);
        NS_TEST_EXPECT_MSG_EQ(std::llround(static_cast<double>(fraction) * 1e9 / 4294967296.),
                              static_cast<int64_t>(r->ns),
                              "ERF: time");

        r = &c.records[3];
        NS_TEST_EXPECT_MSG_EQ(at(8, 1), 25, "ERF: a link packet");
        NS_TEST_EXPECT_MSG_EQ(at(16, 2), 17, "FCTBS: 17 blocks sent");
        NS_TEST_EXPECT_MSG_EQ(at(18, 2), 1 + 65536 / 64, "FCCL: the ACK's one, all free");
    }
};

class RdmaPcapIbTestCase : public TestCase
{
  public:
    RdmaPcapIbTestCase()
        : TestCase(
              "InfiniBand: captures say what ports, NICs and the subnet manager say, and tshark "
              "finds nothing malformed")
    {
    }

  private:
    void DoRun() override
    {
        const std::string folder = CreateTempDirFilename("");
        std::vector<std::string> names;
        std::vector<RdmaPortCounters> counters;
        std::vector<uint16_t> lids;
        std::map<std::pair<size_t, uint8_t>, uint8_t> laneOf; //!< (endpoint, SL)
        RdmaNicCounters nic;
        {
            Bed bed;
            DescribeInfiniBand(bed);
            RdmaPcapHelper pcapng(*bed.fabric);
            pcapng.SetFormat(RdmaPcapHelper::Format::PCAPNG);
            NS_TEST_ASSERT_MSG_EQ(pcapng.EnablePcap(folder, "all"), "", "pcapng");
            RdmaPcapHelper pcap(*bed.fabric);
            NS_TEST_ASSERT_MSG_EQ(pcap.EnablePcap(folder, "all"), "", "pcap");
            RunInfiniBand(bed);
            nic = bed.fabric->GetNicTotals();
            for (const auto& port : bed.fabric->GetPorts())
            {
                names.push_back(port->GetName());
                counters.push_back(port->GetCounters());
            }
            for (uint32_t e = 0; e < bed.fabric->GetNEndpoints(); ++e)
            {
                lids.push_back(IbLinkLayer::GetSubnet(*bed.fabric)->GetSubnet().Endpoints()[e].lid);
                for (const uint8_t sl : {0, 1})
                {
                    laneOf[{e, sl}] =
                        IbLinkLayer::GetSubnet(*bed.fabric)->GetPath(e, 0, sl, 0).lane;
                }
            }
        }
        NS_TEST_EXPECT_MSG_GT(nic.cnpsSent, 0, "CN packets");
        NS_TEST_EXPECT_MSG_GT(nic.naksSent, 0, "NAKs");

        // Ports 2 h are the hosts'; those of the switches follow no such rule.
        const Contents ng = ReadCapture(folder + "/capture.pcapng");
        NS_TEST_ASSERT_MSG_EQ(ng.whole, true, "whole blocks");
        NS_TEST_ASSERT_MSG_EQ(ng.interfaces.size(), names.size(), "interfaces");

        struct Port
        {
            RdmaPortCounters seen;
            uint16_t sent[8] = {};  //!< blocks of a VL
            uint16_t limit[8] = {}; //!< as told
        };

        std::vector<Port> ports(names.size());
        for (Port& port : ports)
        {
            std::fill_n(port.limit, 8, 16384 / 64);
        }
        RdmaNicCounters seen;
        std::map<int, size_t> opcodes;
        size_t raw = 0;
        size_t links = 0;
        uint64_t last = 0;
        for (size_t i = 0; i < ng.records.size(); ++i)
        {
            const Record& r = ng.records[i];
            const std::string what = "record " + std::to_string(i);
            // Tests run at nanoseconds: what happens within one comes in any order.
            NS_TEST_ASSERT_MSG_GT_OR_EQ(r.ns + 1, last, "in order of time");
            last = r.ns;
            NS_TEST_ASSERT_MSG_GT(r.bytes.size(), 16 + 14, what);
            const uint8_t* const b = r.bytes.data();
            NS_TEST_ASSERT_MSG_EQ((static_cast<size_t>(b[10]) << 8 | b[11]),
                                  r.bytes.size(),
                                  what << ": ERF length");
            uint64_t time = 0;
            std::memcpy(&time, b, 8);
            NS_TEST_ASSERT_MSG_EQ(std::llround(static_cast<double>(time) * 1e9 / 4294967296.),
                                  static_cast<int64_t>(r.ns),
                                  what << ": ERF time");
            const bool out = r.direction == 2;
            Port& port = ports[r.interface];
            const bool isHost = r.interface % 2 == 0 && r.interface < 8;
            const size_t host = r.interface / 2;
            (out ? port.seen.txFrames : port.seen.rxFrames) += 1;
            uint64_t& wire = out ? port.seen.txWireBytes : port.seen.rxWireBytes;
            if (b[8] == 25)
            {
                ++links;
                wire += 6 + 2;
                rdma::IbFlowControlBytes bytes;
                std::copy_n(b + 16, 6, bytes.begin());
                const auto f = rdma::DecodeIbFlowControl(bytes);
                NS_TEST_ASSERT_MSG_EQ(f.has_value(), true, what << ": CRC");
                NS_TEST_ASSERT_MSG_LT(+f->vl, 2, what << ": VL");
                if (out)
                {
                    ++port.seen.creditUpdatesSent;
                    NS_TEST_ASSERT_MSG_EQ(f->fctbs,
                                          port.sent[f->vl] % 4096,
                                          what << ": blocks that were sent");
                }
                else
                {
                    ++port.seen.creditUpdatesReceived;
                    port.limit[f->vl] = f->fccl;
                }
                continue;
            }
            NS_TEST_ASSERT_MSG_EQ(+b[8], 21, what << ": ERF type");
            const size_t length = r.bytes.size() - 16;
            wire += length + 2;
            const uint8_t vl = b[16] >> 4;
            if (out)
            {
                // Never more blocks than the other end has told room for, modulo 4096.
                port.sent[vl] += static_cast<uint16_t>((length + 63) / 64);
                NS_TEST_ASSERT_MSG_LT((port.limit[vl] - port.sent[vl] + 8192) % 4096,
                                      2048,
                                      what << ": credits");
            }
            if ((b[17] & 3) == 0)
            {
                ++raw;
                NS_TEST_EXPECT_MSG_EQ(length, 8 + 4 + 104 + 2, "raw packet, padded");
                NS_TEST_EXPECT_MSG_EQ((b[26] << 8 | b[27]), 0x88b5, "EtherType");
                wire += 1; // the simulator has Ethernet's size, 18 + 101 and no padding
                continue;
            }
            const auto f = rdma::DecodeIb(b + 16, length);
            NS_TEST_ASSERT_MSG_EQ(f.has_value(), true, what << ": lengths or CRCs");
            ++opcodes[b[24]];
            NS_TEST_ASSERT_MSG_EQ(f->becn, (b[24] == 0x80), what << ": BECN");
            if (!isHost)
            {
                continue;
            }
            NS_TEST_ASSERT_MSG_EQ(+f->vl, +laneOf.at({host, f->sl}), what << ": VL of SL");
            if (!out)
            {
                seen.ecnMarkedReceived += f->fecn;
                NS_TEST_ASSERT_MSG_EQ(f->dlid / 2, lids[host] / 2, what << ": DLID");
                continue;
            }
            NS_TEST_ASSERT_MSG_EQ(f->slid, lids[host], what << ": SLID");
            NS_TEST_ASSERT_MSG_EQ(f->fecn, false, what << ": marked by a NIC");
            const uint8_t opcode = b[24];
            seen.dataPackets += rdma::HasPayload(f->opcode);
            seen.dataBytes += f->payload;
            seen.readRequests += opcode == 12;
            seen.acksSent += opcode == 17;
            seen.naksSent += opcode == 17 && f->syndrome >> 5 == 3;
            seen.cnpsSent += opcode == 0x80;
        }
        for (size_t i = 0; i < names.size(); ++i)
        {
            const RdmaPortCounters& c = counters[i];
            const RdmaPortCounters& s = ports[i].seen;
            NS_TEST_EXPECT_MSG_EQ(s.txFrames, c.txFrames, names[i]);
            NS_TEST_EXPECT_MSG_EQ(s.txWireBytes, c.txWireBytes, names[i]);
            NS_TEST_EXPECT_MSG_EQ(s.rxFrames, c.rxFrames - c.corrupted, names[i]);
            NS_TEST_EXPECT_MSG_EQ(s.creditUpdatesSent, c.creditUpdatesSent, names[i]);
            NS_TEST_EXPECT_MSG_EQ(s.creditUpdatesReceived, c.creditUpdatesReceived, names[i]);
            NS_TEST_EXPECT_MSG_GT(s.creditUpdatesSent, 0, names[i]);
        }
        NS_TEST_EXPECT_MSG_GT(counters[0].corrupted + counters[1].corrupted, 0, "corruption");
        NS_TEST_EXPECT_MSG_EQ(seen.dataPackets, nic.dataPackets, "data packets");
        NS_TEST_EXPECT_MSG_EQ(seen.dataBytes, nic.dataBytes, "data bytes");
        NS_TEST_EXPECT_MSG_EQ(seen.readRequests, nic.readRequests, "READ requests");
        NS_TEST_EXPECT_MSG_EQ(seen.acksSent, nic.acksSent + nic.naksSent, "ACKs and NAKs");
        NS_TEST_EXPECT_MSG_EQ(seen.naksSent, nic.naksSent, "NAKs");
        NS_TEST_EXPECT_MSG_EQ(seen.cnpsSent, nic.cnpsSent, "CN packets");
        NS_TEST_EXPECT_MSG_EQ(seen.ecnMarkedReceived, nic.ecnMarkedReceived, "FECN");
        NS_TEST_EXPECT_MSG_EQ(raw, 2, "an ordinary packet, sent and received");
        for (const int opcode : {0, 1, 2, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17, 101, 128})
        {
            NS_TEST_EXPECT_MSG_GT(opcodes[opcode], 0, "opcode " << opcode);
        }

        // A file a port has the same records.
        for (size_t i = 0; i < names.size(); ++i)
        {
            std::string name = names[i];
            name[name.rfind(':')] = '-';
            const Contents one = ReadCapture(folder + "/" + name + ".pcap");
            std::vector<const Record*> mine;
            for (const Record& r : ng.records)
            {
                if (r.interface == i)
                {
                    mine.push_back(&r);
                }
            }
            NS_TEST_ASSERT_MSG_EQ(one.records.size(), mine.size(), name);
            const bool equal = std::equal(mine.begin(),
                                          mine.end(),
                                          one.records.begin(),
                                          [](const Record* a, const Record& b) {
                                              return a->ns == b.ns && a->bytes == b.bytes;
                                          });
            NS_TEST_EXPECT_MSG_EQ(equal, true, name << " has other records");
        }

        if (OutputOf("tshark --version").empty())
        {
            return; // not installed
        }
        // The heuristics of RPC over RDMA take any SEND for theirs and read beyond its end.
        const auto tshark = [&folder](const std::string& options) {
            return OutputOf("tshark --disable-protocol rpcordma -r " + folder + "/capture.pcapng " +
                            options);
        };
        NS_TEST_EXPECT_MSG_EQ(
            LinesOf(tshark("-Y '!_ws.malformed && !(_ws.expert.severity >= 0x600000) && "
                           "frame.packet_flags_direction && (infiniband.bth || infiniband_link || "
                           "infiniband.rwh.etype == 0x88b5)'")),
            ng.records.size(),
            "malformed");
        NS_TEST_EXPECT_MSG_EQ(LinesOf(tshark("-Y infiniband_link")), links, "flow control");
        std::istringstream text(tshark("-Y infiniband.bth -T fields -e infiniband.bth.opcode"));
        std::map<int, size_t> counted;
        for (int opcode; text >> opcode;)
        {
            ++counted[opcode];
        }
        NS_TEST_EXPECT_MSG_EQ((counted == opcodes), true, "opcodes");
    }
};

class RdmaPcapIbOptionsTestCase : public TestCase
{
  public:
    RdmaPcapIbOptionsTestCase()
        : TestCase("InfiniBand: snap lengths, flows, credits")
    {
    }

  private:
    void DoRun() override
    {
        const std::string folder = CreateTempDirFilename("");
        // Bytes kept of a packet; the ERF header comes on top. In headers (LRH 8, BTH 12, RETH 16,
        // ImmDt 4), at their end, in the payload, the padding, the CRCs, and all.
        const uint32_t lengths[] = {1,  8,  14, 20,   24,   36,   39,   40,   41,   43,  44,
                                    46, 50, 96, 2000, 4116, 4117, 4119, 4120, 4122, 5000};
        const std::vector<std::pair<std::string, std::string>> filters = {
            {"all", ""},
            {"flow", "h0->h3"},
            {"read", "h2->h0"},
            {"credits", "credits"},
            {"both", "h0->h3,credits"},
        };
        std::vector<uint16_t> lids;
        {
            Bed bed;
            DescribeInfiniBand(bed);
            const auto enable = [&](RdmaPcapHelper& pcap, const std::string& name) {
                pcap.SetFormat(RdmaPcapHelper::Format::PCAPNG);
                const std::string where = folder + "/" + name;
                NS_TEST_ASSERT_MSG_EQ(std::system(("mkdir -p " + where).c_str()), 0, "folder");
                NS_TEST_ASSERT_MSG_EQ(pcap.EnablePcap(where, "h0,h3"), "", "opens");
            };
            for (const uint32_t length : lengths)
            {
                RdmaPcapHelper pcap(*bed.fabric);
                pcap.SetSnapLength(length);
                enable(pcap, std::to_string(length));
            }
            for (const auto& [name, filter] : filters)
            {
                RdmaPcapHelper pcap(*bed.fabric);
                NS_TEST_ASSERT_MSG_EQ(pcap.SetFlows(filter), "", "filter");
                enable(pcap, name);
            }
            RdmaPcapHelper wrong(*bed.fabric);
            NS_TEST_EXPECT_MSG_EQ(wrong.SetFlows("pfc"),
                                  "\"pfc\" is no flow (allowed: a->b, of hosts or their ports, "
                                  "host:port; credits)",
                                  "Ethernet's");
            for (const auto& endpoint :
                 IbLinkLayer::GetSubnet(*bed.fabric)->GetSubnet().Endpoints())
            {
                lids.push_back(endpoint.lid);
            }
            RunInfiniBand(bed);
        }
        const Contents all = ReadCapture(folder + "/all/capture.pcapng");
        NS_TEST_ASSERT_MSG_EQ(all.whole, true, "whole");
        NS_TEST_ASSERT_MSG_GT(all.records.size(), 700, "records");
        for (const uint32_t length : lengths)
        {
            const Contents cut =
                ReadCapture(folder + "/" + std::to_string(length) + "/capture.pcapng");
            NS_TEST_ASSERT_MSG_EQ(cut.whole, true, length);
            NS_TEST_ASSERT_MSG_EQ(cut.records.size(), all.records.size(), length);
            uint64_t wrong = 0;
            for (size_t i = 0; i < cut.records.size(); ++i)
            {
                std::vector<uint8_t> expected = all.records[i].bytes;
                expected.resize(std::min<size_t>(expected.size(), 16 + length));
                expected[10] = static_cast<uint8_t>(expected.size() >> 8); // record as captured
                expected[11] = static_cast<uint8_t>(expected.size());
                wrong += cut.records[i].bytes != expected ||
                         cut.records[i].length != all.records[i].length;
            }
            NS_TEST_EXPECT_MSG_EQ(wrong, 0, "records that differ at snap length " << length);
        }
        // What belongs to a flow, of all that was captured: by LIDs, two a host.
        const auto check = [&](const std::string& name, int from, int to, bool credits) {
            std::vector<const Record*> want;
            for (const Record& r : all.records)
            {
                bool wanted = credits && r.bytes[8] == 25;
                if (r.bytes[8] == 21 && (r.bytes[17] & 3) == 2 && from >= 0)
                {
                    const int source = (r.bytes[22] << 8 | r.bytes[23]) / 2;
                    const int destination = (r.bytes[18] << 8 | r.bytes[19]) / 2;
                    const uint8_t opcode = r.bytes[24];
                    const bool answer = (opcode >= 13 && opcode <= 17) || opcode == 0x80;
                    wanted = source == lids[answer ? to : from] / 2 &&
                             destination == lids[answer ? from : to] / 2;
                }
                if (wanted)
                {
                    want.push_back(&r);
                }
            }
            const Contents got = ReadCapture(folder + "/" + name + "/capture.pcapng");
            NS_TEST_ASSERT_MSG_EQ(got.whole, true, name);
            NS_TEST_EXPECT_MSG_GT(want.size(), 10, name);
            NS_TEST_EXPECT_MSG_LT(want.size(), all.records.size(), name);
            NS_TEST_ASSERT_MSG_EQ(got.records.size(), want.size(), name);
            uint64_t wrong = 0;
            for (size_t i = 0; i < want.size(); ++i)
            {
                wrong += got.records[i].bytes != want[i]->bytes || got.records[i].ns != want[i]->ns;
            }
            NS_TEST_EXPECT_MSG_EQ(wrong, 0, name);
        };
        check("flow", 0, 3, false);
        check("read", 2, 0, false);
        check("credits", -1, -1, true);
        check("both", 0, 3, true);
        Bed bed(2, 100 * GBPS);
        bed.Build();
        NS_TEST_EXPECT_MSG_EQ(RdmaPcapHelper(*bed.fabric).SetFlows("credits"),
                              "\"credits\" is no flow (allowed: a->b, of hosts or their ports, "
                              "host:port; pfc)",
                              "InfiniBand's");
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
        AddTestCase(new RdmaPcapngTestCase, TestCase::QUICK);
        AddTestCase(new RdmaPcapSnapLengthTestCase, TestCase::QUICK);
        AddTestCase(new RdmaPcapSizeTestCase(RdmaPcapHelper::Format::PCAP), TestCase::QUICK);
        AddTestCase(new RdmaPcapSizeTestCase(RdmaPcapHelper::Format::PCAPNG), TestCase::QUICK);
        AddTestCase(new RdmaPcapFlowTestCase, TestCase::QUICK);
        AddTestCase(new RdmaPcapTsharkTestCase, TestCase::QUICK);
        AddTestCase(new RdmaPcapIbBytesTestCase, TestCase::QUICK);
        AddTestCase(new RdmaPcapIbTestCase, TestCase::QUICK);
        AddTestCase(new RdmaPcapIbOptionsTestCase, TestCase::QUICK);
    }
};

static RdmaPcapTestSuite g_rdmaPcapTestSuite;
