/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "child-run.h"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <spawn.h>
#include <unistd.h>

extern char** environ;

namespace dltrain
{

std::string
ChildProgram()
{
    std::error_code failed;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
    return failed ? "dltrain" : (self.parent_path() / "dltrain").string();
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
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions,
                                     STDOUT_FILENO,
                                     log.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC,
                                     0644);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    pid_t process = -1;
    const int failed = posix_spawn(&process, argv.front(), &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    return failed ? -1 : process;
}

nlohmann::json
ChildStats(const std::string& folder)
{
    std::ifstream file(folder + "/stats.json");
    return nlohmann::json::parse(file, nullptr, false);
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
