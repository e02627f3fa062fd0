/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/nearest-name.h"

#include <gtest/gtest.h>

using namespace rdma;

TEST(NearestName, DistanceCountsEdits)
{
    EXPECT_EQ(EditDistance("kitten", "sitting"), 3u); // the textbook's: k to s, e to i, g added
    EXPECT_EQ(EditDistance("", "abc"), 3u);
    EXPECT_EQ(EditDistance("abc", ""), 3u);
    EXPECT_EQ(EditDistance("EDR", "edr"), 0u);
    EXPECT_EQ(EditDistance("edrr", "EDR"), 1u);
    EXPECT_TRUE(SameName("Quantum-2", "quantum-2"));
    EXPECT_FALSE(SameName("Quantum-2", "quantum"));
}

TEST(NearestName, FindsANearOneOrNone)
{
    const std::vector<std::string> names = {"quantum", "switchx", "infiniscale4"};
    EXPECT_EQ(NearestName("qantum", names), "quantum");
    EXPECT_EQ(NearestName("SwitchY", names), "switchx");
    EXPECT_EQ(NearestName("tomahawk", names), "");
    EXPECT_EQ(NearestName("", names), "");
    EXPECT_EQ(NearestName(std::string(1000, 'q'), names), "");
    EXPECT_EQ(NearestName("x", {"y"}), ""); // nothing in common
}

TEST(NearestName, SwapsAreOneEdit)
{
    EXPECT_EQ(EditDistance("", ""), 0u);
    EXPECT_EQ(EditDistance("", "abc"), 3u);
    EXPECT_EQ(EditDistance("kitten", "sitting"), 3u); // k->s, e->i, +g
    EXPECT_EQ(EditDistance("ab", "ba"), 1u);          // a swap of neighbours is one
    EXPECT_EQ(EditDistance("H100", "h100"), 0u);
}

TEST(NearestName, OneThatBeginsWithIt)
{
    const std::vector<std::string> names = {"fat-tree", "leaf-spine", "single-switch", "graph"};
    EXPECT_EQ(NearestName("fattree", names), "fat-tree");
    EXPECT_EQ(NearestName("Leaf-Spine", names), "leaf-spine");
    EXPECT_EQ(NearestName("single", names), "single-switch") << "a beginning";
    EXPECT_EQ(NearestName("bfloat", {"float", "bfloat16"}), "bfloat16") << "goes before a near one";
    EXPECT_EQ(NearestName("dry", {"dp", "dry-run"}), "dry-run");
    EXPECT_EQ(NearestName("topo", {"tp", "topology-file", "topology"}), "topology")
        << "the shortest";
    EXPECT_EQ(NearestName("Model", {"model-parallel-size", "model"}), "model") << "is the same";
    EXPECT_EQ(NearestName("gpus-per-node", {"gpus", "gpus-per-server"}), "gpus-per-server");
    EXPECT_EQ(NearestName("zero-stage", {"zero-partition-size", "zero"}), "zero");
    EXPECT_EQ(NearestName("fattrees4", {"leaf", "fat"}), "fat") << "begins with it";
    EXPECT_EQ(NearestName("grpah", names), "graph");
    EXPECT_EQ(NearestName("torus-3d", names), "") << "nothing is near";
    EXPECT_EQ(NearestName("", names), "");
    EXPECT_EQ(NearestName("graph", {}), "");
    EXPECT_EQ(NearestName(std::string(1000000, 'x'), names), "");
    EXPECT_EQ(NearestName("x", {"k"}), "") << "not one letter of it is right";
}

TEST(NearestName, ByParts)
{
    const std::vector<std::string> names = {"pipeline-schedule",
                                            "checkpoint-every",
                                            "checkpoint-rate",
                                            "max_restarts"};
    EXPECT_EQ(NearestByParts("schedule", names), "pipeline-schedule");
    EXPECT_EQ(NearestByParts("Rate", names), "checkpoint-rate");
    EXPECT_EQ(NearestByParts("every-checkpoint", names), "checkpoint-every") << "in any order";
    EXPECT_EQ(NearestByParts("restarts", names), "max_restarts");
    EXPECT_EQ(NearestByParts("checkpoint", names), "") << "two have it";
    EXPECT_EQ(NearestByParts("checkpoint-interval", names), "") << "none has both";
    EXPECT_EQ(NearestByParts("", names), "");
    EXPECT_EQ(NearestByParts("-", names), "");
    EXPECT_EQ(NearestByParts(std::string(1000000, '-'), names), "");
}

TEST(NearestName, ByWords)
{
    const std::vector<std::string> known{"MinimumRate",
                                         "MinimumWindow",
                                         "PcieBandwidth",
                                         "EcnKmin"};
    EXPECT_EQ(NearestByWords("MinRate", known), "MinimumRate");
    EXPECT_EQ(NearestByWords("RateMinimum", known), "MinimumRate");
    EXPECT_EQ(NearestByWords("WindowMin", known), "MinimumWindow");
    EXPECT_EQ(NearestByWords("Bandwidth", known), "PcieBandwidth");
    EXPECT_EQ(NearestByWords("Mi", known), "") << "too short a word";
    EXPECT_EQ(NearestByWords("", known), "");
    EXPECT_EQ(NearestByWords("MinimumDelayOfAll", known), "") << "one word of four and two";
}
