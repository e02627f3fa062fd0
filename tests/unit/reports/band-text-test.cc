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
    const compared::Kind kind{{"software", "no recipe"}, {"generation", "Hopper"}};
    return BandText({o, 8.04e6, 0}, {{"step", kind, 9, 6, "source", least, most, 0.8, {}}});
}

TEST(BandText, ABandAroundTheStepIsPlain)
{
    EXPECT_EQ(TextOf(0.5, 2),
              "4.02 s to 16.1 s: 80% band of 9 measured of 6 sources (no recipe, Hopper)");
}

// 8.04 s x 1.02 and x 1.33.
TEST(BandText, ABandBesideTheStepSaysWhichWayItIsOff)
{
    EXPECT_EQ(TextOf(1.02, 1.33),
              "8.20 s to 10.7 s: 80% band of 9 measured of 6 sources (no recipe, Hopper). These "
              "were 2 to 33% more than their simulations, so expect the band.");
    EXPECT_NE(TextOf(0.6, 0.9).find("These were 10 to 40% less than their simulations"),
              std::string::npos);
}

} // namespace
} // namespace reports
