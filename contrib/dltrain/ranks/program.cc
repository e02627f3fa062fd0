/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "program.h"

#include "contrib/rdma/core/set-up-phase.h"
#include "contrib/rdma/core/shown-text.h"
#include "ranks.h"
#include "reports/base/line-log.h"
#include "reports/base/output-errors.h"
#include "scenarios/launch/launcher.h"
#include "scenarios/options/spelling.h"
#include "scenarios/startup/output-folder.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <iostream>
#include <malloc.h>
#include <mutex>
#include <new>
#include <streambuf>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

namespace dltrain
{

namespace
{

/// The program's name, for messages. Never deleted: a thread may speak to the end.
std::string& g_program = *new std::string;

// Progress of the set-up --------------------------------------------------------------------------

/// Lives until the process ends: its thread is never joined.
struct SetUpWatch
{
    std::mutex mutex; ///< guards the line on the terminal
    std::atomic<bool> lineShown{false};
    std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();

    void Clear()
    {
        if (lineShown.load())
        {
            const std::lock_guard<std::mutex> lock(mutex);
            std::fputs("\r\033[K", stderr);
            lineShown = false;
        }
    }

    void Watch()
    {
        constexpr auto FIRST = std::chrono::seconds(2);
        const bool terminal = isatty(STDERR_FILENO);
        const auto every =
            terminal ? std::chrono::milliseconds(500) : std::chrono::milliseconds(5000);
        auto next = begin + FIRST;
        const bool speaks = scenario::FindLauncher().IsFirst();
        for (;;)
        {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            const char* phase = rdma::SetUpPhase::Name().load();
            const auto now = std::chrono::steady_clock::now();
            if (phase && speaks && now >= next && !rdma::SetUpPhase::Quiet().load())
            {
                next = now + every;
                Print(phase, terminal, std::chrono::duration<double>(now - begin).count());
            }
        }
    }

    void Print(const char* phase, bool terminal, double seconds)
    {
        char share[16] = "";
        const uint64_t total = rdma::SetUpPhase::Total().load();
        const uint64_t done = rdma::SetUpPhase::Count().load();
        if (total && done <= total)
        {
            std::snprintf(share,
                          sizeof(share),
                          ", %.0f%%",
                          100 * static_cast<double>(done) / static_cast<double>(total));
        }
        const std::lock_guard<std::mutex> lock(mutex);
        std::fprintf(stderr,
                     terminal ? "\r\033[K%s: setting up: %s%s, %.0f s"
                              : "%s: setting up: %s%s, %.0f s\n",
                     g_program.c_str(),
                     phase,
                     share,
                     seconds);
        std::fflush(stderr);
        lineShown = terminal;
    }
};

SetUpWatch* g_watch = nullptr;

// Streams -----------------------------------------------------------------------------------------

/**
 * Between a stream and its buffer: what is written through it cannot act on a terminal.
 *
 * To standard error a line goes at once, in one write(): of several processes (mpirun) lines are
 * not torn, however many pieces they are composed of. What has no end yet waits for it, or for
 * Flush.
 *
 * Of standard error, what ns-3 says on its way to std::terminate (`msg="...", file=..., line=...`,
 * `NS_ASSERT failed, ...`) is kept back, to be part of the one error.
 */
class TerminalText : public std::streambuf
{
  public:
    /// \param master the stream whose held-back text this one must not print either: ns-3 puts the
    /// simulated time into the middle of a fatal error, by std::clog
    TerminalText(std::ostream& stream,
                 bool wholeLines,
                 bool keepsFatal,
                 const TerminalText* master = nullptr)
        : m_to(stream.rdbuf(this)),
          m_wholeLines(wholeLines),
          m_keepsFatal(keepsFatal),
          m_master(master)
    {
    }

    /// \return `errno` of the first write that failed; 0 if none is known
    int GetError() const
    {
        return m_error;
    }

    /// \return the held-back text, which is removed
    std::string TakeFatal()
    {
        std::string text;
        text.swap(m_fatal);
        return text;
    }

    /// The program goes on: prints the held-back text.
    void Release()
    {
        Pass(TakeFatal());
    }

    /// A line without an end is shown too.
    void Flush()
    {
        Give(m_line.size());
    }

  protected:
    int overflow(int c) override
    {
        if (c != traits_type::eof())
        {
            const char text = traits_type::to_char_type(c);
            xsputn(&text, 1);
        }
        return traits_type::not_eof(c);
    }

    std::streamsize xsputn(const char* text, std::streamsize n) override
    {
        const std::string_view view(text, static_cast<std::size_t>(n));
        if (m_master && m_master->m_keeping)
        {
            return n;
        }
        ClearProgress();
        const bool begins = m_keepsFatal && m_lineStart &&
                            (view.rfind("msg=\"", 0) == 0 || view.rfind("file=", 0) == 0 ||
                             view.rfind("NS_ASSERT", 0) == 0);
        if (!m_keeping && n > 0)
        {
            Release(); // it did not end the program
            m_keeping = begins;
        }
        if (n > 0)
        {
            m_lineStart = view.back() == '\n';
        }
        if (m_keeping)
        {
            m_fatal += rdma::Printable(view, "\n");
            m_keeping = !m_lineStart;
            return n;
        }
        Pass(rdma::Printable(view, "\n\t"));
        return n;
    }

    int sync() override
    {
        errno = 0;
        const int result = m_to->pubsync();
        Remember(result != 0);
        return result;
    }

  private:
    void Pass(const std::string& text)
    {
        m_line += text;
        Give(m_wholeLines ? m_line.rfind('\n') + 1 : m_line.size()); // npos + 1: nothing
    }

    void Give(std::size_t bytes)
    {
        if (bytes == 0)
        {
            return;
        }
        errno = 0;
        const auto size = static_cast<std::streamsize>(bytes);
        Remember(m_to->sputn(m_line.data(), size) != size);
        m_line.erase(0, bytes);
    }

    void Remember(bool failed)
    {
        m_error = failed && !m_error ? errno : m_error;
    }

    std::streambuf* m_to;
    bool m_wholeLines;
    std::string m_line; //!< text that waits
    bool m_keepsFatal;
    const TerminalText* m_master;
    bool m_keeping{false};
    bool m_lineStart{true};
    std::string m_fatal;
    int m_error{0};
};

TerminalText* g_output = nullptr;
TerminalText* g_errors = nullptr;
TerminalText* g_log = nullptr;

/// Opens descriptors 0 to 2 if they are closed. Otherwise the first result file would take the
/// number of a closed standard output, and get the printed text. The stand-ins refuse to be
/// written.
void
OccupyStandardDescriptors()
{
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    {
        if (fcntl(descriptor, F_GETFD) < 0 && errno == EBADF)
        {
            // The lowest free number is this one.
            [[maybe_unused]] const int opened =
                open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
        }
    }
}

constexpr int UNKNOWN_ERROR = -1;

/// \return `errno` of a standard output that was not written to its end; 0 if it was
int
StandardOutputError()
{
    std::cout.flush();
    errno = 0;
    const bool failed = std::fflush(stdout) != 0;
    int error = failed ? errno : 0;
    if (!failed && !std::ferror(stdout) && std::cout.good())
    {
        return 0;
    }
    error = error ? error : g_output ? g_output->GetError() : 0;
    return error ? error : UNKNOWN_ERROR;
}

bool g_outputChecked = false;

/// \param onlyText there are no results: help, a list, a plan
/// \return the status, not 0 if standard output could not be written, which is said
int
CheckStandardOutput(int status, bool onlyText)
{
    if (g_outputChecked)
    {
        return status;
    }
    g_outputChecked = true;
    if (g_errors)
    {
        g_errors->Release();
        g_log->Flush();
        g_errors->Flush();
    }
    const int error = StandardOutputError();
    if (error == 0)
    {
        return status;
    }
    if (error == EPIPE && onlyText)
    {
        return status ? status : 128 + SIGPIPE; // its reader (head) has seen enough
    }
    std::cerr << g_program << ": error: standard output: cannot be written: "
              << (error == UNKNOWN_ERROR ? "an error when it was written" : std::strerror(error))
              << std::endl;
    return status ? status : 1;
}

/// For callers of std::exit: help, and errors, which have printed nothing on standard output.
void
AtExit()
{
    const int status = g_outputChecked ? 0 : CheckStandardOutput(0, true);
    if (status != 0)
    {
        std::_Exit(status);
    }
}

// The end -----------------------------------------------------------------------------------------

std::function<int(const std::string&)> g_lastResort;

/// For the way out when memory has run out.
constexpr std::size_t RESERVE_BYTES = std::size_t{48} << 20;
std::atomic<void*> g_reserve{nullptr};

void
OnNoMemory()
{
    std::free(g_reserve.exchange(nullptr));
    throw std::bad_alloc();
}

/// `msg="text", +1s 2 file=/a/b.cc, line=7` as "text (b.cc:7)".
std::string
InWords(std::string fatal)
{
    while (!fatal.empty() && fatal.back() == '\n')
    {
        fatal.pop_back();
    }
    std::string where;
    const std::size_t file = fatal.rfind("file=");
    const std::size_t line = fatal.rfind(", line=");
    if (file != std::string::npos && line != std::string::npos && line > file)
    {
        const std::string path = fatal.substr(file + 5, line - file - 5);
        where = " (" + path.substr(path.rfind('/') + 1) + ":" + fatal.substr(line + 7) + ")";
        fatal.erase(file);
    }
    const std::size_t begin = fatal.find("msg=\"");
    const std::size_t end = fatal.rfind('"');
    if (begin != std::string::npos && end > begin + 5)
    {
        fatal = fatal.substr(begin + 5, end - begin - 5);
    }
    return (fatal.empty() ? "a fatal error" : fatal) + where;
}

std::string
WhyTerminated()
{
    const std::string fatal = g_errors ? g_errors->TakeFatal() : "";
    if (!fatal.empty())
    {
        return "ns-3 refuses to go on: " + InWords(fatal);
    }
    if (const std::exception_ptr current = std::current_exception())
    {
        try
        {
            std::rethrow_exception(current);
        }
        catch (const std::exception& error)
        {
            return reports::ReasonOf(error);
        }
        catch (...)
        {
        }
    }
    return "an error that nobody expected";
}

/// The files of a simulation that has begun say what happened; the process ends at once.
[[noreturn]] void
OnTerminate()
{
    static std::atomic<bool> entered{false};
    std::free(g_reserve.exchange(nullptr));
    if (entered.exchange(true))
    {
        // Saving the results failed as well.
        std::fprintf(stderr, "%s: error: results are incomplete\n", g_program.c_str());
        std::_Exit(1);
    }
    int status = 1;
    const std::string why = WhyTerminated();
    if (g_lastResort)
    {
        const auto finish = std::move(g_lastResort);
        g_lastResort = nullptr;
        try
        {
            status = finish(why);
        }
        catch (const std::exception& error)
        {
            std::cerr << g_program << ": error: " << why << "; results are incomplete ("
                      << reports::ReasonOf(error) << ")" << std::endl;
        }
    }
    else
    {
        std::cerr << g_program << ": error: " << why << std::endl;
    }
    reports::LineLog::CloseAll();
    std::_Exit(CheckStandardOutput(status ? status : 1, false));
}

} // namespace

void
ClearProgress()
{
    if (g_watch)
    {
        g_watch->Clear();
    }
}

int
SayError(const std::string& program, const std::string& error, const scenario::RunOptions* run)
{
    if (run)
    {
        scenario::DropOutput(*run);
    }
    std::cerr << program << ": error: " << scenario::Spelled(error) << "\n";
    return reports::OutputErrors::Any() ? 1 : 2;
}

namespace
{

/// Makes threads share memory if the address space is limited (ulimit -v): each thread would take
/// 64 MiB of its own, used or not.
void
ShareMemoryIfLimited()
{
    struct rlimit addresses = {};
    if (getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY)
    {
        mallopt(M_ARENA_MAX, 1);
    }
}

} // namespace

LastResort::LastResort(std::function<int(const std::string&)> finish)
{
    g_lastResort = std::move(finish);
}

LastResort::~LastResort()
{
    g_lastResort = nullptr;
}

void
SayNote(const std::string& note)
{
    std::cerr << g_program << ": " << scenario::Spelled(note) << std::endl;
}

int
RunProgram(const std::string& name, const std::function<int()>& main)
{
    g_program = name;
    OccupyStandardDescriptors();
    ShareMemoryIfLimited();
    // A closed pipe, and a file beyond `ulimit -f`, are errors of write() then.
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
    // Never deleted: streams are used until the very end.
    g_output = new TerminalText(std::cout, false, false);
    g_errors = new TerminalText(std::cerr, true, true);
    g_log = new TerminalText(std::clog, true, false, g_errors);
    std::atexit(&AtExit);
    g_reserve = std::malloc(RESERVE_BYTES);
    std::set_new_handler(&OnNoMemory);
    std::set_terminate(&OnTerminate);
    g_watch = new SetUpWatch;
    std::thread([watch = g_watch] { watch->Watch(); }).detach();
    int status = 1;
    try
    {
        status = main();
    }
    catch (const std::exception& error)
    {
        const Ranks& ranks = Ranks::Get();
        const std::string who = ranks.Several() ? "rank " + std::to_string(ranks.Rank()) + " of " +
                                                      std::to_string(ranks.Size()) + ": "
                                                : "";
        std::cerr << name << ": error: " << who << reports::ReasonOf(error) << std::endl;
    }
    return CheckStandardOutput(status, scenario::HeldOutput() < 0);
}

} // namespace dltrain
