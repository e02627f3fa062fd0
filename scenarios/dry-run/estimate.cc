/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/dry-run/estimate.h"

#include "scenarios/dry-run/message-counter.h"
#include "scenarios/dry-run/step-count.h"
#include "scenarios/inference/requests.h"
#include "scenarios/job/jobs.h"
#include "scenarios/job/serving-scenario.h"
#include "scenarios/network/network-kinds.h"
#include "scenarios/network/rail-options.h"
#include "scenarios/options/format.h"
#include "scenarios/training/graphs/served-plan.h"

#include <algorithm>
#include <utility>

namespace scenario
{

namespace
{

/// CriticalPath::RECORDS: at least one for each rank's collectives and messages of a step, though.
constexpr double kMostPathRecords = 65536;

Estimate
Times(Estimate e, double n)
{
    e.messages *= n;
    e.messagesInside *= n;
    e.networkBytes *= n;
    e.dataPackets *= n;
    e.arriving *= n;
    e.ackPackets *= n;
    e.cnps *= n;
    e.frameHops *= n;
    e.work.Scale(n);
    e.busiestPortSeconds *= n;
    e.computeSeconds *= n;
    e.graphSeconds *= n;
    e.loadingSeconds *= n;
    e.memorySeconds *= n;
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
    sum->cnps += e.cnps;
    sum->frameHops += e.frameHops;
    sum->work.Add(e.work);
    sum->busiestPortSeconds += e.busiestPortSeconds;
    sum->computeSeconds += e.computeSeconds;
    sum->graphSeconds += e.graphSeconds;
    sum->loadingSeconds += e.loadingSeconds;
    sum->memorySeconds += e.memorySeconds;
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
    double links = 0;    // links that packets of all jobs cross
    double measured = 0; // messages
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
        // In `end`.
        all.computeSeconds = all.graphSeconds = all.loadingSeconds = all.memorySeconds = 0;
        all.lastStartSeconds = std::max(all.lastStartSeconds, end);
        all.connections += e.connections;
        all.queuePairs += e.queuePairs;
        all.calls += e.calls;
        all.usedLinks = std::max(all.usedLinks, e.usedLinks);
        measured += e.measured * e.messages;
        all.sampled = all.sampled || e.sampled;
        const double hosts = all.speedNeeds.hosts + e.speedNeeds.hosts;
        const bool mixed = all.speedNeeds.mixed || e.speedNeeds.mixed;
        const double connections = all.speedNeeds.connections + e.speedNeeds.connections;
        all.speedNeeds = e.speedNeeds;
        all.speedNeeds.hosts = hosts;
        all.speedNeeds.connections = connections;
        all.speedNeeds.mixed = mixed;
        MemoryNeeds needs = e.memoryNeeds; // needs of the network: the same for all
        const MemoryNeeds& others = all.memoryNeeds;
        needs.connections += others.connections;
        needs.messages += others.messages;
        needs.usedLinks += others.usedLinks;
        needs.ranks += others.ranks;
        needs.lanes += others.lanes;
        needs.posted += others.posted;
        needs.postedInside += others.postedInside;
        needs.buffered += others.buffered;
        needs.ordinary = needs.ordinary || others.ordinary;
        needs.paths = 0; // there is no critical path
        all.memoryNeeds = needs;
    }
    all.meanHops = all.dataPackets > 0 ? links / all.dataPackets : 0;
    all.measured = all.messages > 0 ? measured / all.messages : 1;
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
    all.measured = steps > 0 ? s.steps / steps : 1;
    all.calls = all.work[WorkKind::kTask] * all.measured;
    if (s.served)
    {
        // Nobody waits for the last pushes, nor for what has been fetched ahead by the end.
        const training::ServedOptions& o = s.served->Options();
        const double unawaited = std::max({1U, o.pushEvery, o.fetchEvery});
        all.busiestPortSeconds *= std::max(0.0, steps - unawaited) / steps;
        all.portsAwaited = WaitsForPorts(s);
    }
    if (s.plan.fillRoles > 0 && !s.plan.nextForward)
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
    const double times = static_cast<double>(s.iterations) + s.warmupIterations;
    double chainSeconds = 0;
    CommunicatorNeeds all;
    for (const CollectiveOptions* choice : s.Choices())
    {
        // Each has connections of its own.
        CommunicatorNeeds ofOne;
        for (const uint64_t bytes : s.sizes)
        {
            ofOne.Cover(
                counter.AddCollective(s.CollectiveOf(bytes), members, s.cluster, *choice, times));
            counter.AddTasks(s.ranks * times);
        }
        all.connections += ofOne.connections;
        chainSeconds += times * ofOne.chainSeconds;
        all.lanes = std::max(all.lanes, ofOne.lanes);
        all.posted = std::max(all.posted, ofOne.posted);
        all.postedInside = std::max(all.postedInside, ofOne.postedInside);
    }
    counter.Connect(all);
    Estimate e = counter.Result(s.run, s.ranks, 0, 1);
    e.chainSeconds = chainSeconds;
    return e;
}

/// Bytes of a flow that has not begun, or has ended: the list, and what ends remember of it
/// (RdmaConnections). Measured: flow-runner.h.
constexpr double kPlannedFlow = 150;

Estimate
EstimateRun(const TrafficScenario& s)
{
    MessageCounter counter(s.topology, s.fabric);
    const rdma::TimePoint lastStart = counter.AddFlows(s.flows,
                                                       s.operation,
                                                       s.run.protocol,
                                                       s.queuePairs,
                                                       {s.outstanding, s.queuePairRest});
    Estimate e = counter.Result(s.run, 0, 0, 1);
    if (s.offered.load > 0)
    {
        e.speedNeeds.mixed = true;
        e.speed = AssumeSpeed(e.speedNeeds);
    }
    if (s.outstanding)
    {
        e.memory.messages += static_cast<double>(s.flows.size()) * kPlannedFlow;
    }
    e.lastStartSeconds = static_cast<double>(lastStart.ps) * 1e-12;
    if (s.measuring.queueInterval.ps > 0)
    {
        const double ports = 2 * static_cast<double>(s.topology.Links().size()) -
                             static_cast<double>(s.topology.Endpoints().size());
        e.queueLooks = e.LowerBoundSeconds() / s.measuring.queueInterval.Seconds() * ports;
    }
    const double stop = static_cast<double>(s.stopAfter.ps) * 1e-12;
    if (stop > 0 && stop < e.LowerBoundSeconds())
    {
        const double share = stop / e.LowerBoundSeconds();
        for (double* counted : {&e.dataPackets, &e.ackPackets, &e.cnps, &e.frameHops})
        {
            *counted *= share;
        }
        e.work.KeepPackets(share);
        e.stopSeconds = stop;
    }
    return e;
}

Work
RunWork(const Estimate& e)
{
    // LinkSampler: a row for each direction that is not idle, of intervals that grow beyond a
    // limit.
    constexpr double kLinkInterval = 100e-6;
    constexpr double kMostRows = 200000;
    constexpr double kLonger = 1.3; // than the least time (assumed)
    Work work = e.work;
    work.Add(e.background.work);
    if (e.speedNeeds.packets)
    {
        const double seconds = std::max(e.LowerBoundSeconds() * kLonger, e.background.seconds);
        const double rows = e.usedLinks * seconds / kLinkInterval;
        work[WorkKind::kQueuePair] += e.queuePairs;
        work[WorkKind::kLinkRow] += rows > kMostRows ? 0.75 * kMostRows : rows;
        work[WorkKind::kQueueLook] += e.queueLooks;
    }
    else
    {
        work[WorkKind::kChannel] += e.connections;
    }
    // FlowTable: beyond these it is a sample.
    constexpr double kMostFlows = 1e6;
    work[WorkKind::kRecorded] += std::min(kMostFlows, e.messages * e.measured);
    work[WorkKind::kCall] += e.calls;
    return work;
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
                           : whole == e.memorySeconds                       ? ", memory beyond GPUs"
                           : whole == e.computeSeconds || whole == e.graphSeconds
                               ? ", computing"
                               : ", at the busiest NIC";
    return "the run takes at least " + SecondsText(seconds) + " of simulated time" + by +
           "; allowed: " + SecondsText(most) +
           ", beyond which a clock of picoseconds is not safe: fewer steps or iterations, or less "
           "in each";
}

} // namespace scenario
