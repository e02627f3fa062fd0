/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The folder that a run writes into.
 */
#include "scenarios/launch/output-folder.h"

#include "scenarios/asked/run.h"
#include "scenarios/launch/launcher.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace scenario
{

std::string
WhyNotWritable(const std::filesystem::path& folder)
{
    namespace fs = std::filesystem;
    std::error_code failed;
    const fs::path here = fs::current_path(failed);
    if (failed && !folder.is_absolute())
    {
        return failed.message(); // it was removed
    }
    const fs::path whole = (here / folder / "").lexically_normal().parent_path(); // "a/" is "a"
    // The nearest one that is there. (At most as many steps as the path has parts.)
    for (fs::path at = whole;; at = at.parent_path())
    {
        // As it was written: "file" of "--out=file/results".
        const std::string name =
            at == whole ? "it" : (folder.is_absolute() ? at : at.lexically_relative(here)).string();
        const fs::file_status status = fs::status(at, failed);
        if (fs::exists(status))
        {
            if (fs::is_directory(status))
            {
                // Permissions do not say it: root may write to /proc, where no folder can be made.
                std::string probe = (at / ".writable-XXXXXX").string();
                if (!::mkdtemp(probe.data()))
                {
                    return std::strerror(errno);
                }
                ::rmdir(probe.c_str());
                return "";
            }
            return name + " is a file, not a folder";
        }
        std::error_code ignored;
        if (fs::is_symlink(fs::symlink_status(at, ignored)))
        {
            return name + " is a link to what is not there";
        }
        // "Not a directory" and "not there": look further up. Everything else is final.
        if (failed && failed != std::errc::not_a_directory &&
            failed != std::errc::no_such_file_or_directory)
        {
            return failed.message();
        }
        if (!at.has_relative_path())
        {
            return failed.message();
        }
    }
}

namespace
{

/// As std::filesystem::create_directories, and notes which ones it made.
void
MakeFolders(const std::filesystem::path& folder,
            std::vector<std::string>* made,
            std::error_code& failed)
{
    namespace fs = std::filesystem;
    const fs::path parent = folder.parent_path();
    if (folder.empty() || fs::is_directory(folder, failed))
    {
        failed.clear();
        return;
    }
    if (parent != folder)
    {
        MakeFolders(parent, made, failed);
    }
    // "a/" and "a/.": the parent is the folder itself.
    if (!failed && fs::create_directory(folder, failed))
    {
        made->push_back(folder.string());
    }
}

int g_held = -1; ///< HeldOutput()

/// A folder's results belong to one run: until this process ends no other one writes there.
/// \return false if another one does. Without locks (some network file systems) this is not
/// detected
bool
HoldOutput(const std::string& folder)
{
    int& held = g_held;
    const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
    {
        return true;
    }
    struct stat before;
    struct stat now;
    if (held >= 0 && ::fstat(held, &before) == 0 && ::fstat(fd, &now) == 0 &&
        before.st_dev == now.st_dev && before.st_ino == now.st_ino)
    {
        ::close(fd); // it is ours already
        return true;
    }
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    {
        ::close(fd);
        return false;
    }
    if (held >= 0)
    {
        ::close(held);
    }
    held = fd;
    return true;
}

} // namespace

const std::set<std::string>&
OutputNames()
{
    static const std::set<std::string> names{
        "attribution.csv",     "calls.log",          "collectives.csv",
        "compared_slices.csv", "compared.csv",       "critical_messages.csv",
        "critical_path.csv",   "curve.csv",          "executions.csv",
        "estimates.csv",       "fairness.csv",       "fct.txt",
        "flows.csv",           "interruptions.csv",  "intervals.csv",
        "kernels.csv",         "links.csv",          "mix.csv",
        "network.yml",         "network_events.log", "paths.csv",
        "plans.csv",           "queue_pairs.csv",    "queues.csv",
        "rates.csv",           "report.html",        "slices.csv",
        "slowdown.csv",        "stats.json",         "step_collectives.csv",
        "steps.csv",           "timeline.json",      "topology.json",
        "trace.goal",          "watch.csv"};
    return names;
}

int
HeldOutput()
{
    return g_held;
}

void
DropOutput(const RunOptions& run)
{
    for (auto folder = run.made.rbegin(); folder != run.made.rend(); ++folder)
    {
        ::rmdir(folder->c_str()); // not if there is anything in it
    }
}

bool
PrepareOutput(const std::string& program, const Values& values, RunOptions* run, Error* error)
{
    namespace fs = std::filesystem;
    const bool chosen = !values.Has(&asked::Run::out) || values.Get(&asked::Run::out).empty();
    const std::string base = "results/" + program + "-";
    const auto fail = [&](const std::string& folder, const std::string& why) {
        *error = {values.Where(&asked::Run::out),
                  folder,
                  "cannot be written: " + why + "; give a folder you can write to, --out=DIR",
                  ""};
        return false;
    };

    if (!run->dryRun && !FindLauncher().IsFirst())
    {
        return true; // with several processes the first one writes
    }
    const std::string wanted = chosen ? "results" : values.Get(&asked::Run::out);
    std::error_code unresolved;
    const fs::path resolved = fs::weakly_canonical(wanted, unresolved);
    if (!unresolved && resolved == resolved.root_path() && resolved.is_absolute())
    {
        *error = {values.Where(&asked::Run::out),
                  wanted,
                  "is the root of all folders; allowed: a folder of its own, as --out=results/mine",
                  ""};
        return false;
    }
    const std::string why = WhyNotWritable(wanted);
    if (!why.empty())
    {
        return fail(wanted, why);
    }
    for (const std::string& name : OutputNames())
    {
        std::error_code unknown;
        if (fs::is_directory(fs::path(wanted) / name, unknown))
        {
            return fail(wanted, name + " in it is a folder");
        }
    }
    if (run->dryRun)
    {
        run->out = chosen ? base + "N" : wanted;
        return true;
    }

    std::error_code failed;
    if (chosen)
    {
        MakeFolders("results", &run->made, failed);
        if (failed)
        {
            DropOutput(*run);
            return fail("results", failed.message());
        }
        // mkdir decides between runs that start at the same time.
        for (uint32_t n = 1;; ++n)
        {
            run->out = base + std::to_string(n);
            if (::mkdir(run->out.c_str(), 0777) == 0)
            {
                run->made.push_back(run->out);
                break;
            }
            if (errno != EEXIST)
            {
                const std::string why = std::strerror(errno);
                DropOutput(*run);
                return fail(run->out, why);
            }
        }
    }
    else
    {
        run->out = values.Get(&asked::Run::out);
        MakeFolders(run->out, &run->made, failed);
        if (failed)
        {
            DropOutput(*run);
            return fail(run->out, failed.message());
        }
    }
    const std::string probe = run->out + "/.writable-" + std::to_string(::getpid());
    const int fd = ::open(probe.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
    if (fd < 0)
    {
        return fail(run->out, std::strerror(errno));
    }
    ::close(fd);
    ::unlink(probe.c_str());
    if (!HoldOutput(run->out))
    {
        return fail(run->out, "another run is writing to it");
    }
    return true;
}

} // namespace scenario
