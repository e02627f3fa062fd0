/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/core/placement.h"
#include "collectives/core/registry.h"

#include <gtest/gtest.h>
#include <stdexcept>

namespace coll
{
namespace
{

class Impostor final : public OneOpAlgorithm
{
  public:
    using OneOpAlgorithm::OneOpAlgorithm;

    std::unique_ptr<Schedule> Make(const Collective&,
                                   const Placement&,
                                   const AlgorithmOptions&) const override
    {
        return nullptr;
    }
};

TEST(Registry, NamesAreThoseOfNcclTests)
{
    EXPECT_EQ(OpName(Op::kAllReduce), "all_reduce");
    EXPECT_EQ(OpName(Op::kAllToAll), "alltoall");
    for (const Op op : AllOps())
    {
        EXPECT_EQ(ParseOp(OpName(op)), op);
    }
    EXPECT_EQ(ParseOp("all_to_all"), Op::kAllToAll);
    EXPECT_EQ(ParseOp("All-Reduce"), Op::kAllReduce);
    EXPECT_EQ(ParseOp("reduce"), Op::kReduce);
    EXPECT_EQ(ParseOp("Send-Recv"), Op::kSendRecv);
    EXPECT_EQ(ParseOp("reduce_"), Op::kReduce);
    EXPECT_EQ(ParseOp("reduce all"), std::nullopt);
    EXPECT_EQ(ParseOp(""), std::nullopt);
}

TEST(Registry, EveryOperationHasADefault)
{
    const auto placement = UniformPlacement(3, 2);
    for (const Op op : AllOps())
    {
        const Algorithm& algorithm = DefaultAlgorithm(op, placement);
        EXPECT_TRUE(algorithm.Supports(op));
        EXPECT_EQ(Find(op, algorithm.Name()), &algorithm);
        EXPECT_EQ(algorithm.WhyNot({op, op == Op::kBarrier ? 0UL : 100UL, 6, 0}, placement, {}),
                  "");
    }
    // Sorted, with commas.
    EXPECT_NE((", " + AlgorithmNames(Op::kAllReduce) + ", ").find(", ring, sharp, torus, tree, "),
              std::string::npos);
    EXPECT_EQ(AlgorithmNames(Op::kSendRecv), "direct");
    EXPECT_EQ(AlgorithmNames(Op::kAllToAllV), "direct, pairwise");
    EXPECT_EQ(Find(Op::kAllReduce, "trees"), nullptr);
    EXPECT_EQ(Find(Op::kBroadcast, "direct"), nullptr);
}

TEST(Registry, RefusesASecondOfTheSameName)
{
    EXPECT_THROW(Registered<Impostor>("ring", Op::kAllReduce, "not the real one"),
                 std::logic_error);
}

TEST(Registry, AnAlgorithmNeverStandsInForAnother)
{
    // It is for servers of one rank.
    const Algorithm* pat = Find(Op::kAllGather, "pat");
    ASSERT_NE(pat, nullptr);
    auto uneven = UniformPlacement(2, 4);
    uneven.serverOf.pop_back();
    uneven.gpuOf.pop_back();
    const Collective what{Op::kAllGather, 100, 7, 0};
    EXPECT_NE(pat->WhyNot(what, uneven, {}).find("server 0 has 4"), std::string::npos);
    EXPECT_THROW(pat->Make(what, uneven, {}), std::invalid_argument);
    EXPECT_THROW(Find(Op::kAllReduce, "ring")->Make({Op::kAllGather, 100, 7, 0}, uneven, {}),
                 std::invalid_argument);
    EXPECT_THROW(Find(Op::kAllReduce, "ring")->Make({Op::kAllReduce, 100, 8, 0}, uneven, {}),
                 std::invalid_argument);
}

} // namespace
} // namespace coll
