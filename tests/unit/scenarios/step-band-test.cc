/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/compared/serving-band.h"
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

std::string
KindOf(const TrainingOptions& o)
{
    return compared::KindText(compared::KindOf(o));
}

const std::vector<compared::Band>&
Groups()
{
    static const std::vector<compared::Band> groups{
        {"step", {{"software", "nanotron"}, {"scale", "below 64 GPUs"}}, 9, 4, "series"},
        {"step", {{"software", "nanotron"}}, 20, 8, "series"},
        {"TTFT", {{"software", "vllm"}}, 20, 4, "source"},
        {"step", {{"generation", "Hopper"}, {"precision", "16 bits"}}, 30, 6, "source"}};
    return groups;
}

} // namespace

TEST(StepBand, KindsAreOfSoftwareGenerationPrecisionModelAndScale)
{
    EXPECT_EQ(KindOf(Job("llama3-8b", "H200")),
              "no recipe, Hopper, 16 bits, dense transformer, below 64 GPUs");
    auto o = Job("mixtral-8x7b", "GB300", Dtype::kMxFp8);
    o.recipe = "megatron";
    o.ranks = 255;
    EXPECT_EQ(KindOf(o), "megatron, Blackwell, fp8, mixture of experts, 64 to 255 GPUs");
    o = Job("resnet-50", "A100-40GB", Dtype::kTf32);
    o.ranks = 256;
    EXPECT_EQ(KindOf(o), "no recipe, Ampere, TF32, other model, 256 GPUs and more");
    o = Job("llama3-8b", "H100");
    o.sequence = 131072;
    EXPECT_EQ(compared::FacetOf(compared::KindOf(o), "model"),
              "dense transformer, above 16,384 tokens");
    // A base's rates, not its generation.
    EXPECT_EQ(compared::FacetOf(compared::KindOf(Job("gpt2", "MI325X")), "generation"), "CDNA 3");
}

TEST(StepBand, TheFirstGroupWhoseFacetsAreTheJobs)
{
    auto o = Job("gpt2", "H100");
    EXPECT_EQ(compared::BandOf(o, Groups()), &Groups()[3]);
    o.recipe = "nanotron";
    EXPECT_EQ(compared::BandOf(o, Groups()), &Groups()[0]);
    o.ranks = 64;
    EXPECT_EQ(compared::BandOf(o, Groups()), &Groups()[1]);
    EXPECT_EQ(compared::BandOf(Job("gpt2", "H100", Dtype::kFp8), Groups()), nullptr);
    EXPECT_EQ(compared::BandOf(Job("gpt2", "A100"), Groups()), nullptr);
}

TEST(StepBand, MeasuredTimesAndUnknownGpusHaveNone)
{
    auto o = Job("gpt2", "H100");
    o.profile.emplace();
    EXPECT_EQ(compared::BandOf(o, Groups()), nullptr);
    o = Job("gpt2", "H100");
    o.gpu.generation.clear();
    EXPECT_EQ(compared::BandOf(o, Groups()), nullptr);
}

TEST(ServingBand, VersionsOfAnEngineAreOneSoftware)
{
    const auto kind =
        compared::ServingKind("vllm-0.8", *FindGpu("H100"), *FindModel("mixtral-8x7b"));
    EXPECT_EQ(compared::KindText(kind), "vllm, Hopper, mixture of experts");
    EXPECT_EQ(compared::FindBand(compared::kTtft, kind, Groups()), &Groups()[2]);
    EXPECT_EQ(compared::FindBand(compared::kTpot, kind, Groups()), nullptr);
}

// What the programs have: 80% bands of at least eight rows, from six sources or series.
TEST(Band, CommittedGroupsAreSound)
{
    EXPECT_GE(compared::Bands().size(), 5U);
    for (const compared::Band& group : compared::Bands())
    {
        EXPECT_GE(group.rows, 8U);
        EXPECT_GE(group.sources, 6U);
        EXPECT_LT(group.least, group.most);
        EXPECT_GT(group.least, 0.05);
        EXPECT_LT(group.most, 25);
        EXPECT_GE(group.share, 0.7999);
        EXPECT_LT(group.share, 1);
        EXPECT_FALSE(compared::KindText(group.of).empty());
    }
}
