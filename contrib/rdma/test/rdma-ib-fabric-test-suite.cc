/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * InfiniBand networks at work: deadlock and what prevents it, head-of-line blocking and what it
 * costs, arbitration of virtual lanes, ways around a failed cable, conservation over millions of
 * packets, all kinds of messages.
 */
#include "contrib/rdma/core/ib/ib-link.h"
#include "contrib/rdma/core/ib/ib-tables.h"
#include "rdma-ib-times.h"

#include "ns3/ib-congestion-ops.h"
#include "ns3/ib-link-credits.h"
#include "ns3/pfc-deadlock.h"
#include "ns3/random-variable-stream.h"
#include "ns3/rdma-completion-queue.h"

#include <algorithm>
#include <set>
#include <sstream>

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

/// A torus of two dimensions (rows = 1: a ring) of switches, two hosts at each. Hosts 2 i and
/// 2 i + 1 are at switch i; then links i -> i + 1 of the rows, row by row, and those of the
/// columns.
void
Torus(Bed& bed, uint32_t rows, uint32_t columns)
{
    const uint32_t n = rows * columns;
    for (uint32_t i = 0; i < 2 * n; ++i)
    {
        bed.Host("h" + std::to_string(i));
    }
    for (uint32_t i = 0; i < n; ++i)
    {
        bed.Switch("s" + std::to_string(i));
    }
    for (uint32_t i = 0; i < 2 * n; ++i)
    {
        bed.Link(i, 2 * n + i / 2, 100 * GBPS, 25 * NS);
    }
    for (uint32_t i = 0; i < n; ++i)
    {
        bed.Link(2 * n + i, 2 * n + i / columns * columns + (i + 1) % columns, 100 * GBPS, 25 * NS);
    }
    for (uint32_t i = 0; rows > 1 && i < n; ++i)
    {
        bed.Link(2 * n + i, 2 * n + (i + columns) % n, 100 * GBPS, 25 * NS);
    }
}

/// A k-ary fat-tree, all links of one rate but those of the hosts. Links: k^3 / 4 of hosts, then
/// k^3 / 4 from edge to aggregation, then as many to the core.
void
FatTree(Bed& bed, uint32_t k, uint64_t hostRate, uint64_t rate, double ber = 0)
{
    const uint32_t half = k / 2;
    const uint32_t hosts = k * half * half;
    for (uint32_t h = 0; h < hosts; ++h)
    {
        bed.Host("h" + std::to_string(h));
    }
    std::vector<uint32_t> edge;
    std::vector<uint32_t> aggregation;
    std::vector<uint32_t> core;
    for (uint32_t i = 0; i < k * half; ++i)
    {
        edge.push_back(bed.Switch("e" + std::to_string(i)));
    }
    for (uint32_t i = 0; i < k * half; ++i)
    {
        aggregation.push_back(bed.Switch("a" + std::to_string(i)));
    }
    for (uint32_t i = 0; i < half * half; ++i)
    {
        core.push_back(bed.Switch("c" + std::to_string(i)));
    }
    for (uint32_t h = 0; h < hosts; ++h)
    {
        bed.Link(h, edge[h / half], hostRate, 25 * NS, ber);
    }
    for (uint32_t e = 0; e < edge.size(); ++e)
    {
        for (uint32_t a = 0; a < half; ++a)
        {
            bed.Link(edge[e], aggregation[e / half * half + a], rate, 25 * NS, ber);
        }
    }
    for (uint32_t a = 0; a < aggregation.size(); ++a)
    {
        for (uint32_t c = 0; c < half; ++c)
        {
            bed.Link(aggregation[a], core[a % half * half + c], rate, 100 * NS, ber);
        }
    }
}

uint64_t
Forwarded(const Bed& bed)
{
    uint64_t sum = 0;
    for (const auto& device : bed.fabric->GetSwitches())
    {
        sum += device->GetForwarded();
    }
    return sum;
}

uint64_t
NoRoute(const Bed& bed)
{
    uint64_t sum = 0;
    for (const auto& device : bed.fabric->GetSwitches())
    {
        sum += device->GetDrops(RdmaSwitchBase::NO_ROUTE);
    }
    return sum;
}

/// \return the first port and lane whose credits are not all back, or nothing
std::string
Leaked(const Bed& bed)
{
    for (const auto& port : bed.fabric->GetPorts())
    {
        const IbLinkCredits& credits = *port->GetCredits();
        for (uint32_t v = 0; v < credits.config.lanes; ++v)
        {
            const auto& lane = credits.lanes[v];
            // What is leaving has left by now, and nobody has looked.
            if (lane.receiver.Occupied() != lane.GetLeaving() ||
                lane.sender.Available() != credits.config.bufferBlocks)
            {
                return port->GetName() + " VL " + std::to_string(v) + ": " +
                       std::to_string(lane.receiver.Occupied()) + " blocks held, " +
                       std::to_string(lane.sender.Available()) + " credits of " +
                       std::to_string(credits.config.bufferBlocks);
            }
        }
    }
    return {};
}

IbFabricConfig
Subnet(const std::string& routing, uint8_t lanes, uint64_t laneBuffer)
{
    IbFabricConfig config;
    config.routing = routing;
    config.lanes = lanes;
    config.laneBuffer = laneBuffer;
    return config;
}

} // namespace

// Deadlock ---------------------------------------------------------------------------------------

/// Every host writes to the one `hops` switches on along its row, clockwise: the shortest way, as
/// hops < columns / 2. The links of a row then wait for each other in a circle.
class RdmaIbTorusTestCase : public TestCase
{
  public:
    RdmaIbTorusTestCase(uint32_t rows,
                        uint32_t columns,
                        uint32_t hops,
                        const std::string& routing,
                        uint8_t lanes,
                        bool deadlock)
        : TestCase(std::to_string(rows) + " x " + std::to_string(columns) + " switches, " +
                   std::to_string(hops) + " hops, " + routing + ", " + std::to_string(lanes) +
                   " VLs: " + (deadlock ? "deadlock" : "all arrive")),
          m_rows(rows),
          m_columns(columns),
          m_hops(hops),
          m_routing(routing),
          m_lanes(lanes),
          m_deadlock(deadlock)
    {
    }

  private:
    void DoRun() override
    {
        Bed bed;
        Torus(bed, m_rows, m_columns);
        IbFabricConfig config = Subnet(m_routing, m_lanes, 16384);
        config.unsafe = m_deadlock; // matters to torus only
        bed.helper.SetInfiniBand(config);
        bed.Build();
        const uint32_t n = m_rows * m_columns;
        for (uint32_t i = 0; i < 2 * n; ++i)
        {
            const uint32_t row = i / 2 / m_columns;
            bed.Connect(i, 2 * (row * m_columns + (i / 2 % m_columns + m_hops) % m_columns) + i % 2)
                .first->PostWrite(4000000, i);
        }
        const auto& ports = bed.fabric->GetPorts();
        std::vector<std::vector<uint32_t>> told;
        RdmaPfcDeadlockDetector detector(
            ports,
            MilliSeconds(1),
            [&](const std::vector<uint32_t>& cycle, int64_t) { told.push_back(cycle); });
        // What the subnet manager says beforehand is what happens.
        const IbSubnetHelper& subnet = *IbLinkLayer::GetSubnet(*bed.fabric);
        const rdma::IbCheck check = rdma::IbCheckTables(subnet.GetSubnet(), subnet.GetTables());
        NS_TEST_EXPECT_MSG_EQ(check.cycle.empty(), !m_deadlock, "the check of the tables");
        const auto notes = subnet.GetNotes();
        const bool warned = std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
            return note.rfind("warning: the subnet's routes can deadlock", 0) == 0;
        });
        NS_TEST_EXPECT_MSG_EQ(warned, m_deadlock, "and it is said");
        Simulator::Stop(MilliSeconds(20));
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(NoRoute(bed), 0, "none lost");
        if (!m_deadlock)
        {
            // Four flows on a link of a row: 4 MB x 4 at 100 Gb/s are 1.3 ms.
            NS_TEST_EXPECT_MSG_EQ(told.size(), 0, "no cycle is told");
            NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 2 * n, "all arrive");
            NS_TEST_EXPECT_MSG_EQ(Leaked(bed), "", "credits");
            return;
        }
        NS_TEST_ASSERT_MSG_GT(told.size(), 0, "told");
        NS_TEST_EXPECT_MSG_LT(bed.notes.messages.size(), 2 * n, "not all arrive");
        const uint64_t before = Forwarded(bed);
        Simulator::Stop(MilliSeconds(20));
        Simulator::Run();
        if (m_rows == 1)
        {
            NS_TEST_EXPECT_MSG_EQ(told.size(), 1, "told once");
            NS_TEST_EXPECT_MSG_EQ(Forwarded(bed), before, "nothing moves any more");
            // Links of the ring in order, 2 (2 n + i) being the end at s(i).
            std::vector<uint32_t> ring;
            for (uint32_t i = 0; i < n; ++i)
            {
                ring.push_back(2 * (2 * n + i));
            }
            std::vector<uint32_t> sorted = told[0];
            std::sort(sorted.begin(), sorted.end());
            NS_TEST_EXPECT_MSG_EQ((sorted == ring), true, DescribePfcCycle(ports, told[0]));
            return;
        }
        // One of the rows, whole.
        NS_TEST_ASSERT_MSG_EQ(told[0].size(), m_columns, DescribePfcCycle(ports, told[0]));
        const uint32_t row = (told[0][0] / 2 - 2 * n) / m_columns;
        NS_TEST_EXPECT_MSG_LT(row, m_rows, "a link of a row");
        for (const uint32_t port : told[0])
        {
            NS_TEST_EXPECT_MSG_EQ((port / 2 - 2 * n) / m_columns, row, "of the same row");
        }
    }

    uint32_t m_rows;
    uint32_t m_columns;
    uint32_t m_hops;
    std::string m_routing;
    uint8_t m_lanes;
    bool m_deadlock;
};

/// Up and down only: whatever the traffic and however short the buffers, everything arrives.
class RdmaIbFatTreeTestCase : public TestCase
{
  public:
    RdmaIbFatTreeTestCase(uint32_t k, const std::string& routing, uint32_t seed)
        : TestCase("fat-tree k=" + std::to_string(k) + ", " + routing + ", seed " +
                   std::to_string(seed) + ": no deadlock, no loss"),
          m_k(k),
          m_routing(routing),
          m_seed(seed)
    {
    }

  private:
    void DoRun() override
    {
        RngSeedManager::SetSeed(m_seed);
        Bed bed;
        FatTree(bed, m_k, 100 * GBPS, 100 * GBPS);
        // 1,024 + 26 B are 17 blocks; the least buffer is of 18 (126 B of headers): one packet.
        bed.helper.SetInfiniBand(Subnet(m_routing, 1, 64 * (m_seed % 3 == 0 ? 18 : 17 * 3 + 1)));
        bed.helper.SetNicAttribute("Mtu", UintegerValue(1024));
        bed.Build();
        auto random = CreateObject<UniformRandomVariable>();
        random->SetStream(78);
        const uint32_t hosts = bed.fabric->GetNEndpoints();
        const uint32_t messages = 6 * hosts;
        for (uint32_t i = 0; i < messages; ++i)
        {
            const uint32_t from = random->GetInteger(0, hosts - 1);
            // A third of all to two hosts.
            const uint32_t to = random->GetInteger(0, 2) ? random->GetInteger(0, hosts - 1)
                                                         : random->GetInteger(0, 1);
            bed.Connect(from, to == from ? (to + 1) % hosts : to)
                .first->PostWrite(random->GetInteger(0, 60000), i);
        }
        uint32_t told = 0;
        RdmaPfcDeadlockDetector detector(bed.fabric->GetPorts(), MilliSeconds(1), [&](auto&&...) {
            ++told;
        });
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(told, 0, "no cycle");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), messages, "all arrive");
        NS_TEST_EXPECT_MSG_EQ(NoRoute(bed), 0, "none dropped");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetPortTotals().corrupted, 0, "none lost");
        NS_TEST_EXPECT_MSG_GT(bed.fabric->GetPortTotals().creditStalls, messages, "short buffers");
        NS_TEST_EXPECT_MSG_EQ(Leaked(bed), "", "credits");
    }

    uint32_t m_k;
    std::string m_routing;
    uint32_t m_seed;
};

// Congestion -------------------------------------------------------------------------------------

/// Four hosts a0 .. a3 at the left switch write to the slow host "hot" at the right one, v writes
/// to the idle host "cold" there; all on the one link between the switches.
///
///     a0 .. a3, v --- left ===== right --- hot (32 Gb/s), cold (100 Gb/s)
class RdmaIbVictimTestCase : public TestCase
{
  public:
    enum Remedy
    {
        NOTHING,
        LANES,
        CONGESTION_CONTROL
    };

    /// \param threshold, hosts of congestion control: CongestionThreshold; "Hosts", which the table
    /// is for
    explicit RdmaIbVictimTestCase(Remedy remedy, uint8_t threshold = 0, uint32_t hosts = 0)
        : TestCase(std::string("a victim of congestion, ") +
                   (remedy == NOTHING ? "as it is"
                    : remedy == LANES
                        ? "on a lane of its own"
                        : "with congestion control, threshold " + std::to_string(threshold) +
                              ", a table for " + std::to_string(hosts) + " hosts")),
          m_remedy(remedy),
          m_threshold(threshold),
          m_hosts(hosts)
    {
    }

  private:
    void DoRun() override
    {
        const uint32_t senders = 4;
        const double line = 100;
        const double slow = 32;
        Bed bed;
        for (uint32_t i = 0; i < senders; ++i)
        {
            bed.Host("a" + std::to_string(i));
        }
        const uint32_t victim = bed.Host("v");
        const uint32_t hot = bed.Host("hot");
        const uint32_t cold = bed.Host("cold");
        const uint32_t left = bed.Switch("left");
        const uint32_t right = bed.Switch("right");
        for (uint32_t i = 0; i <= victim; ++i)
        {
            bed.Link(i, left, 100 * GBPS, 25 * NS);
        }
        bed.Link(hot, right, 32 * GBPS, 25 * NS);
        bed.Link(cold, right, 100 * GBPS, 25 * NS);
        bed.Link(left, right, 100 * GBPS, 25 * NS);
        bed.helper.SetInfiniBand(Subnet("minhop", m_remedy == LANES ? 2 : 1, 131072));
        if (m_remedy == CONGESTION_CONTROL)
        {
            bed.helper.SetSwitchAttribute("CongestionThreshold", UintegerValue(m_threshold));
            auto ops = CreateObject<IbCongestionOps>();
            ops->SetAttribute("Hosts", UintegerValue(m_hosts));
            bed.helper.SetCongestionOps(ops);
        }
        bed.Build();
        std::vector<RdmaQueuePair*> qps;
        for (uint32_t i = 0; i < senders; ++i)
        {
            qps.push_back(bed.Connect(i, hot, 0).first); // SL 0: VL 0
        }
        qps.push_back(bed.Connect(victim, cold, 1).first); // SL 1: VL 1 if there is one
        for (RdmaQueuePair* qp : qps)
        {
            qp->PostWrite(2000000000, 1);
        }
        std::vector<double> rates;
        std::vector<uint64_t> before;
        // The index begins at its limit, 127, as all queues are full before the first BECN comes,
        // and falls by one each 153.6 us: 20 ms until it has come down.
        Simulator::Stop(MilliSeconds(m_remedy == CONGESTION_CONTROL ? 60 : 10));
        Simulator::Run();
        for (RdmaQueuePair* qp : qps)
        {
            before.push_back(qp->GetBytesAcknowledged());
        }
        const double seconds = 0.02;
        Simulator::Stop(Seconds(seconds));
        Simulator::Run();
        // On the line: every packet of 4,096 B has OVERHEAD.
        for (std::size_t i = 0; i < qps.size(); ++i)
        {
            rates.push_back(static_cast<double>(qps[i]->GetBytesAcknowledged() - before[i]) * 8e-9 /
                            seconds * (4096. + OVERHEAD) / 4096);
        }
        const double v = rates.back();
        double all = 0;
        for (uint32_t i = 0; i < senders; ++i)
        {
            all += rates[i];
        }
        std::ostringstream text;
        text << "hot " << all << " Gb/s, victim " << v << " Gb/s";
        // The least rate of a geometric table is line / hosts. If that of all senders together is
        // more than the sink takes, they cannot be slowed down to it: the buffers stay full, as
        // they are without congestion control.
        const bool helpless = m_remedy == CONGESTION_CONTROL && senders * line / m_hosts > slow;
        if (m_remedy == NOTHING || helpless)
        {
            // The buffer at the right fills with packets for "hot", and the link stops and goes as
            // one of them leaves: it carries `slow` of hot traffic. What it carries is served in
            // the order of arrival at the left; each of the five inputs always has a full buffer
            // there, all of one size, so each has the same share (Little): the victim gets as much
            // as one of the others, slow / senders. The link could give it line - slow.
            NS_TEST_EXPECT_MSG_EQ_TOL(all, slow, 0.01 * slow, text.str());
            NS_TEST_EXPECT_MSG_EQ_TOL(v, slow / senders, 0.03 * slow / senders, text.str());
            return;
        }
        if (m_remedy == LANES)
        {
            // VL 0 asks for less than half of the link: VL 1 has all the rest.
            NS_TEST_EXPECT_MSG_EQ_TOL(all, slow, 0.01 * slow, text.str());
            NS_TEST_EXPECT_MSG_EQ_TOL(v, line - slow, 0.01 * (line - slow), text.str());
            return;
        }
        // The senders to "hot" are told to slow down until the queue at its port is short, so the
        // buffer at the right is seldom full. A threshold of 15 is 8 KiB of the buffer, two
        // packets: the link between the switches marks too when five bursts meet, so the victim is
        // slowed down a little, and "hot" has gaps. With 8, 64 KiB, neither happens.
        const double enough = m_threshold == 15 ? 0.6 : 0.95;
        NS_TEST_EXPECT_MSG_GT(all, (m_threshold == 15 ? 0.8 : 0.98) * slow, text.str());
        NS_TEST_EXPECT_MSG_LT(all, 1.001 * slow, text.str());
        NS_TEST_EXPECT_MSG_GT(v, enough * (line - slow), text.str());
        NS_TEST_EXPECT_MSG_LT(v, line - all + 0.01 * line, text.str());
    }

    Remedy m_remedy;
    uint8_t m_threshold;
    uint32_t m_hosts;
};

/// Two hosts write to a third over one switch, on VL 0 and VL 1.
class RdmaIbArbitrationTestCase : public TestCase
{
  public:
    /// \param share of VL 0 in what the link carries
    RdmaIbArbitrationTestCase(const std::string& high,
                              const std::string& low,
                              uint8_t limit,
                              double share)
        : TestCase("VL arbitration, high " + high + ", low " + low + ", limit " +
                   std::to_string(limit)),
          m_high(high),
          m_low(low),
          m_limit(limit),
          m_share(share)
    {
    }

  private:
    void DoRun() override
    {
        Bed bed(3, 100 * GBPS, 25 * NS);
        IbFabricConfig config = Subnet("minhop", 2, 32768);
        config.vlHigh = m_high;
        config.vlLow = m_low;
        config.highLimit = m_limit;
        bed.helper.SetInfiniBand(config);
        bed.Build();
        RdmaQueuePair* a = bed.Connect(0, 2, 0).first;
        RdmaQueuePair* b = bed.Connect(1, 2, 1).first;
        a->PostWrite(1000000000, 1);
        b->PostWrite(1000000000, 1);
        Simulator::Stop(MilliSeconds(10));
        Simulator::Run();
        const double first = static_cast<double>(a->GetBytesAcknowledged());
        const double second = static_cast<double>(b->GetBytesAcknowledged());
        NS_TEST_EXPECT_MSG_EQ_TOL(first / (first + second),
                                  m_share,
                                  0.03 * m_share,
                                  first << " and " << second);
        // And nothing is left: 100 Gb/s for 10 ms, headers away.
        NS_TEST_EXPECT_MSG_EQ_TOL(first + second,
                                  125e6 * 4096 / (4096 + OVERHEAD),
                                  0.005 * 125e6,
                                  "the whole link");
    }

    std::string m_high;
    std::string m_low;
    uint8_t m_limit;
    double m_share;
};

// The subnet manager's work ----------------------------------------------------------------------

class RdmaIbRerouteTestCase : public TestCase
{
  public:
    RdmaIbRerouteTestCase(const std::string& routing, bool adaptive)
        : TestCase("a cable fails while it is used and comes back: " + routing +
                   (adaptive ? ", adaptive" : "")),
          m_routing(routing),
          m_adaptive(adaptive)
    {
    }

  private:
    void DoRun() override
    {
        Bed bed;
        FatTree(bed, 4, 100 * GBPS, 100 * GBPS);
        bed.helper.SetInfiniBand(Subnet(m_routing, 1, 32768));
        if (m_adaptive)
        {
            bed.helper.SetSwitchAttribute("LoadBalancer", StringValue("adaptive"));
            bed.helper.SetNicAttribute("LossRecovery", StringValue("selective-repeat"));
        }
        bed.Build();
        const uint32_t hosts = 16;
        for (uint32_t i = 0; i < hosts; ++i)
        {
            for (const uint32_t on : {1U, 2U, 5U, 7U, 11U})
            {
                bed.Connect(i, (i + on) % hosts).first->PostWrite(2000000, i);
            }
        }
        IbSubnetHelper& manager = *IbLinkLayer::GetSubnet(*bed.fabric);
        const uint32_t failed = hosts; // e0 - a0
        const rdma::IbTables tables = manager.GetTables();
        const auto bytesThere = [&] {
            return bed.fabric->GetPorts()[2 * failed]->GetCounters().txWireBytes +
                   bed.fabric->GetPorts()[2 * failed + 1]->GetCounters().txWireBytes;
        };
        // Entries of the table of a switch that lead to a link.
        const auto leading = [&](const rdma::IbTables& t) {
            uint32_t count = 0;
            const auto& switches = manager.GetSubnet().Switches();
            for (uint32_t s = 0; s < switches.size(); ++s)
            {
                for (uint32_t lid = 1; lid <= manager.GetSubnet().TopLid(); ++lid)
                {
                    const uint8_t port = t.OutPort(s, lid);
                    count +=
                        port && port != rdma::kIbNoPort && switches[s].peers[port].link == failed;
                }
            }
            return count;
        };
        NS_TEST_EXPECT_MSG_GT(leading(tables), 0, "it is used");
        uint64_t soon = 0;
        uint64_t later = 0;
        rdma::IbTables without;
        Simulator::Schedule(MicroSeconds(100), [&] {
            NS_TEST_EXPECT_MSG_GT(bytesThere(), 100000, "it was busy");
            NS_TEST_EXPECT_MSG_EQ(bed.fabric->SetLinkDown(failed, true), "", "ways around it");
            without = manager.GetTables();
        });
        // What is queued towards it, at most 8 inputs x 32 KiB, is gone in 21 us at 100 Gb/s, if
        // those behind drain.
        uint64_t dropped = 0;
        Simulator::Schedule(MicroSeconds(200), [&] {
            soon = bytesThere();
            dropped = NoRoute(bed);
        });
        Simulator::Schedule(MicroSeconds(400), [&] {
            later = bytesThere();
            NS_TEST_EXPECT_MSG_EQ(bed.fabric->SetLinkDown(failed, false), "", "it is mended");
        });
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(later, soon, "the failed cable is idle");
        NS_TEST_EXPECT_MSG_GT(bytesThere(), later, "and used again");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 5 * hosts, "all arrive");
        // a0 has no way down to e0 left, and up again is none: what was on its way there is
        // dropped, and sent again by its NIC. Nothing after that.
        NS_TEST_EXPECT_MSG_EQ(NoRoute(bed), dropped, "none is dropped but those on their way");
        NS_TEST_EXPECT_MSG_LT(dropped, 20, "which are few");
        uint64_t rerouted = 0;
        for (const auto& device : bed.fabric->GetSwitches())
        {
            rerouted += device->GetRerouted();
        }
        NS_TEST_EXPECT_MSG_EQ((rerouted > 0), m_adaptive, "packets that chose for themselves");
        NS_TEST_EXPECT_MSG_EQ(Leaked(bed), "", "credits");
        for (const auto& completion : bed.notes.completions)
        {
            NS_TEST_EXPECT_MSG_EQ((completion.status == RdmaStatus::SUCCESS), true, "queue pairs");
        }
        // What changed: all entries that led there at least, and after the repair nothing.
        const auto changes = rdma::IbCompare(manager.GetSubnet(), tables, without);
        NS_TEST_EXPECT_MSG_EQ(leading(without), 0, "no way leads there");
        NS_TEST_EXPECT_MSG_GT_OR_EQ(changes.entries, leading(tables), "entries");
        NS_TEST_EXPECT_MSG_GT_OR_EQ(changes.switches, 2, "at both ends of it");
        uint64_t counted = 0;
        for (uint32_t s = 0; s < tables.lft.size(); ++s)
        {
            for (uint32_t lid = 0; lid < tables.lft[s].size(); ++lid)
            {
                counted += tables.lft[s][lid] != without.lft[s][lid];
            }
        }
        NS_TEST_EXPECT_MSG_EQ(changes.entries, counted, "as counted");
        NS_TEST_EXPECT_MSG_EQ(
            rdma::IbCompare(manager.GetSubnet(), tables, manager.GetTables()).entries,
            0,
            "a repair gives back the tables");
    }

    std::string m_routing;
    bool m_adaptive;
};

class RdmaIbLmcTestCase : public TestCase
{
  public:
    RdmaIbLmcTestCase()
        : TestCase("LMC: queue pairs of two hosts take several paths")
    {
    }

  private:
    void DoRun() override
    {
        for (const char* engine : {"updn", "ftree", "minhop", "dfsssp"})
        {
            for (const uint8_t lmc : {0, 1, 2})
            {
                Check(engine, lmc);
            }
        }
    }

    void Check(const std::string& engine, uint8_t lmc)
    {
        {
            Bed bed;
            FatTree(bed, 4, 100 * GBPS, 100 * GBPS);
            IbFabricConfig config = Subnet(engine, 1, 32768);
            config.lmc = lmc;
            bed.helper.SetInfiniBand(config);
            bed.Build();
            for (uint32_t i = 0; i < 32; ++i)
            {
                bed.Connect(0, 15).first->PostWrite(100000, i);
            }
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 32, "all arrive");
            // Paths from the first pod to the last: one for each of the 4 cores, 2^LMC are used.
            // But where every switch by itself gives its ports LIDs in turn, the edge switch sends
            // the even ones to a0, which gives those (0, 2) and the odd ones (1, 3) turns of its
            // own: of two LIDs with the same way up to it, both go to one core.
            const bool alone = engine == "updn" || engine == "minhop";
            const std::size_t expected =
                std::min<std::size_t>(alone ? 2 : 4, std::size_t{1} << lmc);
            std::set<std::vector<uint32_t>> paths;
            const IbSubnetHelper& manager = *IbLinkLayer::GetSubnet(*bed.fabric);
            for (uint32_t entropy = 0; entropy < 16; ++entropy)
            {
                const uint32_t lid = manager.GetPath(0, 15, 0, entropy).route.GetDestinationLid();
                std::vector<rdma::IbHop> hops;
                NS_TEST_EXPECT_MSG_EQ(
                    rdma::IbTracePath(manager.GetSubnet(), manager.GetTables(), 0, lid, hops),
                    true,
                    "a path");
                std::vector<uint32_t> path;
                for (const rdma::IbHop& hop : hops)
                {
                    path.push_back(hop.switchIndex);
                }
                paths.insert(path);
            }
            NS_TEST_EXPECT_MSG_EQ(paths.size(), expected, engine << ", LMC " << +lmc);
            // Data from aggregation to core: the pod's ports 2 (hosts + k^3 / 4 + i), i < 4, half
            // of them up from a0. Only those on a path carry more than ACKs.
            uint32_t used = 0;
            for (uint32_t i = 0; i < 4; ++i)
            {
                used += bed.fabric->GetPorts()[2 * (32 + i)]->GetCounters().txWireBytes > 100000;
            }
            NS_TEST_EXPECT_MSG_EQ(used,
                                  expected,
                                  engine << ": cores that the data takes, " << +lmc);
        }
    }
};

/// Tables as text and back: the same tables, and errors with their line.
class RdmaIbTablesFileTestCase : public TestCase
{
  public:
    RdmaIbTablesFileTestCase()
        : TestCase("forwarding tables from a file of OpenSM's form")
    {
    }

  private:
    void DoRun() override
    {
        const std::string folder = CreateTempDirFilename("");
        std::string error;
        rdma::IbTables written;
        {
            Bed bed;
            FatTree(bed, 4, 100 * GBPS, 100 * GBPS);
            bed.helper.SetInfiniBand(Subnet("ftree", 1, 32768));
            bed.Build();
            written = IbLinkLayer::GetSubnet(*bed.fabric)->GetTables();
            NS_TEST_ASSERT_MSG_EQ(IbLinkLayer::GetSubnet(*bed.fabric)->Dump(folder), "", "written");
            NS_TEST_EXPECT_MSG_NE(IbLinkLayer::GetSubnet(*bed.fabric)->Dump("/nonexistent"),
                                  "",
                                  "not there");
        }
        const std::string file = folder + "/opensm-lfts.dump";
        {
            Bed bed;
            FatTree(bed, 4, 100 * GBPS, 100 * GBPS);
            IbFabricConfig config = Subnet("minhop", 1, 32768);
            config.forwardingFile = file;
            bed.helper.SetInfiniBand(config);
            bed.Build();
            IbSubnetHelper& manager = *IbLinkLayer::GetSubnet(*bed.fabric);
            NS_TEST_EXPECT_MSG_EQ((manager.GetTables().lft == written.lft), true, "the same");
            NS_TEST_EXPECT_MSG_EQ(manager.GetNotes().empty(), true, "a fat-tree has no deadlock");
            bed.Connect(0, 15).first->PostWrite(100000, 1);
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 1, "arrives");
            NS_TEST_EXPECT_MSG_NE(bed.fabric->SetLinkDown(16, true), "", "know no other way");
            NS_TEST_EXPECT_MSG_EQ((manager.GetTables().lft == written.lft), true, "as before");
        }
        // A file of another network.
        Bed bed;
        FatTree(bed, 6, 100 * GBPS, 100 * GBPS);
        IbFabricConfig config = Subnet("minhop", 1, 32768);
        config.forwardingFile = file;
        bed.helper.SetInfiniBand(config);
        const auto fabric = bed.helper.Build(bed.nodes, bed.links, error);
        NS_TEST_EXPECT_MSG_EQ((fabric == nullptr), true, "refused");
        NS_TEST_EXPECT_MSG_EQ((error.rfind(file + ":", 0) == 0), true, error);
    }
};

// Long runs, all kinds of messages ---------------------------------------------------------------

class RdmaIbLongTestCase : public TestCase
{
  public:
    RdmaIbLongTestCase()
        : TestCase("a million packets, QDR hosts on an EDR spine, 8 VLs, bit errors: conservation")
    {
    }

  private:
    void DoRun() override
    {
        RngSeedManager::SetSeed(7);
        Bed bed;
        FatTree(bed, 4, rdma::ParseIbLink("QDR")->Rate().bps, 100 * GBPS, 1e-8);
        bed.helper.SetInfiniBand(Subnet("updn", 8, 4096));
        bed.helper.SetNicAttribute("Mtu", UintegerValue(256));
        bed.helper.SetNicAttribute("TimeoutExponent", UintegerValue(8)); // 1 ms
        bed.helper.SetNicAttribute("LossRecovery", StringValue("selective-repeat"));
        bed.Build();
        auto random = CreateObject<UniformRandomVariable>();
        random->SetStream(79);
        const uint32_t hosts = 16;
        uint64_t posted = 0;
        uint64_t bytes = 0;
        for (; posted < 1000; ++posted)
        {
            const uint32_t from = random->GetInteger(0, hosts - 1);
            // A third of all to four hosts, so that buffers fill.
            const uint32_t to = random->GetInteger(0, random->GetInteger(0, 2) ? hosts - 1 : 3);
            const uint32_t size = random->GetInteger(0, 600000);
            bed.Connect(from,
                        to == from ? (to + 1) % hosts : to,
                        static_cast<uint8_t>(random->GetInteger(0, 7)))
                .first->PostWrite(size, posted);
            bytes += size;
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), posted, "all arrive, each once");
        NS_TEST_EXPECT_MSG_GT(bytes / 256, 1000000, "a million packets");
        const RdmaPortCounters ports = bed.fabric->GetPortTotals();
        // 2,272 bits a packet and link, 4 links for most: about 1 in 10,000 packets is hit.
        NS_TEST_EXPECT_MSG_GT(ports.corrupted, 20, "bit errors");
        NS_TEST_EXPECT_MSG_GT(ports.creditBlocksLost, 20, "credits with them");
        NS_TEST_EXPECT_MSG_GT(ports.creditStalls, 100000, "short buffers");
        NS_TEST_EXPECT_MSG_EQ(NoRoute(bed), 0, "none dropped");
        uint64_t received = 0;
        for (const auto& device : bed.fabric->GetSwitches())
        {
            received += device->GetReceived();
        }
        NS_TEST_EXPECT_MSG_EQ(received, Forwarded(bed), "what came in went out");
        NS_TEST_EXPECT_MSG_EQ(Leaked(bed), "", "credits");
    }
};

class RdmaIbVerbsTestCase : public TestCase
{
  public:
    RdmaIbVerbsTestCase()
        : TestCase("SEND, READ and datagrams over InfiniBand, to the nanosecond")
    {
    }

  private:
    void DoRun() override
    {
        Reliable();
        Datagrams();
    }

    /// Two hosts on one switch, 100 Gb/s, 1 us: cut through, so a way has the line time once.
    static constexpr int64_t WAY = 2 * US + LATENCY;

    struct Ends : VerbsBed
    {
        explicit Ends(RdmaService service)
        {
            Star(2, 100 * GBPS);
            helper.SetInfiniBand({});
            Build();
            RdmaQueuePairInit init;
            init.service = service;
            CreateQueuePairs(init);
        }
    };

    void Reliable()
    {
        const int64_t packets =
            LineTime(OVERHEAD + 4096, 100 * GBPS) + LineTime(OVERHEAD + 904, 100 * GBPS);
        RdmaWorkCompletion one;
        {
            Ends bed(RdmaService::RC);
            RdmaNic::Connect(bed.qp[0], bed.qp[1]);
            bed.qp[1]->PostReceive(5000, 7);
            bed.qp[0]->PostSend(5000, 42);
            Simulator::Run();
            NS_TEST_ASSERT_MSG_EQ(bed.receiveQueue[1]->Poll(one), true, "SEND");
            NS_TEST_EXPECT_MSG_EQ(one.time, WAY + packets, "SEND: its last byte");
            NS_TEST_EXPECT_MSG_EQ(one.bytes, 5000, "its length");
            NS_TEST_ASSERT_MSG_EQ(bed.sendQueue[0]->Poll(one), true, "SEND's completion");
            // The ACK has AETH 4.
            NS_TEST_EXPECT_MSG_EQ_TOL(one.time,
                                      2 * WAY + packets + LineTime(OVERHEAD + 4, 100 * GBPS),
                                      NS,
                                      "SEND's ACK");
        }
        {
            Ends bed(RdmaService::RC);
            RdmaNic::Connect(bed.qp[0], bed.qp[1]);
            bed.qp[0]->PostRead(5000, 43);
            Simulator::Run();
            NS_TEST_ASSERT_MSG_EQ(bed.sendQueue[0]->Poll(one), true, "READ");
            NS_TEST_EXPECT_MSG_EQ((one.status == RdmaStatus::SUCCESS), true, "READ");
            // The request has RETH 16, the first and the last response AETH 4.
            NS_TEST_EXPECT_MSG_EQ_TOL(one.time,
                                      2 * WAY + LineTime(OVERHEAD + 16, 100 * GBPS) +
                                          LineTime(OVERHEAD + 4 + 4096, 100 * GBPS) +
                                          LineTime(OVERHEAD + 4 + 904, 100 * GBPS),
                                      NS,
                                      "READ: its last byte");
        }
    }

    void Datagrams()
    {
        using State = RdmaQueuePair::State;
        Ends bed(RdmaService::UD);
        for (RdmaQueuePair* end : bed.qp)
        {
            for (const State to : {State::INIT, State::READY_TO_RECEIVE, State::READY_TO_SEND})
            {
                NS_TEST_EXPECT_MSG_EQ(end->Modify(to), "", "states");
            }
        }
        bed.qp[1]->PostReceive(1000, 1);
        RdmaSendRequest request = Datagram(bed.qp[1], 1000, 0);
        request.hasImmediate = true;
        request.immediate = 77;
        bed.qp[0]->Post(request);
        bed.qp[0]->Post(request); // there is no receive request for this one
        request.peerEndpoint = 9; // and no such host for this one
        bed.qp[0]->Post(request);
        Simulator::Run();
        // DETH 8, ImmDt 4.
        RdmaWorkCompletion one;
        NS_TEST_ASSERT_MSG_EQ(bed.receiveQueue[1]->Poll(one), true, "a datagram");
        NS_TEST_EXPECT_MSG_EQ(one.time,
                              WAY + LineTime(OVERHEAD + 8 + 4 + 1000, 100 * GBPS),
                              "its last byte");
        NS_TEST_EXPECT_MSG_EQ(one.immediate, 77, "immediate");
        NS_TEST_EXPECT_MSG_EQ(bed.receiveQueue[1]->Poll(one), false, "no second one");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNic(1)->GetCounters().notReadyDropped +
                                  bed.fabric->GetNic(1)->GetCounters().datagramsDropped,
                              1,
                              "dropped for want of a receive request");
        NS_TEST_EXPECT_MSG_EQ(NoRoute(bed), 1, "dropped for want of a way");
        NS_TEST_EXPECT_MSG_EQ(Leaked(bed), "", "credits");
    }
};

class RdmaIbFabricTestSuite : public TestSuite
{
  public:
    RdmaIbFabricTestSuite()
        : TestSuite("rdma-ib-fabric", UNIT)
    {
        const auto quick = TestCase::QUICK;
        AddTestCase(new RdmaIbTorusTestCase(1, 5, 2, "minhop", 1, true), quick);
        AddTestCase(new RdmaIbTorusTestCase(1, 6, 2, "minhop", 1, true), quick);
        AddTestCase(new RdmaIbTorusTestCase(1, 6, 2, "torus", 1, true), quick);
        AddTestCase(new RdmaIbTorusTestCase(5, 5, 2, "minhop", 1, true), quick);
        for (const uint8_t lanes : {2, 4, 8})
        {
            AddTestCase(new RdmaIbTorusTestCase(1, 5, 2, "torus", lanes, false), quick);
            AddTestCase(new RdmaIbTorusTestCase(5, 5, 2, "torus", lanes, false), quick);
        }
        AddTestCase(new RdmaIbTorusTestCase(1, 6, 2, "torus", 2, false), quick);
        AddTestCase(new RdmaIbTorusTestCase(1, 5, 2, "updn", 1, false), quick);
        AddTestCase(new RdmaIbTorusTestCase(1, 5, 2, "dfsssp", 2, false), quick);
        AddTestCase(new RdmaIbTorusTestCase(5, 5, 2, "dfsssp", 4, false), quick);
        for (uint32_t seed = 1; seed <= 9; ++seed)
        {
            const std::string engine = seed % 3 == 0 ? "updn" : seed % 3 == 1 ? "ftree" : "minhop";
            AddTestCase(new RdmaIbFatTreeTestCase(4, engine, seed), quick);
            AddTestCase(new RdmaIbFatTreeTestCase(6, engine, seed + 100), quick);
        }
        AddTestCase(new RdmaIbFatTreeTestCase(8, "ftree", 201), quick);
        AddTestCase(new RdmaIbFatTreeTestCase(8, "minhop", 202), quick);
        AddTestCase(new RdmaIbVictimTestCase(RdmaIbVictimTestCase::NOTHING), quick);
        AddTestCase(new RdmaIbVictimTestCase(RdmaIbVictimTestCase::LANES), quick);
        const auto control = RdmaIbVictimTestCase::CONGESTION_CONTROL;
        AddTestCase(new RdmaIbVictimTestCase(control, 15, 128), quick);
        AddTestCase(new RdmaIbVictimTestCase(control, 8, 128), quick);
        AddTestCase(new RdmaIbVictimTestCase(control, 15, 8), quick);
        // A packet is 65 units of weight: 65 and 195 are 1 and 3 packets, in either table.
        AddTestCase(new RdmaIbArbitrationTestCase("", "0:65,1:195", 255, 1. / 4), quick);
        AddTestCase(new RdmaIbArbitrationTestCase("0:130,1:195", "0:1", 255, 2. / 5), quick);
        // 4 x 4 KiB of high priority, which the last of 4 packets fills (260 of 256 units), then
        // one packet of low.
        AddTestCase(new RdmaIbArbitrationTestCase("0:64", "1:64", 4, 4. / 5), quick);
        // Without a limit nothing of low priority would pass; a limit of 0 is one packet each.
        AddTestCase(new RdmaIbArbitrationTestCase("0:64", "1:64", 0, 1. / 2), quick);
        AddTestCase(new RdmaIbRerouteTestCase("ftree,updn", false), quick);
        AddTestCase(new RdmaIbRerouteTestCase("updn", false), quick);
        AddTestCase(new RdmaIbRerouteTestCase("updn", true), quick);
        AddTestCase(new RdmaIbLmcTestCase, quick);
        AddTestCase(new RdmaIbTablesFileTestCase, quick);
        AddTestCase(new RdmaIbLongTestCase, quick);
        AddTestCase(new RdmaIbVerbsTestCase, quick);
    }
};

static RdmaIbFabricTestSuite g_rdmaIbFabricTestSuite;
