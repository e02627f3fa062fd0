/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/steps/layout.h"
#include "scenarios/training/steps/parallelism.h"

#include <gtest/gtest.h>
#include <string>
#include <utility>

namespace training
{
namespace
{

Parallelism
Of(const std::string& group, TaskKind kind = TaskKind::kCollective, Phase phase = Phase::kOther)
{
    Task task;
    task.kind = kind;
    task.phase = phase;
    return ParallelismOf({group, {}}, task);
}

TEST(Parallelism, OfThePlannersGroups)
{
    for (const auto& [group, expected] : {std::pair{GroupOf::kGradient, "dp"},
                                          std::pair{GroupOf::kGather, "dp"},
                                          std::pair{GroupOf::kTensor, "tp"},
                                          std::pair{GroupOf::kPipeline, "pp"},
                                          std::pair{GroupOf::kContext, "cp"},
                                          std::pair{GroupOf::kExpert, "ep"},
                                          std::pair{GroupOf::kExpertGradient, "dp"},
                                          std::pair{GroupOf::kExpertGather, "dp"},
                                          std::pair{GroupOf::kEmbedding, "pp"},
                                          std::pair{GroupOf::kCopies, "dp"},
                                          std::pair{GroupOf::kExpertCopies, "dp"},
                                          std::pair{GroupOf::kSecondary, "dp"},
                                          std::pair{GroupOf::kExpertSecondary, "dp"},
                                          std::pair{GroupOf::kExpertTensor, "tp"},
                                          std::pair{GroupOf::kExpertInside, "ep"},
                                          std::pair{GroupOf::kExpertBetween, "ep"}})
    {
        EXPECT_STREQ(ParallelismName(Of(GroupName(group))), expected) << GroupName(group);
    }
    // Replicated stages send to each other in a group of all.
    EXPECT_EQ(Of("replicas", TaskKind::kSend), Parallelism::kPipeline);
}

TEST(Parallelism, OfGroupsOfAScript)
{
    for (const auto& [group, expected] : {std::pair{"dp_replicate", "dp"},
                                          std::pair{"dp_shard_cp", "dp"},
                                          std::pair{"TP", "tp"},
                                          std::pair{"tensor_parallel", "tp"},
                                          std::pair{"mesh dim 1 (tp)", "tp"},
                                          std::pair{"pp", "pp"},
                                          std::pair{"world", "other"},
                                          std::pair{"new_group 3", "other"},
                                          std::pair{"tapped", "other"},
                                          std::pair{"dp-ep", "dp"},
                                          std::pair{"", "other"}})
    {
        EXPECT_STREQ(ParallelismName(Of(group)), expected) << group;
    }
    // DDP reduces gradients among all ranks.
    EXPECT_EQ(Of("world", TaskKind::kCollective, Phase::kGradient), Parallelism::kData);
}

} // namespace
} // namespace training
