/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/options/parallel-options.h"

#include "scenarios/operator-search/options/pipeline-search.h"
#include "scenarios/options/format.h"
#include "scenarios/options/spelling.h"
#include "scenarios/training/checks/option-checks.h"
#include "scenarios/training/options/expert-options.h"
#include "scenarios/training/options/pipeline-options.h"
#include "scenarios/training/pipeline/schedule.h"
#include "scenarios/training/stage-layers.h"
#include "topologies/names.h"

#include <numeric>
#include <tuple>
#include <utility>

namespace scenario
{

namespace
{

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

} // namespace

std::vector<Option>
ParallelOptionRows()
{
    const Section section{"/training", "Parallelism"};
    const Section collective = section.Only(when::Collectives());
    const auto degree = [&](const char* name, const char* help) {
        return section.Integer(name, help).Range(1, 1e6).Example("2");
    };
    std::vector<Option> rows{
        degree("tp", "tensor parallel: GPUs that share every layer (Megatron-LM)")
            .Alias("tp-size")
            .Alias("tensor-parallel")
            .Alias("tensor-parallel-size")
            .Alias("tensor-model-parallel-size")
            .Alias("model-parallel-size")
            .Default("1"),
        degree(
            "pp",
            "pipeline parallel: stages of the model; auto: with --auto-parallel they are searched")
            .OrWord(kSearchedPipeline)
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
    };
    Append(&rows, ExpertOptionRows());
    Append(
        &rows,
        std::vector<Option>{
            section
                .Text("rank-order",
                      "along which dimension ranks are counted first; ranks fill servers in their "
                      "order")
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
        });
    Append(&rows, PipelineOptionRows());
    return rows;
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
        gpus *= static_cast<double>(std::max<uint64_t>(1, values.Integer(degree)));
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
    o->pipeline = std::max(1U, values.U32("pp")); // auto: the stages are those of a cut graph
    o->context = values.U32("cp");
    o->expert = values.U32("ep");
    o->expertTensor = values.Given("etp") ? values.U32("etp") : 0;
    const std::string gpus = topo::Counted(o->ranks, "GPU");
    std::tie(o->partition, o->partitionTypes) =
        training::ParsePartition(values.Text("partition"))
            .value_or(std::pair{training::Partition::kUniform, std::string()}); // has been said
    o->partitionFront = values.Text("partition-fill") == "front";
    TakeLayout(v, o);
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
    bool refused = false;
    training::CheckExpert(*o, [&](const std::string& field, const std::string& why) {
        v->Fail(OptionOfField(field), Spelled(why));
        refused = true;
    });
    o->expert = refused ? 1 : o->expert;
    o->expertTensor = refused ? 0 : o->expertTensor;
    if (o->sequenceParallel && o->tensor == 1)
    {
        if (values.Given("sequence-parallel"))
        {
            v->notes.push_back("--sequence-parallel shares nothing out with --tp=1");
        }
        o->sequenceParallel = false;
    }
    if (o->expert > 1 && o->tensor > 1 && !o->Folded() && !o->sequenceParallel)
    {
        // megatron/core/model_parallel_config.py (NVIDIA/Megatron-LM@02aa3ee) warns of it, too.
        v->notes.push_back("--ep with --tp=" + std::to_string(o->tensor) +
                           " and without --sequence-parallel: each GPU of a tensor group sends all "
                           "of the tokens to the experts, " +
                           std::to_string(o->tensor) +
                           " times the all-to-all that --sequence-parallel has; Megatron-LM asks "
                           "for --sequence-parallel there");
    }
    if (values.Given("etp") && !o->Folded())
    {
        v->notes.push_back(values.Where("etp") +
                           ": has no effect, experts are shared by as many GPUs as --tp=" +
                           std::to_string(o->tensor) + " says");
    }
    for (const char* degree : {"tp", "cp", "ep", "moe-dispatcher", "pp"})
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
    const auto* schedule = training::FindPipelineSchedule(o->schedule);
    if (o->pipeline > 1 && schedule->UsualVirtualStages() > 1)
    {
        v->DecideUnlessGiven("virtual-stages", std::to_string(schedule->UsualVirtualStages()));
    }
    o->virtualStages = values.U32("virtual-stages");
    if (o->pipeline > 1 && !values.Present("pipeline-schedule"))
    {
        v->Decide("pipeline-schedule", o->virtualStages > 1 ? "interleaved" : "1f1b");
        o->schedule = values.Text("pipeline-schedule");
    }
}

} // namespace scenario
