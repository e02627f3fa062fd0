/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/formats/input-file.h"

#include "topologies/family.h"

#include <sys/stat.h>
#include <utility>

#ifdef DLTRAIN_GZIP
#include <boost/iostreams/device/array.hpp>
#include <boost/iostreams/filter/gzip.hpp>
#include <boost/iostreams/filtering_streambuf.hpp>
#endif

namespace formats
{

namespace
{

bool
IsPacked(const std::string& bytes)
{
    // the first two bytes of gzip
    return bytes.size() >= 2 && bytes[0] == '\x1f' && bytes[1] == '\x8b';
}

/// Why so much is not unpacked from so little; empty: it may be.
std::string
TooMuch(std::size_t packed, std::size_t unpacked)
{
    if (unpacked > kLargestFile)
    {
        return "is larger than " + std::to_string(kLargestFile >> 20) + " MiB, unpacked";
    }
    if (unpacked > kSurelyUnpacked && unpacked / kMostUnpacked > packed)
    {
        return "has " + std::to_string(packed) + " B, packed by gzip, and more than " +
               std::to_string(kMostUnpacked) +
               " times as many unpacked; unpack it with gunzip if it is what it seems";
    }
    return {};
}

/// The size of the last file that was packed, modulo 2^32, as its last four bytes say (RFC 1952,
/// ISIZE): it is known before any time is spent. Who packed several may say less.
std::size_t
SizeSaid(const std::string& bytes)
{
    std::size_t size = 0;
    for (std::size_t i = 0; i < 4 && i < bytes.size(); ++i)
    {
        size = size << 8 | static_cast<unsigned char>(bytes[bytes.size() - 1 - i]);
    }
    return size;
}

} // namespace

void
AddError(std::vector<topo::Error>& errors,
         const std::string& file,
         const std::string& where,
         const std::string& problem)
{
    topo::Error error;
    error.file = file;
    error.where = where;
    error.problem = problem;
    errors.push_back(std::move(error));
}

bool
IsFile(const std::string& path)
{
    struct stat about = {};
    return ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode);
}

std::optional<std::string>
Unpacked(std::string bytes, const std::string& file, std::vector<topo::Error>& errors)
{
    if (!IsPacked(bytes))
    {
        return bytes;
    }
#ifdef DLTRAIN_GZIP
    namespace io = boost::iostreams;
    if (const std::string why = TooMuch(bytes.size(), SizeSaid(bytes)); !why.empty())
    {
        AddError(errors, file, "", why);
        return std::nullopt;
    }
    std::string text;
    try
    {
        io::filtering_istreambuf in;
        in.push(io::gzip_decompressor());
        in.push(io::array_source(bytes.data(), bytes.size()));
        std::vector<char> block(1u << 16);
        std::streamsize got = 0;
        while ((got = in.sgetn(block.data(), static_cast<std::streamsize>(block.size()))) > 0)
        {
            text.append(block.data(), static_cast<std::size_t>(got));
            if (const std::string why = TooMuch(bytes.size(), text.size()); !why.empty())
            {
                AddError(errors, file, "", why);
                return std::nullopt;
            }
        }
    }
    catch (const std::exception& e)
    {
        AddError(errors,
                 file,
                 "",
                 "is packed by gzip, and damaged behind byte " + std::to_string(text.size()) +
                     " of what is in it: " + e.what());
        return std::nullopt;
    }
    return text;
#else
    AddError(
        errors,
        file,
        "",
        "is packed by gzip, and this program was built without Boost.Iostreams: unpack it with "
        "gunzip; or type:  sudo apt-get install --no-install-recommends libboost-iostreams-dev  "
        "and build again");
    return std::nullopt;
#endif
}

std::optional<std::string>
ReadInput(const std::string& path, std::vector<topo::Error>& errors)
{
    const std::size_t before = errors.size();
    auto bytes = topo::ReadWholeFile(path, errors);
    if (!bytes)
    {
        for (std::size_t i = before; i < errors.size(); ++i)
        {
            errors[i].where = path;
            errors[i].value.clear();
        }
        return std::nullopt;
    }
    return Unpacked(std::move(*bytes), path, errors);
}

} // namespace formats
