/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Every header of contrib/rdma/core compiles alone, twice, without a warning, and knows nothing of
 * ns-3.
 */
#include "tests/unit/full.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sstream>
#include <string>
#include <unistd.h>

namespace
{

std::filesystem::path
Top()
{
    return std::filesystem::canonical(DLTRAIN_ROOT);
}

std::set<std::filesystem::path>
Headers()
{
    std::set<std::filesystem::path> headers;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(Top() / "contrib/rdma/core"))
    {
        if (entry.path().extension() == ".h")
        {
            headers.insert(entry.path());
        }
    }
    return headers;
}

std::string
Read(const std::filesystem::path& path)
{
    std::ifstream in(path);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

} // namespace

TEST(CoreHeaders, CompileAlone)
{
    if (std::system("command -v c++ > /dev/null 2>&1") != 0)
    {
        GTEST_SKIP() << "no c++ in the path";
    }
    const auto headers = Headers();
    ASSERT_GE(headers.size(), 8u);
    CaseShare share(50, 10);
    const std::string name = "/tmp/core-headers-test-" + std::to_string(getpid());
    for (const auto& header : headers)
    {
        if (!share.Takes())
        {
            continue;
        }
        const std::string include = "#include \"" + header.string() + "\"\n";
        std::ofstream(name + ".cc") << include << include;
        const std::string compile =
            "c++ -std=c++17 -fsyntax-only -Wall -Wextra -Werror -I" + Top().string();
        const int status = std::system((compile + " " + name + ".cc 2> " + name + ".txt").c_str());
        EXPECT_EQ(status, 0) << header << "\n" << Read(name + ".txt");
    }
    std::filesystem::remove(name + ".cc");
    std::filesystem::remove(name + ".txt");
}

TEST(CoreHeaders, KnowNothingOfNs3)
{
    for (const auto& header : Headers())
    {
        const std::string text = Read(header);
        EXPECT_EQ(text.find("ns3/"), std::string::npos) << header;
        EXPECT_EQ(text.find("namespace ns3"), std::string::npos) << header;
        EXPECT_EQ(text.find("using namespace"), std::string::npos) << header;
        EXPECT_NE(text.find("namespace rdma"), std::string::npos) << header;
    }
}
