/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "console.h"

#include "contrib/rdma/core/set-up-phase.h"
#include "contrib/rdma/core/shown-text.h"
#include "reports/base/output-errors.h"
#include "scenarios/launch/launcher.h"
#include "scenarios/launch/output-folder.h"
#include "scenarios/options/format.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <iostream>
#include <mutex>
#include <streambuf>
#include <thread>
#include <unistd.h>

namespace dltrain
{

namespace
{

/// The program's name, for messages. Never deleted: a thread may speak to the end.
std::string& g_program = *new std::string;

// The line of progress ----------------------------------------------------------------------------

/// Guards the line. Never deleted, as threads may speak to the end.
std::mutex& g_lineMutex = *new std::mutex;
std::atomic<bool> g_lineShown{false};

/// In a thread that is never joined.
void
WatchSetUp(std::chrono::steady_clock::time_point begin)
{
    constexpr auto FIRST = std::chrono::seconds(2);
    const auto every = std::chrono::milliseconds(isatty(STDERR_FILENO) ? 500 : 5000);
    auto next = begin + FIRST;
    const bool speaks = scenario::FindLauncher().IsFirst();
    for (;;)
    {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        const char* phase = rdma::SetUpPhase::Name().load();
        const auto now = std::chrono::steady_clock::now();
        if (!phase || !speaks || now < next || rdma::SetUpPhase::Quiet().load())
        {
            continue;
        }
        next = now + every;
        const uint64_t total = rdma::SetUpPhase::Total().load();
        const uint64_t done = rdma::SetUpPhase::Count().load();
        const double share = static_cast<double>(done) / static_cast<double>(total);
        ShowProgress(
            g_program + ": setting up: " + phase +
            (total && done <= total ? scenario::Format(", %.0f%%", 100 * share) : "") +
            scenario::Format(", %.0f s", std::chrono::duration<double>(now - begin).count()));
    }
}

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

/// For callers of std::exit: help, and errors, which have printed nothing on standard output.
void
AtExit()
{
    const int status = g_outputChecked ? 0 : CloseConsole(0, true);
    if (status != 0)
    {
        std::_Exit(status);
    }
}

} // namespace

void
OpenConsole(const std::string& program)
{
    g_program = program;
    OccupyStandardDescriptors();
    // Never deleted: streams are used until the very end.
    g_output = new TerminalText(std::cout, false, false);
    g_errors = new TerminalText(std::cerr, true, true);
    g_log = new TerminalText(std::clog, true, false, g_errors);
    std::atexit(&AtExit);
    std::thread(WatchSetUp, std::chrono::steady_clock::now()).detach();
}

int
CloseConsole(int status, bool onlyText)
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

std::string
TakeFatal()
{
    return g_errors ? g_errors->TakeFatal() : "";
}

const std::string&
ProgramName()
{
    return g_program;
}

void
SayProgress(const std::string& line)
{
    std::cerr << g_program << ": " << line << std::endl;
}

void
ShowProgress(const std::string& line)
{
    const bool terminal = isatty(STDERR_FILENO);
    const std::lock_guard<std::mutex> lock(g_lineMutex);
    std::fputs(((terminal ? "\r\033[K" : "") + line + (terminal ? "" : "\n")).c_str(), stderr);
    std::fflush(stderr);
    g_lineShown = terminal;
}

void
ClearProgress()
{
    if (g_lineShown.load())
    {
        const std::lock_guard<std::mutex> lock(g_lineMutex);
        std::fputs("\r\033[K", stderr);
        g_lineShown = false;
    }
}

int
SayError(const std::string& program, const std::string& error, const scenario::RunOptions* run)
{
    if (run)
    {
        scenario::DropOutput(*run);
    }
    std::cerr << program << ": error: " << error << "\n";
    return reports::OutputErrors::Any() ? 1 : 2;
}

int
SayErrors(const std::vector<topo::Error>& errors)
{
    for (const topo::Error& error : errors)
    {
        std::cerr << g_program << ": error: " << error.Text() << std::endl;
    }
    return errors.empty() ? 0 : 2;
}

int
SayFailure(const std::string& why)
{
    std::cerr << g_program << ": error: " << why << std::endl;
    return 1;
}

void
SayNote(const std::string& note)
{
    std::cerr << g_program << ": " << note << std::endl;
}

} // namespace dltrain
