/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * PipeDream's profile of VGG16, for tests.
 */
#ifndef TESTS_UNIT_SCENARIOS_VGG16_PROFILE_H
#define TESTS_UNIT_SCENARIOS_VGG16_PROFILE_H

#include "scenarios/training/layer-profile.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <vector>

/// As it stands in the file, without the loading of its input.
inline training::LayerProfile
Vgg16()
{
    std::ifstream in(DLTRAIN_ROOT "/tests/golden/pipedream-vgg16.csv");
    std::stringstream text;
    text << in.rdbuf();
    std::vector<topo::Error> errors;
    const auto profile = training::ParseProfileCsv(text.str(), "pipedream-vgg16.csv", "", errors);
    EXPECT_TRUE(errors.empty()) << errors.front().Sentence();
    return profile.value_or(training::LayerProfile{});
}

#endif // TESTS_UNIT_SCENARIOS_VGG16_PROFILE_H
