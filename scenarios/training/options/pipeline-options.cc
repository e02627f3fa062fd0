/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/options/pipeline-options.h"

#include "scenarios/asked/degrees.h"
#include "scenarios/asked/modes.h"
#include "scenarios/asked/training.h"
#include "scenarios/options/format.h"
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
    return !values.Given(&asked::Training::pipelineLayout) &&
           (!values.Given(&asked::Training::partition) ||
            values.Get(&asked::Training::partition) == "uniform");
}

/// Whether --partition divides by layers, which may not come out even.
bool
HasFill(const Values& values)
{
    const auto partition = training::ParsePartition(values.Get(&asked::Training::partition));
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
    const auto partition = training::ParsePartition(values.Get(&asked::Training::partition));
    return values.Given(&asked::Training::replicas)
               ? values.Get(&asked::Training::replicas) == "auto"
               : partition && partition->first == training::Partition::kPipeDream &&
                     !values.Given(&asked::Degrees::pp) && !values.Given(&asked::Degrees::dp);
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
            .As(&asked::Training::pipelineSchedule)
            .Names("schedule", ScheduleItems)
            .Otherwise("1f1b; interleaved with --virtual-stages, pipedream with --replicas")
            .Example("gpipe"),
        pipeline
            .Text(
                "partition",
                "how layers become pipeline stages: uniform (equal numbers of blocks), balanced "
                "(shortest longest stage), pipedream (with messages; finds stages and --replicas), "
                "parameters (equal numbers), type:REGEX (equal numbers of such layers)")
            .As(&asked::Training::partition)
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
            .As(&asked::Training::pipelineLayout)
            .Shows("LAYOUT|N-N-...")
            .Alias("pipeline-model-parallel-layout")
            .Otherwise("--partition")
            .Example("E|(t|)*6tL"),
        pipeline
            .Flag("account-for-embedding-in-pipeline-split",
                  "the embedding counts as one block of the first stage (Megatron-LM)")
            .As(&asked::Training::accountForEmbeddingInPipelineSplit)
            .Default("0")
            .Only(when::If("partition", "--partition=uniform", IsUniform))
            .To(&training::TrainingOptions::countEmbedding),
        pipeline
            .Flag("account-for-loss-in-pipeline-split",
                  "head and loss count as one block of the last stage (Megatron-LM)")
            .As(&asked::Training::accountForLossInPipelineSplit)
            .Default("0")
            .Only(when::If("partition", "--partition=uniform", IsUniform))
            .To(&training::TrainingOptions::countLoss),
        pipeline.Name("partition-fill", "where layers do not divide evenly")
            .As(&asked::Training::partitionFill)
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
            .As(&asked::Training::replicas)
            .Shows("N-N-...")
            .Otherwise("--dp each")
            .Example("2-1-1"),
        pipeline.Name("pipeline-sends", "whether computing waits for a message to the next stage")
            .As(&asked::Training::pipelineSends)
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
            .As(&asked::Training::verticalSync)
            .Default("0")
            .Only(NoFlush())
            .To(&training::TrainingOptions::verticalSync),
        collective
            .Integer("layers",
                     "simulate so many of the model's blocks, and fewer, and extrapolate the step")
            .As(&asked::Training::layers)
            .Range(1, 1e6)
            .Otherwise("all")
            .Example("6")
            .Only(when::OneJob())
            .To(&training::TrainingOptions::layers),
        section.Integer("virtual-stages", "chunks of layers a stage has, far apart in the model")
            .As(&asked::Training::virtualStages)
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
        training::ParsePipelineLayout(values.Get(&asked::Training::pipelineLayout));
    if (!layout.problem.empty())
    {
        v->Fail(&asked::Training::pipelineLayout, layout.problem);
        return;
    }
    for (const Member other :
         {Member(&asked::Training::partition), Member(&asked::Training::replicas)})
    {
        if (values.Given(other) && values.At(other).text != "uniform")
        {
            v->Fail(&asked::Training::pipelineLayout,
                    "cannot be combined with " + Spell(other) + "=" + values.At(other).text +
                        "; allowed: one of them");
            return;
        }
    }
    const auto pieces = static_cast<uint32_t>(layout.blocks.size());
    // The number of stages follows from that of virtual stages, or the other way round.
    const bool stages =
        values.Given(&asked::Degrees::pp) || !values.Given(&asked::Training::virtualStages);
    const char* const known = stages ? "pp" : "virtual-stages";
    const char* const found = stages ? "virtual-stages" : "pp";
    const uint32_t number = values.Given(known) ? values.U32(known) : pieces;
    if (pieces % number != 0 || (values.Given(found) && values.U32(found) != pieces / number))
    {
        v->Fail(&asked::Training::pipelineLayout,
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
    if (!v->values.Given(&asked::Training::pipelineLayout))
    {
        return;
    }
    const training::PipelineLayout layout =
        training::ParsePipelineLayout(v->values.Get(&asked::Training::pipelineLayout));
    if (layout.predictors && *layout.predictors != o->model.predictors)
    {
        v->Fail(&asked::Training::pipelineLayout,
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
    if (values.Given(&asked::Training::pipelineLayout))
    {
        DecideLayout(v);
    }
    const std::string& partition = values.Get(&asked::Training::partition);
    const auto parsed = training::ParsePartition(partition);
    if (!parsed)
    {
        v->Fail(&asked::Training::partition,
                "allowed: uniform, balanced, pipedream, parameters, type:REGEX" +
                    topo::DidYouMean(partition,
                                     {"uniform", "balanced", "pipedream", "parameters", "type:"}));
        return;
    }
    v->Settle(&asked::Training::partition);
    v->Settle(&asked::Training::replicas);
    if (FindsStages(values))
    {
        if (values.Given(&asked::Training::partition) &&
            parsed->first != training::Partition::kPipeDream)
        {
            v->Fail(&asked::Training::partition,
                    "finds no replicas; allowed with --replicas=auto: pipedream");
        }
        v->Decide(&asked::Training::partition, "pipedream");
        v->DecideUnlessGiven(&asked::Training::pipelineSchedule, "pipedream");
    }
    else if (values.Given(&asked::Training::replicas))
    {
        const auto replicas = ParseReplicas(values.Get(&asked::Training::replicas));
        if (!replicas)
        {
            v->Fail(&asked::Training::replicas,
                    "allowed: auto, or a number from 1 to " + std::to_string(kMostGpus) +
                        " for each stage with '-' between, as 2-1-1");
            return;
        }
        if (values.Given(&asked::Degrees::pp) &&
            static_cast<uint32_t>(values.Get(&asked::Degrees::pp).number) != replicas->size())
        {
            v->Fail(
                &asked::Training::replicas,
                "is of " + topo::Counted(replicas->size(), "stage") + ", and --pp is " +
                    std::to_string(static_cast<uint32_t>(values.Get(&asked::Degrees::pp).number)));
            return;
        }
        const bool even = std::all_of(replicas->begin(), replicas->end(), [&](uint32_t count) {
            return count == replicas->front();
        });
        // A configuration as run has the options that it follows from.
        if (!even || (values.Given(&asked::Degrees::dp) &&
                      values.Get(&asked::Degrees::dp) != replicas->front()))
        {
            if (values.Given(&asked::Degrees::dp))
            {
                v->Fail(&asked::Degrees::dp, v->Refusal(when::Without("replicas")));
            }
        }
        v->Decide(&asked::Degrees::pp, {replicas->size(), ""});
        v->DecideUnlessGiven(&asked::Training::pipelineSchedule, "pipedream");
    }
}

bool
HasFlush(const Validation& v)
{
    return !v.values.Has(&asked::Training::pipelineSchedule) ||
           training::FindPipelineSchedule(v.values.Get(&asked::Training::pipelineSchedule))
               ->Flushes();
}

/// Those of the option: all equal, they are data parallelism.
void
TakeReplicas(Validation* v, training::TrainingOptions* o)
{
    const auto replicas = ParseReplicas(v->values.Get(&asked::Training::replicas));
    if (!replicas)
    {
        return; // has been said
    }
    const uint64_t sum = std::accumulate(replicas->begin(), replicas->end(), uint64_t{0});
    if (sum * o->tensor != o->ranks)
    {
        v->Fail(&asked::Training::replicas,
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
    for (const Member degree : {Member(&asked::Degrees::tp),
                                Member(&asked::Degrees::cp),
                                Member(&asked::Degrees::ep),
                                Member(&asked::Training::virtualStages)})
    {
        if (values.At(degree).integer != 1)
        {
            v->Fail(degree, "allowed with --replicas=auto, whose machines are single GPUs: 1");
            return;
        }
    }
    if (!values.Given(&asked::Training::microBatch) ||
        values.Get(&asked::Training::microBatch).word == "auto")
    {
        v->Fail(&asked::Training::microBatch,
                "must be given as a number with --replicas=auto: the stages depend on it");
        return;
    }
    o->microBatch = static_cast<uint32_t>(values.Get(&asked::Training::microBatch).number);
    if (const auto why = training::WhyNoStagesFound(*o))
    {
        v->Fail(values.Given(&asked::Training::replicas) ? "replicas" : "partition", *why);
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
    v->Decide(&asked::Degrees::pp, {o->pipeline, ""});
    v->Decide(&asked::Training::replicas, training::ReplicasText(*o));
    v->notes.push_back("--replicas=" + training::ReplicasText(*o) +
                       ": what PipeDream's partitioner finds");
}

} // namespace scenario
