/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Hierarchical collectives over servers that have not all as many ranks (uneven-servers.h).
 */
#include "prove.h"

#include <numeric>

namespace coll
{
namespace
{

/// Servers with so many ranks, on machines of `gpus`.
Placement
Servers(const std::vector<uint32_t>& sizes, uint32_t gpus, uint32_t nics)
{
    Placement placement = UniformPlacement(0, gpus, nics);
    for (uint32_t server = 0; server < sizes.size(); server++)
    {
        for (uint32_t gpu = 0; gpu < sizes[server]; gpu++)
        {
            placement.serverOf.push_back(server);
            placement.gpuOf.push_back(gpu);
        }
    }
    return placement;
}

constexpr Op kOps[] = {Op::kAllReduce, Op::kReduceScatter, Op::kAllGather};

TEST(UnevenServers, AreProvedByFormula)
{
    const std::vector<std::vector<uint32_t>> shapes{{1, 2},
                                                    {2, 1},
                                                    {4, 3},
                                                    {8, 4},
                                                    {1, 8},
                                                    {3, 8, 1},
                                                    {1, 1, 5},
                                                    {6, 4, 6},
                                                    {5, 7, 3, 8},
                                                    {8, 8, 8, 8, 8, 7},
                                                    {1, 2, 3, 4, 5, 6, 7, 8},
                                                    {2, 2, 2, 3, 2, 2, 2}};
    for (const auto& sizes : shapes)
    {
        const auto n = std::accumulate(sizes.begin(), sizes.end(), 0U);
        for (const Op op : kOps)
        {
            for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, n - 1UL, n + 1UL, 100003UL})
            {
                for (const uint32_t channels : {0, 1, 3})
                {
                    for (const uint64_t largest : {uint64_t{0}, bytes / n / 3 + 1})
                    {
                        const Collective what{op, bytes, n, 0};
                        SCOPED_TRACE(OpName(op) + " of " + std::to_string(bytes) + " bytes, " +
                                     std::to_string(sizes.size()) + " servers from " +
                                     std::to_string(sizes[0]) + " ranks, " +
                                     std::to_string(channels) + " channels, at most " +
                                     std::to_string(largest));
                        ProveByFormula(op,
                                       "hierarchical",
                                       what,
                                       Servers(sizes, 8, 2),
                                       {channels, largest});
                        ASSERT_FALSE(testing::Test::HasFailure());
                    }
                }
            }
        }
    }
}

TEST(UnevenServers, BytesOfAnAllReduce)
{
    // Servers of 4 and 3: a rank of the first keeps 3/4 S moving inside and 1/2 of its S/4 between,
    // both twice: 2 (3/4 + 1/8) S; of the second 2 (2/3 + 1/6) S. S crosses each NIC.
    const auto placement = Servers({4, 3}, 4, 1);
    const uint64_t bytes = 8400;
    const auto report =
        Check(*Made(Op::kAllReduce, "hierarchical", bytes, placement), {&placement, true});
    ASSERT_TRUE(report.Ok()) << report.Problems();
    EXPECT_EQ(report.bytesSent,
              (std::vector<uint64_t>{14700, 14700, 14700, 14700, 14000, 14000, 14000}));
    EXPECT_EQ(report.bytesOutOfServer, (std::vector<uint64_t>{bytes, bytes}));
    // Three hops, two between, three: the server of 3 waits for that of 4.
    EXPECT_EQ(report.longestChain, 8U);
}

TEST(UnevenServers, BytesOfReduceScatterAndAllGather)
{
    // Of 7 pieces of 100 each rank of a reduce-scatter sends all but its own, in the sum; 4 pieces
    // go to the server of 4 and 3 to that of 3.
    const auto placement = Servers({4, 3}, 4, 1);
    const auto scatter =
        Check(*Made(Op::kReduceScatter, "hierarchical", 700, placement), {&placement, true});
    ASSERT_TRUE(scatter.Ok()) << scatter.Problems();
    EXPECT_EQ(scatter.bytesSent, std::vector<uint64_t>(7, 600));
    EXPECT_EQ(scatter.bytesOutOfServer, (std::vector<uint64_t>{300, 400}));
    EXPECT_EQ(scatter.longestChain, 3U + 1);
    // Pieces of places 0, 1, 2 of the server of 3 come to floor(q 4 / 3) = 0, 1, 2 of the other,
    // those of 0 to 3 to floor(q 3 / 4) = 0, 0, 1, 2.
    const auto gather =
        Check(*Made(Op::kAllGather, "hierarchical", 700, placement), {&placement, true});
    ASSERT_TRUE(gather.Ok()) << gather.Problems();
    EXPECT_EQ(gather.totalBytes, 6U * 700);
    EXPECT_EQ(gather.bytesOutOfServer, (std::vector<uint64_t>{400, 300}));
    EXPECT_EQ(gather.longestChain, 1U + 3);
}

TEST(UnevenServers, StepsThatCannotBeCountedAreRefused)
{
    // In messages of a byte, with a server of 2 and one of 8: 2^29 loops, each of 2 x 8 steps
    // inside and 3 between for a rank of the larger one.
    const Algorithm& algorithm = *Find(Op::kAllReduce, "hierarchical");
    const uint64_t bytes = (1UL << 30) - 1;
    EXPECT_EQ(algorithm.WhyNot({Op::kAllReduce, bytes, 10, 0}, Servers({2, 8}, 8, 1), {1, 1}),
              "messages of at most 1 bytes may make more than 2^32 steps of a lane");
    // As many each: 2^29 loops of 2 x 2 and 2 x 16 - 1 steps.
    EXPECT_EQ(algorithm.WhyNot({Op::kAllReduce, bytes, 32, 0}, UniformPlacement(16, 2), {1, 1}),
              "messages of at most 1 bytes may make more than 2^32 steps of a lane");
    EXPECT_EQ(algorithm.WhyNot({Op::kAllReduce, bytes, 10, 0}, Servers({2, 8}, 8, 1), {1, 64}), "");
}

} // namespace
} // namespace coll
