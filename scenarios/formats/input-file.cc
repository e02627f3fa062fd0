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
            if (text.size() > kLargestFile)
            {
                AddError(errors,
                         file,
                         "",
                         "is larger than " + std::to_string(kLargestFile >> 20) + " MiB, unpacked");
                return std::nullopt;
            }
            if (text.size() > kSurelyUnpacked && text.size() / kMostUnpacked > bytes.size())
            {
                AddError(
                    errors,
                    file,
                    "",
                    "has " + std::to_string(bytes.size()) + " B, packed by gzip, and more than " +
                        std::to_string(kMostUnpacked) +
                        " times as many unpacked; unpack it with gunzip if it is what it seems");
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
