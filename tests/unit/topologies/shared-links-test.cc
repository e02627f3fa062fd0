// SPDX-License-Identifier: GPL-2.0-only
#include "topologies/scale-up/shared-links.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>

namespace
{

using namespace topo;

constexpr double kRate = 12.5e9; // 100 Gb/s in B/s

/// Two leaves of two servers, two spines: links of 100 Gb/s, to the second spine 50 Gb/s.
class SharedLinksTest : public testing::Test
{
  protected:
    SharedLinksTest()
    {
        const NodeId leaves[] = {m_topology.AddSwitch("leaf-0", 1),
                                 m_topology.AddSwitch("leaf-1", 1)};
        const NodeId spines[] = {m_topology.AddSwitch("spine-0", 2),
                                 m_topology.AddSwitch("spine-1", 2)};
        for (uint32_t i = 0; i < 4; ++i)
        {
            const NodeId host = m_topology.AddHost("server-" + std::to_string(i));
            m_topology.Connect(host, leaves[i / 2], rdma::Gbps(100), rdma::Microseconds(1));
        }
        for (const NodeId leaf : leaves)
        {
            m_topology.Connect(leaf, spines[0], rdma::Gbps(100), rdma::Microseconds(1));
            m_topology.Connect(leaf, spines[1], rdma::Gbps(50), rdma::Microseconds(1));
        }
    }

    Topology m_topology;
};

TEST_F(SharedLinksTest, AHopsEqualLinksAreTogether)
{
    SharedLinks links(m_topology);
    const SharedLinks::Path path = links.Between(0, 2);
    EXPECT_EQ(path.links, 4);
    ASSERT_EQ(path.bundles.size(), 4);
    EXPECT_DOUBLE_EQ(links.Bundles()[path.bundles[0]].rate, kRate);
    EXPECT_DOUBLE_EQ(links.Bundles()[path.bundles[1]].rate, 1.5 * kRate);
    EXPECT_DOUBLE_EQ(links.Bundles()[path.bundles[1]].oneRate, kRate);
    EXPECT_DOUBLE_EQ(links.Bundles()[path.bundles[2]].rate, 1.5 * kRate);
    EXPECT_DOUBLE_EQ(links.Bundles()[path.bundles[3]].rate, kRate);
}

TEST_F(SharedLinksTest, ServersOfALeafShareItsUplinksAndNotTheirOwn)
{
    SharedLinks links(m_topology);
    const SharedLinks::Path a = links.Between(0, 2);
    const SharedLinks::Path b = links.Between(1, 3);
    EXPECT_NE(a.bundles[0], b.bundles[0]);
    EXPECT_EQ(a.bundles[1], b.bundles[1]);
    EXPECT_EQ(a.bundles[2], b.bundles[2]);
    EXPECT_NE(a.bundles[3], b.bundles[3]);
    // The other direction is other links' side.
    const SharedLinks::Path back = links.Between(2, 0);
    for (const uint32_t bundle : back.bundles)
    {
        EXPECT_EQ(std::count(a.bundles.begin(), a.bundles.end(), bundle), 0);
    }
}

TEST_F(SharedLinksTest, InALeafThereIsOneSwitch)
{
    SharedLinks links(m_topology);
    EXPECT_EQ(links.Between(0, 1).links, 2);
    EXPECT_EQ(links.AttachmentOf(0), links.AttachmentOf(1));
    EXPECT_NE(links.AttachmentOf(0), links.AttachmentOf(2));
}

TEST_F(SharedLinksTest, WithoutAWayThereIsNoBundle)
{
    const NodeId apart = m_topology.AddSwitch("apart", 1);
    const NodeId host = m_topology.AddHost("server-4");
    m_topology.Connect(host, apart, rdma::Gbps(100), rdma::Microseconds(1));
    SharedLinks links(m_topology);
    EXPECT_TRUE(links.Between(0, 4).bundles.empty());
}

TEST(SharedLinks, ACableBetweenServersIsAWay)
{
    Topology topology;
    const NodeId a = topology.AddHost("server-0");
    const NodeId b = topology.AddHost("server-1");
    topology.Connect(a, b, rdma::Gbps(100), rdma::Microseconds(1));
    SharedLinks links(topology);
    EXPECT_EQ(links.Between(0, 1).links, 1);
    EXPECT_EQ(links.Between(0, 1).bundles.size(), 1);
}

} // namespace
