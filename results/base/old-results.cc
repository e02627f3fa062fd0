/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "results/base/old-results.h"

#include "scenarios/program/output-folder.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <regex>
#include <vector>

namespace results
{

void
RemoveOldResults(const std::string& folder)
{
    namespace fs = std::filesystem;
    // As RdmaPcapHelper names them; a ring's files have a number more.
    static const std::regex pcap(R"(.+-\d+(\.\d+)?\.pcap)");
    static const std::regex pcapng(R"(capture(\.\d+)?\.pcapng)");
    std::error_code error;
    std::vector<fs::path> old;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    {
        std::error_code unknown;
        // Links and pipes stay: the user wants the output elsewhere.
        if (!fs::is_regular_file(it->symlink_status(unknown)))
        {
            continue;
        }
        const std::string name = it->path().filename().string();
        // A file that is not whole yet has a name of its own.
        const std::string whole =
            it->path().extension() == ".part" ? it->path().stem().string() : name;
        bool ours = scenario::OutputNames().count(whole);
        const bool isPcap = std::regex_match(name, pcap);
        if (isPcap || std::regex_match(name, pcapng))
        {
            uint32_t header[6] = {};
            std::ifstream(it->path(), std::ios::binary)
                .read(reinterpret_cast<char*>(header), sizeof(header));
            // pcap: nanoseconds, version 2.4, Ethernet. pcapng: a section in our byte order, whose
            // length is not told.
            ours = isPcap ? header[0] == 0xa1b23c4d && header[1] == (4U << 16 | 2) &&
                                (header[5] == 1 || header[5] == 197 || header[5] == 247)
                          : header[0] == 0x0a0d0d0a && header[2] == 0x1a2b3c4d &&
                                header[4] == UINT32_MAX && header[5] == UINT32_MAX;
        }
        if (ours)
        {
            old.push_back(it->path());
        }
    }
    for (const fs::path& path : old)
    {
        fs::remove(path, error);
    }
}

} // namespace results
