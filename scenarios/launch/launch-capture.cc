/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/launch/launch-capture.h"

#include "contrib/rdma/core/set-up-phase.h"
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/installation/installation.h"
#include "scenarios/launch/interruption.h"
#include "topologies/json-text.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace scenario
{

namespace
{

using nlohmann::json;

/// The folder of the package comes as an argument: the script's PYTHONPATH stays as it is.
constexpr const char* kStart =
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from cluster_simulator.capture import for_program; sys.exit(for_program.main(sys.argv[1]))";
constexpr int kLookEveryMs = 200; ///< for a signal
/// The words for each phase (for_program.py).
constexpr std::pair<const char*, const char*> kPhases[] = {
    {"running the script", "capturing: running the script"},
    {"reading what its ranks did", "capturing: reading what its ranks did"},
};

/// Where scripts/cluster_simulator is.
std::string
ScriptsFolder()
{
    for (const std::string& home : Homes())
    {
        const std::string folder = home + "/scripts";
        if (::access((folder + "/cluster_simulator").c_str(), X_OK) == 0)
        {
            return folder;
        }
    }
    return "";
}

/// The argument of cluster_simulator.capture.capture().
std::string
ArgumentOf(const LaunchSpec& launch,
           const std::string& folder,
           const std::vector<std::string>& made)
{
    json given = {{"command", launch.command},
                  {"out", folder},
                  {"made", made},
                  {"gpu", launch.gpu},
                  {"memory", launch.memoryBytes},
                  {"gpus_per_server", launch.gpusPerServer},
                  {"network", launch.network},
                  {"patience", launch.patienceS}};
    if (launch.steps != kUntilAlike)
    {
        given["steps"] = launch.steps;
    }
    if (launch.multiprocessors > 0)
    {
        given["multiprocessors"] = launch.multiprocessors;
    }
    if (!launch.step.empty())
    {
        given["step"] = launch.step;
    }
    if (launch.servers > 0)
    {
        given["servers"] = launch.servers;
    }
    if (launch.ranks == "auto" || launch.ranks == "all")
    {
        given["ranks"] = launch.ranks;
    }
    else
    {
        given["ranks"] = topo::JsonOrDiscarded("[" + launch.ranks + "]");
    }
    return given.dump(-1, ' ', true, json::error_handler_t::replace);
}

class Capture
{
  public:
    Capture(std::string program, CaptureEnd* end)
        : m_program(std::move(program)),
          m_end(*end)
    {
    }

    void Run(const LaunchSpec& launch,
             const std::string& folder,
             const std::vector<std::string>& made);

  private:
    /// \return 0, or errno
    int Start(const std::vector<std::string>& words);
    /// To its end, and its wait status.
    int Attend();
    void Take(const std::string& line);

    const std::string m_program;
    CaptureEnd& m_end;
    pid_t m_process = -1;
    int m_from = -1; ///< its standard output
    std::optional<rdma::SetUpPhase> m_phase;
    const char* m_name = nullptr; ///< name of the phase
};

int
Capture::Start(const std::vector<std::string>& words)
{
    // All that allocates comes before fork(): this process has more than one thread.
    std::vector<char*> arguments;
    for (const std::string& word : words)
    {
        arguments.push_back(const_cast<char*>(word.c_str()));
    }
    arguments.push_back(nullptr);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
    {
        return errno;
    }
    const pid_t parent = ::getpid();
    m_process = ::fork();
    if (m_process == 0)
    {
        // A session of its own: a terminal's Ctrl-C comes here, and is passed on once.
        ::setsid();
        ::prctl(PR_SET_PDEATHSIG, SIGTERM);
        for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ})
        {
            ::signal(number, SIG_DFL);
        }
        const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (::getppid() == parent && ::dup2(nothing, STDIN_FILENO) >= 0 &&
            ::dup2(ends[1], STDOUT_FILENO) >= 0)
        {
            ::execv(arguments[0], arguments.data());
        }
        ::_exit(127);
    }
    const int error = m_process < 0 ? errno : 0;
    ::close(ends[1]);
    m_from = ends[0];
    return error;
}

void
Capture::Take(const std::string& line)
{
    const json told = topo::JsonOrDiscarded(line);
    if (!told.is_object())
    {
        return; // output of a library
    }
    const auto text = [&](const char* key) {
        return told.contains(key) && told[key].is_string() ? told[key].get<std::string>() : "";
    };
    const auto count = [&](const char* key) {
        return told.contains(key) && told[key].is_number_unsigned() ? told[key].get<uint64_t>() : 0;
    };
    const std::string what = text("what");
    for (const auto& [said, name] : kPhases)
    {
        if (what == said && m_name != name)
        {
            m_phase.reset(); // which is put back before another one begins
            m_phase.emplace(name, count("of"));
            m_name = name;
        }
    }
    if (m_phase && !what.empty())
    {
        rdma::SetUpPhase::Total().store(count("of"), std::memory_order_relaxed);
        m_phase->Done(count("done"));
    }
    if (const std::string note = text("note"); !note.empty())
    {
        std::cerr << m_program << ": " << rdma::Shown(note, 300) << std::endl;
    }
    if (told.contains("error"))
    {
        m_end.error = text("error");
    }
    if (told.contains("full"))
    {
        m_end.full = text("full");
    }
    if (told.contains("failed"))
    {
        m_end.failed = text("failed");
        const int status = told.contains("status") && told["status"].is_number_integer()
                               ? told["status"].get<int>()
                               : 1;
        m_end.status = status > 0 && status < 256 ? status : 1; // a signal's is below 0
    }
}

int
Capture::Attend()
{
    std::string rest;
    bool told = false;
    while (true)
    {
        const int signal = Interruption();
        if (signal != 0 && !told)
        {
            told = true;
            m_end.signal = signal;
            ::kill(m_process, SIGTERM);
        }
        pollfd ready = {m_from, POLLIN, 0};
        if (::poll(&ready, 1, kLookEveryMs) <= 0)
        {
            continue;
        }
        char text[4096];
        const ssize_t n = ::read(m_from, text, sizeof text);
        if (n < 0 && errno == EINTR)
        {
            continue;
        }
        if (n <= 0)
        {
            break;
        }
        rest.append(text, static_cast<std::size_t>(n));
        for (std::size_t end = 0; (end = rest.find('\n')) != std::string::npos;)
        {
            Take(rest.substr(0, end));
            rest.erase(0, end + 1);
        }
    }
    ::close(m_from);
    int status = -1;
    while (::waitpid(m_process, &status, 0) < 0 && errno == EINTR)
    {
    }
    return status;
}

void
Capture::Run(const LaunchSpec& launch,
             const std::string& folder,
             const std::vector<std::string>& made)
{
    const std::string scripts = ScriptsFolder();
    if (scripts.empty())
    {
        m_end.error = "there is no scripts/cluster_simulator in " + HomesText();
        return;
    }
    const KeptForAWhile kept;
    const std::string python = Python();
    if (const int error = Start({python, "-c", kStart, scripts, ArgumentOf(launch, folder, made)}))
    {
        m_end.error = python + " cannot be started: " + std::strerror(error);
        return;
    }
    const int status = Attend();
    const bool fine = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!fine && m_end.signal == 0 && m_end.error.empty() && m_end.full.empty())
    {
        m_end.error = python +
                      (WIFSIGNALED(status) ? " was ended by signal " : " ended with status ") +
                      std::to_string(WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
}

} // namespace

CaptureEnd
CaptureScript(const std::string& program,
              const LaunchSpec& launch,
              const std::string& folder,
              const std::vector<std::string>& made)
{
    CaptureEnd end;
    Capture(program, &end).Run(launch, folder, made);
    return end;
}

} // namespace scenario
