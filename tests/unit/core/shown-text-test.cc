// SPDX-License-Identifier: GPL-2.0-only
#include "contrib/rdma/core/shown-text.h"

#include <gtest/gtest.h>
#include <string>

namespace
{

using rdma::Printable;
using rdma::Shown;

TEST(ShownText, WhatATerminalObeysIsEscaped)
{
    EXPECT_EQ(Printable("plain ~ text"), "plain ~ text");
    EXPECT_EQ(Printable("\x1b[31mred\a\r\n\x7f"), "\\x1b[31mred\\x07\\x0d\\x0a\\x7f");
    EXPECT_EQ(Printable("a\nb\tc\r", "\n\t"), "a\nb\tc\\x0d");
    EXPECT_EQ(Printable(std::string_view("a\0b", 3)), "a\\x00b");
    // C1 (U+009B is CSI), as UTF-8 and as a bare byte.
    EXPECT_EQ(Printable("\xc2\x9b"), "\\xc2\\x9b");
    EXPECT_EQ(Printable("\x9b"), "\\x9b");
    // U+2028 separates lines, U+202E turns what follows round, U+2066 isolates it.
    EXPECT_EQ(Printable("\xe2\x80\xa8\xe2\x80\xae\xe2\x81\xa6"),
              "\\xe2\\x80\\xa8\\xe2\\x80\\xae\\xe2\\x81\\xa6");
}

TEST(ShownText, OtherLettersStay)
{
    for (const char* text :
         {"Z\xc3\xbcrich", "\xe6\xbc\xa2\xe5\xad\x97", "\xf0\x9f\x98\x80", "\xe2\x80\x94"})
    {
        EXPECT_EQ(Printable(text), text);
    }
}

TEST(ShownText, WhatIsNoUtf8IsEscaped)
{
    EXPECT_EQ(Printable("a\xff\xfe"), "a\\xff\\xfe");
    EXPECT_EQ(Printable("\xc3"), "\\xc3");          // cut off
    EXPECT_EQ(Printable("\xc0\x9b"), "\\xc0\\x9b"); // overlong escape of 0x1b: RFC 3629, section 3
    EXPECT_EQ(Printable("\xe0\x80\x9b"), "\\xe0\\x80\\x9b");
    EXPECT_EQ(Printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");          // a surrogate
    EXPECT_EQ(Printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80"); // beyond U+10FFFF
    EXPECT_EQ(Printable("\xe6\xbc"), "\\xe6\\xbc");
}

TEST(ShownText, LongTextsAreCutInTheMiddle)
{
    EXPECT_EQ(Shown(std::string(100, 'a'), 100), std::string(100, 'a'));
    EXPECT_EQ(Shown(std::string(1000, 'a'), 100),
              std::string(75, 'a') + "... (900 more bytes) ..." + std::string(25, 'a'));
    // The beginning and the end say which one it is.
    EXPECT_EQ(Shown("/very/" + std::string(500, 'x') + "/name.json", 40).substr(0, 6), "/very/");
    // No character is cut in two, whatever its length and the place of the cut.
    for (const char* letter : {"\xc3\xbc", "\xe6\xbc\xa2", "\xf0\x9f\x98\x80"})
    {
        for (size_t shift = 0; shift < 4; ++shift)
        {
            std::string text(shift, 'a');
            for (int i = 0; i < 200; ++i)
            {
                text += letter;
            }
            EXPECT_EQ(Shown(text, 50).find("\\x"), std::string::npos) << letter << shift;
        }
    }
}

} // namespace
