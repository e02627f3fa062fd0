/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "plan-verification.h"

#include "scenarios/plan/plan-lines.h"
#include "scenarios/training/fewer-layers.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace dltrain
{

namespace
{

/// Runs at a time: assumed, of a machine with few cores.
constexpr std::size_t AT_A_TIME = 2;
/// Blocks of a stage's chunk from which on fewer are simulated and the step is extrapolated:
/// assumed.
constexpr uint32_t DEEP = 4;

/// dltrain beside this program.
std::string
ProgramPath()
{
    std::error_code failed;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
    return failed ? "dltrain" : (self.parent_path() / "dltrain").string();
}

std::string
NetworkOf(const scenario::PlannerScenario& scenario, const scenario::ReadResult& job)
{
    if (scenario.verifyNetwork != "auto")
    {
        return scenario.verifyNetwork;
    }
    const scenario::Values& values = job.values;
    const bool narrow = values.Given("oversubscription") && values.Real("oversubscription") > 1;
    return values.Given("network") ? values.Text("network") : narrow ? "fluid" : "analytic";
}

/// One run.
struct Child
{
    std::size_t plan = 0;
    pid_t process = -1;
    std::string folder;
};

std::vector<std::string>
ArgumentsOf(const scenario::PlannerScenario& scenario,
            const scenario::TrainingScenario& cluster,
            const planner::Plan& plan,
            const std::string& folder)
{
    const scenario::ReadResult& job = scenario.jobs[plan.layout.job];
    std::vector<std::string> words = {ProgramPath(),
                                      "--scenario=" + folder + ".json",
                                      "--out=" + folder,
                                      "--network=" + NetworkOf(scenario, job),
                                      "--steps=1",
                                      "--no-report",
                                      "--no-timeline",
                                      "--no-attribution",
                                      "--no-progress",
                                      "--ignore-memory"};
    // A step of the model's blocks from steps of fewer: three numbers of them test the line.
    const uint32_t pieces = plan.layout.pipeline * plan.layout.virtualStages;
    const uint32_t blocks = training::BlocksOf(cluster.options.model);
    if (!job.values.Given("layers") && blocks >= DEEP * 2 * pieces && blocks % pieces == 0)
    {
        words.push_back("--layers=" + std::to_string(DEEP * pieces));
    }
    return words;
}

/// \return the process; -1: it could not be started
pid_t
Start(const std::vector<std::string>& words, const std::string& log)
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

/// \return seconds of the step; nothing: the run has none
std::optional<double>
StepIn(const std::string& folder)
{
    std::ifstream file(folder + "/stats.json");
    const auto stats = nlohmann::json::parse(file, nullptr, false);
    if (stats.is_discarded() || !stats.contains("step_time_us"))
    {
        return {};
    }
    const auto& step = stats["step_time_us"];
    return step.is_number()        ? std::optional(step.get<double>() * 1e-6)
           : step.contains("mean") ? std::optional(step["mean"].get<double>() * 1e-6)
                                   : std::nullopt;
}

/// The last line that the run printed, for a note.
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

} // namespace

void
VerifyPlans(const scenario::PlannerScenario& scenario,
            const std::vector<scenario::TrainingScenario>& clusters,
            std::vector<planner::Plan>& plans,
            const std::function<bool()>& goesOn,
            const std::function<void(const std::string&)>& tell)
{
    const std::size_t count = std::min<std::size_t>(scenario.verify, plans.size());
    const std::string folder = scenario.run.out + "/verify";
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    std::vector<Child> running;
    std::size_t next = 0;
    bool ended = false;
    while (!running.empty() || (next < count && !ended))
    {
        while (!ended && next < count && running.size() < AT_A_TIME)
        {
            planner::Plan& plan = plans[next];
            const std::string at = folder + "/plan-" + std::to_string(next + 1);
            const auto read = planner::WithLayout(scenario.jobs[plan.layout.job], plan.layout);
            std::ofstream(at + ".json") << scenario::ScenarioOf(read).dump(2) << "\n";
            const pid_t process =
                Start(ArgumentsOf(scenario, clusters[plan.layout.job], plan, at), at + ".txt");
            if (process < 0)
            {
                plan.notVerified = "dltrain cannot be started";
                tell("plan " + std::to_string(next + 1) + ": " + plan.notVerified);
            }
            else
            {
                running.push_back({next, process, at});
            }
            ++next;
        }
        if (!ended && !goesOn())
        {
            ended = true;
            for (const Child& child : running)
            {
                kill(child.process, SIGTERM);
            }
        }
        for (std::size_t i = 0; i < running.size();)
        {
            int status = 0;
            if (waitpid(running[i].process, &status, WNOHANG) != running[i].process)
            {
                ++i;
                continue;
            }
            planner::Plan& plan = plans[running[i].plan];
            const std::string name = "plan " + std::to_string(running[i].plan + 1);
            plan.verified = WIFEXITED(status) && WEXITSTATUS(status) == 0
                                ? StepIn(running[i].folder)
                                : std::nullopt;
            plan.notVerified = plan.verified ? ""
                               : ended       ? "ended"
                                             : LastLine(running[i].folder + ".txt");
            tell(plan.verified ? name + ": " + scenario::SecondsText(*plan.verified) +
                                     ", estimated " + scenario::SecondsText(plan.estimate.step)
                               : name + ": not verified: " + plan.notVerified);
            running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
        }
        usleep(20000);
    }
}

} // namespace dltrain
