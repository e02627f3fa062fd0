/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --trace-qps: what patterns mean, and what is refused.
 */
#include "scenarios/placement/queue-pair-pattern.h"

#include <gtest/gtest.h>

using namespace scenario;

namespace
{

/// Hosts a (two ports), bb and b-1 on one switch.
topo::Topology
Star()
{
    topo::Topology t;
    const auto s = t.AddSwitch("sw", 1);
    for (const char* name : {"a", "bb", "b-1", "a"})
    {
        const auto known = t.FindNode(name);
        const auto host = known ? *known : t.AddHost(name);
        t.Connect(host, s, rdma::Gbps(100), rdma::Microseconds(1));
    }
    return t;
}

} // namespace

TEST(QueuePairPattern, Parses)
{
    const auto both = QueuePairPattern::Parse("a:1->b*");
    EXPECT_EQ(both.from, "a:1");
    EXPECT_EQ(both.to, "b*");
    EXPECT_EQ(QueuePairPattern::Parse("a").to, "*");
    EXPECT_EQ(QueuePairPattern::Parse("all").from, "*");
    EXPECT_EQ(QueuePairPattern::Parse("b-1->a").from, "b-1") << "a name has a dash of its own";
}

TEST(QueuePairPattern, AHostMeansAllItsPorts)
{
    EXPECT_TRUE(QueuePairPattern::Means("a", "a:1"));
    EXPECT_TRUE(QueuePairPattern::Means("a:1", "a:1"));
    EXPECT_FALSE(QueuePairPattern::Means("a:1", "a:0"));
    EXPECT_TRUE(QueuePairPattern::Means("*:1", "a:1"));
    EXPECT_TRUE(QueuePairPattern::Means("server-*", "server-12"));
    EXPECT_FALSE(QueuePairPattern::Means("server-1", "server-12"));
    EXPECT_TRUE(QueuePairPattern::Means("*-1*2", "server-1x12"));
    EXPECT_FALSE(QueuePairPattern::Means("*-1*2", "server-1x13"));
    EXPECT_TRUE(QueuePairPattern::Means("**", ""));
    EXPECT_FALSE(QueuePairPattern::Means("", "a"));
    // Does not take for ever.
    EXPECT_FALSE(QueuePairPattern::Means("*a*a*a*a*a*a*a*a*b", std::string(10000, 'a')));
}

TEST(QueuePairPattern, AHostNamedAllIsAmbiguous)
{
    topo::Topology t;
    const auto all = t.AddHost("all");
    const auto b = t.AddHost("b");
    t.Connect(all, b, rdma::Gbps(100), rdma::Microseconds(1));
    std::string nearest;
    EXPECT_NE(CheckQueuePairPattern(t, "all", &nearest).find("allowed: *->* for every one"),
              std::string::npos);
    for (const char* right : {"*->*", "all->*", "*->all", "all->b"})
    {
        EXPECT_EQ(CheckQueuePairPattern(t, right, &nearest), "") << right;
    }
}

TEST(QueuePairPattern, RefusesWhatIsNoHost)
{
    const auto t = Star();
    std::string nearest;
    for (const char* right : {"all", "*", "a", "a:1", "a->bb", "b*->a:0", "b-1->*"})
    {
        EXPECT_EQ(CheckQueuePairPattern(t, right, &nearest), "") << right;
    }
    for (const char* wrong : {"", "->", "a->", "sw", "a:2", "a->c", "b-1->b-1x", "bb:0:0"})
    {
        EXPECT_NE(CheckQueuePairPattern(t, wrong, &nearest), "") << wrong;
    }
    EXPECT_NE(CheckQueuePairPattern(t, "a->bbb", &nearest).find("'bbb' is no host"),
              std::string::npos);
    EXPECT_EQ(nearest, "bb");
}
