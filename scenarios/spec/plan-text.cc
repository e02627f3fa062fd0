/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/spec/plan-text.h"

#include "collectives/block-sizes.h"
#include "collectives/placement.h"
#include "collectives/registry.h"
#include "contrib/rdma/core/shown-text.h"
#include "contrib/rdma/core/unit-strings.h"
#include "scenarios/spec/aggregators.h"
#include "scenarios/spec/background.h"
#include "scenarios/spec/cluster-options.h"
#include "scenarios/spec/collective-options.h"
#include "scenarios/spec/data-parallel-options.h"
#include "scenarios/spec/estimate.h"
#include "scenarios/spec/format.h"
#include "scenarios/spec/formula-text.h"
#include "scenarios/spec/host-memory.h"
#include "scenarios/spec/infiniband.h"
#include "scenarios/spec/network-choices.h"
#include "scenarios/spec/network-kinds.h"
#include "scenarios/spec/options.h"
#include "scenarios/spec/placement.h"
#include "scenarios/spec/plan-events.h"
#include "scenarios/spec/processes.h"
#include "scenarios/training/expert-load.h"
#include "scenarios/training/fewer-layers.h"
#include "scenarios/training/memory-estimate.h"
#include "scenarios/training/rank-work.h"
#include "scenarios/training/served-plan.h"
#include "scenarios/training/stage-layers.h"
#include "scenarios/training/volumes.h"
#include "scenarios/workload/registry.h"
#include "topologies/names.h"

#include <algorithm>
#include <map>
#include <set>

namespace scenario
{

namespace
{

std::string
Line(const std::string& left, const std::string& right)
{
    return Format("  %-16s", left.c_str()) + right + "\n";
}

/// "64.5 million": three digits; a billion is 10^9.
std::string
Count(double n)
{
    if (n >= 1e9)
    {
        return Format("%.3g billion", n * 1e-9);
    }
    return n >= 1e6 ? Format("%.3g million", n * 1e-6) : Format("%.0f", n);
}

std::string
Seconds(double s)
{
    if (s >= 120)
    {
        return s >= 7200 ? Format("%.3g h", s / 3600) : Format("%.3g min", s / 60);
    }
    return s >= 1      ? Format("%.3g s", s)
           : s >= 1e-3 ? Format("%.3g ms", s * 1e3)
                       : Format("%.3g us", s * 1e6);
}

/// Decimal, as rates are.
std::string
Size(double bytes)
{
    return bytes >= 1e12  ? Format("%.4g TB", bytes * 1e-12)
           : bytes >= 1e9 ? Format("%.4g GB", bytes * 1e-9)
           : bytes >= 1e6 ? Format("%.4g MB", bytes * 1e-6)
           : bytes >= 1e3 ? Format("%.4g kB", bytes * 1e-3)
                          : Format("%.0f B", bytes);
}

std::string
AfterWarmup(uint32_t n)
{
    return n ? " after " + std::to_string(n) + " of warm-up" : "";
}

std::string
NetworkText(const topo::Topology& t, const std::string& name, std::size_t units = 0)
{
    std::map<uint8_t, uint32_t> tiers;
    for (const auto& node : t.Nodes())
    {
        tiers[node.tier] += node.kind == topo::NodeKind::kSwitch ? 1 : 0;
    }
    std::string byTier;
    for (const auto& [tier, n] : tiers)
    {
        if (n)
        {
            byTier += (byTier.empty() ? "" : " + ") + std::to_string(n);
        }
    }
    const std::size_t hosts = t.Hosts().size() - units;
    return name + ": " + std::to_string(hosts) + (hosts == 1 ? " host, " : " hosts, ") +
           (byTier.empty() ? "no" : byTier) + (t.SwitchCount() == 1 ? " switch, " : " switches, ") +
           (units ? std::to_string(units) + " of them with a unit that adds up, " : "") +
           topo::Counted(t.Links().size(), "link");
}

std::string
FabricText(const FabricSpec& f, const topo::Topology& topology)
{
    const bool standard = f.infiniBand || f.frames.AreStandard();
    std::string text =
        Line("NIC",
             f.nic +
                 (f.infiniBand ? " InfiniBand, MTU "
                  : standard   ? " RoCEv2, MTU "
                               : ", payload of a packet ") +
                 std::to_string(f.mtu) + " B, an ACK every " + std::to_string(f.ackEvery) +
                 (f.ackEvery == 1 ? " packet" : " packets"));
    if (f.compat != "none" || !standard || f.timeUnit.ps > 1)
    {
        const rdma::FrameSizes& s = f.frames;
        text += Line("frames",
                     (f.compat == "none" ? "" : "compatible with " + f.compat + ": ") +
                         std::to_string(s.dataOverhead - s.lineOverhead) + " B of headers, " +
                         (s.HasExtensions() ? "with" : "no") + " extension headers, ACK " +
                         std::to_string(s.ackWire - s.lineOverhead) + " B of " +
                         (f.ackPriority < 8 ? "priority " + std::to_string(f.ackPriority)
                                            : std::string("the data's priority")) +
                         ", preamble and gap " + std::to_string(s.lineOverhead) + " B, times " +
                         (f.timeUnit.ps > 1 ? "cut to " + rdma::ToString(f.timeUnit)
                                            : std::string("exact")));
    }
    if (!HasPackets(f))
    {
        return text +
               Line("simulation",
                    f.network +
                        ": NICs are shared, links between switches have room for "
                        "everything; switches " +
                        rdma::ToString(f.switchLatency) + ", links " + rdma::ToString(f.linkDelay));
    }
    if (f.windowBytes)
    {
        text += Line("window",
                     CanonicalBytes(f.windowBytes) + " a queue pair" +
                         (f.variableWindow ? " at line rate, in proportion to its rate" : ""));
    }
    if (f.infiniBand)
    {
        text += Line(
            "congestion",
            f.cc + (f.cc == "none" || f.ccPreset.empty() ? "" : " (" + f.ccPreset + ")") +
                ", FECN threshold " +
                (f.ib.fecnThreshold ? std::to_string(f.ib.fecnThreshold) : std::string("off")));
        text += Line("switches",
                     f.ib.switchName + ", " + rdma::ToString(f.switchLatency) + " cut-through, " +
                         topo::Counted(f.ib.lanes, "VL") + " of " +
                         CanonicalBytes(f.ib.laneBuffer.value) + " at each port" +
                         (f.ib.creditBlock == 64
                              ? std::string()
                              : ", credits of " + std::to_string(f.ib.creditBlock) + " B") +
                         "; links " + rdma::ToString(f.linkDelay) +
                         (f.bitErrorRate > 0 ? Format(", bit error rate %g", f.bitErrorRate) : ""));
        text += Line("credits", CoverOfCredits(f, topology).plan);
        return text +
               Line("routing",
                    f.ib.routing + (f.balancing.name == "tables" ? "" : ", " + f.balancing.Text()) +
                        ", LMC " + std::to_string(f.ib.lmc));
    }
    text +=
        Line("congestion",
             f.cc + (f.cc == "none" ? "" : " (" + f.ccPreset + ")") + ", PFC " +
                 (f.pfc ? "on" : "off") + ", ECN " +
                 (f.ecn ? "K " + CanonicalBytes(f.ecnKmin.value) + " to " +
                              CanonicalBytes(f.ecnKmax.value) + Format(", Pmax %g", f.ecnPmax) +
                              " per 100 Gb/s" + (f.ecnBehind ? ", of the queue behind a frame" : "")
                        : std::string("off")));
    text += Line("switches",
                 "pipeline " + rdma::ToString(f.switchLatency) + ", shared buffer " +
                     CanonicalBytes(f.bufferPer100G.value) + " per 100 Gb/s; links " +
                     rdma::ToString(f.linkDelay) +
                     (f.bitErrorRate > 0 ? Format(", bit error rate %g", f.bitErrorRate) : ""));
    if (f.balancing.name != "ecmp")
    {
        text += Line("load balancing", f.balancing.Text());
    }
    return text;
}

/// Nothing where there is nothing to say.
std::string
LineIf(const std::string& name, const std::string& text)
{
    return text.empty() ? "" : Line(name, text);
}

/// Of what happens beside a job.
std::string
EventLines(const RunOptions& run, const topo::Topology& topology)
{
    return LineIf("background", run.background ? BackgroundText(*run.background) : "") +
           LineIf("faults", FaultsText(run.faults)) +
           LineIf("recovery", run.recovery ? RecoveryText(*run.recovery, topology) : "");
}

std::string
ClusterText(const ClusterSpec& c, const FabricSpec& f)
{
    const std::size_t units = c.aggregators ? c.aggregators->Units().size() : 0;
    const auto hosts = static_cast<uint32_t>(c.topology.Hosts().size() - units);
    return Line("servers",
                std::to_string(c.servers) + " x " + c.server.name + " with " +
                    std::to_string(c.server.gpus) + " x " + c.server.gpu + ", " +
                    topo::ToString(c.server.scaleUp.kind) + " " +
                    rdma::ToString(c.server.scaleUp.perGpu) + " a GPU" +
                    (c.server.scaleUp.efficiency < 1
                         ? Format(" (%.3g%% for messages)", 100 * c.server.scaleUp.efficiency)
                         : "") +
                    ", " + topo::Counted(c.server.nics, "NIC") + " of " +
                    rdma::ToString(f.nicRate)) +
           Line("network", NetworkText(c.topology, c.topologyName, units)) +
           Line("placement",
                PlacementName(c.placement) +
                    (c.servers < hosts ? ", " + topo::Counted(hosts - c.servers, "host") + " idle"
                                       : ""));
}

/// All of it assumed.
std::string
WallTimeText(const Estimate& e, const RunOptions& run)
{
    const AssumedSpeed& speed = e.speed;
    const std::string processes = std::to_string(run.processes.count) + " processes";
    return "about " + Seconds(speed.Seconds(e.frameHops, e.messagesInside)) + ": an assumed " +
           Seconds(speed.setUpSeconds) + " of set-up and " +
           Format("%.3g", speed.frameHopsPerSecond * 1e-6) + " million frame-hops/s" +
           (e.messagesInside > 0
                ? Format(" (a message inside a server as %.2g)", AssumedSpeed::kInside)
                : "") +
           (!run.processes.Several() ? " of one core"
            : speed.gain > 1 ? Format(" x %.2g in ", speed.gain) + processes + " with a core each"
                             : " as of one core, in " + processes);
}

/// Of a run in several processes.
std::string
ProcessesLine(const RunOptions& run)
{
    return run.processes.Several() ? Line("processes", ProcessesText(run.processes)) : "";
}

std::string
EstimateText(const Estimate& e,
             const FabricSpec& fabric,
             const RunOptions& run,
             uint32_t blocks = 0)
{
    const bool packets = HasPackets(fabric);
    std::string text =
        std::string("\nEstimate, ") +
        (blocks > 0 ? "of the run's steps with " + std::to_string(blocks) + " blocks"
                    : "whole run") +
        (packets ? " (no congestion, no retransmission" + LeftOutText(run) + ")\n" : "\n");
    text += Line("messages",
                 Count(e.messages) + " between servers, " + Size(e.networkBytes) +
                     (e.sampled ? " (sampled)" : ""));
    if (!packets)
    {
        text += Line("simulated time", "at least " + Seconds(e.LowerBoundSeconds()));
        return text +
               Line("results",
                    run.out + (run.dryRun ? "  (dry run: nothing is simulated or written)" : ""));
    }
    text += Line("packets",
                 Count(e.dataPackets) + " data, " + Count(e.ackPackets) + " ACK, " +
                     Format("%.2f", e.meanHops) + " links each");
    text += Line("frame-hops", Count(e.frameHops));
    text += Line("simulated time", "at least " + Seconds(e.LowerBoundSeconds()));
    text += Line("wall time", WallTimeText(e, run));
    text += Line("host memory", HostMemoryText(e.memory, run.processes, AvailableHostMemory()));
    text += Line("results",
                 run.out + (run.dryRun ? "  (dry run: nothing is simulated or written)" : ""));
    return text;
}

/// \param whats by operation, in ascending sizes
std::string
AlgorithmText(const CollectiveOptions& options,
              const coll::Placement& placement,
              const std::map<coll::Op, std::vector<coll::Collective>>& whats)
{
    std::string text;
    for (const auto& [op, sizes] : whats)
    {
        text += (text.empty() ? "" : "; ") + coll::OpName(op) + " " +
                ChoicesText(options, sizes, placement);
    }
    if (options.stepLatency.ps > 0)
    {
        text += "; " + rdma::ToString(options.stepLatency) + " before every send";
    }
    return text.empty() ? "none" : text;
}

/// Nothing without such variables.
std::string
NcclLine(const NcclLimits& nccl)
{
    std::string text = nccl.text.empty() ? "" : Line("NCCL variables", rdma::Shown(nccl.text));
    for (const std::string& note : nccl.notes)
    {
        text += Line("", rdma::Shown(note));
    }
    return text;
}

/// How replicas are trained.
std::string
ServedText(const training::ServedPlan& served)
{
    const training::ServedOptions& o = served.Options();
    std::string text = "replicas of a GPU each, " + training::StrategyName(o.strategy) + " with " +
                       topo::Counted(o.shards, "parameter server");
    switch (o.strategy)
    {
    case training::Strategy::kDownpour:
        return text + ", fetch every " + topo::Counted(o.fetchEvery, "step") + ", push every " +
               topo::Counted(o.pushEvery, "step") + ", overlap " +
               (served.Overlaps() ? "on" : "off");
    case training::Strategy::kSandblaster:
        return text + ", " + topo::Counted(served.Pieces(), "piece") + " a batch, L-BFGS of " +
               topo::Counted(o.history, "pair");
    default:
        return text + ", " + topo::Counted(o.backupWorkers, "backup worker");
    }
}

/// Mean over the replicas, in a step in which all are equally fast.
std::map<std::string, double>
SentByServed(const training::ServedPlan& served, uint32_t piecesOfReplica)
{
    const training::ServedOptions& o = served.Options();
    const bool sandblaster = o.strategy == training::Strategy::kSandblaster;
    double local = 0;
    double whole = 0;
    for (uint32_t s = 0; s < served.Shards(); ++s)
    {
        whole += static_cast<double>(served.ShardBytes(s));
        local += static_cast<double>(served.ShardBytes(s)) / served.Replicas();
    }
    const double pushes =
        !sandblaster       ? 1.0 / o.pushEvery
        : o.pushEvery == 0 ? 1
                           : static_cast<double>((piecesOfReplica + o.pushEvery - 1) / o.pushEvery);
    const double fetches = sandblaster ? 1 : 1.0 / o.fetchEvery;
    return {{"send", (whole - local) * (pushes + fetches)}};
}

} // namespace

namespace
{

/// "tensor 8 x pipeline 12 (1f1b) x 4 "; nothing without model parallelism.
std::string
Degrees(const training::TrainingOptions& o)
{
    std::string text;
    const auto add = [&text](const char* what, uint32_t degree, const std::string& how) {
        text += degree > 1 ? what + (" " + std::to_string(degree)) + how + " x " : "";
    };
    add("tensor", o.tensor, o.sequenceParallel ? " (sequence parallel)" : "");
    add("context", o.context, "");
    add("pipeline",
        o.pipeline,
        " (" + o.schedule +
            (o.virtualStages > 1 ? ", " + std::to_string(o.virtualStages) + " virtual stages"
                                 : "") +
            (o.replicas.empty() ? "" : ", replicas " + training::ReplicasText(o)) + ")");
    return text.empty() ? "" : text + std::to_string(o.Data()) + " ";
}

/// A line for each stage of a pipeline: its layers, and how long a micro-batch computes there.
std::string
StagesText(const training::TrainingOptions& o)
{
    if (o.pipeline == 1)
    {
        return "";
    }
    std::string text;
    const auto stages = training::LayersByStage(o);
    const auto all = training::LayersOfModel(o);
    for (uint32_t stage = 0; stage < o.pipeline; ++stage)
    {
        std::string line = std::to_string(stage) + ": ";
        double seconds = 0;
        for (const auto& chunk : stages[stage])
        {
            const std::string first = rdma::Shown(all[chunk.front()].name, 60);
            const std::string last = rdma::Shown(all[chunk.back()].name, 60);
            line += (&chunk == &stages[stage].front() ? "" : "; ") +
                    topo::Counted(chunk.size(), "layer") + ", " +
                    (chunk.size() == 1 ? first : first + " to " + last);
            for (const uint32_t i : chunk)
            {
                seconds += all[i].Forward() + all[i].Backward();
            }
        }
        line += "; " + Seconds(seconds) + " a micro-batch";
        if (!o.replicas.empty())
        {
            line += ", " + topo::Counted(o.replicas[stage], "replica");
        }
        text += Line(stage == 0 ? "stages" : "", line);
    }
    if (o.partition != training::Partition::kUniform)
    {
        text += Line("",
                     "as --partition=" + training::PartitionText(o) +
                         (o.partitionFront ? " --partition-fill=front" : "") + " has them");
    }
    const training::PipelineSchedule& schedule = *training::FindPipelineSchedule(o.schedule);
    if (!schedule.Flushes())
    {
        std::string versions;
        std::string staleness;
        for (uint32_t stage = 0; stage < o.pipeline; ++stage)
        {
            const auto shape = training::LongPipelineOf(o);
            const std::string dash = stage > 0 ? "-" : "";
            versions +=
                dash + std::to_string(schedule.WeightVersions(shape, stage, o.verticalSync));
            staleness += dash + std::to_string(training::StalenessOf(o, stage));
        }
        text += Line("weights",
                     versions + " versions a stage, gradients " + staleness + " updates old" +
                         (o.verticalSync ? " (vertical sync)" : "") +
                         "; no flush, not even between steps");
    }
    return text;
}

/// Seconds, of the stage that computes longest.
double
MostComputing(const training::TrainingPlan& plan)
{
    double most = 0;
    for (std::size_t i = 0; i < plan.UsualRoles(); ++i)
    {
        double seconds = 0;
        for (const auto& task : plan.roles[i].tasks)
        {
            seconds += task.stream == 0 ? task.duration.Seconds() : 0;
        }
        most = std::max(most, seconds);
    }
    return most;
}

/// Seconds of the stream of a server that is busy longest with --offload: of the CPU, or of copies
/// one way.
double
HostSeconds(const training::TrainingPlan& plan)
{
    double most = 0;
    for (std::size_t i = 0; i < plan.UsualRoles(); ++i)
    {
        std::map<uint32_t, double> ofStream;
        for (const auto& task : plan.roles[i].tasks)
        {
            if (task.kind == training::TaskKind::kHost && task.phase != training::Phase::kLoading)
            {
                double& seconds = ofStream[task.stream];
                seconds += task.duration.Seconds();
                most = std::max(most, seconds);
            }
        }
    }
    return most;
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

/// What a step of the whole model comes to: with --layers extended as its results are.
struct WholeStep
{
    double computeSeconds = 0;
    double busiestPortSeconds = 0;
    std::map<std::string, double> moved; ///< bytes a GPU, by operation
};

/// \param e of the run as it is simulated first
WholeStep
WholeStepOf(const TrainingScenario& s, const Estimate& e, double steps)
{
    WholeStep whole;
    if (s.plan.sizes.size() == 1)
    {
        whole.computeSeconds = e.computeSeconds / steps;
        whole.busiestPortSeconds = e.busiestPortSeconds / steps;
        whole.moved = training::BytesMovedPerGpu(s.plan);
        return whole;
    }
    std::vector<uint32_t> blocks;
    std::vector<double> computing;
    std::vector<double> ports;
    std::map<std::string, std::vector<double>> moved;
    TrainingScenario one = s;
    for (std::size_t i = 0; i < s.plan.sizes.size(); ++i)
    {
        one.plan = PlanOfSize(s.plan, i);
        const Estimate ofSize = EstimateRun(one);
        blocks.push_back(s.plan.sizes[i].blocks);
        computing.push_back(ofSize.computeSeconds / steps);
        ports.push_back(ofSize.busiestPortSeconds / steps);
        for (const auto& [op, bytes] : training::BytesMovedPerGpu(one.plan))
        {
            moved[op].resize(i);
            moved[op].push_back(bytes);
        }
    }
    const auto extended = [&](std::vector<double> values) {
        values.resize(blocks.size());
        return training::Extrapolated(blocks, values, s.plan.blocks);
    };
    whole.computeSeconds = extended(computing);
    whole.busiestPortSeconds = extended(ports);
    for (const auto& [op, bytes] : moved)
    {
        whole.moved[op] = extended(bytes);
    }
    return whole;
}

/// "8 of 80 blocks are simulated, then 5 and 3".
std::string
BlocksText(const training::TrainingPlan& plan)
{
    std::string text = std::to_string(plan.sizes[0].blocks) + " of " + std::to_string(plan.blocks) +
                       " blocks are simulated";
    for (std::size_t i = 1; i < plan.sizes.size(); ++i)
    {
        text += (i == 1 ? ", then " : " and ") + std::to_string(plan.sizes[i].blocks);
    }
    return text;
}

/// A line for each kind of group that communicates, of its first group.
std::string
CollectivesText(const TrainingScenario& s)
{
    std::string text;
    std::vector<UsedBy> first; // of each kind
    for (uint32_t kind = 0; kind < s.plan.groupKinds.size(); ++kind)
    {
        const auto& groups = s.plan.groupKinds[kind].groups;
        std::map<coll::Op, std::map<uint64_t, std::shared_ptr<const coll::BlockSizes>>> sizes;
        for (const auto& task : s.plan.roles[s.plan.roleOf[groups[0][0]]].tasks)
        {
            if (task.kind == training::TaskKind::kCollective && task.group == kind)
            {
                sizes[task.op].emplace(task.bytes, task.blocks);
            }
        }
        std::map<coll::Op, std::vector<coll::Collective>> whats;
        for (const auto& [op, ofOp] : sizes)
        {
            for (const auto& [bytes, blocks] : ofOp)
            {
                coll::Collective& what = whats[op].emplace_back();
                what.op = op;
                what.bytes = bytes;
                what.ranks = static_cast<coll::Rank>(groups[0].size());
                what.blocks = blocks;
            }
        }
        if (whats.empty())
        {
            continue;
        }
        UsedBy& used = first.emplace_back();
        used.ranks = groups[0];
        for (const auto& [op, ofOp] : whats)
        {
            used.collectives.insert(used.collectives.end(), ofOp.begin(), ofOp.end());
        }
        const bool several = groups.size() > 1;
        text +=
            Line(text.empty() ? "collectives" : "",
                 (several ? s.plan.groupKinds[kind].name + ", " + std::to_string(groups.size()) +
                                " groups of " + std::to_string(groups[0].size()) + ": "
                          : "") +
                     AlgorithmText(s.collectives, PlacementOf(s.cluster, groups[0]), whats));
    }
    return text + LineIf("tuner", NetworkAdvice(s.collectives, s.cluster, s.fabric, first));
}

/// Lines of the estimate of a GPU's memory.
std::string
MemoryText(const training::TrainingOptions& o)
{
    const auto memory = training::EstimateMemory(o);
    const bool fits = memory.Total() <= o.gpu.memoryBytes;
    std::string text =
        Line("GPU memory",
             std::string(fits ? "" : "does not fit: ") + "about " +
                 BinarySize(static_cast<double>(memory.Total())) + " of " +
                 BinarySize(static_cast<double>(o.gpu.memoryBytes)) + ": parameters " +
                 BinarySize(static_cast<double>(memory.parameters)) + ", gradients " +
                 BinarySize(static_cast<double>(memory.gradients)) + ", optimizer " +
                 BinarySize(static_cast<double>(memory.optimizer)) + ", activations " +
                 BinarySize(static_cast<double>(memory.activations)) + ", buffers " +
                 BinarySize(static_cast<double>(memory.buffers)));
    if (o.offload != training::Offload::kNone)
    {
        text += Line("offloaded",
                     BinarySize(static_cast<double>(memory.host) * o.host.gpus) +
                         " of a server's memory");
    }
    return text;
}

/// Lines of what is trained, and how.
std::string
ModelText(const TrainingScenario& s)
{
    if (s.trace)
    {
        return Line("trace",
                    rdma::Shown(s.trace->path, 300) + ": " + s.trace->format + ", " +
                        topo::Counted(s.trace->ranks, "rank"));
    }
    std::string text;
    text +=
        Line("model",
             s.model + ", " + Count(static_cast<double>(s.parameters)) + " parameters, " + s.dtype +
                 (s.options.model.hasSequence ? ", sequence " + std::to_string(s.sequence) : ""));
    text +=
        Line("parallelism",
             s.served ? ServedText(*s.served)
                      : Degrees(s.options) + "data parallel, ZeRO stage " + std::to_string(s.zero) +
                            " (" + training::ZeroImplName(s.options.zeroImpl) + "), overlap " +
                            (s.options.overlap.value_or(true) ? "on" : "off") +
                            (s.options.bucketBytes
                                 ? ", buckets " + CanonicalBytes(*s.options.bucketBytes)
                                 : "") +
                            DataParallelText(s.options) +
                            (s.options.recompute != training::Recompute::kNone
                                 ? ", recomputation " + training::RecomputeName(s.options.recompute)
                                 : ""));
    text += Line("batch",
                 std::to_string(s.globalBatch) + " samples a step = " +
                     (s.served ? topo::Counted(s.served->Counted(), "GPU")
                      : s.options.Data() == s.plan.ranks
                          ? topo::Counted(s.plan.ranks, "GPU")
                          : "data parallel " + std::to_string(s.options.Data())) +
                     " x micro-batch " + std::to_string(s.microBatch) + " x accumulation " +
                     std::to_string(s.accumulation));
    return text + (s.served ? "" : StagesText(s.options));
}

} // namespace

std::string
PlanText(const TrainingScenario& s)
{
    std::string text =
        "dltrain: " + s.model + ", " + topo::Counted(s.plan.ranks, "GPU") + "\n\nPlan\n";
    text += ModelText(s);
    if (s.workload != workload::kDefaultWorkload)
    {
        text += Line("workload", s.workload + ": " + workload::Find(s.workload)->description);
    }
    text += Line("steps",
                 std::to_string(s.steps) + " measured" + AfterWarmup(s.warmupSteps) + ", seed " +
                     std::to_string(s.run.seed));
    text += ClusterText(s.cluster, s.fabric) + EventLines(s.run, s.cluster.topology);
    text += FabricText(s.fabric, s.cluster.topology) + LineIf("scheduling", EtsText(s.fabric.ets)) +
            ProcessesLine(s.run);
    const Estimate e = EstimateRun(s);
    const double steps = static_cast<double>(s.steps) + s.warmupSteps;
    const bool extended = s.plan.sizes.size() > 1;
    const WholeStep whole = WholeStepOf(s, e, steps);
    double compute = extended ? whole.computeSeconds : MostComputing(s.plan);
    if (!s.served)
    {
        text += CollectivesText(s);
        text += NcclLine(s.collectives.nccl);
    }

    if (s.served && s.served->Options().strategy == training::Strategy::kSandblaster)
    {
        compute *= s.accumulation; // it was of a piece
    }
    text += std::string("\nOne step") + (extended ? ", of all blocks" : "") + "\n";
    text += extended ? Line("layers", BlocksText(s.plan) + "; times and bytes are extended to all")
                     : "";
    const double peak = s.options.gpu.Peak(s.options.dtype);
    text +=
        s.trace
            ? Line("computing", Seconds(compute) + " a GPU at most")
            : Line("computing",
                   Seconds(compute) + " a GPU, " +
                       Format("%.4g", s.plan.flopsPerGpuPerStep * 1e-12) + " TFLOP" +
                       (compute > 0 ? Format(" (%.4g TFLOP/s",
                                             s.plan.flopsPerGpuPerStep * 1e-12 / compute) +
                                          Format(", %.1f%% of ",
                                                 100 * s.plan.flopsPerGpuPerStep / compute / peak) +
                                          Format("the peak of %.4g: MFU is less)", peak * 1e-12)
                                    : ""));
    std::string moved;
    for (const auto& [op, bytes] : s.served ? SentByServed(*s.served, s.accumulation) : whole.moved)
    {
        moved += (moved.empty() ? "" : ", ") + op + " " + Size(bytes);
    }
    text += Line("a GPU sends", moved.empty() ? "nothing" : moved);
    if (training::AsksForExpertLoad(s.options))
    {
        text += Line("experts",
                     Format("%.3g%% of the tokens' choices are dropped",
                            100 * training::DroppedShare(s.options)));
    }
    text += s.trace ? "" : MemoryText(s.options);
    const double host = s.options.offload != training::Offload::kNone ? HostSeconds(s.plan) : 0;
    const double least = std::max({whole.computeSeconds, whole.busiestPortSeconds, host});
    text += Line("lower bound",
                 Seconds(least) + " a step (busiest NIC " + Seconds(whole.busiestPortSeconds) +
                     ", computing " + Seconds(whole.computeSeconds) +
                     (s.options.offload != training::Offload::kNone
                          ? ", the server's CPU and PCIe " + Seconds(host)
                          : "") +
                     ")");
    return text + EstimateText(e, s.fabric, s.run, extended ? s.plan.sizes[0].blocks : 0);
}

namespace
{

std::string
FromTo(uint64_t least, uint64_t most)
{
    const auto text = [](uint64_t bytes) { return rdma::ToString(rdma::Bytes(bytes)); };
    return least == most ? text(most) : text(least) + " to " + text(most);
}

/// Of an all-to-all-v: of the largest size.
std::string
BlocksText(const CollperfScenario& s)
{
    const coll::Blocks blocks(s.CollectiveOf(s.sizes.back()));

    struct Extremes
    {
        uint64_t least = UINT64_MAX;
        uint64_t most = 0;

        void Add(uint64_t bytes)
        {
            least = std::min(least, bytes);
            most = std::max(most, bytes);
        }
    };

    Extremes each;
    Extremes out;
    Extremes in;
    for (coll::Rank r = 0; r < s.ranks; ++r)
    {
        for (coll::Rank to = 0; to < s.ranks; ++to)
        {
            each.Add(blocks.InputRange(r, to).bytes);
        }
        const uint64_t own = blocks.InputRange(r, r).bytes;
        out.Add(blocks.InputBytes(r) - own);
        in.Add(blocks.OutputBytes(r) - own);
    }
    return FromTo(each.least, each.most) + "; a rank sends " + FromTo(out.least, out.most) +
           " to others and receives " + FromTo(in.least, in.most) +
           (s.sizes.size() == 1 ? "" : " (of the largest size)");
}

} // namespace

std::string
PlanText(const CollperfScenario& s)
{
    std::string text =
        "collperf: " + coll::OpName(s.op) + ", " + topo::Counted(s.ranks, "rank") + "\n\nPlan\n";
    text +=
        Line("sizes",
             std::to_string(s.sizes.size()) + (s.sizes.size() == 1 ? " size, " : " sizes, ") +
                 rdma::ToString(rdma::Bytes(s.sizes.front())) +
                 (s.sizes.size() == 1 ? "" : " to " + rdma::ToString(rdma::Bytes(s.sizes.back()))) +
                 ", " + s.datatype);
    text += Line("repetitions",
                 std::to_string(s.iterations) + " measured" + AfterWarmup(s.warmupIterations) +
                     ", seed " + std::to_string(s.run.seed));
    if (s.op == coll::Op::kAllToAllV)
    {
        text += Line("blocks", BlocksText(s));
    }
    std::vector<coll::Collective> whats;
    for (const uint64_t bytes : s.sizes)
    {
        whats.push_back(s.CollectiveOf(bytes));
    }
    const coll::Placement placement = RankPlacement(s.cluster);
    text += Line("algorithm", AlgorithmText(s.collectives, placement, {{s.op, whats}}));
    for (const Compared& other : s.compare)
    {
        text += Line("compared", AlgorithmText(other.collectives, placement, {{s.op, whats}}));
    }
    text += LineIf("tuner", NetworkAdvice(s.collectives, s.cluster, s.fabric, {{{}, whats}}));
    text += NcclLine(s.collectives.nccl);
    text += ClusterText(s.cluster, s.fabric) + EventLines(s.run, s.cluster.topology);
    text += FabricText(s.fabric, s.cluster.topology) + LineIf("scheduling", EtsText(s.fabric.ets)) +
            ProcessesLine(s.run);
    text += FormulaText(s, whats);
    return text + EstimateText(EstimateRun(s), s.fabric, s.run);
}

std::string
PlanText(const TrafficScenario& s)
{
    double bytes = 0;
    uint64_t smallest = UINT64_MAX;
    uint64_t largest = 0;
    rdma::TimePoint last;
    for (const auto& f : s.flows)
    {
        bytes += static_cast<double>(f.bytes);
        smallest = std::min(smallest, f.bytes);
        largest = std::max(largest, f.bytes);
        last = std::max(last, f.start);
    }
    std::string text =
        "traffic: " + s.pattern + ", " + topo::Counted(s.flows.size(), "flow") + "\n\nPlan\n";
    text += Line("flows",
                 std::to_string(s.flows.size()) + ", " + s.pattern + ", " +
                     (smallest == largest
                          ? CanonicalBytes(smallest) + " each"
                          : CanonicalBytes(smallest) + " to " + CanonicalBytes(largest)) +
                     ", " + Size(bytes) + " together, seed " + std::to_string(s.run.seed));
    if (const ProtocolSpec& protocol = s.run.protocol; protocol.IsOrdinary())
    {
        text += Line("protocol",
                     protocol.Text() + ", " +
                         (!protocol.control.empty()
                              ? protocol.control + (protocol.IsUdp() ? " a flow" : "")
                              : "what a NIC's port carries") +
                         ", packets of at most " + std::to_string(protocol.packetMtu) + " B");
    }
    text += Line("starts",
                 last.ps == 0 ? "all at 0" : "0 to " + rdma::ToString(rdma::Duration(last.ps)));
    text += Line("network", NetworkText(s.topology, s.topologyName));
    text += EventLines(s.run, s.topology) + FabricText(s.fabric, s.topology) +
            LineIf("scheduling", EtsText(s.fabric.ets)) + ProcessesLine(s.run);
    return text + EstimateText(EstimateRun(s), s.fabric, s.run);
}

} // namespace scenario
