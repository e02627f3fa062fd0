// SPDX-License-Identifier: GPL-2.0-only
#include "contrib/rdma/core/regular-file.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <string>

namespace
{

class RegularFile : public testing::Test
{
  protected:
    void SetUp() override
    {
        char name[] = "/tmp/regular-file-XXXXXX";
        m_folder = mkdtemp(name);
        ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
        ASSERT_EQ(mkdir(Path("folder").c_str(), 0700), 0);
        std::ofstream(Path("file")) << "some text";
        ASSERT_EQ(symlink(Path("pipe").c_str(), Path("link").c_str()), 0);
        ASSERT_EQ(symlink(Path("file").c_str(), Path("good").c_str()), 0);
    }

    void TearDown() override
    {
        for (const char* name : {"pipe", "file", "link", "good", "new"})
        {
            unlink(Path(name).c_str());
        }
        rmdir(Path("folder").c_str());
        rmdir(m_folder.c_str());
    }

    std::string Path(const std::string& name) const
    {
        return m_folder + "/" + name;
    }

    /// "" if it can be opened.
    std::string WhyNotWritten(const std::string& path) const
    {
        std::string why;
        std::FILE* file = rdma::OpenForWriting(path, &why);
        EXPECT_EQ(file == nullptr, !why.empty()) << why;
        if (file)
        {
            std::fputs("new", file);
            std::fclose(file);
        }
        return why;
    }

    std::string m_folder;
};

// (If one of these waits, the test's time-out ends it.)
TEST_F(RegularFile, OnlyRegularFilesAreRead)
{
    EXPECT_EQ(rdma::WhyUnreadable(Path("file")), "");
    EXPECT_EQ(rdma::WhyUnreadable(Path("good")), "");
    EXPECT_EQ(rdma::WhyUnreadable(Path("pipe")), "is a pipe; allowed: a regular file");
    EXPECT_EQ(rdma::WhyUnreadable(Path("link")), "is a pipe; allowed: a regular file");
    EXPECT_EQ(rdma::WhyUnreadable(Path("folder")), "is a folder; allowed: a regular file");
    EXPECT_EQ(rdma::WhyUnreadable("/dev/zero"), "is a device; allowed: a regular file");
    EXPECT_EQ(rdma::WhyUnreadable(Path("none")), "cannot be read: No such file or directory");
    EXPECT_EQ(rdma::WhyUnreadable(Path("none/x")), "cannot be read: No such file or directory");
    EXPECT_EQ(rdma::WhyUnreadable(""), "cannot be read: No such file or directory");
}

TEST_F(RegularFile, LinksToFilesAreReplaced)
{
    // "good" leads to "file", which stays as it is.
    EXPECT_EQ(WhyNotWritten(Path("good")), "");
    std::string text;
    std::ifstream(Path("file")) >> text;
    EXPECT_EQ(text, "some");
    std::ifstream(Path("good")) >> text;
    EXPECT_EQ(text, "new");
    // One to nowhere makes no file there.
    ASSERT_EQ(symlink(Path("nowhere").c_str(), Path("new").c_str()), 0);
    EXPECT_EQ(rdma::WriteWhole(Path("new"), "whole\n"), "");
    EXPECT_FALSE(rdma::IsReadable(Path("nowhere")));
    std::ifstream(Path("new")) >> text;
    EXPECT_EQ(text, "whole");
    // A device is one: nothing is lost there.
    unlink(Path("new").c_str());
    ASSERT_EQ(symlink("/dev/full", Path("new").c_str()), 0);
    EXPECT_EQ(rdma::WriteWhole(Path("new"), "whole"), "No space left on device");
    EXPECT_EQ(rdma::WriteWhole(Path("folder"), "whole"), "Is a directory");
}

TEST_F(RegularFile, WhetherOneIsReadableNeedsNoReason)
{
    EXPECT_TRUE(rdma::IsReadable(Path("file")));
    EXPECT_TRUE(rdma::IsReadable(Path("good")));
    for (const char* name : {"pipe", "link", "folder", "none", "none/x"})
    {
        EXPECT_FALSE(rdma::IsReadable(Path(name))) << name;
    }
    EXPECT_FALSE(rdma::IsReadable(""));
}

TEST_F(RegularFile, OneWithANameLikeThatIsNamed)
{
    const std::string why = "cannot be read: No such file or directory; did you mean '";
    EXPECT_EQ(rdma::WhyUnreadable(Path("fiel")), why + Path("file") + "'?");
    EXPECT_EQ(rdma::WhyUnreadable(Path("Good")), why + Path("good") + "'?") << "a link to a file";
    // A folder and a pipe would not do.
    EXPECT_EQ(rdma::WhyUnreadable(Path("foldr")), "cannot be read: No such file or directory");
    EXPECT_EQ(rdma::WhyUnreadable(Path("pype")), "cannot be read: No such file or directory");
}

TEST_F(RegularFile, PipesAreNotWritten)
{
    EXPECT_EQ(WhyNotWritten(Path("pipe")), "is a pipe");
    EXPECT_EQ(WhyNotWritten(Path("link")), "is a pipe");
    const int reader = open(Path("pipe").c_str(), O_RDONLY | O_NONBLOCK);
    EXPECT_EQ(WhyNotWritten(Path("pipe")), "is a pipe"); // even if somebody reads: it might stop
    close(reader);
    EXPECT_EQ(WhyNotWritten(Path("folder")), "Is a directory");
    EXPECT_EQ(WhyNotWritten(Path("none/x")), "No such file or directory");
    EXPECT_EQ(WhyNotWritten("/dev/null"), "");
}

TEST_F(RegularFile, FilesAreEmptiedFirst)
{
    for (const char* name : {"file", "new", "good"})
    {
        EXPECT_EQ(WhyNotWritten(Path(name)), "") << name;
        std::ifstream in(Path(name));
        EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "new") << name;
    }
}

} // namespace
