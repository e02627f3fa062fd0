/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Groups of ranks that ask switches between servers to add up for them: as many as the switches
 * have room for get it (--aggregation-groups), those that come later take what auto would, are done
 * all the same, and it is said once.
 */
#include "collectives/aggregation/aggregators.h"
#include "star-cluster.h"

#include "ns3/collective-runner.h"
#include "ns3/rdma-fabric-helper.h"
#include "ns3/simulator.h"
#include "ns3/test.h"
#include "ns3/trace-collector.h"

#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

using namespace ns3;
using namespace dltrain;
using namespace dltrain::test;

namespace
{

constexpr uint64_t BYTES = 100000;

/// Pairs of servers with a GPU each: 2 on one leaf, the leaves on one spine.
scenario::ClusterSpec
LeavesOfTwo(uint32_t leaves)
{
    scenario::ClusterSpec cluster;
    for (uint32_t s = 0; s < 2 * leaves; ++s)
    {
        cluster.topology.AddHost("h" + std::to_string(s));
        cluster.hostOfServer.push_back(s);
    }
    const topo::NodeId spine = cluster.topology.AddSwitch("spine", 2);
    for (uint32_t l = 0; l < leaves; ++l)
    {
        const topo::NodeId leaf = cluster.topology.AddSwitch("leaf" + std::to_string(l), 1);
        for (const topo::NodeId other : {2 * l, 2 * l + 1, spine})
        {
            cluster.topology.Connect(other, leaf, rdma::BitRate(8 * GBPS), rdma::Duration(CABLE));
        }
    }
    cluster.servers = 2 * leaves;
    cluster.server.gpus = 1;
    cluster.server.nics = 1;
    cluster.server.scaleUp.perGpu = rdma::BitRate(80 * GBPS); // which no group here uses
    return cluster;
}

/// Runs an all_reduce in each of some groups at once, all by sharp if they are let.
class Bed : public CollectiveUser
{
  public:
    Bed(scenario::ClusterSpec cluster, uint32_t mostGroups)
        : m_cluster(std::move(cluster))
    {
        m_cluster.aggregators = std::make_shared<coll::Aggregators>(&m_cluster.topology,
                                                                    m_cluster.hostOfServer,
                                                                    m_cluster.server.nics,
                                                                    rdma::Nanoseconds(100));
        m_cluster.aggregationBytes = 1 << 20;
        m_cluster.aggregationGroups = mostGroups;
        scenario::CollectiveOptions options;
        scenario::AlgorithmRule rule;
        rule.op = coll::Op::kAllReduce;
        rule.name = "sharp";
        options.algorithms.push_back(rule);
        RdmaFabricHelper helper;
        m_fabric = BuildFabric(helper, m_cluster);
        m_collector = std::make_unique<TraceCollector>(*m_fabric, TraceCollector::Options());
        m_interconnect =
            std::make_unique<Interconnect>(m_cluster, "packet", *m_fabric, *m_collector);
        m_runner = std::make_unique<CollectiveRunner>(m_cluster, options, *m_interconnect, this);
    }

    ~Bed() override
    {
        m_runner.reset();
        m_interconnect.reset();
        m_collector.reset();
        m_fabric.reset();
        Simulator::Destroy();
    }

    /// \return what was said meanwhile
    std::string Run(const std::vector<std::vector<Rank>>& groups)
    {
        const std::ostringstream said;
        std::streambuf* const before = std::cerr.rdbuf(said.rdbuf());
        const uint32_t tag = m_collector->Tag("tested");
        for (const std::vector<Rank>& ranks : groups)
        {
            const uint32_t group = m_runner->AddCommunicator(ranks);
            const coll::Collective what{coll::Op::kAllReduce,
                                        BYTES,
                                        static_cast<coll::Rank>(ranks.size()),
                                        0};
            m_runner->Prepare(group, what);
            for (Rank position = 0; position < ranks.size(); ++position)
            {
                Simulator::Schedule(Seconds(0), [this, group, position, what, tag] {
                    m_runner->Start(group, position, what, tag, 0, RdmaClock::Now());
                });
            }
        }
        Simulator::Run();
        std::cerr.rdbuf(before);
        return said.str();
    }

    void OnRankDone(const reports::CollectivePart& part, uint64_t, reports::PathRecord*) override
    {
        ++done[part.communicator];
        names[part.communicator] = part.algorithm->Name();
    }

    std::map<uint32_t, uint32_t> done;     //!< ranks, by group
    std::map<uint32_t, std::string> names; //!< algorithms, by group

  private:
    scenario::ClusterSpec m_cluster;
    std::unique_ptr<RdmaFabric> m_fabric;
    std::unique_ptr<TraceCollector> m_collector;
    std::unique_ptr<Interconnect> m_interconnect;
    std::unique_ptr<CollectiveRunner> m_runner;
};

class AggregationGroupsTestCase : public TestCase
{
  public:
    AggregationGroupsTestCase()
        : TestCase("as many groups as switches have room for; others do without, and it is said")
    {
    }

  private:
    /// \param served which groups are
    void Check(const std::string& what,
               const scenario::ClusterSpec& cluster,
               uint32_t mostGroups,
               const std::vector<std::vector<Rank>>& groups,
               const std::vector<bool>& served)
    {
        Bed bed(cluster, mostGroups);
        const std::string said = bed.Run(groups);
        uint32_t refused = 0;
        for (uint32_t group = 0; group < groups.size(); ++group)
        {
            NS_TEST_EXPECT_MSG_EQ(bed.done[group],
                                  groups[group].size(),
                                  what << ": group " << group << " is done");
            NS_TEST_EXPECT_MSG_EQ((bed.names[group] == "sharp"),
                                  served[group],
                                  what << ": group " << group << ": " << bed.names[group]);
            refused += !served[group];
        }
        const std::string words = "--aggregation-groups=" + std::to_string(mostGroups);
        NS_TEST_EXPECT_MSG_EQ((said.find(words) != std::string::npos),
                              (refused > 0),
                              what << ": " << said);
        NS_TEST_EXPECT_MSG_EQ(said.find(words), said.rfind(words), what << ": once: " << said);
    }

    void DoRun() override
    {
        const std::vector<std::vector<Rank>> pairs = {{0, 1}, {2, 3}, {4, 5}, {6, 7}};
        const auto star = StarCluster(std::vector<uint64_t>(8, 8 * GBPS), 1);
        Check("a star with room for 4", star, 4, pairs, {true, true, true, true});
        Check("a star with room for 3", star, 3, pairs, {true, true, true, false});
        Check("a star with room for 1", star, 1, pairs, {true, false, false, false});
        // Groups that share ranks are groups all the same.
        Check("overlapping groups", star, 2, {{0, 1, 2}, {0, 2, 5}, {5, 0}}, {true, true, false});
        // A switch has room taken only by groups that it adds up for: pairs behind a leaf leave the
        // spine alone, and two servers of different leaves meet at the spine and nowhere else.
        const auto leaves = LeavesOfTwo(4);
        Check("a leaf each", leaves, 1, pairs, {true, true, true, true});
        Check("leaves and the spine",
              leaves,
              1,
              {{0, 1}, {2, 3}, {0, 2}, {1, 3}, {4, 5}, {5, 4}},
              {true, true, true, false, true, false});
        // All four leaves and the spine: then a pair of a leaf comes too late.
        Check("all first", leaves, 1, {{0, 1, 2, 3, 4, 5, 6, 7}, {4, 5}}, {true, false});
    }
};

class AggregationGroupsTestSuite : public TestSuite
{
  public:
    AggregationGroupsTestSuite()
        : TestSuite("dltrain-aggregation-groups", UNIT)
    {
        AddTestCase(new AggregationGroupsTestCase, TestCase::QUICK);
    }
};

AggregationGroupsTestSuite g_aggregationGroupsTestSuite; //!< Static variable for test registration

} // namespace
