/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_FORMATS_INPUT_FILE_H
#define SCENARIOS_FORMATS_INPUT_FILE_H

#include "topologies/error.h"

#include <optional>
#include <string>
#include <vector>

namespace formats
{

/// The largest size of one file, unpacked: more is an error (assumed).
constexpr std::size_t kLargestFile = 1024u << 20;

/// How many bytes one of a packed file may become, above kSurelyUnpacked: more is an error, before
/// memory is spent on it (assumed).
constexpr std::size_t kMostUnpacked = 200;
constexpr std::size_t kSurelyUnpacked = 16u << 20;

/// \param where in the file, as a byte or a JSON path; may be empty
void AddError(std::vector<topo::Error>& errors,
              const std::string& file,
              const std::string& where,
              const std::string& problem);

/// Whether there is a regular file, or a link to one.
bool IsFile(const std::string& path);

/// The content of a file, unpacked if gzip packed it. Nothing, and an error, if it cannot be read,
/// is too large, or its packing is damaged. Gzip needs Boost.Iostreams, an optional part of the
/// build.
std::optional<std::string> ReadInput(const std::string& path, std::vector<topo::Error>& errors);

/// The same for bytes in memory. \param file for errors
std::optional<std::string> Unpacked(std::string bytes,
                                    const std::string& file,
                                    std::vector<topo::Error>& errors);

} // namespace formats

#endif // SCENARIOS_FORMATS_INPUT_FILE_H
