// SPDX-License-Identifier: GPL-2.0-only
#include "reports/stats/cut-off-record.h"

#include <gtest/gtest.h>

namespace reports
{
namespace
{

CutOffRecord
Without(std::vector<coll::Edge> lost, std::vector<std::vector<coll::Rank>> parts)
{
    CutOffRecord record;
    record.op = coll::Op::kAllReduce;
    record.bytes = 8;
    record.algorithm = "tree";
    record.lost = std::move(lost);
    record.split = {{{0}, std::move(parts)}};
    return record;
}

std::string
WhoIsCutOff(const CutOffRecord& record)
{
    const std::string words = record.InWords();
    const std::size_t all = words.find("all from");
    return words.substr(all == std::string::npos ? words.find("cut off") : all);
}

// A tree whose rank 1 has a parent, 3, and two children: all that is lost is from or for it.
TEST(CutOffRecord, NamesTheRankThatAllIsLostOf)
{
    EXPECT_EQ(WhoIsCutOff(Without({{1, 3}, {3, 1}, {0, 1}, {2, 1}}, {{0}, {1}, {2}, {3, 4, 5}})),
              "all from or for rank 1: cut off rank 1 from all others, which without it fall into "
              "0; 2; 3, 4, 5");
    // A ring is open on both sides of it.
    EXPECT_EQ(WhoIsCutOff(Without({{0, 1}, {1, 2}}, {{0, 2, 3}, {1}})),
              "all from or for rank 1: cut off rank 1 from all others");
    // Of its three connections the one to its parent carried nothing then.
    EXPECT_EQ(WhoIsCutOff(Without({{0, 1}, {2, 1}}, {{0}, {1, 3, 4, 5}, {2}})),
              "all from or for rank 1: cut off ranks 0; 2 from 1, 3, 4, 5");
    // Of one connection either end may be the reason.
    EXPECT_EQ(WhoIsCutOff(Without({{0, 1}, {1, 0}}, {{0}, {1, 2, 3}})),
              "cut off rank 0 from 1, 2, 3");
    // And of two nobody is at all ends.
    EXPECT_EQ(WhoIsCutOff(Without({{0, 1}, {2, 3}}, {{0, 3}, {1, 2, 4}})),
              "cut off ranks 0, 3 from 1, 2, 4");
}

} // namespace
} // namespace reports
