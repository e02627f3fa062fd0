// SPDX-License-Identifier: GPL-2.0-only
#include "reports/base/old-results.h"
#include "scratch-folder.h"

#include <set>
#include <unistd.h>

namespace reports
{
namespace
{

class OldResults : public ScratchFolder
{
};

TEST_F(OldResults, GoAndNothingElse)
{
    for (const char* name : {"stats.json", "flows.csv.part", "calls.log", "timeline.json"})
    {
        Write(name, "old");
    }
    // pcap: nanoseconds, version 2.4, Ethernet; as it lies in the memory of a little-endian
    // machine.
    const auto pcap = [](unsigned char magic) {
        const unsigned char header[24] = {magic, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0,
                                          0,     0,    0,    0,    0, 0, 0, 0, 1, 0, 0, 0};
        return std::string(reinterpret_cast<const char*>(header), sizeof(header));
    };
    Write("server-0-0.pcap", pcap(0x4d));
    Write("server-0-0.1.pcap", pcap(0x4d));
    Write("tcpdump-0.pcap", pcap(0xd4)); // another tool's: microseconds
    Write("capture.pcapng", "mine");
    Write("notes.txt", "mine");
    Write("elsewhere", "");
    ASSERT_EQ(symlink(Path("elsewhere").c_str(), Path("links.csv").c_str()), 0);
    std::filesystem::create_directories(Path("flows.csv"));

    // Exports. What the run reads stays, whichever name it has.
    std::filesystem::create_directories(Path("chakra"));
    std::filesystem::create_directories(Path("chakra-json/mine"));
    for (const char* name : {"trace.goal",
                             "chakra/trace.0.et",
                             "chakra/comm_groups.json",
                             "chakra-json/trace.12.json",
                             "fct.txt"})
    {
        Write(name, "old");
    }

    RemoveOldResults(Path("."), {Path("fct.txt")});

    std::set<std::string> left;
    for (const auto& entry : std::filesystem::directory_iterator(Path(".")))
    {
        left.insert(entry.path().filename().string());
    }
    EXPECT_EQ(left,
              (std::set<std::string>{"tcpdump-0.pcap",
                                     "capture.pcapng",
                                     "notes.txt",
                                     "elsewhere",
                                     "links.csv",
                                     "chakra-json",
                                     "fct.txt",
                                     "flows.csv"}));
    EXPECT_FALSE(std::filesystem::exists(Path("chakra-json/trace.12.json")));
    EXPECT_TRUE(std::filesystem::exists(Path("chakra-json/mine")));
}

TEST_F(OldResults, ATraceThatIsReadStays)
{
    std::filesystem::create_directories(Path("chakra"));
    const std::string file = Path("chakra/trace.0.et");
    for (const std::string& input : {Path("chakra"), Path("chakra/trace"), file})
    {
        Write("chakra/trace.0.et", "mine");
        RemoveOldResults(Path("."), {input});
        EXPECT_TRUE(std::filesystem::exists(file)) << input;
    }
    RemoveOldResults(Path("."), {Path("other")});
    EXPECT_FALSE(std::filesystem::exists(Path("chakra")));
}

} // namespace
} // namespace reports
