/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/launch/part.h"

#include "scenarios/installation/installation.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <spawn.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

extern char** environ;

namespace scenario
{

namespace
{

/// Where a part's library is: in the folder of the library that this function is in.
std::filesystem::path
PartPath(const std::string& name)
{
    Dl_info info;
    std::error_code failed;
    std::filesystem::path own;
    if (::dladdr(reinterpret_cast<void*>(&PartLibrary), &info) != 0 && info.dli_fname)
    {
        own = std::filesystem::canonical(info.dli_fname, failed);
    }
    if (own.empty())
    {
        throw std::runtime_error("the part " + name + ": the program's libraries are not where " +
                                 "they were when it started");
    }
    return own.parent_path() / ("libdltrain-part-" + name + ".so");
}

/// \return ./ns3 of the clone; empty: the program is of a package
std::string
BuildScript()
{
    const std::string installed = InstalledHome();
    const std::vector<std::string> homes = Homes();
    return homes.empty() || homes.front() == installed ? "" : homes.front() + "/ns3";
}

/// Its standard output goes where errors go: ours is for results. \return why it failed, or nothing
std::string
RunBuild(const std::string& script, const std::string& argument)
{
    const char* const words[] = {script.c_str(), "build", argument.c_str(), nullptr};
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    // A program ignores these (RunProgram), and a child would inherit that.
    sigset_t ignored;
    ::sigemptyset(&ignored);
    ::sigaddset(&ignored, SIGPIPE);
    ::sigaddset(&ignored, SIGXFSZ);
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    ::posix_spawnattr_setsigdefault(&attributes, &ignored);
    pid_t child = 0;
    const int error = ::posix_spawn(&child,
                                    script.c_str(),
                                    &actions,
                                    &attributes,
                                    const_cast<char* const*>(words),
                                    environ);
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
    if (error != 0)
    {
        return script + " cannot be run: " + std::strerror(error);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0)
    {
        if (errno != EINTR)
        {
            return script + " is lost: " + std::strerror(errno);
        }
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "" : script + " could not build it";
}

} // namespace

std::string
PartCommand(const std::string& name)
{
    return "./ns3 build --part=" + name;
}

bool
IsPartBuilt(const std::string& name)
{
    std::error_code failed;
    return std::filesystem::exists(PartPath(name), failed);
}

std::string
PartLibrary(const std::string& name)
{
    const std::filesystem::path library = PartPath(name);
    std::error_code failed;
    if (std::filesystem::exists(library, failed))
    {
        return library.string();
    }
    if (BuildScript().empty())
    {
        throw std::runtime_error(
            "the part " + name +
            " is in no package; use a clone, which builds it: " + PartCommand(name));
    }
    std::string why = RunBuild(BuildScript(), "--part=" + name);
    if (why.empty() && !std::filesystem::exists(library, failed))
    {
        why = BuildScript() + " built it in another folder than " + library.parent_path().string();
    }
    if (!why.empty())
    {
        throw std::runtime_error("the part " + name + " is missing, and " + why +
                                 "; type: " + PartCommand(name));
    }
    return library.string();
}

} // namespace scenario
