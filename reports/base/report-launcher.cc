/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/base/report-launcher.h"

#include "contrib/rdma/core/shown-text.h"
#include "reports/base/output-errors.h"
#include "scenarios/installation/installation.h"
#include "scenarios/launch/output-folder.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <iostream>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

extern char** environ;

namespace reports
{

namespace
{

/// With these words the script itself reports the problem: "report.html: not written: REASON".
constexpr const char* WORDS = "not written: ";
/// With these words it names the page, which is named anyway.
constexpr const char* PAGE_LOST = "report.html: cannot be written: ";

std::string
FindScript()
{
    for (const std::string& home : scenario::Homes())
    {
        const std::string script = home + "/scripts/report";
        if (access(script.c_str(), X_OK) == 0)
        {
            return script;
        }
    }
    return "";
}

/// Starts argv[0]. It is killed when this process is, however that ends: a page that comes later
/// would stand beside the results of another run. Until then it holds the folder, too.
/// \param output standard output and error of the child
/// \return the child, or -1 and errno
pid_t
Start(char* const* argv, int output)
{
    const int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const int held = scenario::HeldOutput();
    const pid_t parent = getpid();
    // No handler of the simulation's may run in the child, whose memory is the parent's.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    volatile int error = 0;
    const pid_t child = vfork(); // fork() would copy the page tables of gigabytes
    if (child == 0)
    {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent) // else it has died before
        {
            dup2(input, STDIN_FILENO);
            // Standard output belongs to the results (collperf's table): the script has only
            // complaints.
            dup2(output, STDOUT_FILENO);
            dup2(output, STDERR_FILENO);
            if (held >= 0)
            {
                fcntl(held, F_SETFD, 0);
            }
            // Default signals: caught ones become that by themselves.
            struct sigaction usual = {};
            usual.sa_handler = SIG_DFL;
            sigaction(SIGPIPE, &usual, nullptr);
            sigset_t none;
            sigemptyset(&none);
            sigprocmask(SIG_SETMASK, &none, nullptr);
            execve(argv[0], argv, environ);
            error = errno;
        }
        _exit(127);
    }
    const int failed = child < 0 ? errno : error;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (input >= 0)
    {
        close(input);
    }
    if (child > 0 && failed)
    {
        waitpid(child, nullptr, 0);
    }
    errno = failed;
    return failed ? -1 : child;
}

/// \param [out] said output of the script: complaints
/// \return the wait status, or -1 and errno
int
Spawn(const std::string& script, const std::string& folder, std::string& said)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
    {
        return -1;
    }
    std::vector<std::string> words = {script, "--after-run", "--", folder};
    if (const std::string python = scenario::Python(); python != scenario::USUAL_PYTHON)
    {
        words.insert(words.begin(), python); // what the script's first line names is not there
    }
    std::vector<char*> argv;
    for (std::string& word : words)
    {
        argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    const pid_t child = Start(argv.data(), ends[1]);
    const int error = errno;
    close(ends[1]);
    char text[4096];
    for (ssize_t n = 1; child > 0 && n != 0;)
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
    while (child > 0 && waitpid(child, &status, 0) < 0)
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
    if (!run.report || run.out.empty())
    {
        return;
    }
    if (OutputErrors::ResultsLost())
    {
        OutputErrors::AddView(run.out + "/report.html", "results are not whole");
        return;
    }
    os.flush();
    std::string why;
    const std::string script = FindScript();
    if (script.empty())
    {
        why = "there is no scripts/report in " + scenario::HomesText();
    }
    else if (access(scenario::Python().c_str(), X_OK) != 0)
    {
        why = "Python 3 is not installed";
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
            const std::size_t path = why.find(PAGE_LOST); // it is said before
            why.erase(0, path == std::string::npos ? 0 : path + std::strlen(PAGE_LOST));
        }
        else if (WEXITSTATUS(status) != 0)
        {
            why = script + " ended with status " + std::to_string(WEXITSTATUS(status));
        }
        std::cerr << said << std::flush;
    }
    if (why.empty())
    {
        os << "Report           " << rdma::Printable(run.out) << "/report.html" << std::endl;
    }
    else
    {
        OutputErrors::AddView(run.out + "/report.html", why);
    }
}

} // namespace reports
