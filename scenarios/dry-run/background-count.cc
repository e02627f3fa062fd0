/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/dry-run/background-count.h"

#include "scenarios/dry-run/message-counter.h"
#include "scenarios/job/background.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace scenario
{

namespace
{

/// At a load of 1 and more queues grow without end: jobs then take as long as they do here.
constexpr double kMostLoad = 0.95;
/// A queue pair rests 2 ms after a flow and then serves another one (MessageCounter::ReuseTime).
constexpr double kReuseSeconds = 3e-3;
/// Flows that are made to be counted. Those of one epoch are, however many: the run makes them too.
constexpr double kManyFlows = 1e6;

/// The simulated time of a run whose communication takes so long beside others.
double
RunSeconds(const Estimate& e, double communicating)
{
    // Between all overlap and none.
    const double computing =
        std::max({e.computeSeconds, e.graphSeconds, e.loadingSeconds, e.memorySeconds});
    return std::max(computing, communicating) + std::min(computing, communicating) / 2;
}

/// Flows that are there all the time, by endpoint.
struct Standing
{
    std::vector<double> out;
    std::vector<double> in;

    Standing(const std::vector<Flow>& flows, std::size_t endpoints)
        : out(endpoints),
          in(endpoints)
    {
        for (const Flow& flow : flows)
        {
            out[flow.src] += 1;
            in[flow.dst] += 1;
        }
    }

    double At(std::size_t endpoint) const
    {
        return std::max(out[endpoint], in[endpoint]);
    }

    /// Those that share a flow's narrowest link, itself too.
    double Beside(const Flow& flow) const
    {
        return std::max(out[flow.src], in[flow.dst]);
    }
};

/// Adds `times` the flows that a counter has.
void
AddCounted(const Estimate& counted, double times, BackgroundEstimate* sum)
{
    sum->flows += counted.messages * times;
    sum->bytes += counted.networkBytes * times;
    sum->dataPackets += counted.dataPackets * times;
    sum->ackPackets += counted.ackPackets * times;
    sum->cnps += counted.cnps * times;
    sum->frameHops += counted.frameHops * times;
    sum->work.Add(counted.work, times);
}

void
AddQueuePairs(const Background& background, double pairs, Estimate* e)
{
    if (background.protocol.IsOrdinary())
    {
        e->memoryNeeds.ordinary = true;
    }
    else
    {
        e->background.work[WorkKind::kQueuePair] += pairs;
        e->speedNeeds.connections += pairs;
        e->memoryNeeds.connections += pairs;
    }
    e->memory = EstimateMemory(e->memoryNeeds);
}

void
CountLoad(const Background& background,
          const RunOptions& run,
          const FabricSpec& fabric,
          const topo::Topology& topology,
          Estimate* e)
{
    BackgroundEstimate& sum = e->background;
    const double load =
        std::min(kMostLoad, background.offered.load + background.offered.incastLoad);
    const double links = 2 * std::min<double>(e->speedNeeds.hosts, background.hosts);
    const double slowdown =
        e->chainedShare * RingBesideLoad(load, links) + (1 - e->chainedShare) / (1 - load);
    sum.seconds = std::max(e->lastStartSeconds,
                           RunSeconds(*e, e->busiestPortSeconds * slowdown + e->chainSeconds));
    const double epoch = static_cast<double>(background.epoch.ps) * 1e-12;
    const double epochs = std::ceil(std::max(1.0, sum.seconds / epoch));
    MessageCounter counter(topology, fabric);
    double made = 0;
    double counted = 0; // seconds
    for (uint32_t i = 0; i < epochs && made < kManyFlows; ++i)
    {
        const double until = std::min(epoch, sum.seconds - i * epoch);
        counted += until;
        for (const Flow& flow : background.flows(i))
        {
            made += 1;
            if (static_cast<double>(flow.start.ps) * 1e-12 <= until)
            {
                counter.AddFlow(flow,
                                background.operation,
                                background.protocol,
                                background.queuePairs,
                                1);
            }
        }
    }
    // The epochs that were not made are like the others.
    AddCounted(counter.Result(run, 0, 0, 1), counted > 0 ? sum.seconds / counted : 0, &sum);
    AddQueuePairs(background, sum.flows * std::min(1.0, kReuseSeconds / sum.seconds), e);
}

void
CountRepeated(const Background& background,
              const RunOptions& run,
              const FabricSpec& fabric,
              const topo::Topology& topology,
              Estimate* e)
{
    BackgroundEstimate& sum = e->background;
    const std::vector<Flow> flows = background.flows(0);
    const Standing standing(flows, topology.Endpoints().size());
    double most = 0;
    for (std::size_t i = 0; i < topology.Endpoints().size(); ++i)
    {
        most = std::max(most, standing.At(i));
    }
    // A NIC serves its queue pairs in turn. Whoever waits for nobody meets the mean of the flows.
    const double mean = static_cast<double>(flows.size()) / std::max(1U, background.hosts);
    const double unchained = 1 - e->chainedShare;
    const double slowdown =
        e->chainedShare * (1 + most) + unchained * (1 + mean / std::max(1.0, e->sideBySide));
    const double beside = e->chainedShare + unchained * e->sideBySide; // queue pairs of the job
    const double communicating = e->busiestPortSeconds * slowdown + e->chainSeconds;
    sum.seconds = std::max(e->lastStartSeconds, RunSeconds(*e, communicating));
    const double alone = std::max(0.0, sum.seconds - communicating);
    MessageCounter counter(topology, fabric);
    for (const Flow& flow : flows)
    {
        const topo::Endpoint& at = topology.Endpoints()[flow.src];
        const topo::Link& link = topology.Links()[topology.Nodes()[at.host].ports[at.port]];
        const double others = standing.Beside(flow);
        const double bytes = static_cast<double>(link.rate.bps) / 8 *
                             (alone / others + (sum.seconds - alone) / (others + beside));
        const double size = std::max(1.0, static_cast<double>(flow.bytes));
        counter.AddFlow(flow,
                        background.operation,
                        background.protocol,
                        background.queuePairs,
                        std::max(1.0, bytes / size));
    }
    AddCounted(counter.Result(run, 0, 0, 1), 1, &sum);
    AddQueuePairs(background, static_cast<double>(flows.size()), e);
}

} // namespace

double
RingBesideLoad(double load, double links)
{
    constexpr double kLittle = 1e-3;
    double slowdown = 1;
    double power = load;
    for (double more = 1; more > kLittle; power *= load)
    {
        more = 1 - std::pow(1 - power, links);
        slowdown += more;
    }
    return slowdown;
}

void
CountBackground(const RunOptions& run,
                const FabricSpec& fabric,
                const topo::Topology& topology,
                Estimate* estimate)
{
    if (!run.background)
    {
        return;
    }
    if (run.background->repeats)
    {
        CountRepeated(*run.background, run, fabric, topology, estimate);
    }
    else
    {
        CountLoad(*run.background, run, fabric, topology, estimate);
        estimate->speedNeeds.mixed = true;
    }
    estimate->speed = AssumeSpeed(estimate->speedNeeds);
}

} // namespace scenario
