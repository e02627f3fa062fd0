/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/names.h"

#include <gtest/gtest.h>

namespace
{

TEST(Names, Counted)
{
    EXPECT_EQ(topo::Counted(1, "server"), "1 server");
    EXPECT_EQ(topo::Counted(0, "server"), "0 servers");
    EXPECT_EQ(topo::Counted(2, "leaf", "leaves"), "2 leaves");
}

TEST(Names, EditDistance)
{
    EXPECT_EQ(topo::EditDistance("", ""), 0u);
    EXPECT_EQ(topo::EditDistance("", "abc"), 3u);
    EXPECT_EQ(topo::EditDistance("kitten", "sitting"), 3u); // k->s, e->i, +g
    EXPECT_EQ(topo::EditDistance("ab", "ba"), 1u);          // a swap of neighbours is one
    EXPECT_EQ(topo::EditDistance("H100", "h100"), 0u);
}

TEST(Names, SameName)
{
    for (const char* text : {"gpt3-13b", "GPT3-13B", "gpt3_13b", "gpt3 13b", "gpt313b"})
    {
        EXPECT_TRUE(topo::SameName(text, "gpt3-13b")) << text;
        EXPECT_FALSE(topo::SameName(text, "gpt3-1.3b")) << text;
    }
    // A sign between digits is a part of the name: of these nobody knows which is meant.
    for (const char* text : {"gpt3-1_3b", "gpt3-1 3b", "gpt3-1-3b", "gpt31-3b"})
    {
        EXPECT_FALSE(topo::SameName(text, "gpt3-13b")) << text;
        EXPECT_FALSE(topo::SameName(text, "gpt3-1.3b")) << text;
    }
    EXPECT_TRUE(topo::SameName("BLOOM_560m", "bloom-560m"));
    EXPECT_TRUE(topo::SameName("dgxh100", "dgx-h100"));
    EXPECT_FALSE(topo::SameName("-", "_"));
}

TEST(Names, NearestName)
{
    const std::vector<std::string> names = {"fat-tree", "leaf-spine", "single-switch", "graph"};
    EXPECT_EQ(topo::NearestName("fattree", names), "fat-tree");
    EXPECT_EQ(topo::NearestName("Leaf-Spine", names), "leaf-spine");
    EXPECT_EQ(topo::NearestName("single", names), "single-switch") << "a beginning";
    EXPECT_EQ(topo::NearestName("grpah", names), "graph");
    EXPECT_EQ(topo::NearestName("torus-3d", names), "") << "nothing is near";
    EXPECT_EQ(topo::NearestName("", names), "");
    EXPECT_EQ(topo::NearestName("graph", {}), "");
    EXPECT_EQ(topo::NearestName(std::string(1000000, 'x'), names), "");
    EXPECT_EQ(topo::NearestName("x", {"k"}), "") << "not one letter of it is right";
}

TEST(Names, ForPeople)
{
    EXPECT_EQ(topo::JoinNames({}), "");
    EXPECT_EQ(topo::JoinNames({"a"}), "a");
    EXPECT_EQ(topo::JoinNames({"a", "b", "c"}), "a, b or c");
    EXPECT_EQ(topo::DidYouMean("rign", {"ring", "tree"}), " (did you mean ring?)");
    EXPECT_EQ(topo::DidYouMean("quantum", {"ring", "tree"}), "");
}

} // namespace
