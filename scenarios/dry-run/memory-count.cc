/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/dry-run/memory-count.h"

#include "collectives/core/placement.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace scenario
{

namespace
{

using training::MemoryTier;

/// Loads and stores of a rank over the network: both ends are NICs beside the same GPU.
void
AddMessagesOf(MessageCounter* counter, const TrainingScenario& s, coll::Rank rank)
{
    const ClusterSpec& cluster = s.cluster;
    std::map<std::pair<bool, uint64_t>, double> all;
    for (const training::Task& task : s.plan.roles[s.plan.roleOf[rank]].tasks)
    {
        if (training::AccessesMemory(task) &&
            s.plan.tiers[task.tier].attached == MemoryTier::Attached::kNetwork)
        {
            all[{task.stores, task.bytes}] += 1;
        }
    }
    if (all.empty())
    {
        return;
    }
    const uint32_t gpus = cluster.server.gpus;
    const uint32_t nic = coll::NicNearGpu(rank % gpus, gpus, std::max(1u, cluster.server.nics));
    const auto endpoint = [&](uint32_t host) {
        return cluster.topology.EndpointOf(host, PortOf(cluster.topology, nic));
    };
    const topo::EndpointId own = endpoint(cluster.hostOfServer[rank / gpus]);
    const topo::EndpointId there = endpoint(cluster.memoryHosts[rank % cluster.memoryHosts.size()]);
    for (const auto& [access, times] : all)
    {
        const auto& [stores, bytes] = access;
        counter->Add(stores ? own : there, stores ? there : own, bytes, times);
    }
}

} // namespace

void
AddAccesses(MessageCounter* counter, const TrainingScenario& s)
{
    const training::TrainingPlan& plan = s.plan;
    if (plan.tiers.empty())
    {
        return;
    }
    std::map<std::pair<uint8_t, uint32_t>, double> busy; // by tier and device, seconds
    std::set<std::tuple<uint8_t, uint8_t, uint32_t, std::string>> gathered;
    for (coll::Rank rank = 0; rank < plan.ranks; ++rank)
    {
        AddMessagesOf(counter, s, rank);
        for (const training::Task& task : plan.roles[plan.roleOf[rank]].tasks)
        {
            if (!training::AccessesMemory(task) ||
                plan.tiers[task.tier].attached == MemoryTier::Attached::kNetwork)
            {
                continue;
            }
            // One for all ranks with the same data, on the device of the first.
            if (plan.tiers[task.tier].reduces && task.shared != training::kNotShared &&
                !gathered
                     .insert({task.tier,
                              task.shared,
                              plan.shared[task.shared].groupOf[rank],
                              task.name})
                     .second)
            {
                continue;
            }
            const uint32_t device =
                plan.tiers[task.tier].DeviceOf(rank, plan.ranks, s.cluster.server.gpus);
            busy[{task.tier, device}] += plan.tiers[task.tier].TimeOf(task.bytes).Seconds();
        }
    }
    double most = 0;
    for (const auto& [device, seconds] : busy)
    {
        most = std::max(most, seconds);
    }
    counter->Access(most);
}

} // namespace scenario
