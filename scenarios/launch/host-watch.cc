/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/launch/host-watch.h"

#include "contrib/rdma/core/shown-text.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern char** environ;

namespace scenario
{

namespace
{

using WatchClock = std::chrono::steady_clock;

/// Each word of the script below begins a line so.
constexpr const char* MARK = "dltrain-host: ";
/// ssh gives up after 10 s; a job step may wait for its node.
constexpr std::chrono::seconds LONGEST_START(30);

constexpr std::chrono::seconds LONGEST_END(1);

/// Says in a line what is missing, or that nothing is, and lives as long as its standard input.
std::string
ScriptOf(const HostNeeds& needs)
{
    const std::string say = std::string("echo '") + MARK;
    return "cd " + QuotedForShell(needs.folder) + " || { " + say + "folder'; exit; }; " +
           QuotedForShell(needs.program) + " --version || { echo " + "\"" + MARK +
           "program $?\"; exit; }; command -v orted >/dev/null || { " + say + "mpi'; exit; }; " +
           say + "ready'; exec cat >/dev/null";
}

/// \return what follows the mark, of the last line with one; empty: there is none
std::string
Marked(const std::string& said)
{
    const std::size_t at = said.rfind(MARK);
    return at == std::string::npos
               ? ""
               : said.substr(at + std::strlen(MARK), said.find('\n', at) - at - std::strlen(MARK));
}

/// The last line that is not the script's own.
std::string
LastLine(const std::string& said)
{
    std::istringstream lines(said);
    std::string last;
    for (std::string line; std::getline(lines, line);)
    {
        if (!line.empty() && line.rfind(MARK, 0) != 0)
        {
            last = line.back() == '\r' ? line.substr(0, line.size() - 1) : line;
        }
    }
    return rdma::Shown(last, 200);
}

} // namespace

HostWatch::~HostWatch()
{
    for (Host& host : m_hosts)
    {
        for (const int descriptor : {host.to, host.from})
        {
            if (descriptor >= 0)
            {
                ::close(descriptor);
            }
        }
        if (host.process > 0)
        {
            ::kill(host.process, SIGTERM);
        }
    }
    const auto end = WatchClock::now() + LONGEST_END;
    for (const Host& host : m_hosts)
    {
        while (host.process > 0 && ::waitpid(host.process, nullptr, WNOHANG) == 0)
        {
            if (WatchClock::now() > end)
            {
                ::kill(host.process, SIGKILL); // srun waits for its lost node
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
    }
}

std::string
HostWatch::Start(Host* host, const std::vector<std::string>& words)
{
    int from[2];
    int to[2];
    if (::pipe2(from, O_CLOEXEC) || ::pipe2(to, O_CLOEXEC))
    {
        return std::strerror(errno);
    }
    std::vector<char*> arguments;
    for (const std::string& word : words)
    {
        arguments.push_back(const_cast<char*>(word.c_str()));
    }
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, from[1], STDERR_FILENO);
    // A group of its own: the terminal's Ctrl-C is ours to pass on.
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    sigset_t usual;
    ::sigemptyset(&usual);
    for (const int number : {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM, SIGHUP, SIGTSTP})
    {
        ::sigaddset(&usual, number);
    }
    ::posix_spawnattr_setsigdefault(&attributes, &usual);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    const int error = ::posix_spawnp(&host->process,
                                     arguments[0],
                                     &actions,
                                     &attributes,
                                     arguments.data(),
                                     environ);
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(from[1]);
    ::close(to[0]);
    host->from = from[0];
    host->to = to[1];
    if (error)
    {
        host->process = -1;
        return words[0] + " cannot be started: " + std::strerror(error);
    }
    return "";
}

void
HostWatch::Read(Host* host)
{
    char text[4096];
    const ssize_t n = ::read(host->from, text, sizeof text);
    if (n > 0)
    {
        host->said.append(text, static_cast<std::size_t>(n));
        host->ready |= Marked(host->said) == "ready";
    }
    else if (n == 0 || errno != EINTR)
    {
        ::close(host->from);
        host->from = -1;
    }
}

std::string
HostWatch::Problem(const Host& host, const HostNeeds& needs)
{
    const std::string why = Marked(host.said);
    const std::string who = "host " + host.name;
    if (why == "folder")
    {
        return who + " has no folder " + needs.folder +
               "; allowed: a folder that all hosts share, as the current one";
    }
    if (why.rfind("program", 0) == 0)
    {
        return who + ": " + needs.program + " does not run there (status" + why.substr(7) +
               "): " + LastLine(host.said) +
               "; allowed: a clone that all hosts share, or the same package on each";
    }
    if (why == "mpi")
    {
        return who + " has no orted of Open MPI; it is in Debian's package openmpi-bin";
    }
    if (why == "ready" && host.said.find(needs.version + "\n") == std::string::npos)
    {
        return who + " has another build: " + LastLine(host.said) + ", and here it is " +
               needs.version;
    }
    if (why == "ready")
    {
        return "";
    }
    const std::string last = LastLine(host.said);
    return who + (host.from >= 0 ? " does not answer" : " cannot be reached") +
           (last.empty() ? "" : ": " + last);
}

std::string
HostWatch::Begin(const std::vector<MpiHost>& hosts, bool allocated, const HostNeeds& needs)
{
    const std::string script = ScriptOf(needs);
    m_hosts.reserve(hosts.size());
    for (const MpiHost& host : hosts)
    {
        if (allocated || !IsThisMachine(host.name))
        {
            m_hosts.push_back({host.name, -1, -1, -1, false, ""});
            const std::string problem =
                Start(&m_hosts.back(), ScriptOnHost(host.name, allocated, script));
            if (!problem.empty())
            {
                return "host " + host.name + ": " + problem;
            }
        }
    }
    const auto end = WatchClock::now() + LONGEST_START;
    const auto waits = [](const Host& host) { return !host.ready && host.from >= 0; };
    while (std::any_of(m_hosts.begin(), m_hosts.end(), waits) && WatchClock::now() < end)
    {
        std::vector<pollfd> ready;
        AddTo(&ready);
        ::poll(ready.data(), ready.size(), 200);
        for (std::size_t i = 0; i < m_hosts.size(); ++i)
        {
            if (ready[i].revents != 0)
            {
                Read(&m_hosts[i]);
            }
        }
    }
    for (const Host& host : m_hosts)
    {
        if (std::string problem = Problem(host, needs); !problem.empty())
        {
            return problem;
        }
    }
    return "";
}

void
HostWatch::AddTo(std::vector<pollfd>* ready) const
{
    for (const Host& host : m_hosts)
    {
        ready->push_back({host.from, POLLIN, 0}); // a descriptor below 0 is left out
    }
}

std::string
HostWatch::Lost()
{
    return WaitForLost(std::chrono::milliseconds(0));
}

std::string
HostWatch::WaitForLost(std::chrono::milliseconds longest)
{
    if (m_hosts.empty())
    {
        return "";
    }
    const auto end = WatchClock::now() + longest;
    for (;;)
    {
        std::vector<pollfd> ready;
        AddTo(&ready);
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(end - WatchClock::now()).count();
        const int found =
            ::poll(ready.data(), ready.size(), static_cast<int>(std::max<int64_t>(left, 0)));
        for (std::size_t i = 0; found > 0 && i < m_hosts.size(); ++i)
        {
            if (ready[i].revents != 0)
            {
                Read(&m_hosts[i]);
            }
        }
        for (const Host& host : m_hosts)
        {
            if (host.from < 0)
            {
                return host.name;
            }
        }
        if (left <= 0)
        {
            return "";
        }
    }
}

} // namespace scenario
