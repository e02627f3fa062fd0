/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The plan of dltrain; those of the other programs: plan-text.cc.
 */
#include "collectives/core/block-sizes.h"
#include "collectives/core/placement.h"
#include "contrib/rdma/core/shown-text.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/collective/network-choices.h"
#include "scenarios/dry-run/background-count.h"
#include "scenarios/dry-run/estimate.h"
#include "scenarios/dry-run/jobs-plan.h"
#include "scenarios/dry-run/plan-events.h"
#include "scenarios/dry-run/plan-lines.h"
#include "scenarios/dry-run/plan-text.h"
#include "scenarios/dry-run/whole-step.h"
#include "scenarios/network/cluster-options.h"
#include "scenarios/operator-search/options/sharding-options.h"
#include "scenarios/options/format.h"
#include "scenarios/options/options.h"
#include "scenarios/training/expert-dispatch.h"
#include "scenarios/training/expert-load.h"
#include "scenarios/training/gpu-kinds.h"
#include "scenarios/training/graphs/memory-pass.h"
#include "scenarios/training/graphs/served-plan.h"
#include "scenarios/training/memory-estimate.h"
#include "scenarios/training/memory-reserve.h"
#include "scenarios/training/options/data-parallel-options.h"
#include "scenarios/training/options/software-options.h"
#include "scenarios/training/rank-work.h"
#include "scenarios/training/stage-layers.h"
#include "scenarios/training/stage-speeds.h"
#include "scenarios/workload/registry.h"
#include "topologies/names.h"

#include <algorithm>
#include <map>

namespace scenario
{

namespace
{

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

std::string
DegreesText(const training::TrainingOptions& o)
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
    text += text.empty() ? "data parallel" : std::to_string(o.Data()) + " data parallel";
    text += o.expert > 1 ? ", expert parallel " + std::to_string(o.expert) : "";
    return text + (o.Folded() ? ", expert tensor " + std::to_string(o.ExpertTensor()) : "");
}

namespace
{

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
    const auto secondsOf = training::SecondsByStage(o);
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
                seconds += secondsOf[stage][i];
            }
        }
        line += "; " + SecondsText(seconds) + " a micro-batch";
        if (!o.replicas.empty())
        {
            line += ", " + topo::Counted(o.replicas[stage], "replica");
        }
        text += PlanLine(stage == 0 ? "stages" : "", line);
    }
    if (o.partition == training::Partition::kGiven)
    {
        text += PlanLine("", "as --pipeline-layout has them");
    }
    else if (training::IsCounted(o))
    {
        text += PlanLine("",
                         std::string(!o.countLoss        ? "embedding counts"
                                     : !o.countEmbedding ? "loss counts"
                                                         : "embedding and loss count") +
                             " as a block");
    }
    else if (o.partition != training::Partition::kUniform)
    {
        text += PlanLine("",
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
        text += PlanLine("weights",
                         versions + " versions a stage, gradients " + staleness + " updates old" +
                             (o.verticalSync ? " (vertical sync)" : "") +
                             "; no flush, not even between steps");
    }
    return text;
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
    std::vector<UsedBy> first; // the first of each kind
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
        std::string before = several ? s.plan.groupKinds[kind].name + ", " +
                                           std::to_string(groups.size()) + " groups of " +
                                           std::to_string(groups[0].size()) + ": "
                                     : "";
        const coll::Placement placement = PlacementOf(s.cluster, groups[0]);
        for (const auto& ofOp : whats)
        {
            text += PlanLine(text.empty() ? "collectives" : "",
                             before + AlgorithmText(s.collectives, placement, {ofOp}));
            before = several ? "  " : "";
        }
    }
    return text + PlanLineIf("tuner", NetworkAdvice(s.collectives, s.cluster, s.fabric, first));
}

/// Where a token goes with --moe-dispatcher=deepep.
std::string
CopiesText(const training::TrainingOptions& o)
{
    const auto routing = training::RoutingOf(o.model);
    if (!routing || o.expert == 1 || !o.expertSpan)
    {
        return "";
    }
    const training::TokenCopies copies = training::CopiesOf(*routing, *o.expertSpan, o.nodeLimit);
    return PlanLine("experts",
                    "a token goes to " + Format("%.3g", copies.servers) + " of " +
                        topo::Counted(o.expertSpan->servers, "server") + " and " +
                        Format("%.3g", copies.ranks) + " of " + topo::Counted(o.expert, "GPU") +
                        " on average, for " + std::to_string(routing->topK) + " experts");
}

/// A line for each tier that something is placed in.
std::string
TiersText(const training::TrainingOptions& o)
{
    std::string text;
    for (std::size_t t = 0; o.memory.Any() && t < o.memory.tiers.size(); ++t)
    {
        const training::MemoryTier& tier = o.memory.tiers[t];
        std::string what;
        for (std::size_t i = 0; i < training::kPlaced; ++i)
        {
            if (o.memory.at[i] == t)
            {
                what += (what.empty() ? "" : ", ") + std::string(training::kPlacedNames[i]);
            }
        }
        if (what.empty())
        {
            continue;
        }
        constexpr const char* kPer[] = {"a GPU", "a server", "in all"};
        const bool network = tier.attached == training::MemoryTier::Attached::kNetwork;
        const double bytes = training::UseOfTier(o, static_cast<uint8_t>(t)).bytes;
        text += PlanLine(text.empty() ? "memory" : "",
                         tier.name + ": " + what + ", " + BinarySize(bytes) + " of a rank; " +
                             (network ? std::string("memory servers of the network")
                                      : topo::Counted(tier.devices, "device") + " " +
                                            kPer[static_cast<std::size_t>(tier.per)] + " of " +
                                            rdma::ToString(tier.rate) + ", " +
                                            rdma::ToString(tier.latency) +
                                            (tier.reduces ? ", gathers and adds up" : "")));
    }
    return text;
}

/// Lines of the estimate of a GPU's memory.
std::string
MemoryText(const training::TrainingOptions& o, const std::string& recipe)
{
    const training::FullestGpu fullest = training::FullestOf(o);
    const training::MemoryEstimate& memory = fullest.memory;
    const uint64_t room = fullest.gpu.memoryBytes;
    const auto verdict = training::VerdictOf(o, memory, room, recipe);
    const bool fits = verdict == training::MemoryVerdict::kFits;
    std::string text =
        PlanLine("GPU memory",
                 (fits ? "" : std::string(training::MemoryVerdictName(verdict)) + ": ") + "about " +
                     BinarySize(static_cast<double>(memory.Total())) + " of " +
                     BinarySize(static_cast<double>(room)) +
                     (o.kinds.empty() ? ""
                                      : " of " + fullest.gpu.name + ", stage " +
                                            std::to_string(fullest.stage)) +
                     ": parameters " + BinarySize(static_cast<double>(memory.parameters)) +
                     ", gradients " + BinarySize(static_cast<double>(memory.gradients)) +
                     ", optimizer " + BinarySize(static_cast<double>(memory.optimizer)) +
                     ", activations " + BinarySize(static_cast<double>(memory.activations)) +
                     ", buffers " + BinarySize(static_cast<double>(memory.buffers)));
    const training::MemoryReserve beside = training::ReserveOf(o, memory);
    text += PlanLine("",
                     "beside it about " + BinarySize(static_cast<double>(beside.Total())) +
                         ": CUDA context " + BinarySize(static_cast<double>(beside.context)) +
                         ", NCCL " + BinarySize(static_cast<double>(beside.nccl)) + " (" +
                         topo::Counted(beside.communicators, "communicator") + "), fragmentation " +
                         BinarySize(static_cast<double>(beside.fragments)) + " (5%, assumed)");
    text += PlanLine("", training::SpreadText(recipe));
    text += TiersText(o);
    if (o.offload != training::Offload::kNone)
    {
        text += PlanLine("offloaded",
                         BinarySize(static_cast<double>(memory.host) * o.host.gpus) +
                             " of a server's memory");
    }
    return text;
}

/// How much longer computing takes because the GPU waits for its host (--host-launch).
std::string
HostWaitText(const training::TrainingOptions& o)
{
    if (o.hostLaunch <= 0)
    {
        return "";
    }
    const auto seconds = [](const training::TrainingOptions& options) {
        double sum = 0;
        for (const training::RankLayer& layer : training::LayersOfModel(options))
        {
            sum += layer.Forward() + layer.Backward();
        }
        return sum;
    };
    training::TrainingOptions ahead = o;
    ahead.hostLaunch = 0;
    const double device = seconds(ahead);
    const double waits = seconds(o) - device;
    constexpr double kLeast = 1e-3; // less is no reason to look at the host
    return waits > kLeast * device
               ? Format("; waits for its host: computing takes %.3g%% longer", 100 * waits / device)
               : "; its host is ahead";
}

/// The lines about the model, and how it is trained.
std::string
StudyText(const Study& study)
{
    if (study.runs.empty())
    {
        return "";
    }
    std::string values;
    for (const StudyRun* const run : {&study.runs.front(), &study.runs.back()})
    {
        values += values.empty() ? "" : " to ";
        for (std::size_t i = 0; i < run->shown.size(); ++i)
        {
            values += (i > 0 ? " " : "") + study.options[i] + " " + run->shown[i];
        }
    }
    return std::to_string(study.runs.size()) + ", " + values + "; the rest is of one without them";
}

std::string
ModelText(const TrainingScenario& s)
{
    if (s.trace)
    {
        return PlanLine("trace",
                        rdma::Shown(s.trace->path, 300) + ": " + s.trace->format + ", " +
                            topo::Counted(s.trace->ranks, "rank") +
                            (s.trace->torch.empty() ? "" : ", PyTorch " + s.trace->torch));
    }
    std::string text = PlanLineIf("runs", StudyText(s.study));
    text += PlanLine(
        "model",
        s.model + ", " + HumanCount(s.parameters) + " parameters" +
            (s.activeParameters < s.parameters ? " (" + HumanCount(s.activeParameters) + " active)"
                                               : "") +
            (s.predictors > 0
                 ? ", " + topo::Counted(s.predictors, "module") + " for multi-token prediction"
                 : "") +
            ", " + s.dtype +
            (s.options.model.hasSequence ? ", sequence " + std::to_string(s.sequence) : ""));
    if (s.sharded)
    {
        text += PlanLine("parallelism", "each operator cut by itself, below");
        text += PlanLine(
            "batch",
            std::to_string(s.globalBatch) + " samples a step = " + std::to_string(s.microBatch) +
                " a pass of all GPUs x " + topo::Counted(s.accumulation, "pass", "passes"));
        return text + PlanLineIf("GPUs", SlowText(s.plan));
    }
    text += PlanLine("rates", WhoseRates(s.recipe) + HostWaitText(s.options));
    text += PlanLine(
        "parallelism",
        s.served
            ? ServedText(*s.served)
            : DegreesText(s.options) + ", ZeRO stage " +
                  std::to_string(s.options.sharding.Stage()) + " (" +
                  training::ZeroImplName(s.options.zeroImpl) + "), overlap " +
                  (s.options.overlap.value_or(true) ? "on" : "off") +
                  (s.options.bucketBytes ? ", buckets " + ExactBytes(*s.options.bucketBytes) : "") +
                  DataParallelText(s.options) +
                  (s.options.recompute != training::Recompute::kNone
                       ? ", recomputation " + training::RecomputeName(s.options.recompute)
                       : ""));
    text += PlanLine("batch",
                     std::to_string(s.globalBatch) + " samples a step = " +
                         (s.served ? topo::Counted(s.served->Counted(), "GPU")
                          : s.options.Data() == s.plan.ranks
                              ? topo::Counted(s.plan.ranks, "GPU")
                              : "data parallel " + std::to_string(s.options.Data())) +
                         " x micro-batch " + std::to_string(s.microBatch) + " x accumulation " +
                         std::to_string(s.accumulation));
    text += PlanLineIf(
        "loader",
        s.options.loaderRate > 0 ? Format("%.6g samples/s a server", s.options.loaderRate) : "");
    text += PlanLineIf("GPUs", SlowText(s.plan));
    return text + (s.served ? "" : StagesText(s.options));
}

/// The text about a GPU's computation in a step. \param seconds of the GPU that computes longest
std::string
ComputingText(const TrainingScenario& s, double seconds)
{
    if (s.trace)
    {
        return SecondsText(seconds) + " a GPU at most";
    }
    const bool stages = s.options.pipeline > 1;
    // (Of a step all replicas compute, though the gradients of some are dropped.)
    const double flops =
        s.plan.flopsPerGpuPerStep *
        (s.served ? static_cast<double>(s.served->Replicas()) / s.served->Counted() : 1);
    std::string text = SecondsText(seconds) + " a GPU" + (stages ? " of the slowest stage" : "");
    if (flops <= 0)
    {
        return text + "; no layer says its FLOPs";
    }
    text += Format(", %.4g TFLOP", flops * 1e-12) + (stages ? " on average" : "");
    if (seconds > 0)
    {
        const double peak = training::MeanPeak(s.options);
        text += Format(" (%.4g TFLOP/s", flops * 1e-12 / seconds) +
                Format(", %.1f%% of ", 100 * flops / seconds / peak) +
                Format("the peak of %.4g: MFU is less)", peak * 1e-12);
    }
    return text;
}

/// Lines of what a step comes to. \param e of the run as it is simulated first
std::string
StepText(const TrainingScenario& s, const Estimate& e)
{
    const bool extended = s.plan.sizes.size() > 1;
    const WholeStep whole = WholeStepOf(s, e, static_cast<double>(s.steps) + s.warmupSteps);
    double compute = extended ? whole.computeSeconds : MostComputing(s.plan);
    if (s.served && s.served->Options().strategy == training::Strategy::kSandblaster)
    {
        compute *= s.accumulation; // it was the time of a piece
    }
    std::string text = std::string("\nOne step") + (extended ? ", of all blocks" : "") + "\n";
    text += extended
                ? PlanLine("layers", BlocksText(s.plan) + "; times and bytes are extended to all")
                : "";
    text += PlanLine("computing", ComputingText(s, compute));
    std::string moved;
    for (const auto& [op, bytes] : s.served ? SentByServed(*s.served, s.accumulation) : whole.moved)
    {
        moved += (moved.empty() ? "" : ", ") + op + " " + SizeText(bytes);
    }
    // Stages of a pipeline, and parameter servers, send other sums than others.
    const bool mean = s.plan.roles.size() > 1;
    text +=
        PlanLine("a GPU sends", moved.empty() ? "nothing" : moved + (mean ? ", on average" : ""));
    if (training::AsksForExpertLoad(s.options))
    {
        text += PlanLine("experts",
                         Format("%.3g%% of the tokens' choices are dropped",
                                100 * training::DroppedShare(s.options)));
    }
    text += s.trace || s.sharded ? "" : CopiesText(s.options);
    text += s.trace || s.sharded ? "" : MemoryText(s.options, s.recipe);
    const double host = s.options.offload != training::Offload::kNone ? HostSeconds(s.plan) : 0;
    const double least = std::max({whole.computeSeconds,
                                   whole.graphSeconds,
                                   e.portsAwaited ? whole.busiestPortSeconds : 0,
                                   whole.loadingSeconds,
                                   whole.memorySeconds,
                                   host});
    const bool bubble = s.options.pipeline > 1 && whole.graphSeconds > whole.computeSeconds;
    // Each step has draws of its own, and a GPU may begin one before the others have ended the
    // last.
    const bool meanOfSteps = s.plan.jitter.sigma > 0 && s.steps + s.warmupSteps > 1;
    text += PlanLine(
        "lower bound",
        SecondsText(least) + " a step" +
            (meanOfSteps ? std::string(" in the mean of all") +
                               (s.warmupSteps ? ", with those of warm-up" : "")
                         : std::string()) +
            " (busiest NIC " + SecondsText(whole.busiestPortSeconds) +
            (e.portsAwaited ? "" : ", for which not all replicas wait") + ", computing " +
            SecondsText(whole.computeSeconds) +
            (bubble ? ", with the pipeline's bubble " + SecondsText(whole.graphSeconds) : "") +
            (s.options.offload != training::Offload::kNone
                 ? ", the server's CPU and PCIe " + SecondsText(host)
                 : "") +
            (whole.memorySeconds > 0
                 ? ", the busiest memory device " + SecondsText(whole.memorySeconds)
                 : "") +
            (whole.loadingSeconds > 0 ? ", loading data " + SecondsText(whole.loadingSeconds)
                                      : "") +
            (e.messagesInside > 0 ? "; sending inside servers is not in it" : "") + ")");
    return text;
}

} // namespace

std::string
PlanText(const TrainingScenario& s)
{
    if (s.jobs)
    {
        return JobsPlanText(s);
    }
    std::string text =
        "dltrain: " + s.model + ", " + topo::Counted(s.plan.ranks, "GPU") + "\n\nPlan\n";
    text += ModelText(s);
    if (s.workload != workload::kDefaultWorkload)
    {
        text += PlanLine("workload",
                         s.workload + ": " +
                             topo::Registered<workload::Kind>::Get(s.workload).description);
    }
    text += PlanLine("steps",
                     std::to_string(s.steps) + " measured" + AfterWarmup(s.warmupSteps) +
                         ", seed " + std::to_string(s.run.seed));
    text += ClusterText(s.cluster, s.fabric, s.run) + EventLines(s.run, s.cluster.topology);
    text += FabricText(s.fabric, s.cluster.topology) +
            PlanLineIf("scheduling", SchedulingText(s.fabric)) + ProcessesLine(s.run);
    Estimate e = EstimateRun(s);
    CountBackground(s.run, s.fabric, s.cluster.topology, &e);
    if (!s.served)
    {
        text += CollectivesText(s);
        text += NcclLine(s.collectives.nccl);
    }
    const std::string sharded = ShardingText(s);
    return text + (sharded.empty() ? "" : "\n" + sharded) + StepText(s, e) +
           EstimateText(e, s.fabric, s.run);
}

} // namespace scenario
