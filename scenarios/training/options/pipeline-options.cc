/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/options/pipeline-options.h"

#include "scenarios/options/format.h"
#include "scenarios/options/spelling.h"
#include "scenarios/training/pipeline/layout-text.h"
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

/// Blocks in equal numbers, as --partition=uniform has them.
bool
IsUniform(const Values& values)
{
    return !values.Given("pipeline-layout") &&
           (!values.Given("partition") || values.Text("partition") == "uniform");
}

/// Whether --partition divides by layers, which may not come out even.
bool
HasFill(const Values& values)
{
    const auto partition = training::ParsePartition(values.Text("partition"));
    return partition && (partition->first == training::Partition::kParameters ||
                         partition->first == training::Partition::kTypes);
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

bool
FindsStages(const Values& values)
{
    const auto partition = training::ParsePartition(values.Text("partition"));
    return values.Given("replicas")
               ? values.Text("replicas") == "auto"
               : partition && partition->first == training::Partition::kPipeDream &&
                     !values.Given("pp") && !values.Given("dp");
}

When
NoFlush()
{
    return when::Known("pipeline-schedule", "--pipeline-schedule=pipedream");
}

std::vector<Option>
PipelineOptionRows()
{
    const Section section{"/training", "Parallelism"};
    const Section collective = section.Only(when::Collectives());
    const Section pipeline = collective.IdleUnless(when::Above("pp", 1));
    return {
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
        pipeline
            .Text("pipeline-layout",
                  "layers of each pipeline stage, or of each virtual stage: Megatron-LM's string "
                  "(E embedding, t block, m prediction module, L loss, | between stages, (X)*N), "
                  "or numbers of blocks")
            .Shows("LAYOUT|N-N-...")
            .Alias("pipeline-model-parallel-layout")
            .Otherwise("--partition")
            .Example("E|(t|)*6tL"),
        pipeline
            .Flag("account-for-embedding-in-pipeline-split",
                  "the embedding counts as one block of the first stage (Megatron-LM)")
            .Default("0")
            .Only(when::If("partition", "--partition=uniform", IsUniform))
            .To(&training::TrainingOptions::countEmbedding),
        pipeline
            .Flag("account-for-loss-in-pipeline-split",
                  "head and loss count as one block of the last stage (Megatron-LM)")
            .Default("0")
            .Only(when::If("partition", "--partition=uniform", IsUniform))
            .To(&training::TrainingOptions::countLoss),
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
        section.Integer("virtual-stages", "chunks of layers a stage has, far apart in the model")
            .Range(1, 1e6)
            .Example("2")
            .Default("1"),
    };
}

namespace
{

/// Decides --pp and --virtual-stages by the pieces of --pipeline-layout.
void
DecideLayout(Validation* v)
{
    auto& values = v->values;
    const training::PipelineLayout layout =
        training::ParsePipelineLayout(values.Text("pipeline-layout"));
    if (!layout.problem.empty())
    {
        v->Fail("pipeline-layout", layout.problem);
        return;
    }
    for (const char* other : {"partition", "replicas"})
    {
        if (values.Given(other) && values.Text(other) != "uniform")
        {
            v->Fail("pipeline-layout",
                    "cannot be combined with --" + std::string(other) + "=" + values.Text(other) +
                        "; allowed: one of them");
            return;
        }
    }
    const auto pieces = static_cast<uint32_t>(layout.blocks.size());
    // The number of stages follows from that of virtual stages, or the other way round.
    const bool stages = values.Given("pp") || !values.Given("virtual-stages");
    const char* const known = stages ? "pp" : "virtual-stages";
    const char* const found = stages ? "virtual-stages" : "pp";
    const uint32_t number = values.Given(known) ? values.U32(known) : pieces;
    if (pieces % number != 0 || (values.Given(found) && values.U32(found) != pieces / number))
    {
        v->Fail("pipeline-layout",
                "has " + topo::Counted(pieces, "piece") + "; allowed with --" + known + "=" +
                    std::to_string(number) +
                    (values.Given(found)
                         ? " and --" + std::string(found) + "=" + std::to_string(values.U32(found))
                         : "") +
                    ": " +
                    (values.Given(found) ? std::to_string(number * values.U32(found))
                                         : "multiples of " + std::to_string(number)));
        return;
    }
    v->DecideUnlessGiven(known, std::to_string(number));
    v->DecideUnlessGiven(found, std::to_string(pieces / number));
}

} // namespace

void
TakeLayout(Validation* v, training::TrainingOptions* o)
{
    if (!v->values.Given("pipeline-layout"))
    {
        return;
    }
    const training::PipelineLayout layout =
        training::ParsePipelineLayout(v->values.Text("pipeline-layout"));
    if (layout.predictors && *layout.predictors != o->model.predictors)
    {
        v->Fail("pipeline-layout",
                "has " + topo::Counted(*layout.predictors, "prediction module") +
                    " (m); allowed: " + std::to_string(o->model.predictors) + ", as --mtp says");
        return;
    }
    o->partition = training::Partition::kGiven;
    o->pieceBlocks = layout.blocks;
}

void
DecideStages(Validation* v)
{
    auto& values = v->values;
    if (values.Given("pipeline-layout"))
    {
        DecideLayout(v);
    }
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

} // namespace scenario
