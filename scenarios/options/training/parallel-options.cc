/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/options/training/parallel-options.h"

#include "scenarios/options/format.h"
#include "scenarios/options/spelling.h"
#include "scenarios/training/checks/option-checks.h"
#include "scenarios/training/pipeline/schedule.h"
#include "scenarios/training/stage-layers.h"
#include "topologies/names.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <tuple>
#include <utility>

namespace scenario
{

namespace
{

constexpr uint64_t kMostGpus = 1000000;

/// "2-1-1"; nothing: it is no such list.
std::optional<std::vector<uint32_t>>
ParseReplicas(const std::string& text)
{
    std::vector<uint32_t> replicas;
    const char* at = text.data();
    const char* const end = at + text.size();
    while (true)
    {
        uint32_t count = 0;
        const auto [after, bad] = std::from_chars(at, end, count);
        if (bad != std::errc() || count == 0 || count > kMostGpus)
        {
            return std::nullopt;
        }
        replicas.push_back(count);
        if (after == end)
        {
            return replicas;
        }
        if (*after != '-')
        {
            return std::nullopt;
        }
        at = after + 1;
    }
}

/// Stages and replicas come from PipeDream's partitioner.
bool
FindsStages(const Values& values)
{
    const auto partition = training::ParsePartition(values.Text("partition"));
    return values.Given("replicas")
               ? values.Text("replicas") == "auto"
               : partition && partition->first == training::Partition::kPipeDream &&
                     !values.Given("pp") && !values.Given("dp");
}

/// Whether --partition divides by layers, which may not come out even.
bool
HasFill(const Values& values)
{
    const auto partition = training::ParsePartition(values.Text("partition"));
    return partition && (partition->first == training::Partition::kParameters ||
                         partition->first == training::Partition::kTypes);
}

When
StagesSaid()
{
    return when::IsNot("replicas", {"auto"}).Usual();
}

When
EvenStages()
{
    return when::Known("replicas", "the same number of replicas in each stage").Usual();
}

When
NoFlush()
{
    return when::Known("pipeline-schedule", "--pipeline-schedule=pipedream");
}

std::vector<NamedItem>
ScheduleItems()
{
    std::vector<NamedItem> items;
    for (const training::PipelineSchedule* schedule : training::PipelineSchedules())
    {
        items.push_back({schedule->Name(), schedule->Description()});
    }
    return items;
}

} // namespace

std::vector<Option>
ParallelOptionRows()
{
    const Section section{"/training", "Parallelism"};
    const Section collective = section.Only(when::Collectives());
    const Section pipeline = collective.IdleUnless(when::Above("pp", 1));
    const auto degree = [&](const char* name, const char* help) {
        return section.Integer(name, help).Range(1, 1e6).Example("2");
    };
    return {
        degree("tp", "tensor parallel: GPUs that share every layer (Megatron-LM)")
            .Alias("tp-size")
            .Alias("tensor-parallel")
            .Alias("tensor-parallel-size")
            .Alias("tensor-model-parallel-size")
            .Alias("model-parallel-size")
            .Default("1"),
        degree("pp", "pipeline parallel: stages of the model")
            .Only(StagesSaid())
            .Alias("pp-size")
            .Alias("pipeline-parallel")
            .Alias("pipeline-parallel-size")
            .Alias("pipeline-model-parallel-size")
            .Default("1"),
        degree("dp", "data parallel: copies of the model")
            .Only(StagesSaid())
            .Alias("dp-size")
            .Alias("data-parallel-size")
            .Otherwise("GPUs / (tp x pp x cp)"),
        degree("cp", "context parallel: GPUs that share every sequence")
            .Alias("context-parallel-size")
            .Default("1"),
        degree("ep", "expert parallel: GPUs that share the experts; divides dp x cp")
            .Alias("ep-size")
            .Alias("expert-parallel-size")
            .Alias("expert-model-parallel-size")
            .Default("1"),
        collective
            .Flag("moe-overlap",
                  "with --ep: overlap the all-to-alls of one micro-batch with the computing of "
                  "another, "
                  "layer by layer, as DualPipe and Megatron-LM do")
            .Alias("overlap-moe-expert-parallel-comm")
            .Default("0")
            .To(&training::TrainingOptions::expertOverlap),
        section
            .Text(
                "rank-order",
                "along which dimension ranks are counted first; ranks fill servers in their order")
            .Shows("tp-cp-ep-dp-pp")
            .Default("tp-cp-ep-dp-pp")
            .Only(EvenStages()),
        section
            .Flag("sequence-parallel",
                  "with --tp: norms, dropout and residuals on a share of the tokens")
            .Default("0")
            .To(&training::TrainingOptions::sequenceParallel),
        section
            .Flag("tp-overlap",
                  "what is exchanged behind a backward runs beside the gradients of weights, "
                  "as in Megatron-LM since 2022")
            .Default("1")
            .IdleUnless(when::Above("tp", 1))
            .To(&training::TrainingOptions::tensorOverlap),
        section
            .Flag("tp-comm-overlap",
                  "with --sequence-parallel: gathers and reduce-scatters in pieces, beside the "
                  "products "
                  "that they come before or behind")
            .Default("0")
            .To(&training::TrainingOptions::piecewiseOverlap),
        section
            .Flag("gradient-accumulation-fusion",
                  "add a weight's gradient to those of earlier micro-batches within its matrix "
                  "product, "
                  "without another kernel (Megatron-LM since 2022)")
            .Otherwise("1 with --tp or --pp, else 0")
            .Example("0")
            .IdleUnless(when::Job(job::kAddedUp)),
        section.Name("context-exchange", "how attention gets at the keys of the whole sequence")
            .Names("exchange",
                   {{"ring", "keys and values go round while attention computes"},
                    {"all-gather", "keys and values are gathered before it"},
                    {"ulysses", "all-to-all between tokens and heads, before and after it"}})
            .Default("ring")
            .IdleUnless(when::Above("cp", 1))
            .To(&training::TrainingOptions::contextExchange, training::ParseContextExchange),
        pipeline.Name("pipeline-schedule", "in which order a stage computes its micro-batches")
            .Names("schedule", ScheduleItems)
            .Otherwise("1f1b; interleaved with --virtual-stages, pipedream with --replicas")
            .Example("gpipe"),
        pipeline
            .Text(
                "partition",
                "how layers become pipeline stages: uniform (equal numbers of blocks), balanced "
                "(shortest longest stage), pipedream (with messages; finds stages and --replicas), "
                "parameters (equal numbers), type:REGEX (equal numbers of such layers)")
            .Shows("uniform|balanced|pipedream|parameters|type:REGEX")
            .Alias("pp-partition-method")
            .Alias("partition-method")
            .Default("uniform")
            .Example("balanced"),
        pipeline.Name("partition-fill", "where layers do not divide evenly")
            .Names("fill",
                   {{"even", "as little apart as can be (DeepSpeed since October 2023)"},
                    {"front",
                     "each stage as many as the fullest must have, the last what is left "
                     "(DeepSpeed before)"}})
            .Default("even")
            .Only(when::If("partition", "--partition=parameters or type:REGEX", HasFill)),
        collective
            .Text("replicas",
                  "copies of each stage of the pipeline, to which its micro-batches go in turns; "
                  "auto: "
                  "as --partition=pipedream finds them")
            .Shows("N-N-...")
            .Otherwise("--dp each")
            .Example("2-1-1"),
        pipeline.Name("pipeline-sends", "whether computing waits for a message to the next stage")
            .Names("sends",
                   {{"background", "they run beside the next computation"},
                    {"awaited",
                     "the next computation begins when the message is there, as in Megatron-LM"},
                    {"deepspeed",
                     "awaited, one after another, and with --tp a stage's output is gathered "
                     "again for backward, as in DeepSpeed's pipelines"}})
            .Default("background")
            .Example("awaited"),
        collective
            .Flag("vertical-sync",
                  "a micro-batch takes on all stages weights of one "
                  "version")
            .Default("0")
            .Only(NoFlush())
            .To(&training::TrainingOptions::verticalSync),
        collective
            .Integer("layers",
                     "simulate so many of the model's blocks, and fewer, and extrapolate the step")
            .Range(1, 1e6)
            .Otherwise("all")
            .Example("6")
            .Only(when::OneJob())
            .To(&training::TrainingOptions::layers),
        degree("virtual-stages", "chunks of layers a stage has, far apart in the model")
            .Default("1"),
    };
}

void
DecideStages(Validation* v)
{
    auto& values = v->values;
    const std::string& partition = values.Text("partition");
    const auto parsed = training::ParsePartition(partition);
    if (!parsed)
    {
        v->Fail("partition",
                "allowed: uniform, balanced, pipedream, parameters, type:REGEX" +
                    topo::DidYouMean(partition,
                                     {"uniform", "balanced", "pipedream", "parameters", "type:"}));
        return;
    }
    v->Settle("partition");
    v->Settle("replicas");
    if (FindsStages(values))
    {
        if (values.Given("partition") && parsed->first != training::Partition::kPipeDream)
        {
            v->Fail("partition", "finds no replicas; allowed with --replicas=auto: pipedream");
        }
        v->Decide("partition", "pipedream");
        v->DecideUnlessGiven("pipeline-schedule", "pipedream");
    }
    else if (values.Given("replicas"))
    {
        const auto replicas = ParseReplicas(values.Text("replicas"));
        if (!replicas)
        {
            v->Fail("replicas",
                    "allowed: auto, or a number from 1 to " + std::to_string(kMostGpus) +
                        " for each stage with '-' between, as 2-1-1");
            return;
        }
        if (values.Given("pp") && values.U32("pp") != replicas->size())
        {
            v->Fail("replicas",
                    "is of " + topo::Counted(replicas->size(), "stage") + ", and --pp is " +
                        std::to_string(values.U32("pp")));
            return;
        }
        const bool even = std::all_of(replicas->begin(), replicas->end(), [&](uint32_t count) {
            return count == replicas->front();
        });
        // A configuration as run has the options that it follows from.
        if (!even || (values.Given("dp") && values.U32("dp") != replicas->front()))
        {
            if (values.Given("dp"))
            {
                v->Fail("dp", v->Refusal(when::Without("replicas")));
            }
        }
        v->Decide("pp", std::to_string(replicas->size()));
        v->DecideUnlessGiven("pipeline-schedule", "pipedream");
    }
}

bool
HasFlush(const Validation& v)
{
    return !v.values.Present("pipeline-schedule") ||
           training::FindPipelineSchedule(v.values.Text("pipeline-schedule"))->Flushes();
}

void
DecideGpus(Validation* v)
{
    auto& values = v->values;
    const auto replicas =
        values.Given("replicas") ? ParseReplicas(values.Text("replicas")) : std::nullopt;
    if (replicas && !values.Given("gpus") && !values.Given("servers"))
    {
        const double gpus = std::accumulate(replicas->begin(), replicas->end(), 0.0) *
                            static_cast<double>(values.Integer("tp"));
        if (gpus > kMostGpus)
        {
            v->Fail("replicas",
                    "makes " + Format("%.4g", gpus) + " GPUs; allowed: at most 1000000");
            return;
        }
        v->Decide("gpus", std::to_string(static_cast<uint64_t>(gpus)));
        values.Slot("gpus").given = true;
        values.Slot("gpus").where = "--replicas (x --tp)";
        return;
    }
    if (!values.Given("dp") || values.Given("gpus") || values.Given("servers"))
    {
        return;
    }
    double gpus = 1;
    for (const char* degree : {"tp", "pp", "cp", "dp"})
    {
        gpus *= static_cast<double>(values.Integer(degree));
    }
    if (gpus > 1e6)
    {
        v->Fail("dp", "makes " + Format("%.4g", gpus) + " GPUs; allowed: at most 1000000");
        return;
    }
    v->Decide("gpus", std::to_string(static_cast<uint64_t>(gpus)));
    values.Slot("gpus").given = true;
    values.Slot("gpus").where = "--dp (x --tp x --pp x --cp)";
}

namespace
{

/// Those of the option: all equal, they are data parallelism.
void
TakeReplicas(Validation* v, training::TrainingOptions* o)
{
    const auto replicas = ParseReplicas(v->values.Text("replicas"));
    if (!replicas)
    {
        return; // has been said
    }
    const uint64_t sum = std::accumulate(replicas->begin(), replicas->end(), uint64_t{0});
    if (sum * o->tensor != o->ranks)
    {
        v->Fail("replicas",
                "makes " + topo::Counted(sum * o->tensor, "GPU") + " (x tp " +
                    std::to_string(o->tensor) + "), and there are " + std::to_string(o->ranks) +
                    "; allowed: " +
                    (o->ranks % o->tensor == 0
                         ? "numbers that make " + std::to_string(o->ranks / o->tensor) + ", or "
                         : "") +
                    "--gpus=" + std::to_string(sum * o->tensor));
        return;
    }
    if (o->context > 1 || o->expert > 1)
    {
        v->Fail(o->context > 1 ? "cp" : "ep", "allowed with --replicas: 1");
        return;
    }
    if (std::any_of(replicas->begin(), replicas->end(), [&](uint32_t count) {
            return count != replicas->front();
        }))
    {
        o->replicas = *replicas;
    }
}

void
FindStages(Validation* v, training::TrainingOptions* o)
{
    auto& values = v->values;
    for (const char* degree : {"tp", "cp", "ep", "virtual-stages"})
    {
        if (values.U32(degree) != 1)
        {
            v->Fail(degree, "allowed with --replicas=auto, whose machines are single GPUs: 1");
            return;
        }
    }
    if (!values.Given("micro-batch") || values.Text("micro-batch") == "auto")
    {
        v->Fail("micro-batch",
                "must be given as a number with --replicas=auto: the stages depend on it");
        return;
    }
    o->microBatch = values.U32("micro-batch");
    if (const auto why = training::WhyNoStagesFound(*o))
    {
        v->Fail(values.Given("replicas") ? "replicas" : "partition", *why);
        return;
    }
    const std::size_t groups = training::GroupsToCut(training::ResolvedOptions(*o)).groups.size();
    if (groups <= 2 && o->model.layers.size() > 2)
    {
        v->notes.push_back("--replicas=auto: " + o->model.name +
                           " is cut behind its first layer or nowhere: no other has fewer "
                           "activations behind it than all before");
    }
    *o = training::WithStagesFound(*o);
    v->Decide("pp", std::to_string(o->pipeline));
    v->Decide("replicas", training::ReplicasText(*o));
    v->notes.push_back("--replicas=" + training::ReplicasText(*o) +
                       ": what PipeDream's partitioner finds");
}

} // namespace

std::vector<training::PartitionLevel>
LinksOf(const ClusterSpec& cluster, const FabricSpec& fabric)
{
    const topo::ServerSpec& server = cluster.server;
    std::vector<training::PartitionLevel> links;
    if (server.gpus > 1)
    {
        links.push_back(
            {server.gpus,
             static_cast<double>(server.scaleUp.perGpu.bps) / 8 * server.scaleUp.efficiency});
    }
    if (cluster.servers > 1 || links.empty())
    {
        links.push_back(
            {cluster.servers, static_cast<double>(fabric.nicRate.bps) / 8 * server.nics});
    }
    return links;
}

void
MakeParallel(Validation* v,
             const std::vector<training::PartitionLevel>& links,
             training::TrainingOptions* o)
{
    auto& values = v->values;
    o->tensor = values.U32("tp");
    o->pipeline = values.U32("pp");
    o->context = values.U32("cp");
    o->expert = values.U32("ep");
    const std::string gpus = topo::Counted(o->ranks, "GPU");
    std::tie(o->partition, o->partitionTypes) =
        training::ParsePartition(values.Text("partition"))
            .value_or(std::pair{training::Partition::kUniform, std::string()}); // has been said
    o->partitionFront = values.Text("partition-fill") == "front";
    if (values.Present("pipeline-schedule"))
    {
        o->schedule = values.Text("pipeline-schedule");
    }
    v->Settle(NoFlush(), !HasFlush(*v));
    o->links = links;
    if (FindsStages(values))
    {
        FindStages(v, o);
    }
    else if (values.Given("replicas"))
    {
        TakeReplicas(v, o);
    }
    if (!v->errors.empty())
    {
        return;
    }
    const uint64_t copy = o->replicas.empty() ? uint64_t(o->tensor) * o->pipeline * o->context
                                              : o->ranks; // has been looked at
    if (o->ranks % copy != 0)
    {
        v->Fail(o->tensor > 1     ? "tp"
                : o->pipeline > 1 ? "pp"
                                  : "cp",
                "a copy of the model is tp " + std::to_string(o->tensor) + " x pp " +
                    std::to_string(o->pipeline) + " x cp " + std::to_string(o->context) + " = " +
                    topo::Counted(copy, "GPU") + ", which does not divide " + gpus);
        return;
    }
    const auto data = static_cast<uint32_t>(o->ranks / copy);
    if (values.Given("dp") && values.U32("dp") != data)
    {
        v->Fail("dp",
                gpus + " / (tp " + std::to_string(o->tensor) + " x pp " +
                    std::to_string(o->pipeline) + " x cp " + std::to_string(o->context) +
                    ") make " + std::to_string(data),
                std::to_string(data));
        return;
    }
    if (o->replicas.empty())
    {
        v->Decide("dp", std::to_string(data));
    }
    v->Settle(EvenStages(), o->replicas.empty());
    bool refused = false;
    training::CheckExpert(*o, [&](const std::string& field, const std::string& why) {
        v->Fail(OptionOfField(field), why);
        refused = true;
    });
    o->expert = refused ? 1 : o->expert;
    const auto order = training::ParseDimensionOrder(values.Text("rank-order"));
    if (order)
    {
        o->rankOrder = *order;
    }
    else
    {
        v->Fail("rank-order",
                "allowed: each of tp, cp, ep, dp, pp once, with '-' between, the innermost first");
    }
    if (o->sequenceParallel && o->tensor == 1)
    {
        if (values.Given("sequence-parallel"))
        {
            v->notes.push_back("--sequence-parallel shares nothing out with --tp=1");
        }
        o->sequenceParallel = false;
    }
    if (o->expert > 1 && o->tensor > 1 && !o->sequenceParallel)
    {
        // megatron/core/model_parallel_config.py (NVIDIA/Megatron-LM@02aa3ee) warns of it, too.
        v->notes.push_back("--ep with --tp=" + std::to_string(o->tensor) +
                           " and without --sequence-parallel: each GPU of a tensor group sends all "
                           "of the tokens to the experts, " +
                           std::to_string(o->tensor) +
                           " times the all-to-all that --sequence-parallel has; Megatron-LM asks "
                           "for --sequence-parallel there");
    }
    for (const char* degree : {"tp", "cp", "pp"})
    {
        v->Settle(degree);
    }
    o->deepSpeedSends = values.Text("pipeline-sends") == "deepspeed";
    o->awaitedSends = values.Text("pipeline-sends") == "awaited" || o->deepSpeedSends;
    if (o->piecewiseOverlap && o->tensor == 1)
    {
        v->notes.push_back("--tp-comm-overlap has nothing to overlap with --tp=1");
        o->piecewiseOverlap = false;
    }
    if (o->piecewiseOverlap && o->tensor > 1 && !o->sequenceParallel)
    {
        v->Fail("tp-comm-overlap", "allowed: with --sequence-parallel, as in Megatron-LM");
    }
    v->DecideUnlessGiven("gradient-accumulation-fusion",
                         o->tensor > 1 || o->pipeline > 1 ? "1" : "0");
    o->fusedAccumulation = values.Flag("gradient-accumulation-fusion");
    o->virtualStages = values.U32("virtual-stages");
    if (o->pipeline > 1 && !values.Present("pipeline-schedule"))
    {
        v->Decide("pipeline-schedule", o->virtualStages > 1 ? "interleaved" : "1f1b");
        o->schedule = values.Text("pipeline-schedule");
    }
}

} // namespace scenario
