/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "child-run.h"

#include "contrib/rdma/core/regular-file.h"
#include "reports/base/output-errors.h"
#include "topologies/json-text.h"

#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/prctl.h>
#include <unistd.h>

namespace dltrain
{

std::string
ChildProgram()
{
    std::error_code failed;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
    return failed ? "dltrain" : (self.parent_path() / "dltrain").string();
}

std::string
WriteForChild(const std::string& path, const std::string& text)
{
    const std::string why = rdma::WriteWhole(path, text);
    if (why.empty())
    {
        return "";
    }
    reports::OutputErrors::Add(path, why);
    return path + ": cannot be written: " + why;
}

pid_t
StartChild(const std::vector<std::string>& words, const std::string& log)
{
    std::vector<char*> argv;
    for (const std::string& word : words)
    {
        argv.push_back(const_cast<char*>(word.c_str()));
    }
    argv.push_back(nullptr);
    if (::access(argv.front(), X_OK) != 0)
    {
        return -1;
    }
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
        ::execv(argv.front(), argv.data());
    }
    ::_exit(127);
}

nlohmann::json
ChildStats(const std::string& folder)
{
    const std::string path = folder + "/stats.json";
    std::ifstream file;
    if (rdma::IsReadable(path)) // opening a pipe would wait
    {
        file.open(path);
    }
    return topo::JsonOrDiscarded({std::istreambuf_iterator<char>(file), {}});
}

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

} // namespace dltrain
