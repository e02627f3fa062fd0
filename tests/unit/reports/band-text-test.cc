// SPDX-License-Identifier: GPL-2.0-only
//
// How sure a step is, in words: a band that does not hold the step says so.
#include "reports/programs/band-text.h"
#include "scenarios/models/gpu-zoo.h"
#include "scenarios/models/model-zoo.h"

#include <gtest/gtest.h>

namespace reports
{
namespace
{

std::string
TextOf(double least, double most)
{
    training::TrainingOptions o;
    o.model = *training::FindModel("gpt2");
    o.gpu = *training::FindGpu("H100");
    const compared::StepKind kind = compared::KindOf(o);
    return BandText({o, 8.04e6, 0}, {{kind, 9, least, most, 0.8, {}}});
}

TEST(BandText, ABandAroundTheStepIsPlain)
{
    EXPECT_EQ(TextOf(0.5, 2),
              "4.02 s to 16.1 s: 80% band of 9 published steps (Hopper, 16 bits, dense "
              "transformer)");
}

// 8.04 s x 1.02 and x 1.33.
TEST(BandText, ABandBesideTheStepSaysWhichWayItIsOff)
{
    EXPECT_EQ(TextOf(1.02, 1.33),
              "8.20 s to 10.7 s: 80% band of 9 published steps (Hopper, 16 bits, dense "
              "transformer). These took 2 to 33% longer than their simulations, so expect the "
              "band.");
    EXPECT_NE(TextOf(0.6, 0.9).find("These took 10 to 40% less than their simulations"),
              std::string::npos);
}

} // namespace
} // namespace reports
