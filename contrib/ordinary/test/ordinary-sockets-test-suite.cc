/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Scenarios of ns-3's own suites of TCP (src/internet/test) on this fabric: tcp-test (bytes there
 * and back), tcp-zero-window-test, tcp-rto-test, tcp-syn-connection-failed-test, tcp-dctcp-test.
 */
#include "ordinary-bed.h"

#include "ns3/inet6-socket-address.h"
#include "ns3/ipv6-address-helper.h"
#include "ns3/ipv6-interface-container.h"

#include <cmath>
#include <cstring>

using namespace ns3;
using namespace ns3::ordinarytest;

namespace
{

/// A stream of letters to a server, which sends back what it reads.
class EchoCase : public OrdinaryCase
{
  public:
    /// \param loseEvery of the packets that come to each host the n-th is lost; 0: none
    EchoCase(uint32_t total,
             uint32_t clientWrite,
             uint32_t clientRead,
             uint32_t serverWrite,
             uint32_t serverRead,
             bool ipv6,
             uint32_t loseEvery)
        : OrdinaryCase("echo of " + std::to_string(total) + " B, client " +
                       std::to_string(clientWrite) + "/" + std::to_string(clientRead) +
                       ", server " + std::to_string(serverWrite) + "/" +
                       std::to_string(serverRead) + (ipv6 ? ", IPv6" : "") +
                       (loseEvery ? ", every " + std::to_string(loseEvery) + "th lost" : "")),
          m_total(total),
          m_clientWrite(clientWrite),
          m_clientRead(clientRead),
          m_serverWrite(serverWrite),
          m_serverRead(serverRead),
          m_ipv6(ipv6),
          m_loseEvery(loseEvery)
    {
    }

  private:
    void DoRun() override
    {
        OrdinaryBed bed(3, 10 * GBPS);
        SetTcp();
        bed.Build();
        std::string error;
        const NetDeviceContainer devices = bed.packets.Install(*bed.fabric, error);
        NS_TEST_ASSERT_MSG_EQ(error, "", "installs");
        std::vector<std::unique_ptr<Loser>> losers;
        for (uint32_t host = 0; host < 2 && m_loseEvery; ++host)
        {
            losers.push_back(
                std::make_unique<Loser>(bed.fabric->GetNic(host)->GetPort(),
                                        [this, count = 0U](const RdmaFrame&, int64_t) mutable {
                                            return ++count % m_loseEvery == 0;
                                        }));
        }
        NodeContainer hosts;
        for (uint32_t i = 0; i < devices.GetN(); ++i)
        {
            hosts.Add(devices.Get(i)->GetNode());
        }
        InternetStackHelper internet;
        internet.Install(hosts);
        internet.AssignStreams(hosts, 7000);
        Address server;
        if (m_ipv6)
        {
            Ipv6AddressHelper addresses;
            addresses.SetBase("2001:db8::", 64);
            server = Inet6SocketAddress(addresses.Assign(devices).GetAddress(1, 1), 50);
        }
        else
        {
            server = InetSocketAddress(
                Ipv4AddressHelper("10.1.0.0", "255.255.0.0").Assign(devices).GetAddress(1),
                50);
        }
        for (uint32_t i = 0; i < m_total; ++i)
        {
            m_sent.push_back(static_cast<uint8_t>('a' + i % 26 + i / 26 % 7));
        }
        Ptr<Socket> listener = Socket::CreateSocket(hosts.Get(1), TcpSocketFactory::GetTypeId());
        listener->Bind(server);
        listener->Listen();
        listener->SetAcceptCallback(
            MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
            [this](Ptr<Socket> socket, const Address&) {
                socket->SetRecvCallback([this](Ptr<Socket> s) { ServerReads(s); });
                socket->SetSendCallback([this](Ptr<Socket> s, uint32_t) { ServerWrites(s); });
            });
        Ptr<Socket> client = Socket::CreateSocket(hosts.Get(0), TcpSocketFactory::GetTypeId());
        client->SetRecvCallback([this](Ptr<Socket> s) { ClientReads(s); });
        client->SetSendCallback([this](Ptr<Socket> s, uint32_t) { ClientWrites(s); });
        client->SetConnectCallback([this](Ptr<Socket> s) { ClientWrites(s); },
                                   MakeNullCallback<void, Ptr<Socket>>());
        // IPv6 has found that its addresses are its own by then.
        Simulator::ScheduleWithContext(hosts.Get(0)->GetId(), Seconds(3), [&] {
            client->Connect(server);
        });
        Simulator::Stop(Seconds(400));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(m_written, m_total, "the client has sent all");
        NS_TEST_EXPECT_MSG_EQ((m_atServer == m_sent), true, "the server has these bytes");
        NS_TEST_EXPECT_MSG_EQ((m_back == m_sent), true, "the client has them again");
        uint32_t lost = 0;
        for (const auto& loser : losers)
        {
            lost += loser->lost;
        }
        if (m_total > 13) // else there may be too few packets
        {
            NS_TEST_EXPECT_MSG_EQ((lost > 0), (m_loseEvery > 0), "losses");
        }
        losers.clear();
        End(bed);
    }

    static void Read(Ptr<Socket> socket, uint32_t piece, std::vector<uint8_t>& to)
    {
        while (socket->GetRxAvailable() > 0)
        {
            const Ptr<Packet> packet = socket->Recv(std::min(piece, socket->GetRxAvailable()), 0);
            const std::size_t before = to.size();
            to.resize(before + packet->GetSize());
            packet->CopyData(to.data() + before, packet->GetSize());
        }
    }

    static void Write(Ptr<Socket> socket,
                      uint32_t piece,
                      const std::vector<uint8_t>& from,
                      uint32_t& written)
    {
        while (socket->GetTxAvailable() > 0 && written < from.size())
        {
            const uint32_t size =
                std::min({piece, socket->GetTxAvailable(), uint32_t(from.size()) - written});
            socket->Send(Create<Packet>(from.data() + written, size));
            written += size;
        }
    }

    void ServerReads(Ptr<Socket> socket)
    {
        Read(socket, m_serverRead, m_atServer);
        ServerWrites(socket);
    }

    void ServerWrites(Ptr<Socket> socket)
    {
        Write(socket, m_serverWrite, m_atServer, m_echoed);
    }

    void ClientReads(Ptr<Socket> socket)
    {
        Read(socket, m_clientRead, m_back);
    }

    void ClientWrites(Ptr<Socket> socket)
    {
        Write(socket, m_clientWrite, m_sent, m_written);
    }

    uint32_t m_total;
    uint32_t m_clientWrite;
    uint32_t m_clientRead;
    uint32_t m_serverWrite;
    uint32_t m_serverRead;
    bool m_ipv6;
    uint32_t m_loseEvery;
    std::vector<uint8_t> m_sent;
    std::vector<uint8_t> m_atServer;
    std::vector<uint8_t> m_back;
    uint32_t m_written{0};
    uint32_t m_echoed{0};
};

/// A receiver without room for a byte: the sender probes, and sends when it has room.
class ZeroWindowCase : public OrdinaryCase
{
  public:
    ZeroWindowCase()
        : OrdinaryCase("a receive window of 0 stops the sender, probes find it open again")
    {
    }

  private:
    void DoRun() override
    {
        OrdinaryBed bed(2, 10 * GBPS);
        bed.BuildAll();
        bed.stack->Introduce(0, 1);
        const InetSocketAddress address(bed.stack->GetAddress(1), 50);
        Ptr<Socket> listener =
            Socket::CreateSocket(bed.stack->GetNode(1), TcpSocketFactory::GetTypeId());
        listener->SetAttribute("RcvBufSize", UintegerValue(0));
        listener->Bind(address);
        listener->Listen();
        uint64_t got = 0;
        Ptr<Socket> accepted;
        listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                    [&](Ptr<Socket> socket, const Address&) {
                                        accepted = socket;
                                        socket->SetRecvCallback([&](Ptr<Socket> s) {
                                            while (Ptr<Packet> packet = s->Recv())
                                            {
                                                got += packet->GetSize();
                                            }
                                        });
                                    });
        Ptr<Socket> client =
            Socket::CreateSocket(bed.stack->GetNode(0), TcpSocketFactory::GetTypeId());
        client->SetConnectCallback([](Ptr<Socket> s) { s->Send(Create<Packet>(20000)); },
                                   MakeNullCallback<void, Ptr<Socket>>());
        client->Connect(address);
        uint64_t early = 0;
        Simulator::ScheduleWithContext(1, Seconds(10), [&] {
            early = got;
            accepted->SetAttribute("RcvBufSize", UintegerValue(65536));
        });
        Simulator::Stop(Seconds(200));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_LT(early, 10, "no more than probes of a byte while the window is 0");
        NS_TEST_EXPECT_MSG_EQ(got, 20000, "all of it then");
        End(bed);
    }
};

/// All is lost for a while: the time-out of retransmission brings it back.
class BlackoutCase : public OrdinaryCase
{
  public:
    BlackoutCase(Time from, Time until)
        : OrdinaryCase("everything lost from " + std::to_string(from.GetMilliSeconds()) + " to " +
                       std::to_string(until.GetMilliSeconds()) + " ms: TCP goes on by itself"),
          m_from(from),
          m_until(until)
    {
    }

  private:
    void DoRun() override
    {
        OrdinaryBed bed(2, 10 * GBPS);
        bed.BuildAll();
        const auto loses = [this](const RdmaFrame&, int64_t now) {
            return now >= m_from.GetPicoSeconds() && now < m_until.GetPicoSeconds();
        };
        Loser there(bed.fabric->GetNic(1)->GetPort(), loses);
        Loser back(bed.fabric->GetNic(0)->GetPort(), loses);
        const auto sink = bed.Bulk(0, 1, 12345678);
        int64_t last = 0;
        int64_t longest = 0; // that nothing came
        Watch<Ptr<const Packet>, const Address&>(sink,
                                                 "Rx",
                                                 [&](Ptr<const Packet>, const Address&) {
                                                     const int64_t now = RdmaClock::Now();
                                                     longest = std::max(longest, now - last);
                                                     last = now;
                                                 });
        Simulator::Stop(Seconds(300));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(sink->GetTotalRx(), 12345678, "all bytes");
        NS_TEST_EXPECT_MSG_GT(there.lost + back.lost, 0, "some were lost");
        // Nobody hears of it before it is over; time-outs double, so it takes no more than as long
        // again and the least time-out, 1 s, or that of a SYN, 3 s.
        NS_TEST_EXPECT_MSG_GT(longest, (m_until - m_from).GetPicoSeconds(), "silence");
        NS_TEST_EXPECT_MSG_LT(longest,
                              2 * (m_until - m_from).GetPicoSeconds() + 7000000000000,
                              "not for ever");
        End(bed);
    }

    Time m_from;
    Time m_until;
};

/// Nobody listens: the connection fails, in words of ns-3.
class NobodyListensCase : public OrdinaryCase
{
  public:
    NobodyListensCase()
        : OrdinaryCase("a connection to a port where nobody listens fails")
    {
    }

  private:
    void DoRun() override
    {
        OrdinaryBed bed(2, 10 * GBPS);
        bed.BuildAll();
        Ptr<Socket> client =
            Socket::CreateSocket(bed.stack->GetNode(0), TcpSocketFactory::GetTypeId());
        int good = 0;
        int bad = 0;
        client->SetConnectCallback([&](Ptr<Socket>) { ++good; }, [&](Ptr<Socket>) { ++bad; });
        client->Connect(InetSocketAddress(bed.stack->GetAddress(1), 50));
        Simulator::Stop(Seconds(300));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(good, 0, "connected");
        NS_TEST_EXPECT_MSG_EQ(bad, 1, "failed");
        End(bed);
    }
};

/// DCTCP by the switch's marks: the queue stays near the threshold, nothing is dropped; NewReno,
/// which hears of no marks, fills the buffer.
class DctcpCase : public OrdinaryCase
{
  public:
    explicit DctcpCase(bool checksums)
        : OrdinaryCase(std::string("DCTCP holds the queue at the switch's threshold") +
                       (checksums ? ", with checksums" : "")),
          m_checksums(checksums)
    {
    }

  private:
    void DoRun() override
    {
        Config::SetGlobal("ChecksumEnabled", BooleanValue(m_checksums));
        const double dctcp = LongestQueue("ns3::TcpDctcp", true);
        const double reno = LongestQueue("ns3::TcpNewReno", false);
        Config::SetGlobal("ChecksumEnabled", BooleanValue(false));
        // The threshold is 65 packets at 10 Gb/s, 98 kB. Each of the two senders may add a window's
        // growth of a round trip, and the last packets of slow start, before it hears of marks.
        NS_TEST_EXPECT_MSG_GT(dctcp, 98e3, "marks begin at the threshold");
        NS_TEST_EXPECT_MSG_LT(dctcp, 98e3 + 60e3, "and end the growth");
        NS_TEST_EXPECT_MSG_GT(reno, 400e3, "without marks slow start fills the buffer");
    }

    /// \return bytes; of DCTCP after 20 ms, when slow start is over
    double LongestQueue(const std::string& control, bool marks)
    {
        OrdinaryBed bed(3, 10 * GBPS);
        // RFC 8257's single threshold; these are per 100 Gb/s.
        bed.helper.SetSwitchAttribute("EcnKmin", UintegerValue(980000));
        bed.helper.SetSwitchAttribute("EcnKmax", UintegerValue(980000));
        bed.helper.SetSwitchAttribute("BufferBytes", UintegerValue(1000000));
        bed.BuildAll(control);
        const auto a = bed.Bulk(1, 0, 0, 100);
        const auto b = bed.Bulk(2, 0, 0, 101);
        uint64_t longest = 0;
        Watch<const RdmaPort*, uint8_t, uint64_t, int64_t>(
            bed.fabric->GetPorts()[1],
            "Queue",
            [&longest, marks](const RdmaPort*, uint8_t, uint64_t bytes, int64_t now) {
                longest = !marks || now > 20000000000 ? std::max(longest, bytes) : longest;
            });
        Simulator::Stop(MilliSeconds(60));
        Simulator::Run();
        const RdmaPacketCounters& c = bed.fabric->GetNic(0)->GetPackets()->GetCounters();
        NS_TEST_EXPECT_MSG_EQ((c.marked > 0), marks, control << " is marked");
        // But for those of packets that are on the way at the end.
        const uint64_t marked = bed.fabric->GetPortTotals().ecnMarks;
        NS_TEST_EXPECT_MSG_GT_OR_EQ(marked, c.marked, "no other marks arrive");
        NS_TEST_EXPECT_MSG_LT_OR_EQ(marked, c.marked + 5, "all marks arrive");
        if (marks)
        {
            NS_TEST_EXPECT_MSG_EQ(bed.Drops(), 0, "no drops");
            // The line is full: 10 Gb/s x 60 ms x 1448 / 1538, but for the beginning.
            NS_TEST_EXPECT_MSG_GT(a->GetTotalRx() + b->GetTotalRx(),
                                  0.75e8 * 0.94 * 0.97,
                                  "throughput");
        }
        End(bed);
        return static_cast<double>(longest);
    }

    bool m_checksums;
};

class OrdinarySocketsTestSuite : public TestSuite
{
  public:
    OrdinarySocketsTestSuite()
        : TestSuite("ordinary-sockets", UNIT)
    {
        for (const bool ipv6 : {false, true})
        {
            for (const uint32_t loss : {0U, 7U})
            {
                AddTestCase(new EchoCase(13, 200, 200, 200, 200, ipv6, loss), TestCase::QUICK);
                AddTestCase(new EchoCase(13, 1, 1, 1, 1, ipv6, loss), TestCase::QUICK);
                AddTestCase(new EchoCase(100000, 100, 50, 100, 20, ipv6, loss), TestCase::QUICK);
                AddTestCase(new EchoCase(1000003, 65536, 9999, 7001, 30011, ipv6, loss),
                            TestCase::QUICK);
            }
        }
        AddTestCase(new ZeroWindowCase, TestCase::QUICK);
        AddTestCase(new BlackoutCase(MilliSeconds(2), MilliSeconds(300)), TestCase::QUICK);
        AddTestCase(new BlackoutCase(MilliSeconds(0), MilliSeconds(2000)), TestCase::QUICK);
        AddTestCase(new BlackoutCase(MilliSeconds(5), MilliSeconds(7000)), TestCase::QUICK);
        AddTestCase(new NobodyListensCase, TestCase::QUICK);
        AddTestCase(new DctcpCase(false), TestCase::QUICK);
        AddTestCase(new DctcpCase(true), TestCase::QUICK);
    }
};

OrdinarySocketsTestSuite g_ordinarySocketsTestSuite;

} // namespace
