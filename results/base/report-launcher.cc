/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "results/base/report-launcher.h"

#include "results/base/output-errors.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <iostream>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace results
{

namespace
{

/// With these words the script itself reports the problem: "report.html: not written: REASON".
constexpr const char* WORDS = "not written: ";

std::string
FindScript()
{
    const char* root = std::getenv("DLTRAIN_ROOT");
    for (const std::string& folder : {std::string(root ? root : ""), std::string(DLTRAIN_ROOT)})
    {
        const std::string script = folder + "/scripts/report";
        if (!folder.empty() && access(script.c_str(), X_OK) == 0)
        {
            return script;
        }
    }
    return "";
}

/// \param [out] said output of the script: complaints
/// \return the wait status, or -1 and errno. The script gets default signals: the simulation
/// catches Ctrl-C, and its children would inherit a mask.
int
Spawn(const std::string& script, const std::string& folder, std::string& said)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
    {
        return -1;
    }
    std::string words[] = {script, "--after-run", "--", folder};
    char* argv[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_init(&files);
    sigset_t ours;
    sigset_t none;
    sigemptyset(&ours);
    sigemptyset(&none);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGPIPE); // which the programs ignore
    posix_spawnattr_setsigdefault(&attributes, &ours);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    // Standard output belongs to the results (collperf's table): the script has only complaints.
    posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, ends[1], STDERR_FILENO);
    pid_t child = 0;
    const int error = posix_spawn(&child, argv[0], &files, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    close(ends[1]);
    char text[4096];
    for (ssize_t n = 1; !error && n != 0;)
    {
        n = read(ends[0], text, sizeof(text));
        if (n < 0 && errno != EINTR)
        {
            break;
        }
        said.append(text, static_cast<std::size_t>(n > 0 ? n : 0));
    }
    close(ends[0]);
    int status = -1;
    errno = error;
    while (!error && waitpid(child, &status, 0) < 0)
    {
        if (errno != EINTR)
        {
            return -1;
        }
    }
    return status;
}

} // namespace

void
WriteReport(const scenario::RunOptions& run, std::ostream& os)
{
    if (!run.report || run.out.empty() || OutputErrors::ResultsLost())
    {
        return;
    }
    os.flush();
    std::string why;
    const std::string script = FindScript();
    if (script.empty())
    {
        why = "there is no scripts/report in " DLTRAIN_ROOT;
    }
    else
    {
        std::string said;
        const int status = Spawn(script, run.out, said);
        if (status < 0)
        {
            why = script + ": " + std::strerror(errno);
        }
        else if (WIFSIGNALED(status))
        {
            why = script + " was ended by signal " + std::to_string(WTERMSIG(status));
        }
        else if (const std::size_t at = said.find(WORDS);
                 WEXITSTATUS(status) != 0 && at != std::string::npos)
        {
            why = said.substr(at + std::strlen(WORDS));
            while (!why.empty() && why.back() == '\n')
            {
                why.pop_back();
            }
            said.clear();
        }
        else if (WEXITSTATUS(status) != 0)
        {
            why = script + " ended with status " + std::to_string(WEXITSTATUS(status));
        }
        std::cerr << said << std::flush;
    }
    if (why.empty())
    {
        os << "Report           " << run.out << "/report.html" << std::endl;
    }
    else
    {
        OutputErrors::AddView(run.out + "/report.html: not written: " + why);
    }
}

} // namespace results
