/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Which files a program has read, for programs whose results are taken up again later: a file that
 * has changed since then would make the old results those of another run.
 */
#ifndef TOPOLOGIES_FILES_READ_H
#define TOPOLOGIES_FILES_READ_H

#include <map>
#include <string>
#include <string_view>

namespace topo
{

/// Of this process, for use from several threads.
class FilesRead
{
  public:
    /// From now on, files that are read have digests.
    static void Watch();

    /// Called by whoever has read a whole file.
    static void Note(const std::string& path, std::string_view text);

    /// By absolute path: the content when the file was read first.
    static std::map<std::string, std::string> Digests();
};

} // namespace topo

#endif // TOPOLOGIES_FILES_READ_H
