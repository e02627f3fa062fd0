// SPDX-License-Identifier: GPL-2.0-only
#include "reports/base/human-text.h"

#include <gtest/gtest.h>

namespace reports
{
namespace
{

TEST(HumanText, TimesHaveThreeDigitsAndTheirUnit)
{
    EXPECT_EQ(HumanTime(0), "0 s");
    EXPECT_EQ(HumanTime(0.0123), "12.3 ns");
    EXPECT_EQ(HumanTime(1), "1.00 us");
    EXPECT_EQ(HumanTime(99.96), "100 us"); // not 100.0
    EXPECT_EQ(HumanTime(4560), "4.56 ms");
    EXPECT_EQ(HumanTime(7.2e9), "7200 s"); // no larger unit, and never an exponent
}

TEST(HumanText, BytesAndRatesAreDecimal)
{
    EXPECT_EQ(HumanBytes(999), "999 B");
    EXPECT_EQ(HumanBytes(4e7), "40.0 MB");
    EXPECT_EQ(HumanBytes(2.5e12), "2.50 TB");
    EXPECT_EQ(HumanRate(12.44), "12.4 Gb/s");
    EXPECT_EQ(HumanRate(1000), "1.00 Tb/s");
}

TEST(HumanText, CountsHaveACommaBeforeEveryThreeDigits)
{
    EXPECT_EQ(HumanCount(0), "0");
    EXPECT_EQ(HumanCount(999), "999");
    EXPECT_EQ(HumanCount(1000), "1,000");
    EXPECT_EQ(HumanCount(12345678), "12,345,678");
    EXPECT_EQ(HumanCount(UINT64_MAX), "18,446,744,073,709,551,615");
}

TEST(HumanText, LinesEndBeforeColumn100)
{
    // Ten words of nine letters from column 17: 9 + 8 x 10 = 89 are free up to column 100 for the
    // first eight.
    std::string words;
    for (int i = 0; i < 10; ++i)
    {
        words += "ninechars ";
    }
    const std::string wrapped = Wrapped(words, 17, 2);
    const std::size_t end = wrapped.find('\n');
    ASSERT_NE(end, std::string::npos);
    EXPECT_EQ(end, 8U * 10 - 1) << "17 + 79 = 96; a ninth would end in column 106";
    EXPECT_EQ(wrapped.substr(end), "\n" + std::string(19, ' ') + "ninechars ninechars");
    EXPECT_EQ(Wrapped(std::string(200, 'x'), 17), std::string(200, 'x'))
        << "a longer word stays whole";
}

} // namespace
} // namespace reports
