/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/options/used-collectives.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace scenario
{

std::vector<UsedBy>
CollectivesOf(const training::TrainingPlan& plan, uint32_t gpus, bool all)
{
    std::vector<UsedBy> used;
    for (uint32_t kind = 0; kind < plan.groupKinds.size(); ++kind)
    {
        const auto& groups = plan.groupKinds[kind].groups;
        std::set<std::size_t> looked;
        if (!groups.empty())
        {
            looked = {0, groups.size() - 1};
        }
        const auto between = std::find_if(groups.begin(), groups.end(), [gpus](const auto& ranks) {
            return std::any_of(ranks.begin(), ranks.end(), [&](coll::Rank rank) {
                return rank / gpus != ranks.front() / gpus;
            });
        });
        if (between != groups.end())
        {
            looked.insert(static_cast<std::size_t>(between - groups.begin()));
        }
        for (std::size_t g = 0; all && g < groups.size(); ++g)
        {
            looked.insert(g);
        }
        for (const std::size_t g : looked)
        {
            UsedBy user{groups[g], {}};
            std::set<std::tuple<coll::Op, uint64_t>> seen; // for blocks, the largest sum counts
            for (const auto& task : plan.roles[plan.roleOf[groups[g].front()]].tasks)
            {
                if (task.kind == training::TaskKind::kCollective && task.group == kind &&
                    seen.insert({task.op, task.bytes}).second)
                {
                    user.collectives.push_back({task.op,
                                                task.bytes,
                                                static_cast<coll::Rank>(groups[g].size()),
                                                0,
                                                task.blocks});
                }
            }
            if (!user.collectives.empty())
            {
                used.push_back(std::move(user));
            }
        }
    }
    return used;
}

} // namespace scenario
