/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/regular-file.h"
#include "scenarios/operator-search/mindspore-file.h"
#include "scenarios/operator-search/options/sharding-options.h"
#include "scenarios/operator-search/sharded-plan.h"
#include "scenarios/operator-search/sharding-report.h"
#include "scenarios/operator-search/staged-search.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace scenario
{

void
TakeRanked(std::size_t which, TrainingScenario* s)
{
    const std::vector<sharding::Ranked> ranked = s->sharded->ranked;
    sharding::Sharding taken = *ranked[which].sharding;
    taken.ranked = ranked;
    const sharding::SliceKernels kernels(s->options);
    training::TrainingPlan plan = sharding::MakeShardedPlan(taken.graph,
                                                            taken.strategies,
                                                            kernels,
                                                            s->plan.ranks,
                                                            taken.settings.passes);
    s->plan.roles = std::move(plan.roles);
    s->plan.roleOf = std::move(plan.roleOf);
    s->plan.groupKinds = std::move(plan.groupKinds);
    s->plan.gpuMemoryBytes = plan.gpuMemoryBytes;
    s->sharded = std::make_shared<const sharding::Sharding>(std::move(taken));
}

std::string
ShardingText(const TrainingScenario& s)
{
    if (!s.sharded)
    {
        return "";
    }
    return sharding::TableText(*s.sharded) +
           (s.explainSharding ? "\n" + sharding::ExplainText(*s.sharded) : "");
}

namespace
{

/// Names and texts.
std::vector<std::pair<std::string, std::string>>
ShardingTexts(const sharding::Sharding& s)
{
    std::vector<std::pair<std::string, std::string>> files = {
        {"sharding.json", sharding::ShardingJson(s).dump(1) + "\n"}};
    const auto add = [&files](const sharding::Sharding& of, const std::string& number) {
        const std::string strategies = sharding::MindSporeJson(of).dump(1) + "\n";
        files.emplace_back("sharding" + number + ".svg", sharding::ShardingSvg(of));
        files.emplace_back("mindspore-strategy" + number + ".json", strategies);
        files.emplace_back("mindspore-shard" + number + ".py", sharding::MindSporeLines(of));
    };
    for (std::size_t i = 0; i < s.stages.size(); ++i)
    {
        add(s.stages[i]->sharding, "-" + std::to_string(i));
    }
    if (s.stages.empty())
    {
        add(s, "");
    }
    return files;
}

} // namespace

std::string
ShardingFiles(const TrainingScenario& s)
{
    if (!s.sharded->stages.empty())
    {
        return ", sharding.json, and for each stage sharding-N.svg, mindspore-strategy-N.json, "
               "mindspore-shard-N.py";
    }
    return ", sharding.json, sharding.svg, mindspore-strategy.json, mindspore-shard.py";
}

std::string
WriteSharding(const TrainingScenario& s)
{
    if (!s.sharded)
    {
        return "";
    }
    for (const auto& [name, text] : ShardingTexts(*s.sharded))
    {
        const std::string path = s.run.out + "/" + name;
        if (const std::string why = rdma::WriteWhole(path, text); !why.empty())
        {
            return path + " cannot be written: " + why;
        }
    }
    return "";
}

} // namespace scenario
