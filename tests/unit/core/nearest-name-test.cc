/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/nearest-name.h"

#include <gtest/gtest.h>

using namespace rdma;

TEST(NearestName, DistanceCountsEdits)
{
    EXPECT_EQ(NameDistance("kitten", "sitting"), 3u); // the textbook's: k to s, e to i, g added
    EXPECT_EQ(NameDistance("", "abc"), 3u);
    EXPECT_EQ(NameDistance("abc", ""), 3u);
    EXPECT_EQ(NameDistance("EDR", "edr"), 0u);
    EXPECT_EQ(NameDistance("edrr", "EDR"), 1u);
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
