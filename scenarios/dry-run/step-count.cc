/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/dry-run/step-count.h"

#include "collectives/core/placement.h"
#include "scenarios/dry-run/estimate.h"
#include "scenarios/dry-run/memory-count.h"
#include "scenarios/dry-run/message-counter.h"
#include "scenarios/training/graphs/served-plan.h"
#include "scenarios/training/steps/least-step.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace scenario
{

namespace
{

/// The endpoint of the NIC by which a rank's messages to another leave its server, or arrive there.
topo::EndpointId
EndpointOf(const ClusterSpec& cluster,
           const CollectiveOptions& options,
           coll::Rank rank,
           coll::Rank receiver)
{
    const uint32_t gpus = cluster.server.gpus;
    const uint32_t nics = std::max(1u, cluster.server.nics);
    const uint32_t gpu = (options.peersRail ? receiver : rank) % gpus;
    const uint32_t nic = options.ownNics ? coll::NicNearGpu(gpu, gpus, nics) : gpu % nics;
    return cluster.topology.EndpointOf(cluster.hostOfServer[rank / gpus],
                                       PortOf(cluster.topology, nic));
}

/// Bytes on the wire of a message that ranks or parameter servers send each other between servers,
/// as MessageRunner posts it: a library moves it as grouped sends and receives.
uint64_t
OnWire(const TrainingScenario& s, uint64_t bytes)
{
    const coll::Machine& machine = s.collectives.machine;
    return machine.hasLibrary ? machine.library.Of(topo::Protocol::kExchange).BytesOnWire(bytes)
                              : bytes;
}

} // namespace

void
AddMessages(MessageCounter* counter, const TrainingScenario& s, uint32_t roles)
{
    // By role: peer offset, group kind, bytes.
    std::vector<std::map<std::tuple<int32_t, uint32_t, uint64_t>, double>> sends;
    for (const auto& role : s.plan.roles)
    {
        auto& ofRole = sends.emplace_back();
        for (const auto& task : role.tasks)
        {
            if (task.kind == training::TaskKind::kSend)
            {
                ofRole[{task.peerOffset, task.group, task.bytes}] += 1;
            }
        }
    }
    const uint32_t gpus = s.cluster.server.gpus;
    for (uint32_t kind = 0; kind < s.plan.groupKinds.size(); ++kind)
    {
        for (const auto& group : s.plan.groupKinds[kind].groups)
        {
            for (std::size_t position = 0; position < group.size(); ++position)
            {
                const coll::Rank from = group[position];
                for (const auto& [key, times] : sends[roles + s.plan.roleOf[from]])
                {
                    const auto& [offset, of, bytes] = key;
                    if (of != kind)
                    {
                        continue;
                    }
                    counter->Send("send", static_cast<double>(bytes) * times);
                    const coll::Rank to = group[position + offset];
                    if (from / gpus == to / gpus)
                    {
                        counter->AddInside(times);
                        continue;
                    }
                    counter->Add(EndpointOf(s.cluster, s.collectives, from, to),
                                 EndpointOf(s.cluster, s.collectives, to, to),
                                 OnWire(s, bytes),
                                 times);
                }
            }
        }
    }
}

namespace
{

/// A step of parameter servers, if all replicas are equally fast.
void
AddServed(MessageCounter* counter, const TrainingScenario& s)
{
    const training::ServedPlan& served = *s.served;
    const training::ServedOptions& o = served.Options();
    const bool sandblaster = o.strategy == training::Strategy::kSandblaster;
    const double pushes = !sandblaster ? 1.0 / o.pushEvery
                          : o.pushEvery > 0
                              ? std::ceil(static_cast<double>(s.accumulation) / o.pushEvery)
                              : 1;
    const double fetches = sandblaster ? 1 : 1.0 / o.fetchEvery;
    const bool asks = o.strategy == training::Strategy::kDownpour;
    const uint32_t gpus = s.cluster.server.gpus;
    for (coll::Rank r = 0; r < served.Replicas(); ++r)
    {
        for (uint32_t shard = 0; shard < served.Shards(); ++shard)
        {
            const coll::Rank at = served.ServerOf(shard);
            if (at == r)
            {
                continue;
            }
            if (at / gpus == r / gpus)
            {
                counter->AddInside(pushes + fetches * (asks ? 2 : 1));
                continue;
            }
            const auto add = [&](coll::Rank from, coll::Rank to, uint64_t bytes, double times) {
                counter->Add(EndpointOf(s.cluster, s.collectives, from, to),
                             EndpointOf(s.cluster, s.collectives, to, to),
                             OnWire(s, bytes),
                             times);
            };
            add(r, at, served.ShardBytes(shard), pushes);
            add(at, r, served.ShardBytes(shard), fetches);
            if (asks)
            {
                add(r, at, training::kRequestBytes, fetches);
            }
            counter->Connect({asks ? 3.0 : 2.0, 0});
        }
    }
}

} // namespace

bool
WaitsForPorts(const TrainingScenario& s)
{
    const training::ServedPlan& served = *s.served;
    if (served.Options().strategy == training::Strategy::kSandblaster)
    {
        return true;
    }
    const uint32_t gpus = s.cluster.server.gpus;
    std::set<uint32_t> between; // shards, of each replica
    for (coll::Rank r = 0; r < served.Replicas(); ++r)
    {
        uint32_t shards = 0;
        for (uint32_t shard = 0; shard < served.Shards(); ++shard)
        {
            shards += served.ServerOf(shard) / gpus != r / gpus;
        }
        between.insert(shards);
    }
    return between.size() == 1;
}

namespace
{

/// Computing of a step, seconds.
struct Computing
{
    double longest = 0;     ///< of the slowest GPU, as a mean over the steps of the run
    double shortest = 0;    ///< of the longest role on the fastest GPU
    double leastJitter = 1; ///< least factor of --jitter on any of these times
    coll::Rank slowest = 0; ///< which GPU takes longest without jitter
};

/// \param ofRole seconds
Computing
ComputingOf(const TrainingScenario& s, const std::vector<double>& ofRole)
{
    constexpr double kMostDraws = 1e7; // a second; of more steps the first
    const training::TrainingPlan& plan = s.plan;
    const bool varies = plan.jitter.sigma > 0;
    const double steps = static_cast<double>(s.steps) + s.warmupSteps;
    const auto drawn =
        varies ? static_cast<uint32_t>(std::max(1.0, std::min(steps, kMostDraws / plan.ranks))) : 1;
    constexpr double kMost = std::numeric_limits<double>::infinity();
    Computing all;
    all.leastJitter = varies ? kMost : 1;
    double most = 0;
    double fastest = kMost;
    for (coll::Rank rank = 0; rank < plan.ranks; ++rank)
    {
        const double seconds = plan.SlownessOf(rank) * ofRole[plan.roleOf[rank]];
        all.slowest = seconds > most ? rank : all.slowest;
        most = std::max(most, seconds);
        fastest = std::min(fastest, plan.SlownessOf(rank));
        all.shortest = std::max(all.shortest, ofRole[plan.roleOf[rank]]);
    }
    for (uint32_t step = 0; varies && step < drawn; ++step)
    {
        double longest = 0;
        for (coll::Rank rank = 0; rank < plan.ranks; ++rank)
        {
            const double draw = training::JitterOf(plan.jitter, rank, step);
            all.leastJitter = std::min(all.leastJitter, draw);
            longest = std::max(longest, draw * plan.SlownessOf(rank) * ofRole[plan.roleOf[rank]]);
        }
        all.longest += longest / drawn;
    }
    all.longest = varies ? all.longest : most;
    all.shortest *= fastest * all.leastJitter;
    return all;
}

} // namespace

MessageCounter
CountStep(const TrainingScenario& s, EstimateFor what)
{
    MessageCounter counter(s.cluster.topology, s.fabric, s.cluster.connections);
    if (s.served)
    {
        AddServed(&counter, s);
    }

    std::vector<double> computing; // seconds, of each role
    double loading = 0;            // of the role that loads longest

    // All-to-alls of unequal blocks that have the same bytes lie one way and back.
    struct Done
    {
        double times = 0;
        std::shared_ptr<const coll::BlockSizes> blocks;
    };

    std::vector<std::map<std::tuple<uint32_t, coll::Op, uint64_t>, Done>> collectives;
    for (const auto& role : s.plan.roles)
    {
        double seconds = 0;
        auto& ofRole = collectives.emplace_back(); // by group kind
        for (const auto& task : role.tasks)
        {
            if (task.kind == training::TaskKind::kCollective)
            {
                Done& done = ofRole[{task.group, task.op, task.bytes}];
                done.times += 1;
                done.blocks = task.blocks;
            }
            else if (task.stream == 0)
            {
                seconds += task.duration.Seconds();
            }
            else if (task.phase == training::Phase::kLoading)
            {
                loading = std::max(loading, task.duration.Seconds());
            }
        }
        computing.push_back(seconds);
    }
    for (const uint32_t role : s.plan.roleOf)
    {
        counter.AddTasks(static_cast<double>(s.plan.roles[role].tasks.size()));
    }
    // (The step that fills a pipeline has a role of its own, but is only one of many.)
    std::map<std::pair<uint32_t, std::size_t>, CommunicatorNeeds> communicators;
    for (uint32_t kind = 0; kind < s.plan.groupKinds.size(); ++kind)
    {
        const auto& groups = s.plan.groupKinds[kind].groups;
        for (std::size_t g = 0; g < groups.size(); ++g)
        {
            // Ranks of a group do the same collectives, if they do more besides.
            for (const auto& [key, done] : collectives[s.plan.roleOf[groups[g].front()]])
            {
                const auto& [group, op, bytes] = key;
                if (group != kind)
                {
                    continue;
                }
                coll::Collective what;
                what.op = op;
                what.bytes = bytes;
                what.ranks = static_cast<coll::Rank>(groups[g].size());
                what.blocks = done.blocks;
                communicators[{group, g}].Cover(
                    counter.AddCollective(what, groups[g], s.cluster, s.collectives, done.times));
            }
        }
    }
    if (!s.served)
    {
        AddMessages(&counter, s);
    }
    for (const auto& [which, needs] : communicators)
    {
        counter.Connect(needs);
    }
    if (what == EstimateFor::kPlan)
    {
        const Computing compute = ComputingOf(s, computing);
        const bool inPieces =
            s.served && s.served->Options().strategy == training::Strategy::kSandblaster;
        // Replicas of servers do not wait for each other.
        counter.Compute(
            (s.served ? compute.shortest : compute.longest) * (inPieces ? s.accumulation : 1),
            compute.leastJitter * training::LeastStep(s.plan, compute.slowest).Seconds());
    }
    else if (!computing.empty())
    {
        const auto [least, most] = std::minmax_element(computing.begin(), computing.end());
        counter.Compute(s.served ? *least : *most, 0);
    }
    counter.Load(loading);
    AddAccesses(&counter, s);
    return counter;
}

} // namespace scenario
