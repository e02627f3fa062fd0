/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/nearest-name.h"
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

TEST(Names, ForPeople)
{
    EXPECT_EQ(topo::JoinNames({}), "");
    EXPECT_EQ(topo::JoinNames({"a"}), "a");
    EXPECT_EQ(topo::JoinNames({"a", "b", "c"}), "a, b or c");
    EXPECT_EQ(topo::DidYouMean("rign", {"ring", "tree"}), " (did you mean ring?)");
    EXPECT_EQ(topo::DidYouMean("quantum", {"ring", "tree"}), "");
}

} // namespace
