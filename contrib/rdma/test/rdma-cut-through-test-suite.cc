/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Ethernet switches that cut through, against closed forms.
 *
 * A frame of W wire bytes over links of rates r(0) .. r(n - 1), delays d(i), and a switch of
 * latency P behind each link but the last. Switch i passes it on when it has 72 B, preamble and 64
 * B, if r(i + 1) <= r(i), and else when it has all of it:
 *
 *     arrival = sum over i of d(i) + sum over i < n - 1 of (P + (r(i + 1) <= r(i) ? 72 : W) / r(i))
 *               + W / r(n - 1)
 */
#include "rdma-test-fabric.h"

#include <map>
#include <numeric>
#include <random>

using namespace ns3;
using namespace ns3::rdmatest;

namespace
{

/// Exact where 8e12 is a multiple of the rate.
int64_t
LineTime(uint64_t bytes, uint64_t gbps)
{
    return static_cast<int64_t>(bytes * 8000 / gbps);
}

/// A chain of switches that cut through.
struct CutThroughBed : Bed
{
    explicit CutThroughBed(const std::vector<uint64_t>& gbps, bool cutThrough = true)
    {
        std::vector<uint64_t> bps;
        for (const uint64_t rate : gbps)
        {
            bps.push_back(rate * GBPS);
        }
        Chain(bps);
        helper.SetSwitchAttribute("CutThrough", BooleanValue(cutThrough));
    }
};

} // namespace

class RdmaCutThroughLatencyTestCase : public TestCase
{
  public:
    /// \param wire bytes of the only packet on the line
    RdmaCutThroughLatencyTestCase(std::vector<uint64_t> gbps, uint32_t payload, bool cutThrough)
        : TestCase("latency of " + std::to_string(payload) + " B over " + Name(gbps) +
                   (cutThrough ? " Gb/s" : " Gb/s, stored")),
          m_gbps(std::move(gbps)),
          m_payload(payload),
          m_cutThrough(cutThrough)
    {
    }

    static std::string Name(const std::vector<uint64_t>& gbps)
    {
        std::string name;
        for (const uint64_t rate : gbps)
        {
            name += (name.empty() ? "" : ", ") + std::to_string(rate);
        }
        return name;
    }

  private:
    void DoRun() override
    {
        CutThroughBed bed(m_gbps, m_cutThrough);
        bed.Build();
        uint32_t wire = 0;
        int64_t sent = -1;
        int64_t arrived = -1;
        const auto& ports = bed.fabric->GetPorts();
        WatchFrames(ports[0], "PhyTx", [&](const RdmaPort*, const RdmaFrame* frame, int64_t now) {
            if (IsData(frame->opcode))
            {
                wire = frame->wireBytes;
                sent = now;
            }
        });
        WatchFrames(ports[2 * m_gbps.size() - 1],
                    "PhyRx",
                    [&](const RdmaPort*, const RdmaFrame* frame, int64_t now) {
                        arrived = IsData(frame->opcode) ? now : arrived;
                    });
        bed.Connect(0, 1).first->PostWrite(m_payload, 1);
        Simulator::Run();
        const std::size_t links = m_gbps.size();
        int64_t expected = static_cast<int64_t>(links) * US;
        for (std::size_t i = 0; i + 1 < links; ++i)
        {
            const bool passes = m_cutThrough && m_gbps[i + 1] <= m_gbps[i];
            expected += 500 * NS + LineTime(passes ? 72 : wire, m_gbps[i]);
        }
        expected += LineTime(wire, m_gbps.back());
        NS_TEST_EXPECT_MSG_EQ(arrived - sent, expected, "to the picosecond");
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 1, "whole");
        // The closed form that completion times are compared with.
        const int64_t ideal =
            bed.fabric->GetIdealCompletion(0, 1, {{rdma::Bytes(wire), 1, rdma::Bytes(0)}}, false);
        NS_TEST_EXPECT_MSG_EQ(ideal, expected, "as the ideal completion has it");
        if (m_payload == 1024 && links == 4)
        {
            NS_TEST_EXPECT_MSG_EQ(wire, 1122, "the packet of the next line");
        }
    }

    std::vector<uint64_t> m_gbps;
    uint32_t m_payload;
    bool m_cutThrough;
};

/// The round trip that laws go by is what a packet and its ACK take.
class RdmaCutThroughRoundTripTestCase : public TestCase
{
  public:
    explicit RdmaCutThroughRoundTripTestCase(std::vector<uint64_t> gbps)
        : TestCase("base round trip over " + RdmaCutThroughLatencyTestCase::Name(gbps) + " Gb/s"),
          m_gbps(std::move(gbps))
    {
    }

  private:
    void DoRun() override
    {
        CutThroughBed bed(m_gbps);
        bed.Build();
        const rdma::FrameSizes& sizes = bed.fabric->GetFrameSizes();
        const uint32_t data = sizes.DataWire(rdma::RoceOpcode::kWriteOnlyWithImmediate, 4096);
        const std::size_t links = m_gbps.size();
        // Each way a cable and, but for the last, a switch; the packet is stored before faster
        // links, and so is the ACK on its way back.
        int64_t expected = static_cast<int64_t>(2 * links) * US +
                           static_cast<int64_t>(2 * links - 2) * 500 * NS +
                           LineTime(data, m_gbps.back()) + LineTime(sizes.ackWire, m_gbps.front());
        int64_t stored = LineTime(4, m_gbps.back()); // of the immediate's 4 B
        for (std::size_t i = 0; i + 1 < links; ++i)
        {
            const uint64_t before = m_gbps[i];
            const uint64_t behind = m_gbps[i + 1];
            expected += LineTime(behind <= before ? 72 : data, before);
            stored += behind <= before ? 0 : LineTime(4, before);
            expected += LineTime(before <= behind ? 72 : sizes.ackWire, behind);
        }
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetNic(0)->GetBaseRtt(), expected, "of the NIC");
        NS_TEST_EXPECT_MSG_EQ(bed.fabric->GetBaseRtt(0), expected, "of the fabric");
        // The same without an immediate, which has 4 B.
        bed.Connect(0, 1).first->PostWrite(4096, 1);
        Simulator::Run();
        const auto& done = bed.notes.completions.back();
        NS_TEST_EXPECT_MSG_EQ(done.at - done.posted, expected - stored, "as it is");
    }

    std::vector<uint64_t> m_gbps;
};

/// Random rates, sizes and senders: each connection's packets arrive in order, none is lost, and
/// frames that come to a busy port are stored.
class RdmaCutThroughOrderTestCase : public TestCase
{
  public:
    explicit RdmaCutThroughOrderTestCase(uint32_t seed)
        : TestCase("order and conservation, random rates, seed " + std::to_string(seed)),
          m_seed(seed)
    {
    }

  private:
    void DoRun() override
    {
        std::mt19937 random(m_seed);
        const auto rate = [&random] {
            return std::array<uint64_t, 4>{25, 100, 200, 400}[random() % 4] * GBPS;
        };
        Bed bed;
        const uint32_t hosts = 8;
        for (uint32_t i = 0; i < hosts; ++i)
        {
            bed.Host("h" + std::to_string(i));
        }
        const auto [left, middle, right] = bed.SwitchesNamed("left", "middle", "right");
        for (uint32_t i = 0; i < hosts; ++i)
        {
            bed.Link(i, i < hosts / 2 ? left : right, rate(), (i + 1) * 100 * NS);
        }
        bed.Link(left, middle, rate());
        bed.Link(middle, right, rate());
        bed.helper.SetSwitchAttribute("CutThrough", BooleanValue(true));
        bed.helper.SetNicAttribute("AckEvery", UintegerValue(4));
        bed.Build();
        std::map<std::pair<uint32_t, uint32_t>, uint32_t> next; // by (receiver, queue pair)
        uint32_t disordered = 0;
        for (uint32_t i = 0; i < hosts; ++i)
        {
            WatchFrames(
                bed.fabric->GetNic(i)->GetPort(),
                "PhyRx",
                [&](const RdmaPort*, const RdmaFrame* f, int64_t) {
                    if (IsData(f->opcode))
                    {
                        const auto [of, isNew] = next.try_emplace({f->dst, f->destQp}, f->psn);
                        disordered += f->psn != of->second;
                        of->second = f->psn + 1;
                    }
                });
        }
        std::size_t messages = 0;
        for (uint32_t n = 0; n < 40; ++n)
        {
            const uint32_t from = random() % hosts;
            const uint32_t to = (from + 1 + random() % (hosts - 1)) % hosts;
            RdmaQueuePair* qp = bed.Connect(from, to).first;
            const uint32_t bytes = 1 + random() % 60000;
            Simulator::ScheduleWithContext(bed.fabric->GetNic(from)->GetPort()->GetContext(),
                                           NanoSeconds(random() % 40000),
                                           [qp, bytes] { qp->PostWrite(bytes, 1); });
            ++messages;
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), messages, "all arrive");
        NS_TEST_EXPECT_MSG_EQ(disordered, 0, "in order");
        NS_TEST_EXPECT_MSG_EQ(bed.Drops(), 0, "nothing is lost");
        for (const auto& device : bed.fabric->GetSwitches())
        {
            NS_TEST_EXPECT_MSG_EQ(device->GetReceived(), device->GetForwarded(), "conserved");
            NS_TEST_EXPECT_MSG_EQ(AsEthernet(device)->GetBuffer().Stored(), 0, "empty");
        }
    }

    uint32_t m_seed;
};

/**
 * A link with bit errors, at the beginning of a chain. What is passed on with errors is found where
 * it is stored next, or by the host.
 */
class RdmaCutThroughErrorsTestCase : public TestCase
{
  public:
    /// \param at port of the fabric that finds the errors
    RdmaCutThroughErrorsTestCase(std::vector<uint64_t> gbps, uint32_t at)
        : TestCase("bit errors of the first link over " +
                   RdmaCutThroughLatencyTestCase::Name(gbps) + " Gb/s"),
          m_gbps(std::move(gbps)),
          m_at(at)
    {
    }

  private:
    void DoRun() override
    {
        CutThroughBed bed(m_gbps);
        bed.links.front().bitErrorRate = 1e-6;
        bed.helper.SetNicAttribute("TimeoutExponent", UintegerValue(4));
        bed.Build();
        bed.Connect(0, 1).first->PostWrite(4096 * 300, 1);
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), 1, "arrives whole");
        uint64_t found = 0;
        for (uint32_t p = 0; p < bed.fabric->GetPorts().size(); ++p)
        {
            const RdmaPortCounters c = bed.fabric->GetPorts()[p]->GetCounters();
            found += c.corrupted;
            // ACKs have errors, too, on the first link's other direction, which the NIC finds.
            NS_TEST_EXPECT_MSG_EQ((c.corrupted == 0 || p == m_at || p == 0), true, "port " << p);
        }
        NS_TEST_EXPECT_MSG_GT(bed.fabric->GetPorts()[m_at]->GetCounters().corrupted, 2, "found");
        for (const auto& device : bed.fabric->GetSwitches())
        {
            NS_TEST_EXPECT_MSG_EQ(device->GetReceived(), device->GetForwarded(), "conserved");
        }
        NS_TEST_EXPECT_MSG_GT(found, 2, "errors");
    }

    std::vector<uint64_t> m_gbps;
    uint32_t m_at;
};

class RdmaCutThroughTestSuite : public TestSuite
{
  public:
    RdmaCutThroughTestSuite()
        : TestSuite("rdma-cut-through", UNIT)
    {
        using Rates = std::vector<uint64_t>;
        // 1,122 B on the line: 5,686.72 ns, and stored 5,791.72.
        for (const bool cutThrough : {true, false})
        {
            AddTestCase(new RdmaCutThroughLatencyTestCase({100, 100, 400, 100}, 1024, cutThrough),
                        TestCase::QUICK);
        }
        for (const Rates& gbps : {Rates{100, 100},
                                  Rates{100, 100, 400, 100},
                                  Rates{25, 100, 100, 50},
                                  Rates{200, 400, 400, 200, 100}})
        {
            AddTestCase(new RdmaCutThroughRoundTripTestCase(gbps), TestCase::QUICK);
        }
        std::mt19937 random(1);
        for (uint32_t n = 0; n < 20; ++n)
        {
            Rates gbps;
            for (uint32_t link = 0; link < 4; ++link)
            {
                gbps.push_back(Rates{10, 25, 40, 50, 100, 200, 400}[random() % 7]);
            }
            AddTestCase(new RdmaCutThroughLatencyTestCase(gbps, 1 + random() % 4096, true),
                        TestCase::QUICK);
        }
        for (uint32_t seed = 1; seed <= 10; ++seed)
        {
            AddTestCase(new RdmaCutThroughOrderTestCase(seed), TestCase::QUICK);
        }
        // Ports 2 i and 2 i + 1 are of link i. All pass: the host, port 5; the second switch
        // stores: its port 3; the first one does: 1.
        AddTestCase(new RdmaCutThroughErrorsTestCase({100, 100, 100}, 5), TestCase::QUICK);
        AddTestCase(new RdmaCutThroughErrorsTestCase({100, 100, 400}, 3), TestCase::QUICK);
        AddTestCase(new RdmaCutThroughErrorsTestCase({100, 400, 100}, 1), TestCase::QUICK);
    }
};

static RdmaCutThroughTestSuite g_rdmaCutThroughTestSuite;
