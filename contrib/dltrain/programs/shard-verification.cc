/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "shard-verification.h"

#include "child-runs.h"
#include "contrib/dltrain/base/console.h"
#include "scenarios/launch/interruption.h"
#include "scenarios/operator-search/options/sharding-options.h"
#include "scenarios/operator-search/sharding-report.h"

#include <cstddef>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace dltrain
{

namespace
{

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

ChildJob
RunOf(const scenario::TrainingScenario& s, const sharding::Sharding& result, std::size_t number)
{
    ChildJob job;
    job.folder = s.run.out + "/shard-verify/" + std::to_string(number + 1);
    const std::string strategies = "-strategies.json";
    job.files = {{strategies, sharding::ShardingJson(result).dump(1) + "\n"}};
    job.configuration = ConfigurationWith(s, job.folder + strategies).dump(2) + "\n";
    job.ignoresMemory = false; // a result that does not fit is none
    return job;
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
    const std::string text = "dltrain: interrupted before the simulation began; runs of "
                             "--shard-verify are in " +
                             folder;
    scenario::TellAtEarlyEnd(text);
    const scenario::KeptForAWhile kept;
    auto all = std::make_shared<sharding::Sharding>(*s->sharded);
    std::vector<ChildJob> jobs;
    for (const sharding::Ranked& ranked : all->ranked)
    {
        jobs.push_back(RunOf(*s, *ranked.sharding, jobs.size()));
    }
    const auto results = RunChildren(s->run, jobs, [] { return scenario::Interruption() == 0; });
    if (const int signal = scenario::Interruption())
    {
        std::cerr << text << std::endl;
        return 128 + signal;
    }
    for (std::size_t i = 0; i < jobs.size(); ++i)
    {
        all->ranked[i].step = results[i].step;
        all->ranked[i].why = results[i].why;
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
