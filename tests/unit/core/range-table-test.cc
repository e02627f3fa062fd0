/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/range-table.h"

#include <gtest/gtest.h>
#include <random>

namespace
{

/// Reads back what was written, however many ranges that is.
void
ExpectSame(const std::vector<uint16_t>& values, const std::string& what)
{
    const rdma::RangeTable table(values);
    ASSERT_EQ(table.Size(), values.size()) << what;
    for (uint32_t key = 0; key < values.size(); ++key)
    {
        ASSERT_EQ(table[key], values[key]) << what << ", key " << key;
    }
}

TEST(RangeTableTest, IsThePlainTable)
{
    ExpectSame({}, "nothing");
    ExpectSame({7}, "one");
    ExpectSame({7, 7, 7}, "one range");
    ExpectSame({0xffff, 0, 0xffff}, "with no way");
    std::mt19937 random(5);
    for (int round = 0; round < 300; ++round)
    {
        std::vector<uint16_t> values(1 + random() % 3000);
        const uint32_t longest = 1 + random() % 200;
        uint16_t value = 0;
        uint32_t left = 0;
        for (uint16_t& v : values)
        {
            if (left-- == 0)
            {
                left = random() % longest;
                value = static_cast<uint16_t>(random() % 5 ? random() % 40 : 0xffff);
            }
            v = value;
        }
        ExpectSame(values, "round " + std::to_string(round));
    }
}

TEST(RangeTableTest, AroundTheMostRanges)
{
    using rdma::RangeTable;
    for (const std::size_t ranges : {RangeTable::STEP - 1,
                                     RangeTable::STEP,
                                     RangeTable::STEP + 1,
                                     RangeTable::MOST - 1,
                                     RangeTable::MOST,
                                     RangeTable::MOST + 1,
                                     2 * RangeTable::MOST})
    {
        for (const std::size_t length : {1, 9, 500}) // few values, and many
        {
            std::vector<uint16_t> values;
            for (std::size_t r = 0; r < ranges; ++r)
            {
                values.insert(values.end(), length + r % 3, static_cast<uint16_t>(r));
            }
            ExpectSame(values, std::to_string(ranges) + " ranges");
        }
    }
}

} // namespace
