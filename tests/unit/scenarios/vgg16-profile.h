/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * PipeDream's profile of VGG16, for tests.
 */
#ifndef TESTS_UNIT_SCENARIOS_VGG16_PROFILE_H
#define TESTS_UNIT_SCENARIOS_VGG16_PROFILE_H

#include "scenarios/training/pipeline/pipedream-partition.h"
#include "scenarios/training/spec/layer-profile.h"

#include <algorithm>
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

/// Taken with another batch: times, activations and FLOPs are proportional to it; and no pass takes
/// less than its FLOPs at a rate, if there is one (backward twice those of forward).
inline training::LayerProfile
ScaleProfile(training::LayerProfile profile, double batch, double flopsPerSecond)
{
    for (training::ProfiledLayer& layer : profile.layers)
    {
        layer.forwardSeconds *= batch;
        layer.backwardSeconds *= batch;
        layer.activationBytes *= batch;
        layer.forwardFlops *= batch;
        const double least = flopsPerSecond > 0 ? layer.forwardFlops / flopsPerSecond : 0;
        layer.forwardSeconds = std::max(layer.forwardSeconds, least);
        layer.backwardSeconds = std::max(layer.backwardSeconds, 2 * least);
    }
    return profile;
}

/// What the partitioner takes of it.
inline std::vector<training::PartitionLayer>
PartitionLayers(const training::LayerProfile& profile)
{
    std::vector<training::PartitionLayer> layers;
    for (const training::ProfiledLayer& layer : profile.layers)
    {
        layers.push_back({layer.forwardSeconds + layer.backwardSeconds,
                          layer.activationBytes,
                          layer.parameterBytes});
    }
    return layers;
}

/// The same joined as NarrowGroups says.
inline std::vector<training::PartitionLayer>
NarrowLayers(const training::LayerProfile& profile)
{
    const auto layers = PartitionLayers(profile);
    std::vector<training::PartitionLayer> joined;
    std::size_t next = 0;
    for (const uint32_t count : training::NarrowGroups(layers))
    {
        training::PartitionLayer group;
        for (const std::size_t end = next + count; next < end; ++next)
        {
            group.seconds += layers[next].seconds;
            group.parameterBytes += layers[next].parameterBytes;
            group.activationBytes = layers[next].activationBytes;
        }
        joined.push_back(group);
    }
    return joined;
}

#endif // TESTS_UNIT_SCENARIOS_VGG16_PROFILE_H
