/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/launch/mpirun.h"

#include "scenarios/launch/host-watch.h"
#include "scenarios/launch/interruption.h"
#include "scenarios/launch/mpirun-words.h"
#include "scenarios/launch/passed-stream.h"

#include <algorithm>
#include <boost/algorithm/string/erase.hpp>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace scenario
{

namespace
{

/// Signals that have come, a byte each: the handler's only act. Not that of interruption.h: each
/// signal is passed on to the ranks, SIGTSTP too, and wakes poll().
int g_signals[2] = {-1, -1};

void
NoteSignal(int number)
{
    const int before = errno;
    const char byte = static_cast<char>(number);
    [[maybe_unused]] const auto written = ::write(g_signals[1], &byte, 1);
    errno = before;
}

void
Catch(int number)
{
    struct sigaction action = {};
    ::sigaction(number, nullptr, &action);
    if (action.sa_handler == SIG_IGN && number != SIGINT && number != SIGTERM)
    {
        return; // nohup; a shell without job control
    }
    action = {};
    action.sa_handler = NoteSignal;
    action.sa_flags = SA_RESTART;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(number, &action, nullptr);
}

/// This program's file; the name it was called by where /proc is missing.
std::string
OwnPath(const char* called)
{
    std::error_code failed;
    const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", failed);
    return failed ? called : path.string();
}

/// Is this a process that has not ended, and a child of that one?
bool
IsChild(pid_t process, pid_t parent)
{
    // "PID (NAME) STATE PARENT ...": a name may hold anything.
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string text;
    std::getline(file, text, '\0');
    const std::size_t name = text.rfind(") ");
    return name != std::string::npos && name + 4 < text.size() && text[name + 2] != 'Z' &&
           std::atoi(text.c_str() + name + 4) == parent;
}

std::vector<pid_t>
ChildrenOf(pid_t parent)
{
    std::vector<pid_t> children;
    std::error_code failed;
    for (std::filesystem::directory_iterator at("/proc", failed), end; !failed && at != end;
         at.increment(failed))
    {
        const pid_t process = std::atoi(at->path().filename().c_str());
        if (process > 0 && IsChild(process, parent))
        {
            children.push_back(process);
        }
    }
    return children;
}

using MpirunClock = std::chrono::steady_clock;

class Mpirun
{
  public:
    /// \param watch of the hosts
    Mpirun(const MpiPlace& place, HostWatch* watch)
        : m_place(place),
          m_watch(*watch)
    {
        if (!place.hosts.empty())
        {
            m_words.KeepOthersAside();
        }
    }

    /// \return 0, or errno
    int Start(int argc, const char* const* argv);
    /// Until it has ended.
    void Attend();
    int Conclude(const std::string& program) const;

  private:
    /// A host is lost: ends all that is left.
    void OnLost(const std::string& host);
    /// \return the error of a lost host
    std::string LostText() const;
    [[noreturn]] void Become(const sigset_t& signals,
                             int report,
                             int output,
                             int errors,
                             char* const* words,
                             char* const* environment) const;
    void OnSignals();
    void Listen(std::chrono::milliseconds longest);
    void Watch();

    const MpiPlace& m_place;
    HostWatch& m_watch;
    std::string m_lost; //!< a host; empty: none was
    MpirunClock::time_point m_begin{MpirunClock::now()};
    MpirunClock::time_point m_lostAt;
    pid_t m_parent{::getpid()};
    pid_t m_process{-1};
    int m_status{0};
    int m_stoppedBy{0};         //!< the first signal that came to end it
    std::vector<pid_t> m_ranks; //!< ranks that were alive at the last look
    bool m_begun{false};        //!< there were some
    uint32_t m_looksWithout{0}; //!< since there were
    bool m_givenUp{false};      //!< it did not end, and was killed
    bool m_anyError{false};     //!< a rank has printed an error
    bool m_anyEnd{false};       //!< a rank has said that it was interrupted, or will be
    bool m_anyOutput{false};    //!< on standard output
    bool m_anyFiles{false};     //!< its results are written
    std::string m_share;        //!< "12.3% done" of its last line of progress
    PassedStream m_output;
    PassedStream m_errors;
    MpirunErrors m_words;
};

int
Mpirun::Start(int argc, const char* const* argv)
{
    // All that allocates comes before fork(): this process has more than one thread.
    const auto isSet = [](const char* name) { return std::getenv(name) != nullptr; };
    std::vector<std::string> words{"mpirun", "-np", std::to_string(m_place.ranks)};
    std::vector<std::string> settings = m_place.hosts.empty()
                                            ? MissingMpiSettings(m_place.ranks, isSet)
                                            : MissingHostSettings(isSet);
    std::vector<char*> environment;
    if (!m_place.hosts.empty())
    {
        const std::string list = HostList(m_place.hosts);
        settings.push_back(std::string(HOSTS_OF_RUN) + "=" + list);
        words.insert(words.end(), {"--host", list, "--map-by", "slot", "-x", HOSTS_OF_RUN});
        for (char** variable = environ; variable && *variable; ++variable)
        {
            const std::string name(*variable, std::strcspn(*variable, "="));
            if (name.rfind("DLTRAIN_", 0) == 0 && name != HOSTS_OF_RUN)
            {
                words.insert(words.end(), {"-x", name});
            }
        }
    }
    words.push_back(OwnPath(argv[0]));
    words.insert(words.end(), argv + 1, argv + argc);
    for (char** variable = environ; variable && *variable; ++variable)
    {
        environment.push_back(*variable);
    }
    std::vector<char*> arguments;
    for (auto* const texts : {&words, &settings})
    {
        for (std::string& text : *texts)
        {
            (texts == &words ? arguments : environment).push_back(text.data());
        }
    }
    arguments.push_back(nullptr);
    environment.push_back(nullptr);

    int output[2];
    int errors[2];
    int report[2];
    if (::pipe2(g_signals, O_CLOEXEC | O_NONBLOCK) || ::pipe2(output, O_CLOEXEC) ||
        ::pipe2(errors, O_CLOEXEC) || ::pipe2(report, O_CLOEXEC))
    {
        return errno;
    }
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before); // no handler of ours runs in the child
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGTSTP})
    {
        Catch(number);
    }
    m_process = ::fork();
    if (m_process == 0)
    {
        Become(before, report[1], output[1], errors[1], arguments.data(), environment.data());
    }
    int error = m_process < 0 ? errno : 0;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    for (const int descriptor : {output[1], errors[1], report[1]})
    {
        ::close(descriptor);
    }
    m_output = {output[0], STDOUT_FILENO};
    m_errors = {errors[0], STDERR_FILENO};
    ssize_t told = 0;
    while (!error && (told = ::read(report[0], &error, sizeof error)) < 0 && errno == EINTR)
    {
        error = 0;
    }
    ::close(report[0]);
    if (error && m_process > 0)
    {
        ::waitpid(m_process, nullptr, 0);
    }
    return error;
}

void
Mpirun::Become(const sigset_t& signals,
               int report,
               int output,
               int errors,
               char* const* words,
               char* const* environment) const
{
    // A session of its own: mpirun does not see the terminal's Ctrl-C, which we pass on.
    ::setsid();
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != m_parent)
    {
        ::_exit(1);
    }
    // A program ignores these signals. mpirun and its processes get the defaults.
    for (const int number : {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM, SIGTSTP})
    {
        ::signal(number, SIG_DFL);
    }
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (::dup2(nothing, STDIN_FILENO) >= 0 && ::dup2(output, STDOUT_FILENO) >= 0 &&
        ::dup2(errors, STDERR_FILENO) >= 0)
    {
        ::pthread_sigmask(SIG_SETMASK, &signals, nullptr);
        ::execvpe(words[0], words, environment);
    }
    const int error = errno;
    [[maybe_unused]] const auto written = ::write(report, &error, sizeof error);
    ::_exit(127);
}

void
Mpirun::OnSignals()
{
    char number = 0;
    while (::read(g_signals[0], &number, 1) == 1)
    {
        const std::vector<pid_t> ranks = ChildrenOf(m_process);
        const auto tell = [&](int signal) {
            for (const pid_t rank : ranks)
            {
                ::kill(rank, signal);
            }
        };
        const bool elsewhere = !m_place.hosts.empty(); // ranks are mpirun's to tell
        if (number == SIGTSTP)
        {
            elsewhere ? void(::kill(m_process, SIGTSTP)) : tell(SIGSTOP);
            ::raise(SIGSTOP);
            elsewhere ? void(::kill(m_process, SIGCONT)) : tell(SIGCONT);
            continue;
        }
        const bool again = m_stoppedBy != 0;
        m_stoppedBy = again ? m_stoppedBy : number;
        if (elsewhere)
        {
            ::kill(m_process, !m_anyOutput ? SIGTERM : number == SIGINT ? SIGUSR1 : SIGUSR2);
            continue;
        }
        m_begun |= !ranks.empty();
        tell(number);
        if (!m_begun && !again)
        {
            // It has not begun. (Where ranks have ended it needs a while, and a signal then is its
            // death: Open MPI 4.1.)
            ::kill(m_process, SIGTERM);
        }
    }
}

void
Mpirun::Listen(std::chrono::milliseconds longest)
{
    std::vector<pollfd> ready = {
        {g_signals[0], POLLIN, 0},
        {m_output.from, POLLIN, 0}, // a descriptor below 0 is left out
        {m_errors.from, POLLIN, 0},
    };
    if (m_lost.empty())
    {
        m_watch.AddTo(&ready);
    }
    if (::poll(ready.data(), ready.size(), static_cast<int>(longest.count())) <= 0)
    {
        m_errors.Write(m_words.Flush());
        return;
    }
    if (m_lost.empty())
    {
        OnLost(m_watch.Lost());
    }
    if (ready[0].revents)
    {
        OnSignals();
    }
    if (ready[1].revents)
    {
        const std::string text = m_output.Read();
        m_anyOutput |= !text.empty();
        m_anyFiles |= text.find("\nFiles ") != std::string::npos; // the summary has come
        m_output.Write(text);
    }
    if (ready[2].revents)
    {
        std::string text = m_words.Take(m_errors.Read());
        OnLost(m_words.LostHost());
        if (!m_stoppedBy)
        {
            // mpirun ends the others when one has failed; the user has not asked for that.
            boost::algorithm::erase_all(text, "\nends after the set-up (a second time: at once)\n");
        }
        m_anyError |= text.find(": error: ") != std::string::npos;
        m_anyEnd |= text.find("interrupted") != std::string::npos ||
                    text.find("ends after the set-up") != std::string::npos;
        if (const std::size_t at = text.rfind("% done"); at != std::string::npos)
        {
            const std::size_t begin = text.find_last_not_of("0123456789.", at - 1) + 1;
            m_share = text.substr(begin, at - begin) + "% done";
        }
        m_errors.Write(text);
    }
}

void
Mpirun::OnLost(const std::string& host)
{
    if (m_lost.empty() && !host.empty())
    {
        m_lost = host;
        m_lostAt = MpirunClock::now();
        if (!m_stoppedBy) // else it may be writing its results
        {
            ::kill(m_process, SIGTERM);
        }
    }
}

/// Open MPI 4.1 may lock itself up on its way out (PMIx_server_finalize), all processes having
/// ended: seen when they were interrupted in MPI_Init.
void
Mpirun::Watch()
{
    constexpr uint32_t kMostLooks = 5;
    constexpr uint32_t kMostBefore = 15; ///< they may have ended before anybody looked
    const auto ended = [this](pid_t rank) { return !IsChild(rank, m_process); };
    const std::chrono::seconds longestEnd(m_stoppedBy ? 30 : 3);
    if (!m_lost.empty() && MpirunClock::now() > m_lostAt + longestEnd)
    {
        m_givenUp = true; // it waits for the host; all others end with it
        ::kill(m_process, SIGKILL);
        return;
    }
    m_ranks.erase(std::remove_if(m_ranks.begin(), m_ranks.end(), ended), m_ranks.end());
    if (m_ranks.empty())
    {
        m_ranks = ChildrenOf(m_process); // a look at all processes there are: not each time
    }
    if (!m_ranks.empty())
    {
        m_begun = true;
        m_looksWithout = 0;
    }
    else if (++m_looksWithout >= (m_begun || m_stoppedBy ? kMostLooks : kMostBefore))
    {
        m_givenUp = true;
        ::kill(m_process, SIGKILL);
    }
}

void
Mpirun::Attend()
{
    // A notice comes in one piece, so text held back that long is none.
    constexpr std::chrono::milliseconds kPatience(500);
    constexpr std::chrono::milliseconds kLookEvery(2000);
    MpirunClock::time_point look = MpirunClock::now() + kLookEvery;
    bool ended = false;
    while (m_output.IsOpen() || m_errors.IsOpen())
    {
        Listen(m_words.Holds() ? kPatience : kLookEvery);
        if (MpirunClock::now() >= look)
        {
            // A process that an agent has left behind may hold its output open.
            siginfo_t info{};
            if (ended)
            {
                break;
            }
            ended =
                ::waitid(P_PID, static_cast<id_t>(m_process), &info, WEXITED | WNOHANG | WNOWAIT) ==
                    0 &&
                info.si_pid == m_process;
            if (!ended)
            {
                Watch();
            }
            look = MpirunClock::now() + kLookEvery;
        }
    }
    m_errors.Write(m_words.Flush());
    while (::waitpid(m_process, &m_status, 0) < 0 && errno == EINTR)
    {
    }
    const bool well = WIFEXITED(m_status) && WEXITSTATUS(m_status) == 0;
    if (m_lost.empty() && !well && !m_anyError && !m_stoppedBy && !m_words.GetEnd())
    {
        // Ranks may find out sooner than we: their connections break.
        constexpr std::chrono::seconds kLongest(8); // ssh needs 6
        m_lost = m_watch.WaitForLost(kLongest);
    }
}

std::string
Mpirun::LostText() const
{
    const auto s = std::chrono::duration_cast<std::chrono::seconds>(
        (m_lostAt > m_begin ? m_lostAt : MpirunClock::now()) - m_begin);
    const std::string ranks = RanksText(m_place.hosts, m_lost);
    return "host " + m_lost + " was lost" + (ranks.empty() ? "" : ", with " + ranks) + " of " +
           std::to_string(m_place.ranks) + ": the run ended after " + std::to_string(s.count()) +
           " s" + (m_share.empty() ? "" : ", " + m_share) +
           (m_anyFiles
                ? "; files have what was simulated until then"
                : "; topology.json is complete, tables may end early, stats.json and report.html "
                  "may be missing");
}

int
Mpirun::Conclude(const std::string& program) const
{
    const uint32_t ranks = m_place.ranks;
    const auto fail = [&](const std::string& why) {
        std::cerr << program << ": error: " << why << std::endl;
        return 1;
    };
    const auto& end = m_words.GetEnd();
    const std::string badEnd = end ? DescribeEnd(*end, ranks, m_place.hosts) : "";
    const int killedBy = WIFSIGNALED(m_status) ? WTERMSIG(m_status) : 0;
    int status = 0;
    if (!m_lost.empty() && !(m_stoppedBy && m_anyFiles))
    {
        return fail(LostText());
    }
    if (m_stoppedBy && !(end && end->signal == SIGKILL) &&
        (m_givenUp || killedBy == SIGTERM || (end && end->signal)))
    {
        status = 128 + m_stoppedBy; // before there was anything to complete
    }
    else if (!badEnd.empty())
    {
        status = fail(badEnd);
    }
    else if (m_givenUp)
    {
        status = end ? end->status
                     : fail("mpirun did not end when its processes had (is there room in /tmp?): "
                            "results may be incomplete");
    }
    else if (killedBy)
    {
        status = fail("mpirun was killed by signal " + SignalText(killedBy) +
                      ": results are incomplete");
    }
    else
    {
        status = WEXITSTATUS(m_status);
        // If many ranks end at once mpirun may report nothing; the first one's message is enough.
        if (status && !end && !m_anyError)
        {
            std::cerr << m_words.Aside();
            status =
                m_stoppedBy
                    ? 128 + m_stoppedBy
                    : fail(m_place.asked + ": mpirun ended with status " + std::to_string(status));
        }
    }
    if (m_stoppedBy && !m_place.hosts.empty() && status == 128 + SIGTERM)
    {
        status = 128 + m_stoppedBy; // ranks do not tell SIGTERM from SIGHUP there
    }
    // Prints the message where no rank could: there was no rank yet, or it was being loaded, or
    // mpirun ended before it passed on the message. (A run that has begun prints a summary.)
    if (m_stoppedBy && status == 128 + m_stoppedBy && !m_anyEnd &&
        (!m_begun || (end && end->signal == m_stoppedBy) || !m_anyOutput))
    {
        std::cerr << EarlyEndText(program) << std::endl;
    }
    if (m_output.error)
    {
        fail(std::string("standard output: cannot be written: ") + std::strerror(m_output.error));
        return status ? status : 1;
    }
    return status;
}

} // namespace

int
RunUnderMpirun(const std::string& program,
               const std::string& version,
               const MpiPlace& place,
               int argc,
               const char* const* argv)
{
    const auto fail = [&](int status, const std::string& why) {
        std::cerr << program << ": error: " << place.asked << ": " << why << std::endl;
        return status;
    };
    rlimit files{};
    const std::string why =
        ::getrlimit(RLIMIT_FSIZE, &files) == 0 && files.rlim_cur != RLIM_INFINITY
            ? WhyFilesAreTooShort(files.rlim_cur)
            : "";
    if (!why.empty())
    {
        return fail(1, why);
    }
    HostWatch watch;
    std::error_code failed;
    const std::string folder = std::filesystem::current_path(failed).string();
    const HostNeeds needs{OwnPath(argv[0]), version, failed ? "/" : folder};
    if (const std::string problem = watch.Begin(place.hosts, !place.job.empty(), needs);
        !problem.empty())
    {
        return fail(2, problem);
    }
    Mpirun mpirun(place, &watch);
    if (const int error = mpirun.Start(argc, argv))
    {
        return fail(2,
                    std::string("mpirun cannot be started: ") + std::strerror(error) +
                        (error == ENOENT ? "; it is in Debian's package openmpi-bin" : "") +
                        "; allowed: 1, without it");
    }
    mpirun.Attend();
    return mpirun.Conclude(program);
}

} // namespace scenario
