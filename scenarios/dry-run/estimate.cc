/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/dry-run/estimate.h"

#include "collectives/core/placement.h"
#include "scenarios/dry-run/message-counter.h"
#include "scenarios/inference/requests.h"
#include "scenarios/job/jobs.h"
#include "scenarios/job/serving-scenario.h"
#include "scenarios/network/network-kinds.h"
#include "scenarios/network/rail-options.h"
#include "scenarios/options/format.h"
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

/// CriticalPath::RECORDS: at least one for each rank's collectives and messages of a step, though.
constexpr double kMostPathRecords = 65536;

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

/// Messages between ranks.
void
AddMessages(MessageCounter* counter, const TrainingScenario& s, uint32_t roles = 0)
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

/// Whether each step has what all replicas of parameter servers send, or all send as much between
/// servers: else those that send least may do most of the steps.
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

/// The plan's step, and what its communicators keep.
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
    return counter;
}

Estimate
Times(Estimate e, double n)
{
    e.messages *= n;
    e.messagesInside *= n;
    e.networkBytes *= n;
    e.dataPackets *= n;
    e.arriving *= n;
    e.ackPackets *= n;
    e.frameHops *= n;
    e.busiestPortSeconds *= n;
    e.computeSeconds *= n;
    e.graphSeconds *= n;
    e.loadingSeconds *= n;
    for (auto& [what, bytes] : e.sent)
    {
        bytes *= n;
    }
    return e;
}

/// The sum of two estimates, one after the other; memory and paths are those of `sum`, the larger
/// one.
void
Add(const Estimate& e, Estimate* sum)
{
    sum->messages += e.messages;
    sum->messagesInside += e.messagesInside;
    sum->networkBytes += e.networkBytes;
    sum->dataPackets += e.dataPackets;
    sum->arriving += e.arriving;
    sum->ackPackets += e.ackPackets;
    sum->frameHops += e.frameHops;
    sum->busiestPortSeconds += e.busiestPortSeconds;
    sum->computeSeconds += e.computeSeconds;
    sum->graphSeconds += e.graphSeconds;
    sum->loadingSeconds += e.loadingSeconds;
    for (const auto& [what, bytes] : e.sent)
    {
        sum->sent[what] += bytes;
    }
}

/// The plan of one of its numbers of blocks alone.
training::TrainingPlan
PlanOfSize(const training::TrainingPlan& plan, std::size_t size)
{
    training::TrainingPlan one = plan;
    const auto at = [&](std::size_t i) {
        return i < plan.sizes.size() ? plan.sizes[i].firstRole : plan.UsualRoles();
    };
    one.roles.assign(plan.roles.begin() + static_cast<std::ptrdiff_t>(at(size)),
                     plan.roles.begin() + static_cast<std::ptrdiff_t>(at(size + 1)));
    one.sizes = {{plan.sizes[size].blocks, 0}};
    return one;
}

} // namespace

Estimate
EstimateStep(const TrainingScenario& s, std::size_t size, EstimateFor what)
{
    if (s.plan.sizes.size() > 1)
    {
        TrainingScenario one = s;
        one.plan = PlanOfSize(s.plan, size);
        return EstimateStep(one, 0, what);
    }
    const MessageCounter counter = CountStep(s, what);
    const double steps = static_cast<double>(s.steps) + s.warmupSteps;
    const double paths =
        NotesWaiting(s.run, s.fabric)
            ? std::max(kMostPathRecords, static_cast<double>(s.plan.CountCommunicating()))
            : 0;
    return counter.Result(s.run,
                          s.plan.ranks,
                          std::min(paths, counter.CountMessages() * steps),
                          steps);
}

namespace
{

/// Of a job that serves only the last arrival is known ahead: its batches follow from latencies.
Estimate
EstimateServed(const Job& job, const TrainingScenario& together)
{
    const MessageCounter counter(together.cluster.topology,
                                 together.fabric,
                                 together.cluster.connections);
    Estimate e = counter.Result(together.run, 0, 0, 1);
    for (const serving::Request& one : serving::MakeRequests(job.serving->serving.requests))
    {
        e.lastStartSeconds = std::max(e.lastStartSeconds, static_cast<double>(one.arrival) * 1e-12);
    }
    return e;
}

} // namespace

Estimate
EstimateJob(const Job& job, const TrainingScenario& together, EstimateFor what)
{
    if (job.kind == JobKind::kServing)
    {
        return EstimateServed(job, together);
    }
    if (job.kind != JobKind::kFlows)
    {
        return EstimateRun(*job.scenario, what);
    }
    MessageCounter counter(together.cluster.topology,
                           together.fabric,
                           together.cluster.connections);
    // Each flow has a queue pair: FlowJob::queuePairs, of which jobs say nothing.
    const rdma::TimePoint last =
        counter.AddFlows(job.flows, job.operation, job.protocol, QueuePairUse::kPerFlow);
    Estimate e = counter.Result(together.run, 0, 0, 1);
    e.lastStartSeconds = static_cast<double>(last.ps - job.start.ps) * 1e-12;
    return e;
}

/// The messages of ranks in one step.
/// \param roles 0, or plan.fillRoles: the first step
Estimate
MessagesOf(const TrainingScenario& s, uint32_t roles)
{
    MessageCounter counter(s.cluster.topology, s.fabric, s.cluster.connections);
    AddMessages(&counter, s, roles);
    return counter.Result(s.run, 0, 0, 1);
}

Estimate
EstimateTogether(const TrainingScenario& s, const std::vector<Estimate>& ofJobs)
{
    // None of them ends sooner than it would alone.
    Estimate all;
    double links = 0; // links that packets of all jobs cross
    for (std::size_t i = 0; i < ofJobs.size(); ++i)
    {
        const Job& job = s.jobs->jobs[i];
        const Estimate& e = ofJobs[i];
        const double busiest =
            std::max(all.busiestPortSeconds, e.portsAwaited ? e.busiestPortSeconds : 0);
        const double end = static_cast<double>(job.start.ps) * 1e-12 + e.LowerBoundSeconds();
        links += e.meanHops * e.dataPackets;
        Add(e, &all);
        all.busiestPortSeconds = busiest;
        all.computeSeconds = all.graphSeconds = all.loadingSeconds = 0; // in `end`
        all.lastStartSeconds = std::max(all.lastStartSeconds, end);
        all.connections += e.connections;
        all.sampled = all.sampled || e.sampled;
        const double hosts = all.speedNeeds.hosts + e.speedNeeds.hosts;
        all.speedNeeds = e.speedNeeds;
        all.speedNeeds.hosts = hosts;
        MemoryNeeds needs = e.memoryNeeds; // needs of the network: the same for all
        const MemoryNeeds& others = all.memoryNeeds;
        needs.connections += others.connections;
        needs.messages += others.messages;
        needs.usedLinks += others.usedLinks;
        needs.ranks += others.ranks;
        needs.lanes += others.lanes;
        needs.posted += others.posted;
        needs.postedInside += others.postedInside;
        needs.paths = 0; // there is no critical path
        all.memoryNeeds = needs;
    }
    all.meanHops = all.dataPackets > 0 ? links / all.dataPackets : 0;
    all.memory = EstimateMemory(all.memoryNeeds);
    all.speed = AssumeSpeed(all.speedNeeds);
    return all;
}

Estimate
EstimateRun(const TrainingScenario& s, EstimateFor what)
{
    if (s.jobs)
    {
        std::vector<Estimate> ofJobs;
        for (const Job& job : s.jobs->jobs)
        {
            ofJobs.push_back(EstimateJob(job, s, what));
        }
        return EstimateTogether(s, ofJobs);
    }
    Estimate all = EstimateStep(s, 0, what);
    for (std::size_t size = 1; size < s.plan.sizes.size(); ++size)
    {
        Add(EstimateStep(s, size, what), &all);
    }
    const double steps = static_cast<double>(s.steps) + s.warmupSteps;
    all = Times(std::move(all), steps);
    if (s.served)
    {
        // Nobody waits for the last pushes, nor for what has been fetched ahead by the end.
        const training::ServedOptions& o = s.served->Options();
        const double unawaited = std::max({1U, o.pushEvery, o.fetchEvery});
        all.busiestPortSeconds *= std::max(0.0, steps - unawaited) / steps;
        all.portsAwaited = WaitsForPorts(s);
    }
    if (s.plan.fillRoles > 0)
    {
        // The first step fills the pipeline, and no rank waits for the last one's messages.
        const double whole = std::max(0.0, steps - 1) / steps;
        const double busiest = all.busiestPortSeconds * whole;
        const auto sent = all.sent; // bytes of all steps but the first
        Add(MessagesOf(s, s.plan.fillRoles), &all);
        Add(Times(MessagesOf(s, 0), -1), &all);
        all.busiestPortSeconds = busiest;
        all.sent = sent;
        all.computeSeconds *= whole;
    }
    return all;
}

Estimate
EstimateRun(const CollperfScenario& s)
{
    MessageCounter counter(s.cluster.topology, s.fabric, s.cluster.connections);
    std::vector<coll::Rank> members(s.ranks);
    for (coll::Rank r = 0; r < s.ranks; ++r)
    {
        members[r] = r;
    }
    CommunicatorNeeds all;
    for (const CollectiveOptions* choice : s.Choices())
    {
        // Each has connections of its own.
        CommunicatorNeeds ofOne;
        for (const uint64_t bytes : s.sizes)
        {
            ofOne.Cover(
                counter.AddCollective(s.CollectiveOf(bytes),
                                      members,
                                      s.cluster,
                                      *choice,
                                      static_cast<double>(s.iterations) + s.warmupIterations));
        }
        all.connections += ofOne.connections;
        all.lanes = std::max(all.lanes, ofOne.lanes);
        all.posted = std::max(all.posted, ofOne.posted);
        all.postedInside = std::max(all.postedInside, ofOne.postedInside);
    }
    counter.Connect(all);
    return counter.Result(s.run, s.ranks, 0, 1);
}

Estimate
EstimateRun(const TrafficScenario& s)
{
    MessageCounter counter(s.topology, s.fabric);
    const rdma::TimePoint lastStart =
        counter.AddFlows(s.flows, s.operation, s.run.protocol, s.queuePairs);
    Estimate e = counter.Result(s.run, 0, 0, 1);
    e.lastStartSeconds = static_cast<double>(lastStart.ps) * 1e-12;
    const double stop = static_cast<double>(s.stopAfter.ps) * 1e-12;
    if (stop > 0 && stop < e.LowerBoundSeconds())
    {
        const double share = stop / e.LowerBoundSeconds();
        for (double* counted : {&e.dataPackets, &e.ackPackets, &e.frameHops})
        {
            *counted *= share;
        }
        e.stopSeconds = stop;
    }
    return e;
}

double
ArrivingShare(const Estimate& e)
{
    return e.dataPackets > 0 ? std::min(1.0, e.arriving / e.dataPackets) : 1;
}

std::string
NoteOfBitErrors(const Estimate& e)
{
    constexpr double kHardlyAny = 1e-3; // assumed: a thousand tries, each a time-out
    const double share = ArrivingShare(e);
    return share > kHardlyAny
               ? ""
               : "warning: of data packets a share of" + Format(" %.2g", share) +
                     " passes its links without a bit error, so that senders do little but time "
                     "out; give a lower --bit-error-rate or a smaller --mtu";
}

std::string
WhyTooLong(const Estimate& e)
{
    constexpr double most = 1e6;
    const double whole = e.LowerBoundSeconds();
    const double seconds = e.stopSeconds > 0 ? std::min(e.stopSeconds, whole) : whole;
    if (seconds <= most)
    {
        return {};
    }
    const std::string by = e.stopSeconds > 0 || whole == e.lastStartSeconds ? ""
                           : whole == e.loadingSeconds                      ? ", loading data"
                           : whole == e.computeSeconds || whole == e.graphSeconds
                               ? ", computing"
                               : ", at the busiest NIC";
    return "the run takes at least " + SecondsText(seconds) + " of simulated time" + by +
           "; allowed: " + SecondsText(most) +
           ", beyond which a clock of picoseconds is not safe: fewer steps or iterations, or less "
           "in each";
}

} // namespace scenario
