// SPDX-License-Identifier: GPL-2.0-only
#include "scenarios/launch/part.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <regex>
#include <stdexcept>
#include <string>
#include <unistd.h>

namespace
{

namespace fs = std::filesystem;

/// A clone whose ./ns3 is this script; DLTRAIN_ROOT names it.
class Clone
{
  public:
    explicit Clone(const std::string& script)
    {
        std::string folder = (fs::temp_directory_path() / "part-test-XXXXXX").string();
        m_folder = ::mkdtemp(folder.data());
        ::setenv("DLTRAIN_ROOT", m_folder.c_str(), 1);
        std::ofstream(m_folder / "ns3") << "#!/bin/sh\necho \"$@\" >>'" << Log() << "'\n" << script;
        fs::permissions(m_folder / "ns3", fs::perms::owner_all);
    }

    ~Clone()
    {
        fs::remove_all(m_folder);
        ::unsetenv("DLTRAIN_ROOT");
    }

    /// \return what its ./ns3 was called with, a line each time
    std::string Calls() const
    {
        std::ifstream file(Log());
        return {std::istreambuf_iterator<char>(file), {}};
    }

  private:
    std::string Log() const
    {
        return (m_folder / "calls").string();
    }

    fs::path m_folder;
};

std::string
ErrorOf(const std::string& part)
{
    try
    {
        return "found " + scenario::PartLibrary(part);
    }
    catch (const std::runtime_error& error)
    {
        return error.what();
    }
}

TEST(Part, OneThatCannotBeBuiltSaysWhatToType)
{
    const Clone clone("exit 3\n");
    const std::string error = ErrorOf("none");
    EXPECT_NE(error.find("the part none is missing, and "), std::string::npos) << error;
    EXPECT_NE(error.find("/ns3 could not build it; type: ./ns3 build --part=none"),
              std::string::npos)
        << error;
    EXPECT_EQ(clone.Calls(), "build --part=none\n");
}

TEST(Part, ACloneThatIsGoneIsNamed)
{
    ::setenv("DLTRAIN_ROOT", "/nowhere", 1);
    const std::string error = ErrorOf("none");
    ::unsetenv("DLTRAIN_ROOT");
    EXPECT_NE(error.find("/nowhere/ns3 cannot be run: No such file or directory"),
              std::string::npos)
        << error;
}

TEST(Part, ItIsBuiltOnceBesideTheProgramsLibraries)
{
    // The error of a build that leaves nothing there tells where it should be.
    std::string folder;
    {
        const Clone clone("exit 0\n");
        const std::string error = ErrorOf("none");
        std::smatch found;
        ASSERT_TRUE(std::regex_search(error, found, std::regex("another folder than (.*); type")))
            << error;
        folder = found[1];
    }
    const std::string name = "unit-" + std::to_string(::getpid());
    const std::string library = folder + "/libdltrain-part-" + name + ".so";
    // Its standard output goes where errors go.
    const Clone clone("echo building\ntouch '" + library + "'\n");
    EXPECT_FALSE(scenario::IsPartBuilt(name));
    EXPECT_EQ(clone.Calls(), "");
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    EXPECT_EQ(ErrorOf(name), "found " + library);
    EXPECT_EQ(ErrorOf(name), "found " + library);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "building\n");
    EXPECT_TRUE(scenario::IsPartBuilt(name));
    EXPECT_EQ(clone.Calls(), "build --part=" + name + "\n");
    fs::remove(library);
}

} // namespace
