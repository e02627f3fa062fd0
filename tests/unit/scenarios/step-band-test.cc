/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/compared/step-band.h"
#include "scenarios/models/gpu-zoo.h"
#include "scenarios/models/model-zoo.h"

#include <gtest/gtest.h>

using namespace training;

namespace
{

TrainingOptions
Job(const char* model, const char* gpu, Dtype dtype = Dtype::kBf16)
{
    TrainingOptions o;
    o.model = *FindModel(model);
    o.gpu = *FindGpu(gpu);
    o.dtype = dtype;
    return o;
}

} // namespace

TEST(StepBand, KindsAreOfGenerationPrecisionAndModel)
{
    EXPECT_EQ(compared::KindText(compared::KindOf(Job("llama3-8b", "H200"))),
              "Hopper, 16 bits, dense transformer");
    EXPECT_EQ(compared::KindText(compared::KindOf(Job("mixtral-8x7b", "GB300", Dtype::kMxFp8))),
              "Blackwell, fp8, mixture of experts");
    EXPECT_EQ(compared::KindText(compared::KindOf(Job("resnet-50", "A100-40GB", Dtype::kTf32))),
              "Ampere, TF32, other model");
    auto o = Job("llama3-8b", "H100");
    o.sequence = 131072;
    EXPECT_EQ(compared::KindOf(o).model, "dense transformer, above 16,384 tokens");
    // A base's rates, not its generation.
    EXPECT_EQ(compared::KindOf(Job("gpt2", "MI325X")).generation, "CDNA 3");
}

TEST(StepBand, AnyPrecisionStandsInForThoseAmongItsRows)
{
    const std::vector<compared::StepBand> groups{
        {{"Hopper", "16 bits", "dense transformer"}, 9, 0.9, 1.1, 0.8, {}},
        {{"Hopper", "", "dense transformer"}, 11, 0.8, 1.2, 0.83, {"16 bits", "fp8"}}};
    EXPECT_EQ(compared::BandOf(Job("gpt2", "H100"), groups), &groups[0]);
    EXPECT_EQ(compared::BandOf(Job("gpt2", "H100", Dtype::kFp8Blockwise), groups), &groups[1]);
    EXPECT_EQ(compared::BandOf(Job("gpt2", "H100", Dtype::kTf32), groups), nullptr);
    EXPECT_EQ(compared::BandOf(Job("mixtral-8x7b", "H100"), groups), nullptr);
    EXPECT_EQ(compared::BandOf(Job("gpt2", "A100"), groups), nullptr);
}

TEST(StepBand, MeasuredTimesAndUnknownGpusHaveNone)
{
    const std::vector<compared::StepBand> groups{
        {{"Hopper", "16 bits", "dense transformer"}, 9, 0.9, 1.1, 0.8, {}}};
    auto o = Job("gpt2", "H100");
    o.profile.emplace();
    EXPECT_EQ(compared::BandOf(o, groups), nullptr);
    o = Job("gpt2", "H100");
    o.gpu.generation.clear();
    EXPECT_EQ(compared::BandOf(o, groups), nullptr);
}

// What the programs have: bands around published steps, which the simulation meets on the whole.
TEST(StepBand, CommittedGroupsAreSound)
{
    EXPECT_GE(compared::ComparedSteps().size(), 5U);
    for (const compared::StepBand& group : compared::ComparedSteps())
    {
        EXPECT_GE(group.rows, 5U);
        EXPECT_LT(group.least, group.most);
        EXPECT_GT(group.least, 0.3);
        EXPECT_LT(group.most, 3);
        EXPECT_GE(group.share, group.rows >= 9 ? 0.8 : 0.66);
        EXPECT_LT(group.share, 1);
        EXPECT_EQ(group.of.precision.empty(), !group.precisions.empty());
    }
}
