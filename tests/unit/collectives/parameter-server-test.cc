/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Parameter servers: any number of them, and what their ports carry.
 */
#include "prove.h"

namespace coll
{
namespace
{

AlgorithmOptions
Servers(uint32_t servers, uint32_t channels = 1, uint64_t pipelineBytes = 0)
{
    AlgorithmOptions options;
    options.channels = channels;
    options.pipelineBytes = pipelineBytes;
    options.parameterServers = servers;
    return options;
}

TEST(ParameterServer, IsProvedForAnyNumberOfServers)
{
    for (const Rank n : {1U, 2U, 3U, 7U, 12U, 33U})
    {
        for (uint32_t servers = 1; servers <= n; servers = servers < 4 ? servers + 1 : servers * 2)
        {
            for (const uint64_t bytes : {0UL, 1UL, 1000UL * n, 54321UL})
            {
                for (const uint32_t channels : {1U, 3U})
                {
                    for (const uint64_t pipeline : {uint64_t{0}, bytes / servers / 3 + 1})
                    {
                        const Collective what{Op::kAllReduce, bytes, n, n / 2};
                        SCOPED_TRACE(std::to_string(n) + " ranks, " + std::to_string(servers));
                        const auto options = Servers(servers, channels, pipeline);
                        ProveByFormula(what.op,
                                       "parameter-server",
                                       what,
                                       UniformPlacement(n, 1),
                                       options);
                        Placement pairs = UniformPlacement((n + 1) / 2, 2);
                        pairs.serverOf.resize(n);
                        pairs.gpuOf.resize(n);
                        ProveByFormula(what.op, "parameter-server", what, pairs, options);
                    }
                }
            }
        }
    }
}

// 4 ranks, S = 4,000. One server, rank 1: it answers 3 S, the others push S. Two, ranks 1 and 3: a
// server pushes the other's half and answers 3 halves, 8,000; the others push S. Four: direct.
TEST(ParameterServer, LoadsItsServersPorts)
{
    const auto sent = [](uint32_t servers) {
        const Collective what{Op::kAllReduce, 4000, 4, 1};
        return ProveByFormula(what.op,
                              "parameter-server",
                              what,
                              UniformPlacement(4, 1),
                              Servers(servers));
    };
    EXPECT_EQ(sent(0).bytesSent, (std::vector<uint64_t>{4000, 12000, 4000, 4000}));
    EXPECT_EQ(sent(1).bytesReduced, (std::vector<uint64_t>{0, 12000, 0, 0}));
    EXPECT_EQ(sent(2).bytesSent, (std::vector<uint64_t>{4000, 8000, 4000, 8000}));
    EXPECT_EQ(sent(2).bytesReduced, (std::vector<uint64_t>{0, 6000, 0, 6000}));
    EXPECT_EQ(sent(4).bytesSent, std::vector<uint64_t>(4, 6000));
    EXPECT_EQ(sent(4).longestChain, 2U);
}

TEST(ParameterServer, SaysWhyNot)
{
    const Algorithm& algorithm = *Find(Op::kAllReduce, "parameter-server");
    const auto placement = UniformPlacement(4, 1);
    EXPECT_EQ(algorithm.WhyNot({Op::kAllReduce, 100, 4, 0}, placement, Servers(5)),
              "5 servers among 4 ranks");
}

} // namespace
} // namespace coll
