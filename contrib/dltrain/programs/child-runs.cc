/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "child-runs.h"

#include "contrib/dltrain/base/console.h"
#include "contrib/rdma/core/regular-file.h"
#include "reports/base/output-errors.h"
#include "slurm.h"
#include "topologies/json-text.h"

#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dltrain
{

namespace
{

/// Runs at a time: assumed, of a machine with few cores.
constexpr std::size_t AT_A_TIME = 2;
/// Of a cluster: assumed, as each has a process here that waits for it.
constexpr std::size_t JOBS_AT_A_TIME = 64;
constexpr uint32_t TRIES = 3; ///< of a run whose node is lost

/// A program beside this one.
std::string
ChildProgram(const std::string& name)
{
    std::error_code failed;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
    return failed ? name : (self.parent_path() / name).string();
}

/// The options of a run behind its folders.
std::vector<std::string>
OptionsOf(const ChildJob& job)
{
    std::vector<std::string> words;
    if (!job.network.empty())
    {
        words.push_back("--network=" + job.network);
    }
    if (job.globalBatch)
    {
        words.push_back("--global-batch=" + std::to_string(job.globalBatch));
        words.push_back("--micro-batch=" + std::to_string(job.microBatch));
        words.push_back("--steps=" + std::to_string(job.steps));
    }
    for (const char* const quiet :
         {"--no-report", "--no-timeline", "--no-attribution", "--no-progress"})
    {
        words.emplace_back(quiet);
    }
    if (job.ignoresMemory)
    {
        words.emplace_back("--ignore-memory");
    }
    words.insert(words.end(), job.more.begin(), job.more.end());
    return words;
}

/// What was run, without its folders, which may have been moved.
std::string
CommandOf(const ChildJob& job)
{
    std::string command = job.program +
                          " --scenario=" + std::filesystem::path(job.folder).filename().string() +
                          ".json";
    for (const std::string& word : OptionsOf(job))
    {
        command += " " + word;
    }
    return command + "\n";
}

std::string
TextOfFile(const std::string& file)
{
    if (!rdma::IsReadable(file))
    {
        return ""; // opening a pipe would wait
    }
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// The last line that is not empty.
std::string
LastLine(const std::string& log)
{
    std::ifstream file(log);
    std::string last;
    for (std::string line; std::getline(file, line);)
    {
        last = line.empty() ? last : line;
    }
    return last;
}

ChildResult
NoResult(const std::string& why)
{
    return {{}, nlohmann::json(nlohmann::json::value_t::discarded), why};
}

/// What a run that ended well has left.
ChildResult
ResultIn(const std::string& folder)
{
    ChildResult result{{}, topo::JsonOrDiscarded(TextOfFile(folder + "/stats.json"))};
    const nlohmann::json& stats = result.stats;
    if (!stats.is_discarded() && stats.contains("step_time_us") && stats.value("completed", false))
    {
        const auto& step = stats["step_time_us"];
        result.step = step.is_number() ? std::optional(step.get<double>() * 1e-6) : std::nullopt;
    }
    return result;
}

/// \return why a run cannot begin: "FILE: cannot be written: No space left on device", of which
/// OutputErrors know; empty: its files are there
std::string
WriteFiles(const ChildJob& job)
{
    std::error_code failed;
    std::filesystem::create_directories(std::filesystem::path(job.folder).parent_path(), failed);
    // Of another job; or a pipe, or a link to another file.
    for (const char* const old : {"/stats.json", ".json", ".command", ".txt"})
    {
        std::filesystem::remove(job.folder + old, failed);
    }
    auto files = job.files;
    files.emplace_back(".json", job.configuration);
    if (job.memory != ChildMemory::kNone)
    {
        files.emplace_back(".command", CommandOf(job));
    }
    for (const auto& [end, text] : files)
    {
        const std::string path = job.folder + end;
        if (const std::string why = rdma::WriteWhole(path, text); !why.empty())
        {
            reports::OutputErrors::Add(path, why);
            return path + ": cannot be written: " + why;
        }
    }
    return "";
}

/// \return the process; -1: it could not be started
pid_t
StartProcess(const ChildJob& job, const Slurm* slurm)
{
    std::vector<std::string> words = slurm ? slurm->Words() : std::vector<std::string>();
    words.insert(
        words.end(),
        {ChildProgram(job.program), "--scenario=" + job.folder + ".json", "--out=" + job.folder});
    const auto options = OptionsOf(job);
    words.insert(words.end(), options.begin(), options.end());
    std::vector<char*> argv;
    for (std::string& word : words)
    {
        argv.push_back(word.data());
    }
    argv.push_back(nullptr);
    if (!slurm && ::access(argv.front(), X_OK) != 0)
    {
        return -1;
    }
    const std::string log = job.folder + ".txt";
    std::string why;
    if (std::FILE* const made = rdma::OpenForWriting(log, &why))
    {
        std::fclose(made); // it is a file of its own
    }
    const pid_t parent = ::getpid();
    const pid_t process = ::fork();
    if (process != 0)
    {
        return process;
    }
    // However this program ends, its runs end with it; it may have ended already.
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0644);
    if (::getppid() == parent && file >= 0 && ::dup2(file, STDOUT_FILENO) >= 0 &&
        ::dup2(file, STDERR_FILENO) >= 0)
    {
        ::execvp(argv.front(), argv.data());
    }
    ::_exit(127);
}

class ChildPool
{
  public:
    ChildPool(const scenario::RunOptions& run,
              const std::vector<ChildJob>& jobs,
              const std::function<bool()>& goesOn,
              const std::function<void(std::size_t, const ChildResult&)>& onEnd)
        : m_isSlurm(run.childrenOn == "slurm"),
          m_slurm(run.slurmOptions),
          m_jobs(jobs),
          m_goesOn(goesOn),
          m_onEnd(onEnd),
          m_results(jobs.size(), NoResult("ended")),
          m_tries(jobs.size(), 0)
    {
    }

    std::vector<ChildResult> Run()
    {
        constexpr useconds_t LOOK_EVERY = 20000; // us
        const std::size_t atATime = m_isSlurm ? JOBS_AT_A_TIME : AT_A_TIME;
        if (const std::string why = WhyNoSlurm(); !why.empty())
        {
            for (std::size_t i = 0; i < m_jobs.size(); ++i)
            {
                End(i, NoResult(why));
            }
            return std::move(m_results);
        }
        std::size_t next = 0;
        while (!m_running.empty() || (next < m_jobs.size() && !m_ended))
        {
            for (; !m_ended && next < m_jobs.size() && m_running.size() < atATime; ++next)
            {
                Start(next);
            }
            if (!m_ended && !m_goesOn())
            {
                m_ended = true;
                for (const auto& [index, process] : m_running)
                {
                    ::kill(process, SIGTERM);
                }
            }
            TakeEnded();
            if (!m_running.empty())
            {
                ::usleep(LOOK_EVERY);
            }
        }
        return std::move(m_results);
    }

  private:
    std::string WhyNoSlurm() const
    {
        return m_isSlurm && !m_jobs.empty()
                   ? m_slurm.WhyNot(std::filesystem::path(m_jobs.front().folder).parent_path(),
                                    ChildProgram(m_jobs.front().program))
                   : "";
    }

    void Start(std::size_t index)
    {
        const ChildJob& job = m_jobs[index];
        if (job.memory == ChildMemory::kTaken &&
            TextOfFile(job.folder + ".json") == job.configuration &&
            TextOfFile(job.folder + ".command") == CommandOf(job))
        {
            ChildResult before = ResultIn(job.folder);
            if (before.step)
            {
                End(index, std::move(before));
                return;
            }
        }
        const std::string why = WriteFiles(job);
        if (why.empty())
        {
            Begin(index);
            return;
        }
        End(index, NoResult(why));
    }

    void Begin(std::size_t index)
    {
        ++m_tries[index];
        const pid_t process = StartProcess(m_jobs[index], m_isSlurm ? &m_slurm : nullptr);
        if (process > 0)
        {
            m_running.emplace_back(index, process);
            return;
        }
        End(index, NoResult(m_jobs[index].program + " cannot be started"));
    }

    void TakeEnded()
    {
        for (std::size_t i = 0; i < m_running.size();)
        {
            const auto [index, process] = m_running[i];
            int status = 0;
            if (::waitpid(process, &status, WNOHANG) != process)
            {
                ++i;
                continue;
            }
            m_running.erase(m_running.begin() + static_cast<std::ptrdiff_t>(i));
            const std::string& folder = m_jobs[index].folder;
            const std::string node = m_isSlurm && !m_ended ? Slurm::LostNode(folder + ".txt") : "";
            if (!node.empty() && m_tries[index] < TRIES)
            {
                SayNote("slurm: node " + node + " is lost; its run " +
                        std::filesystem::path(folder).filename().string() + " begins anew");
                Begin(index);
                continue;
            }
            const bool isWhole = WIFEXITED(status) && WEXITSTATUS(status) == 0;
            ChildResult result = isWhole ? ResultIn(folder) : NoResult("");
            result.why = result.step ? "" : m_ended ? "ended" : LastLine(folder + ".txt");
            End(index, std::move(result));
        }
    }

    void End(std::size_t index, ChildResult result)
    {
        m_results[index] = std::move(result);
        if (m_onEnd)
        {
            m_onEnd(index, m_results[index]);
        }
    }

    const bool m_isSlurm;
    const Slurm m_slurm;
    const std::vector<ChildJob>& m_jobs;
    const std::function<bool()>& m_goesOn;
    const std::function<void(std::size_t, const ChildResult&)>& m_onEnd;
    std::vector<ChildResult> m_results;                   ///< "ended" of those that never began
    std::vector<std::pair<std::size_t, pid_t>> m_running; ///< a job's index, and its process
    std::vector<uint32_t> m_tries;                        ///< by job
    bool m_ended = false;
};

} // namespace

std::vector<ChildResult>
RunChildren(const scenario::RunOptions& run,
            const std::vector<ChildJob>& jobs,
            const std::function<bool()>& goesOn,
            const std::function<void(std::size_t, const ChildResult&)>& onEnd)
{
    return ChildPool(run, jobs, goesOn, onEnd).Run();
}

} // namespace dltrain
