/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Opening files such that nothing waits for ever: opening a named pipe waits for its other end, and
 * reading a terminal for somebody to type.
 *
 *   input    regular files only (a link to one is one)
 *   output   regular files and devices (a link to /dev/null throws an output away); no pipes, no
 *            sockets
 */
#ifndef RDMA_CORE_REGULAR_FILE_H
#define RDMA_CORE_REGULAR_FILE_H

#include "nearest-name.h"
#include "shown-text.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace rdma
{

namespace detail
{

/// "is a pipe", or "" if it is none of what has no end or no other end.
inline std::string
NoFile(mode_t mode, bool devicesToo)
{
    return S_ISDIR(mode)                                    ? "is a folder"
           : S_ISFIFO(mode)                                 ? "is a pipe"
           : S_ISSOCK(mode)                                 ? "is a socket"
           : devicesToo && (S_ISCHR(mode) || S_ISBLK(mode)) ? "is a device"
                                                            : "";
}

/// "; did you mean 'folder/default.json'?", or "" if no regular file beside it has a name like
/// that.
inline std::string
NearestFile(const std::string& path)
{
    constexpr size_t kMost = 10000;
    const size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
    std::vector<std::string> names;
    if (DIR* entries = ::opendir(folder.empty() ? "." : folder.c_str()))
    {
        while (const dirent* entry = names.size() < kMost ? ::readdir(entries) : nullptr)
        {
            struct stat about = {};
            const std::string name = entry->d_name;
            if (::stat((folder + name).c_str(), &about) == 0 && S_ISREG(about.st_mode))
            {
                names.push_back(name);
            }
        }
        ::closedir(entries);
    }
    std::sort(names.begin(), names.end());
    const std::string nearest = NearestName(path.substr(folder.size()), names);
    return nearest.empty() ? "" : "; did you mean '" + Shown(folder + nearest, 200) + "'?";
}

/// As WhyUnreadable has it, without a look for the nearest file. \param error why there is none, or
/// 0
inline std::string
WhyUnreadable(const std::string& path, int* error)
{
    struct stat about = {};
    *error = ::stat(path.c_str(), &about) == 0 ? 0 : errno;
    const std::string kind = *error ? "" : NoFile(about.st_mode, true);
    if (!kind.empty())
    {
        return kind + "; allowed: a regular file";
    }
    const bool readable = !*error && ::access(path.c_str(), R_OK) == 0;
    return readable ? "" : std::string("cannot be read: ") + std::strerror(*error ? *error : errno);
}

} // namespace detail

/// \return whether there is a regular file that can be read; for those who only want to know
inline bool
IsReadable(const std::string& path)
{
    int error;
    return detail::WhyUnreadable(path, &error).empty();
}

/// Why a file cannot be read: "cannot be read: No such file or directory", "is a pipe; allowed: a
/// regular file". Empty if it can be.
inline std::string
WhyUnreadable(const std::string& path)
{
    int error;
    const std::string why = detail::WhyUnreadable(path, &error);
    return error == ENOENT ? why + detail::NearestFile(path) : why;
}

namespace detail
{

/// Removes a link that stands where a file is written: a folder of results may come from anybody,
/// and a link in it would lead to any file of the user. A link to a device, such as /dev/full, is
/// kept: nothing is lost there.
inline void
DropLink(const std::string& path)
{
    struct stat link = {};
    struct stat target = {};
    if (::lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode) &&
        (::stat(path.c_str(), &target) != 0 || S_ISREG(target.st_mode)))
    {
        ::unlink(path.c_str());
    }
}

} // namespace detail

/// Opens a file for writing, emptied; a link to a file is replaced by one. Null, with `why` it
/// cannot be written, if that fails. All files that the programs write are opened here.
inline std::FILE*
OpenForWriting(const std::string& path, std::string* why)
{
    detail::DropLink(path);
    // Without O_NONBLOCK, opening a pipe waits for its reader.
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0666);
    struct stat about = {};
    if (descriptor < 0)
    {
        const int error = errno;
        const std::string kind =
            ::stat(path.c_str(), &about) == 0 ? detail::NoFile(about.st_mode, false) : "";
        *why = error == ENXIO && !kind.empty() ? kind : std::strerror(error);
        return nullptr;
    }
    ::fstat(descriptor, &about);
    *why = detail::NoFile(about.st_mode, false);
    if (why->empty() && S_ISREG(about.st_mode) && ::ftruncate(descriptor, 0) != 0)
    {
        *why = std::strerror(errno);
    }
    std::FILE* file = nullptr;
    if (why->empty())
    {
        ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
        file = ::fdopen(descriptor, "w");
        *why = file ? "" : std::strerror(errno);
    }
    if (!file)
    {
        ::close(descriptor);
    }
    return file;
}

/// Writes a whole file. \return why it is not written, or not whole; empty: it is
inline std::string
WriteWhole(const std::string& path, const std::string& text)
{
    std::string why;
    std::FILE* const file = OpenForWriting(path, &why);
    if (!file)
    {
        return why;
    }
    errno = 0;
    const bool whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    const bool closed = std::fclose(file) == 0;
    return whole && closed ? "" : std::strerror(errno);
}

} // namespace rdma

#endif // RDMA_CORE_REGULAR_FILE_H
