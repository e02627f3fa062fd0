/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/steps/volumes.h"

#include "collectives/core/block-sizes.h"

#include <algorithm>
#include <vector>

namespace training
{

namespace
{

/// \return members of the group of a kind that a rank is in
std::size_t
GroupSize(const GroupKind& kind, coll::Rank rank)
{
    for (const auto& group : kind.groups)
    {
        if (std::find(group.begin(), group.end(), rank) != group.end())
        {
            return group.size();
        }
    }
    return 1;
}

/// The bytes of a role's rank, in the groups that this rank is in.
std::map<std::string, double>
BytesMovedBy(const TrainingPlan& plan, const StepGraph& role, coll::Rank rank)
{
    std::vector<std::size_t> sizes; // by kind
    for (const GroupKind& kind : plan.groupKinds)
    {
        sizes.push_back(GroupSize(kind, rank));
    }
    std::map<std::string, double> moved;
    for (const auto& task : role.tasks)
    {
        if (task.kind == TaskKind::kSend)
        {
            moved["send"] += static_cast<double>(task.bytes);
        }
        if (task.kind != TaskKind::kCollective)
        {
            continue;
        }
        const double n = static_cast<double>(sizes.at(task.group));
        const double share = static_cast<double>(task.bytes) * (n - 1) / n;
        switch (task.op)
        {
        case coll::Op::kAllReduce:
            moved["all_reduce"] += 2 * share;
            break;
        case coll::Op::kReduceScatter:
            moved["reduce_scatter"] += share;
            break;
        case coll::Op::kAllGather:
            moved["all_gather"] += share;
            break;
        case coll::Op::kBroadcast:
            moved["broadcast"] += share;
            break;
        case coll::Op::kReduce:
            moved["reduce"] += share;
            break;
        // Once out of the root or into it: a rank's share of that.
        case coll::Op::kGather:
            moved["gather"] += share / n;
            break;
        case coll::Op::kScatter:
            moved["scatter"] += share / n;
            break;
        case coll::Op::kSendRecv:
            moved["sendrecv"] += n > 1 ? static_cast<double>(task.bytes) : 0;
            break;
        case coll::Op::kAllToAll:
            moved["all_to_all"] += share;
            break;
        case coll::Op::kAllToAllV:
            moved["all_to_all"] += task.blocks ? task.blocks->MeanSent() : share;
            break;
        case coll::Op::kBarrier:
            break;
        }
    }
    return moved;
}

} // namespace

std::map<std::string, double>
BytesMovedPerGpu(const TrainingPlan& plan)
{
    std::vector<uint32_t> ranks(plan.roles.size());
    std::vector<coll::Rank> first(plan.roles.size());
    for (coll::Rank rank = plan.ranks; rank-- > 0;)
    {
        ++ranks[plan.roleOf[rank]];
        first[plan.roleOf[rank]] = rank;
    }
    std::map<std::string, double> mean;
    for (std::size_t i = 0; i < plan.roles.size(); ++i)
    {
        for (const auto& [op, bytes] : BytesMovedBy(plan, plan.roles[i], first[i]))
        {
            mean[op] += bytes * ranks[i] / plan.ranks;
        }
    }
    return mean;
}

} // namespace training
