/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "places.h"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <execinfo.h>
#include <mutex>
#include <unordered_map>

namespace gpus
{

namespace
{

enum class Owner : uint8_t
{
    kProgram,
    kOurs,
    kMpi
};

/// Parts of names of libraries whose clock is this machine's.
constexpr const char* kMpi[] = {"libmpi",
                                "libmpich",
                                "libopen-pal",
                                "libopen-rte",
                                "libprrte",
                                "libpmi",
                                "libevent",
                                "libuc",
                                "libfabric",
                                "libpsm",
                                "libhwloc",
                                "/openmpi/"};
constexpr const char* kOurs[] = {"libdltrain-gpus.so", "libcudart.so", "libcuda.so", "libnccl.so"};

template <std::size_t n>
bool
HasOneOf(const char* text, const char* const (&parts)[n])
{
    for (const char* part : parts)
    {
        if (std::strstr(text, part))
        {
            return true;
        }
    }
    return false;
}

Owner
OwnerOf(const void* address)
{
    static std::mutex mutex;
    static auto& known = *new std::unordered_map<const void*, Owner>;
    const std::lock_guard<std::mutex> lock(mutex);
    const auto found = known.find(address);
    if (found != known.end())
    {
        return found->second;
    }
    Dl_info about{};
    Owner owner = Owner::kProgram;
    if (dladdr(address, &about) && about.dli_fname)
    {
        owner = HasOneOf(about.dli_fname, kOurs)  ? Owner::kOurs
                : HasOneOf(about.dli_fname, kMpi) ? Owner::kMpi
                                                  : Owner::kProgram;
    }
    known[address] = owner;
    return owner;
}

std::string
Describe(const void* address)
{
    Dl_info about{};
    if (!dladdr(address, &about) || !about.dli_fname)
    {
        return "?|0|";
    }
    char offset[32];
    std::snprintf(offset,
                  sizeof(offset),
                  "%zx",
                  static_cast<std::size_t>(static_cast<const char*>(address) -
                                           static_cast<const char*>(about.dli_fbase)));
    return Word(about.dli_fname) + "|" + offset + "|" +
           Word(about.dli_sname ? about.dli_sname : "");
}

constexpr int kOfLaunch = 6; ///< calls within what nvcc makes of <<<...>>>, and the one around

/// Of so many calls that are not in these libraries.
std::string
Innermost(int wanted)
{
    static std::mutex mutex;
    static auto& known = *new std::unordered_map<const void*, std::string>;
    constexpr int kDeep = 24;
    void* frames[kDeep];
    const int count = backtrace(frames, kDeep);
    std::string places;
    for (int i = 0; i < count && wanted > 0; ++i)
    {
        // A return address: the call stands before it.
        const void* call = static_cast<char*>(frames[i]) - 1;
        if (OwnerOf(call) == Owner::kOurs)
        {
            continue;
        }
        --wanted;
        const std::lock_guard<std::mutex> lock(mutex);
        const auto [place, isNew] = known.try_emplace(call);
        if (isNew)
        {
            place->second = Describe(call);
        }
        places += (places.empty() ? "" : ";") + place->second;
    }
    return places.empty() ? "?|0|" : places;
}

} // namespace

bool
IsOfOurs(const void* address)
{
    return OwnerOf(address) == Owner::kOurs;
}

bool
IsOfMpi(const void* address)
{
    return OwnerOf(address) == Owner::kMpi;
}

const std::string&
Place()
{
    thread_local std::string place;
    place = Innermost(1);
    return place;
}

std::string
Places()
{
    return Innermost(kOfLaunch);
}

std::string
Word(const std::string& text)
{
    std::string word;
    for (const char c : text)
    {
        const auto byte = static_cast<unsigned char>(c);
        if (byte <= ' ' || byte >= 127 || std::strchr("%|,;\"\\", c))
        {
            char code[4];
            std::snprintf(code, sizeof(code), "%%%02x", byte);
            word += code;
        }
        else
        {
            word += c;
        }
    }
    return word;
}

} // namespace gpus
