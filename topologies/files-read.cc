/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/files-read.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <mutex>

namespace topo
{

namespace
{

std::atomic<bool> g_watched = false;
std::mutex g_mutex; ///< guards g_digests
std::map<std::string, std::string> g_digests;

/// FNV-1a of 64 bits (G. Fowler, L. Noll, K.-P. Vo, draft-eastlake-fnv), with the size: it tells
/// edits apart, not forgeries.
std::string
DigestOf(std::string_view text)
{
    uint64_t hash = 0xcbf29ce484222325ULL;
    for (const char c : text)
    {
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    }
    std::array<char, 64> digest{};
    std::snprintf(digest.data(),
                  digest.size(),
                  "%016llx-%zu",
                  static_cast<unsigned long long>(hash),
                  text.size());
    return digest.data();
}

} // namespace

void
FilesRead::Watch()
{
    g_watched = true;
}

void
FilesRead::Note(const std::string& path, std::string_view text)
{
    if (!g_watched)
    {
        return;
    }
    std::error_code failed;
    const std::string whole = std::filesystem::absolute(path, failed).lexically_normal().string();
    const std::lock_guard lock(g_mutex);
    if (g_digests.count(whole) == 0)
    {
        g_digests.emplace(whole, DigestOf(text));
    }
}

std::map<std::string, std::string>
FilesRead::Digests()
{
    const std::lock_guard lock(g_mutex);
    return g_digests;
}

} // namespace topo
