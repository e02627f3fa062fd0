/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/volumes.h"

#include "collectives/block-sizes.h"

namespace training
{

std::map<std::string, double>
BytesMovedPerGpu(const TrainingPlan& plan)
{
    std::map<std::string, double> moved;
    for (const auto& task : plan.roles.at(0).tasks)
    {
        if (task.kind == TaskKind::kSend)
        {
            moved["send"] += static_cast<double>(task.bytes);
        }
        if (task.kind != TaskKind::kCollective)
        {
            continue;
        }
        const double n = static_cast<double>(plan.groupKinds.at(task.group).groups.at(0).size());
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

} // namespace training
