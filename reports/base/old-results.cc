/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/base/old-results.h"

#include "scenarios/launch/output-folder.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <regex>
#include <vector>

namespace reports
{

namespace
{

namespace fs = std::filesystem;

/// Links and pipes stay: the user wants the output elsewhere.
bool
IsPlainFile(const fs::path& path)
{
    std::error_code unknown;
    return fs::is_regular_file(fs::symlink_status(path, unknown));
}

/// Whether a file that looks like a capture has the header that RdmaPcapHelper writes.
bool
IsOurCapture(const fs::path& path, bool isPcap)
{
    uint32_t header[6] = {};
    std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(header), sizeof(header));
    // pcap: nanoseconds, version 2.4, Ethernet. pcapng: a section in our byte order, whose length
    // is not told.
    return isPcap ? header[0] == 0xa1b23c4d && header[1] == (4U << 16 | 2) &&
                        (header[5] == 1 || header[5] == 197 || header[5] == 247)
                  : header[0] == 0x0a0d0d0a && header[2] == 0x1a2b3c4d && header[4] == UINT32_MAX &&
                        header[5] == UINT32_MAX;
}

bool
IsIn(const std::vector<fs::path>& inputs, const fs::path& path)
{
    return std::any_of(inputs.begin(), inputs.end(), [&path](const fs::path& input) {
        std::error_code unknown;
        return fs::equivalent(input, path, unknown);
    });
}

/// A Chakra trace that --export wrote: its files go, and the folder if nothing else is in it.
void
RemoveChakra(const fs::path& folder, const std::vector<fs::path>& inputs)
{
    static const std::regex names(R"(trace\.\d+\.(et|json)|comm_groups\.json)");
    std::error_code error;
    if (!fs::is_directory(fs::symlink_status(folder, error)) || IsIn(inputs, folder))
    {
        return;
    }
    std::vector<fs::path> parents;
    for (const fs::path& input : inputs)
    {
        parents.push_back(input.parent_path());
    }
    if (IsIn(parents, folder)) // "chakra/trace", the begin of all its names
    {
        return;
    }
    std::vector<fs::path> old;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    {
        const fs::path path = it->path();
        if (IsPlainFile(path) && std::regex_match(path.filename().string(), names))
        {
            old.push_back(path);
        }
    }
    for (const fs::path& path : old)
    {
        fs::remove(path, error);
    }
    if (!old.empty())
    {
        fs::remove(folder, error); // not if there is anything in it
    }
}

} // namespace

void
RemoveOldResults(const std::string& folder, const std::vector<std::string>& inputs)
{
    // As RdmaPcapHelper names them; a ring's files have a number more.
    static const std::regex pcap(R"(.+-\d+(\.\d+)?\.pcap)");
    static const std::regex pcapng(R"(capture(\.\d+)?\.pcapng)");
    const std::vector<fs::path> kept(inputs.begin(), inputs.end());
    std::error_code error;
    std::vector<fs::path> old;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    {
        if (!IsPlainFile(it->path()) || IsIn(kept, it->path()))
        {
            continue;
        }
        const std::string name = it->path().filename().string();
        // A file that is not whole yet has a name of its own.
        const std::string whole =
            it->path().extension() == ".part" ? it->path().stem().string() : name;
        const bool isPcap = std::regex_match(name, pcap);
        const bool isCapture = isPcap || std::regex_match(name, pcapng);
        if (isCapture ? IsOurCapture(it->path(), isPcap) : scenario::OutputNames().count(whole) > 0)
        {
            old.push_back(it->path());
        }
    }
    for (const fs::path& path : old)
    {
        fs::remove(path, error);
    }
    for (const char* name : {"chakra", "chakra-json"})
    {
        RemoveChakra(fs::path(folder) / name, kept);
    }
}

} // namespace reports
