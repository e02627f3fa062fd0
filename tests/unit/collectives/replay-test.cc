// SPDX-License-Identifier: GPL-2.0-only
#include "collectives/core/placement.h"
#include "collectives/core/registry.h"
#include "collectives/tuner/replay.h"

#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>

namespace
{

using namespace coll;

constexpr double kRate = 12.5e9; // 100 Gb/s in B/s
constexpr uint64_t kBytes = 4096 * 1000;

/// Two leaves of two servers each, one link of 100 Gb/s between them; 1 us a link, 500 ns a switch,
/// which stores packets of 4,096 B; no headers.
class ReplayTest : public testing::Test
{
  protected:
    void SetUp() override
    {
        const topo::NodeId leaves[] = {m_topology.AddSwitch("leaf-0", 1),
                                       m_topology.AddSwitch("leaf-1", 1)};
        for (uint32_t i = 0; i < 4; ++i)
        {
            const topo::NodeId host = m_topology.AddHost("server-" + std::to_string(i));
            m_topology.Connect(host, leaves[i / 2], rdma::Gbps(100), rdma::Microseconds(1));
        }
        m_topology.Connect(leaves[0], leaves[1], rdma::Gbps(100), rdma::Microseconds(1));
        m_server.gpus = 2;
        m_server.nics = 1;
        m_server.scaleUp.perGpu = rdma::Gbps(800); // 100 GB/s
        m_server.scaleUp.latency = rdma::Microseconds(2);
        m_links = std::make_unique<topo::SharedLinks>(m_topology);
        m_network.server = &m_server;
        m_network.topology = &m_topology;
        m_network.links = m_links.get();
        m_network.hostOfServer = &m_hosts;
        m_network.cable = 1e-6;
        m_network.pipeline = 0.5e-6;
    }

    std::optional<double> Seconds(const char* name,
                                  const Collective& what,
                                  const Placement& placement,
                                  const ReplayTimes& times = {},
                                  const ReplayLimits& limits = {})
    {
        const auto schedule = Find(what.op, name)->Make(what, placement, {});
        return ReplaySeconds(*schedule, placement, times, m_network, limits);
    }

    topo::Topology m_topology;
    topo::ServerSpec m_server;
    std::vector<uint32_t> m_hosts = {0, 1, 2, 3};
    std::unique_ptr<topo::SharedLinks> m_links;
    ReplayNetwork m_network;
};

/// A message by way of so many switches, alone.
double
Alone(double bytes, uint32_t switches)
{
    return bytes / kRate + (switches + 1) * 1e-6 + switches * (0.5e-6 + 4096 / kRate);
}

Placement
OneAServer(std::vector<uint32_t> servers)
{
    Placement placement;
    placement.gpuOf.assign(servers.size(), 0);
    placement.serverOf = std::move(servers);
    placement.gpusPerServer = 2;
    return placement;
}

TEST_F(ReplayTest, MessagesInSeries)
{
    // Of two ranks' ring each sends half twice, and waits in between.
    const double expected = 2 * Alone(kBytes / 2.0, 1);
    EXPECT_NEAR(*Seconds("ring", {Op::kAllReduce, kBytes, 2}, OneAServer({0, 1})), expected, 1e-11);
}

TEST_F(ReplayTest, ALinkThatTwoShareTakesBoth)
{
    // 0 -> 2 and 1 -> 3 go over the one link between the leaves, 2 -> 1 and 3 -> 0 over it the
    // other way: the later of two messages has it after the first.
    const Placement across = OneAServer({0, 2, 1, 3});
    const double expected = kBytes / kRate + Alone(kBytes, 2);
    EXPECT_NEAR(*Seconds("direct", {Op::kSendRecv, kBytes, 4}, across), expected, 1e-11);
    // In order only one goes each way.
    const Placement inOrder = OneAServer({0, 1, 2, 3});
    EXPECT_NEAR(*Seconds("direct", {Op::kSendRecv, kBytes, 4}, inOrder), Alone(kBytes, 2), 1e-11);
    // That is what the busiest links add up to, too.
    const auto schedule =
        Find(Op::kSendRecv, "direct")->Make({Op::kSendRecv, kBytes, 4}, across, {});
    EXPECT_NEAR(*BusiestLinkSeconds(*schedule, across, {}, m_network), 2 * kBytes / kRate, 1e-11);
}

TEST_F(ReplayTest, InsideAServerPortsAreThoseOfTheServer)
{
    // 2 us and 40.96 us at 100 GB/s; both ways at once.
    const Placement inside = UniformPlacement(1, 2);
    EXPECT_NEAR(*Seconds("direct", {Op::kSendRecv, kBytes, 2}, inside), 2e-6 + 40.96e-6, 1e-11);
}

TEST_F(ReplayTest, ALibraryTakesItsTimeAndItsPartOfTheWire)
{
    ReplayTimes times;
    times.launch = 20e-6;
    times.outside = 3e-6;
    times.wire.outsideShare = 0.5;
    // 20 us; then twice 3 us and twice the bytes.
    const double expected = 20e-6 + 2 * (3e-6 + Alone(kBytes, 1));
    EXPECT_NEAR(*Seconds("ring", {Op::kAllReduce, kBytes, 2}, OneAServer({0, 1}), times),
                expected,
                1e-11);
}

// A rank gives its three blocks to its NIC 2 us apart. The last one of rank 0 goes to the other
// leaf, when nothing else is under way there.
TEST_F(ReplayTest, PostsFollowOneAnother)
{
    const Collective what{Op::kAllToAll, 4 * 4096, 4};
    const Placement placement = OneAServer({0, 1, 2, 3});
    ReplayTimes times;
    times.post = 2e-6;
    EXPECT_NEAR(*Seconds("direct", what, placement, times), 2 * 2e-6 + Alone(4096, 2), 1e-11);
    // A ring's rank sends one at a time.
    const Collective ring{Op::kAllReduce, kBytes, 4};
    EXPECT_EQ(*Seconds("ring", ring, placement, times), *Seconds("ring", ring, placement));
}

TEST_F(ReplayTest, HeadersAreOnTheWire)
{
    m_network.header = 96;
    // 1,000 packets; the switch stores one with its header.
    const double expected = 1000 * 4192 / kRate + 2e-6 + 0.5e-6 + 4192 / kRate;
    EXPECT_NEAR(*Seconds("direct", {Op::kSendRecv, kBytes, 2}, OneAServer({0, 1})),
                expected,
                1e-11);
}

TEST_F(ReplayTest, ItEndsWhereItIsOfNoUse)
{
    const Placement placement = OneAServer({0, 1, 2, 3});
    const Collective what{Op::kAllReduce, kBytes, 4};
    const double whole = *Seconds("ring", what, placement);
    EXPECT_EQ(Seconds("ring", what, placement, {}, {10, 1}), std::nullopt); // 24 messages
    EXPECT_GT(*Seconds("ring", what, placement, {}, {100, whole / 2}), whole / 2);
    EXPECT_DOUBLE_EQ(*Seconds("ring", what, placement, {}, {100, whole * 1.01}), whole);
}

TEST_F(ReplayTest, WithoutAWayThereIsNoTime)
{
    m_hosts = {0, 1, 2, 4};
    const topo::NodeId apart = m_topology.AddSwitch("apart", 1);
    m_topology.Connect(m_topology.AddHost("server-4"),
                       apart,
                       rdma::Gbps(100),
                       rdma::Microseconds(1));
    topo::SharedLinks links(m_topology);
    m_network.links = &links;
    const Placement placement = OneAServer({0, 3});
    EXPECT_EQ(Seconds("ring", {Op::kAllReduce, kBytes, 2}, placement), std::nullopt);
}

TEST_F(ReplayTest, EveryScheduleComesToItsEnd)
{
    // What a rank gets in all it has to take in: no time is less than that of its bytes.
    for (const Op op : AllOps())
    {
        for (const Algorithm* algorithm : AlgorithmsFor(op))
        {
            for (const uint32_t servers : {2U, 3U, 4U})
            {
                Placement placement = UniformPlacement(servers, 2);
                const Collective what{op, op == Op::kBarrier ? 0 : kBytes, 2 * servers};
                if (op == Op::kAllToAllV || algorithm->Uses().fabricSwitches ||
                    !algorithm->WhyNot(what, placement, {}).empty())
                {
                    continue;
                }
                const auto seconds = Seconds(algorithm->Name().c_str(), what, placement);
                ASSERT_TRUE(seconds) << algorithm->Name() << " " << OpName(op);
                const auto cost = algorithm->CostOf(what, placement, {});
                if (cost)
                {
                    EXPECT_GE(*seconds, 0.999 * cost->outOfServer / kRate)
                        << algorithm->Name() << " " << OpName(op) << " " << servers;
                }
                EXPECT_GT(*seconds, 0);
            }
        }
    }
}

} // namespace
