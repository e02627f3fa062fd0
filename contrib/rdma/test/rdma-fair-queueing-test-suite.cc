/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Fair queueing by start times: its bound, and its shares in a switch.
 */
#include "rdma-disc-bench.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace ns3;
using namespace ns3::rdmatest;

class RdmaFairQueueingTestCase : public TestCase
{
  public:
    RdmaFairQueueingTestCase()
        : TestCase("fq: the bound of start-time fair queueing in all intervals; order of flows")
    {
    }

  private:
    void DoRun() override
    {
        // Without collisions of hashes.
        Config::SetDefault("ns3::FqQueueDisc::Queues", UintegerValue(65536));
        auto random = CreateObject<UniformRandomVariable>();
        random->SetStream(79);
        for (const uint32_t flows : {2U, 3U, 7U, 16U, 33U})
        {
            Check(flows, *random);
        }
        Config::SetDefault("ns3::FqQueueDisc::Queues", UintegerValue(128));
    }

    /// Goyal, Vin, Cheng 1997, Theorem 1, with weights of 1: while flow f has frames, those that
    /// start in service while v goes from v1 to v2 have start tags in [v1, v2], one behind the
    /// other without gaps. Their bytes are at least v2 - v1 - l (the first may begin up to a frame
    /// behind v1) and at most v2 - v1 + l (the last one may end a frame behind v2). So two flows
    /// that both have frames differ by at most the sum of their largest frames.
    void Check(uint32_t flows, UniformRandomVariable& random)
    {
        DiscBench bench("fq");
        std::vector<uint32_t> largest(flows);
        std::vector<uint32_t> left(flows);
        std::vector<std::pair<uint32_t, uint32_t>> frames; // flow, number
        for (uint32_t f = 0; f < flows; ++f)
        {
            // Flows of small frames, of large ones, and of both.
            const uint32_t most = random.GetInteger(200, 4178);
            left[f] = random.GetInteger(100, 300);
            for (uint32_t i = 0; i < left[f]; ++i)
            {
                frames.emplace_back(f, i);
            }
            largest[f] = most;
        }
        for (const auto& [f, i] : frames)
        {
            const uint32_t wire = random.GetInteger(84, largest[f]);
            bench.Enqueue({3, wire, 1 + f, i, 0});
        }
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(bench.sent.size(), frames.size(), "all are sent");
        std::vector<uint32_t> next(flows);
        std::vector<int64_t> bytes(flows);
        std::vector<bool> backlogged(flows, true);

        struct Range
        {
            int64_t least{0};
            int64_t most{0};
        };

        std::vector<Range> ranges(flows * flows);
        for (const auto& s : bench.sent)
        {
            const uint32_t f = s.flow - 1;
            NS_TEST_ASSERT_MSG_EQ(s.number, next[f]++, "a flow keeps its order");
            bytes[f] += s.wire - 20;
            if (--left[f] == 0)
            {
                backlogged[f] = false;
            }
            for (uint32_t other = 0; other < flows; ++other)
            {
                Range& range = ranges[std::min(f, other) * flows + std::max(f, other)];
                if (other == f || !backlogged[f] || !backlogged[other])
                {
                    continue;
                }
                const int64_t ahead = bytes[std::min(f, other)] - bytes[std::max(f, other)];
                range.least = std::min(range.least, ahead);
                range.most = std::max(range.most, ahead);
                NS_TEST_ASSERT_MSG_LT_OR_EQ(range.most - range.least,
                                            largest[f] + largest[other],
                                            "flows " << f << " and " << other);
            }
        }
    }
};

class RdmaSharedQueuesTestCase : public TestCase
{
  public:
    RdmaSharedQueuesTestCase()
        : TestCase("fq, srpt: flows that share queues, come and go keep their order")
    {
    }

  private:
    void DoRun() override
    {
        for (const uint32_t queues : {1U, 3U, 8U, 17U, 128U})
        {
            Config::SetDefault("ns3::FqQueueDisc::Queues", UintegerValue(queues));
            Config::SetDefault("ns3::SrptQueueDisc::Queues", UintegerValue(queues));
            Check("fq");
            Check("srpt");
        }
        Config::SetDefault("ns3::FqQueueDisc::Queues", UintegerValue(128));
        Config::SetDefault("ns3::SrptQueueDisc::Queues", UintegerValue(128));
    }

    /// A frame of 81.6 ns each 80 ns, of one of 40 flows: queues empty and fill again.
    void Check(const std::string& disc)
    {
        constexpr uint32_t FRAMES = 1500;
        DiscBench bench(disc);
        auto random = CreateObject<UniformRandomVariable>();
        random->SetStream(80);
        std::map<uint32_t, uint32_t> last;
        for (uint32_t i = 1; i <= FRAMES; ++i)
        {
            const uint32_t flow = random->GetInteger(1, 40);
            const uint32_t rank = random->GetInteger(1, 1000);
            Simulator::Schedule(NanoSeconds(80 * i), [&bench, flow, i, rank] {
                bench.Enqueue({3, 1020, flow, i, rank});
            });
        }
        Simulator::Run();
        NS_TEST_ASSERT_MSG_EQ(bench.sent.size(), FRAMES, "all are sent");
        for (const auto& s : bench.sent)
        {
            NS_TEST_ASSERT_MSG_GT(s.number, last[s.flow], "order of flow " << s.flow);
            last[s.flow] = s.number;
        }
    }
};

class RdmaFairSharesTestCase : public TestCase
{
  public:
    RdmaFairSharesTestCase()
        : TestCase("fq in a switch: one flow of a sender and three of another get a quarter each")
    {
    }

  private:
    void DoRun() override
    {
        Config::SetDefault("ns3::FqQueueDisc::Queues", UintegerValue(65536)); // no collisions
        const std::vector<double> fair = Shares("fq");
        Config::SetDefault("ns3::FqQueueDisc::Queues", UintegerValue(128));
        for (const double share : fair)
        {
            NS_TEST_EXPECT_MSG_EQ_TOL(share, 0.25, 0.0025, "a quarter to 1%");
        }
        // First in, first out serves senders alike.
        NS_TEST_EXPECT_MSG_EQ_TOL(Shares("drr")[0], 0.5, 0.02, "half without");
    }

    static std::vector<double> Shares(const std::string& disc)
    {
        Bed bed(3, 100 * GBPS);
        bed.helper.SetPortAttribute("QueueDisc", StringValue(disc));
        bed.Build();
        std::map<uint32_t, double> bytes;
        double sum = 0;
        WatchFrames(bed.fabric->GetNic(2)->GetPort(),
                    "PhyRx",
                    [&](const RdmaPort*, const RdmaFrame* f, int64_t now) {
                        if (IsData(f->opcode) && now > 100 * US)
                        {
                            bytes[f->destQp] += f->payload;
                            sum += f->payload;
                        }
                    });
        for (const uint32_t from : {0U, 1U, 1U, 1U})
        {
            bed.Connect(from, 2).first->PostWrite(8000000, 1);
        }
        Simulator::Stop(MicroSeconds(1100));
        Simulator::Run();
        std::vector<double> shares;
        for (const auto& [flow, count] : bytes)
        {
            shares.push_back(count / sum);
        }
        return shares;
    }
};

class RdmaFairQueueingTestSuite : public TestSuite
{
  public:
    RdmaFairQueueingTestSuite()
        : TestSuite("rdma-fair-queueing", UNIT)
    {
        AddTestCase(new RdmaFairQueueingTestCase, TestCase::QUICK);
        AddTestCase(new RdmaSharedQueuesTestCase, TestCase::QUICK);
        AddTestCase(new RdmaFairSharesTestCase, TestCase::QUICK);
    }
};

static RdmaFairQueueingTestSuite g_rdmaFairQueueingTestSuite;
