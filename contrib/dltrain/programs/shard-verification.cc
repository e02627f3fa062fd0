/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "shard-verification.h"

#include "child-run.h"
#include "contrib/dltrain/ranks/program.h"
#include "scenarios/launch/early-end.h"
#include "scenarios/operator-search/options/sharding-options.h"
#include "scenarios/operator-search/sharding-report.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <vector>

namespace dltrain
{

namespace
{

/// Runs at a time: as plan-verification.cc.
constexpr std::size_t RUNS_AT_A_TIME = 2;

struct ShardRun
{
    pid_t process = -1;
    std::string folder;
    std::string why; ///< it could not be started
};

/// The run's own configuration, with the strategies of one result.
nlohmann::json
ConfigurationWith(const scenario::TrainingScenario& s, const std::string& strategies)
{
    nlohmann::json json = s.run.asRun;
    nlohmann::json& training = json["training"];
    for (const char* const key :
         {"shard", "shard_verify", "shard_cost", "explain_sharding", "shard_file"})
    {
        training.erase(key);
    }
    training["auto_parallel"] = "semi";
    training["shard_file"] = std::filesystem::absolute(strategies).string();
    return json;
}

ShardRun
Start(const scenario::TrainingScenario& s, const sharding::Sharding& result, std::size_t number)
{
    ShardRun run;
    run.folder = s.run.out + "/shard-verify/" + std::to_string(number + 1);
    const std::string strategies = run.folder + "-strategies.json";
    run.why = WriteForChild(strategies, sharding::ShardingJson(result).dump(1) + "\n");
    if (run.why.empty())
    {
        run.why =
            WriteForChild(run.folder + ".json", ConfigurationWith(s, strategies).dump(2) + "\n");
    }
    if (!run.why.empty())
    {
        return run;
    }
    run.why = "dltrain cannot be started";
    run.process = StartChild({ChildProgram(),
                              "--scenario=" + run.folder + ".json",
                              "--out=" + run.folder,
                              "--no-report",
                              "--no-timeline",
                              "--no-attribution",
                              "--no-progress"},
                             run.folder + ".txt");
    return run;
}

void
Await(const ShardRun& run, sharding::Ranked* ranked)
{
    int status = 0;
    if (run.process < 0)
    {
        ranked->why = run.why;
        return;
    }
    waitpid(run.process, &status, 0);
    const auto stats = ChildStats(run.folder);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && !stats.is_discarded() &&
        stats.contains("step_time_us") && stats["step_time_us"].is_number())
    {
        ranked->step = stats["step_time_us"].get<double>() * 1e-6;
        return;
    }
    ranked->why = LastLine(run.folder + ".txt");
}

} // namespace

int
VerifySharding(scenario::TrainingScenario* s)
{
    if (!s->sharded || s->sharded->ranked.empty() || s->run.dryRun)
    {
        return 0;
    }
    if (s->run.processes.Several())
    {
        return SayError("dltrain",
                        "--shard-verify starts runs of its own; allowed with a single process",
                        &s->run);
    }
    const std::string folder = s->run.out + "/shard-verify";
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    scenario::TellAtEarlyEnd("dltrain: interrupted before the simulation began; runs of "
                             "--shard-verify are in " +
                             folder);
    auto all = std::make_shared<sharding::Sharding>(*s->sharded);
    std::vector<ShardRun> runs;
    for (std::size_t i = 0; i < all->ranked.size(); ++i)
    {
        if (i >= RUNS_AT_A_TIME)
        {
            Await(runs[i - RUNS_AT_A_TIME], &all->ranked[i - RUNS_AT_A_TIME]);
        }
        runs.push_back(Start(*s, *all->ranked[i].sharding, i));
    }
    for (std::size_t i = runs.size() - std::min(runs.size(), RUNS_AT_A_TIME); i < runs.size(); ++i)
    {
        Await(runs[i], &all->ranked[i]);
    }
    std::size_t best = all->ranked.size();
    for (std::size_t i = 0; i < all->ranked.size(); ++i)
    {
        const auto& step = all->ranked[i].step;
        if (step && (best == all->ranked.size() || *step < *all->ranked[best].step))
        {
            best = i;
        }
    }
    if (best == all->ranked.size())
    {
        return SayError("dltrain",
                        "--shard-verify: no result could be run: " + all->ranked.front().why,
                        &s->run);
    }
    s->sharded = all;
    scenario::TakeRanked(best, s);
    return 0;
}

} // namespace dltrain
