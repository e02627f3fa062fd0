/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/launch/part.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <spawn.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace scenario
{

namespace
{

/// The folder of the library that this function is in.
std::filesystem::path
LibraryFolder()
{
    Dl_info info;
    std::error_code failed;
    if (::dladdr(reinterpret_cast<void*>(&PartLibrary), &info) == 0 || !info.dli_fname)
    {
        return {};
    }
    const auto file = std::filesystem::canonical(info.dli_fname, failed);
    return failed ? std::filesystem::path() : file.parent_path();
}

/// \return the clone's ./ns3
std::string
BuildScript()
{
    const char* root = std::getenv("DLTRAIN_ROOT");
    return std::string(root && *root ? root : DLTRAIN_ROOT) + "/ns3";
}

/// Its standard output goes where errors go: ours is for results.
bool
Run(const std::string& script, const std::string& argument)
{
    const char* const words[] = {script.c_str(), "build", argument.c_str(), nullptr};
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    pid_t child = 0;
    const int error = ::posix_spawn(&child,
                                    script.c_str(),
                                    &actions,
                                    nullptr,
                                    const_cast<char* const*>(words),
                                    environ);
    ::posix_spawn_file_actions_destroy(&actions);
    int status = 0;
    while (error == 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR)
    {
    }
    return error == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

} // namespace

std::string
PartLibrary(const std::string& name)
{
    const std::filesystem::path library = LibraryFolder() / ("libdltrain-part-" + name + ".so");
    std::error_code failed;
    if (!std::filesystem::exists(library, failed) &&
        (!Run(BuildScript(), "--part=" + name) || !std::filesystem::exists(library, failed)))
    {
        throw std::runtime_error("the part '" + name + "' is not built: type  ./ns3 build --part=" +
                                 name);
    }
    return library.string();
}

} // namespace scenario
