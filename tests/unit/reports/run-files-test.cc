// SPDX-License-Identifier: GPL-2.0-only
// Rows of files: quoted, damaged, cut off, of older versions.
#include "reports/base/run-files.h"
#include "scratch-folder.h"

#include <stdexcept>

namespace reports
{
namespace
{

class RunFiles : public ScratchFolder
{
  protected:
    /// The wanted columns b, a and later, joined by bars; rows joined by slashes.
    std::string Read(const std::string& text, char separator = ',') const
    {
        FileTable table(Write("table", text), separator, {"b", "a", "later"}, 1);
        std::string result;
        while (table.Next())
        {
            result += std::string(table[0]) + "|" + std::string(table[1]) + "|" +
                      std::string(table[2]) + "/";
        }
        return result;
    }
};

TEST_F(RunFiles, AreReadByTheirHead)
{
    EXPECT_EQ(Read("a,b\n1,2\n3,4\n"), "2|1|/4|3|/") << "an older file";
    EXPECT_EQ(Read("a,x,b,later\n1,,2,5\n"), "2|1|5/") << "a newer file";
    EXPECT_EQ(Read("a,b\n1,2\n3,4"), "2|1|/") << "the last line is cut off";
    EXPECT_EQ(Read("a,b\n1\n1,2,3\n3,4\n"), "4|3|/") << "fields missing, too many";
    EXPECT_EQ(Read("a,b\n\"x,\"\"y\"\"\",\"\"\n"), "|x,\"y\"|/") << "quoted";
    EXPECT_EQ(Read("a,b\n\"x\n\ny\",2\n3,4\n"), "2|x\n\ny|/4|3|/") << "line breaks";
    EXPECT_EQ(Read(""), "") << "empty";
    EXPECT_EQ(Read("a,b\n"), "") << "no rows";
    EXPECT_EQ(Read("# words\n# b\ta\n\"2\t1,\n# 5\t6\n", '\t'), "\"2|1,|/# 5|6|/")
        << "tabs: comments at the beginning only, nothing is quoted";
}

TEST_F(RunFiles, WithoutAColumnAreRefused)
{
    try
    {
        Read("a,c\n1,2\n");
        FAIL();
    }
    catch (const std::runtime_error& error)
    {
        EXPECT_NE(std::string(error.what()).find("column 'b' is missing"), std::string::npos)
            << error.what();
    }
}

TEST_F(RunFiles, ThatAreNotThereHaveNoRows)
{
    FileTable none(Path("none"), ',', {"a"});
    EXPECT_FALSE(none.Next());
}

TEST_F(RunFiles, MayBeLongerThanWhatIsReadAtATime)
{
    std::string text = "a,b\n";
    std::string expected;
    for (int i = 0; i < 60000; ++i)
    {
        text += std::to_string(i) + "," + std::to_string(i + 1) + "\n";
        expected += std::to_string(i + 1) + "|" + std::to_string(i) + "|/";
    }
    EXPECT_TRUE(Read(text) == expected);
}

TEST(Fields, MicrosecondsAreReadExactly)
{
    int64_t ps = 0;
    for (const auto& [word, value] :
         std::vector<std::pair<std::string, int64_t>>{{"0", 0},
                                                      {"12.5", 12500000},
                                                      {"0.000001", 1},
                                                      {"-3.25", -3250000},
                                                      {"7.0000019", 7000001},
                                                      {"9000000000", 9000000000000000}})
    {
        EXPECT_TRUE(ParseMicroseconds(word, ps)) << word;
        EXPECT_EQ(ps, value) << word;
    }
    for (const char* word : {"", "-", ".5", "x", "1e3", "1.x", "--1", "1 ", "99999999999999999"})
    {
        EXPECT_FALSE(ParseMicroseconds(word, ps)) << word;
    }
}

TEST(Fields, IntegersHaveTheRangeOfTheirType)
{
    uint32_t rank = 0;
    EXPECT_TRUE(ParseInteger(std::string_view("4294967295"), rank));
    EXPECT_FALSE(ParseInteger(std::string_view("4294967296"), rank));
    EXPECT_FALSE(ParseInteger(std::string_view("1.5"), rank));
}

} // namespace
} // namespace reports
