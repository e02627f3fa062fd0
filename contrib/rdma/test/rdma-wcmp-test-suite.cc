/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * WCMP: flows by the capacity of ways, exactly, and what becomes of it when a link fails.
 */
#include "contrib/rdma/core/flow-hash.h"
#include "rdma-test-fabric.h"

#include "ns3/rdma-load-balancer.h"

#include <array>

using namespace ns3;
using namespace ns3::rdmatest;

/// Shares of flows by the capacity of ways, and what becomes of them when a link fails.
class RdmaWcmpTestCase : public TestCase
{
  public:
    RdmaWcmpTestCase()
        : TestCase("weights by capacity")
    {
    }

  private:
    using Ways = std::vector<std::vector<rdma::PathCapacity::Way>>;

    static Ptr<RdmaLoadBalancer> Make(const std::string& name)
    {
        const Ptr<RdmaLoadBalancer> balancer = RdmaLoadBalancer::Make(name);
        balancer->Attach(0, 77);
        return balancer;
    }

    /// A flow's port is entry EcmpPick(flow, seed, 7) of the table 4 4 5 5 6 6 7, exactly.
    void Choices()
    {
        RdmaEdges edges;
        edges.edges = 1;
        edges.edgeOf = {0};
        const auto edge = std::make_shared<const RdmaEdges>(edges);
        const Ptr<RdmaLoadBalancer> weighted = Make("wcmp");
        const Ptr<RdmaLoadBalancer> alike = Make("wcmp");
        const Ptr<RdmaLoadBalancer> ecmp = Make("ecmp");
        for (const Ptr<RdmaLoadBalancer>& balancer : {weighted, alike})
        {
            balancer->OnPlace({edge, RdmaEdges::NONE, RdmaEdges::NONE, {}});
        }
        weighted->OnCapacity({{{4, 2 * GBPS}, {5, 2 * GBPS}, {6, 2 * GBPS}, {7, GBPS}}});
        alike->OnCapacity({{{4, GBPS}, {5, GBPS}, {6, GBPS}, {7, GBPS}}});
        const uint16_t ports[] = {4, 5, 6, 7};
        const uint16_t table[] = {4, 4, 5, 5, 6, 6, 7};
        const std::vector<Ptr<RdmaPort>> none;
        const RdmaQueues queues(none);
        RdmaFrame frame;
        frame.dst = 0;
        for (uint32_t flow = 0; flow < 1000; ++flow)
        {
            frame.route = RdmaRoute::OfFlow(flow * 2654435761U);
            const RdmaLoadBalancer::Candidates all{ports, 4, 0, RdmaLoadBalancer::NO_PORT};
            const rdma::TimePoint now;
            NS_TEST_EXPECT_MSG_EQ(weighted->Choose(all, frame, queues, now),
                                  table[rdma::EcmpPick(frame.route.GetKey(), 77, 7)],
                                  "by weight");
            NS_TEST_EXPECT_MSG_EQ(alike->Choose(all, frame, queues, now),
                                  ecmp->Choose(all, frame, queues, now),
                                  "as ECMP where all ways are alike");
        }
    }

    /// --hash-seed and --hash-offset are EcmpLoadBalancer's, and reach WCMP.
    void Hashes()
    {
        const Ptr<RdmaLoadBalancer> balancer = RdmaLoadBalancer::Make("wcmp");
        balancer->SetAttribute("HashSeed", UintegerValue(5));
        balancer->SetAttribute("HashOffset", UintegerValue(8));
        balancer->Attach(0, 77);
        NS_TEST_EXPECT_MSG_EQ(balancer->GetSeed(), 5, "one for all switches");
        RdmaEdges edges;
        edges.edges = 1;
        edges.edgeOf = {0};
        balancer->OnPlace(
            {std::make_shared<const RdmaEdges>(edges), RdmaEdges::NONE, RdmaEdges::NONE, {}});
        balancer->OnCapacity({{{4, 2 * GBPS}, {5, GBPS}}});
        const uint16_t ports[] = {4, 5};
        const uint16_t table[] = {4, 4, 5};
        const std::vector<Ptr<RdmaPort>> none;
        const RdmaQueues queues(none);
        RdmaFrame frame;
        frame.dst = 0;
        for (uint32_t flow = 0; flow < 300; ++flow)
        {
            frame.route = RdmaRoute::OfFlow(flow * 2654435761U);
            const RdmaLoadBalancer::Candidates all{ports, 2, 0, RdmaLoadBalancer::NO_PORT};
            NS_TEST_EXPECT_MSG_EQ(balancer->Choose(all, frame, queues, {}),
                                  table[rdma::RotatedPick(frame.route.GetKey(), 5, 3, 8)],
                                  "by other bits of the hash");
        }
    }

    /// One packet each of 300 flows over two spines, each of which has two links to the other leaf.
    /// \return flows by spine
    std::array<uint64_t, 2> Run(bool fails)
    {
        Bed bed;
        bed.Host("h0");
        bed.Host("h1");
        const uint32_t leaf[2] = {bed.Switch("l0"), bed.Switch("l1")};
        const uint32_t spine[2] = {bed.Switch("p0"), bed.Switch("p1")};
        bed.Link(0, leaf[0], 100 * GBPS, 100 * NS);
        bed.Link(1, leaf[1], 100 * GBPS, 100 * NS);
        for (const uint32_t p : spine)
        {
            bed.Link(leaf[0], p, 200 * GBPS, 100 * NS);
            bed.Link(leaf[1], p, 100 * GBPS, 100 * NS);
            bed.Link(leaf[1], p, 100 * GBPS, 100 * NS);
        }
        bed.helper.SetSwitchAttribute("LoadBalancer", StringValue("wcmp"));
        bed.Build();
        if (fails)
        {
            NS_TEST_EXPECT_MSG_EQ(bed.fabric->SetLinkDown(7, true), "", "p1's second link to l1");
        }
        constexpr uint32_t FLOWS = 300;
        for (uint32_t flow = 0; flow < FLOWS; ++flow)
        {
            bed.Connect(0, 1, 3).first->PostWrite(1000, flow);
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(bed.notes.messages.size(), FLOWS, "all arrive");
        const Ptr<RdmaSwitchBase> first = bed.fabric->GetSwitches()[0];
        return {first->GetPort(1)->GetCounters().txDataFrames,
                first->GetPort(2)->GetCounters().txDataFrames};
    }

    void DoRun() override
    {
        Choices();
        Hashes();
        // Binomial: 150 each, standard deviation sqrt(300 / 4) = 8.7; and with one link of four
        // gone 200 and 100, sqrt(300 x 2 / 9) = 8.2. Within five of them but once in a million.
        const auto whole = Run(false);
        NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(whole[0]), 150., 43, "two links each");
        NS_TEST_EXPECT_MSG_EQ(whole[0] + whole[1], 300, "each flow once");
        const auto damaged = Run(true);
        NS_TEST_EXPECT_MSG_EQ_TOL(static_cast<double>(damaged[0]), 200., 41, "two links and one");
        NS_TEST_EXPECT_MSG_EQ(damaged[0] + damaged[1], 300, "each flow once");
    }
};

class RdmaWcmpTestSuite : public TestSuite
{
  public:
    RdmaWcmpTestSuite()
        : TestSuite("rdma-wcmp", UNIT)
    {
        AddTestCase(new RdmaWcmpTestCase, TestCase::QUICK);
    }
};

static RdmaWcmpTestSuite g_rdmaWcmpTestSuite;
