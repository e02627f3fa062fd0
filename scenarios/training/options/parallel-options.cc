/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/options/parallel-options.h"

#include "scenarios/asked/cluster.h"
#include "scenarios/asked/degrees.h"
#include "scenarios/asked/modes.h"
#include "scenarios/asked/training.h"
#include "scenarios/operator-search/options/pipeline-search.h"
#include "scenarios/options/format.h"
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
            .As(&asked::Degrees::tp)
            .Alias("tp-size")
            .Alias("tensor-parallel")
            .Alias("tensor-parallel-size")
            .Alias("tensor-model-parallel-size")
            .Alias("model-parallel-size")
            .Default("1"),
        degree(
            "pp",
            "pipeline parallel: stages of the model; auto: with --auto-parallel they are searched")
            .As(&asked::Degrees::pp)
            .OrWord(kSearchedPipeline)
            .Only(StagesSaid())
            .Alias("pp-size")
            .Alias("pipeline-parallel")
            .Alias("pipeline-parallel-size")
            .Alias("pipeline-model-parallel-size")
            .Default("1"),
        degree("dp", "data parallel: copies of the model")
            .As(&asked::Degrees::dp)
            .Only(StagesSaid())
            .Alias("dp-size")
            .Alias("data-parallel-size")
            .Otherwise("GPUs / (tp x pp x cp)"),
        degree("cp", "context parallel: GPUs that share every sequence")
            .As(&asked::Degrees::cp)
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
                .As(&asked::Training::rankOrder)
                .Shows("tp-cp-ep-dp-pp")
                .Default("tp-cp-ep-dp-pp")
                .Only(EvenStages()),
            section
                .Flag("sequence-parallel",
                      "with --tp: norms, dropout and residuals on a share of the tokens")
                .As(&asked::Training::sequenceParallel)
                .Default("0")
                .To(&training::TrainingOptions::sequenceParallel),
            section
                .Flag("tp-overlap",
                      "what is exchanged behind a backward runs beside the gradients of weights, "
                      "as in Megatron-LM since 2022")
                .As(&asked::Training::tpOverlap)
                .Default("1")
                .IdleUnless(when::Above("tp", 1))
                .To(&training::TrainingOptions::tensorOverlap),
            section
                .Flag("tp-comm-overlap",
                      "with --sequence-parallel: gathers and reduce-scatters in pieces, beside the "
                      "products "
                      "that they come before or behind")
                .As(&asked::Training::tpCommOverlap)
                .Default("0")
                .To(&training::TrainingOptions::piecewiseOverlap),
            section
                .Flag("gradient-accumulation-fusion",
                      "add a weight's gradient to those of earlier micro-batches within its matrix "
                      "product, "
                      "without another kernel (Megatron-LM since 2022)")
                .As(&asked::Training::gradientAccumulationFusion)
                .Otherwise("1 with --tp or --pp, else 0")
                .Example("0")
                .IdleUnless(when::Job(job::kAddedUp)),
            section.Name("context-exchange", "how attention gets at the keys of the whole sequence")
                .As(&asked::Training::contextExchange)
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
    const auto replicas = values.Given(&asked::Training::replicas)
                              ? ParseReplicas(values.Get(&asked::Training::replicas))
                              : std::nullopt;
    if (replicas && !values.Given(&asked::Cluster::gpus) && !values.Given(&asked::Cluster::servers))
    {
        const double gpus = std::accumulate(replicas->begin(), replicas->end(), 0.0) *
                            static_cast<double>(values.Get(&asked::Degrees::tp));
        if (gpus > kMostGpus)
        {
            v->Fail(&asked::Training::replicas,
                    "makes " + Format("%.4g", gpus) + " GPUs; allowed: at most 1000000");
            return;
        }
        v->Decide(&asked::Cluster::gpus, static_cast<uint64_t>(gpus));
        values.Slot(&asked::Cluster::gpus).given = true;
        values.Slot(&asked::Cluster::gpus).where = "--replicas (x --tp)";
        return;
    }
    if (!values.Given(&asked::Degrees::dp) || values.Given(&asked::Cluster::gpus) ||
        values.Given(&asked::Cluster::servers))
    {
        return;
    }
    double gpus = 1;
    for (const Member degree : {Member(&asked::Degrees::tp),
                                Member(&asked::Degrees::pp),
                                Member(&asked::Degrees::cp),
                                Member(&asked::Degrees::dp)})
    {
        gpus *= static_cast<double>(std::max<uint64_t>(1, values.At(degree).integer));
    }
    if (gpus > 1e6)
    {
        v->Fail(&asked::Degrees::dp,
                "makes " + Format("%.4g", gpus) + " GPUs; allowed: at most 1000000");
        return;
    }
    v->Decide(&asked::Cluster::gpus, static_cast<uint64_t>(gpus));
    values.Slot(&asked::Cluster::gpus).given = true;
    values.Slot(&asked::Cluster::gpus).where = "--dp (x --tp x --pp x --cp)";
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
    o->tensor = values.Get(&asked::Degrees::tp);
    o->pipeline = std::max(
        1U,
        static_cast<uint32_t>(
            values.Get(&asked::Degrees::pp).number)); // auto: the stages are those of a cut graph
    o->context = values.Get(&asked::Degrees::cp);
    o->expert = values.Get(&asked::Degrees::ep);
    o->expertTensor = values.Given(&asked::Degrees::etp) ? values.Get(&asked::Degrees::etp) : 0;
    const std::string gpus = topo::Counted(o->ranks, "GPU");
    std::tie(o->partition, o->partitionTypes) =
        training::ParsePartition(values.Get(&asked::Training::partition))
            .value_or(std::pair{training::Partition::kUniform, std::string()}); // has been said
    o->partitionFront = values.Get(&asked::Training::partitionFill) == "front";
    TakeLayout(v, o);
    if (values.Has(&asked::Training::pipelineSchedule))
    {
        o->schedule = values.Get(&asked::Training::pipelineSchedule);
    }
    v->Settle(NoFlush(), !HasFlush(*v));
    o->links = links;
    if (FindsStages(values))
    {
        FindStages(v, o);
    }
    else if (values.Given(&asked::Training::replicas))
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
    if (values.Given(&asked::Degrees::dp) && values.Get(&asked::Degrees::dp) != data)
    {
        v->Fail(&asked::Degrees::dp,
                gpus + " / (tp " + std::to_string(o->tensor) + " x pp " +
                    std::to_string(o->pipeline) + " x cp " + std::to_string(o->context) +
                    ") make " + std::to_string(data),
                std::to_string(data));
        return;
    }
    if (o->replicas.empty())
    {
        v->Decide(&asked::Degrees::dp, data);
    }
    v->Settle(EvenStages(), o->replicas.empty());
    const auto order = training::ParseDimensionOrder(values.Get(&asked::Training::rankOrder));
    if (order)
    {
        o->rankOrder = *order;
    }
    else
    {
        v->Fail(&asked::Training::rankOrder,
                "allowed: each of tp, cp, ep, dp, pp once, with '-' between, the innermost first");
    }
    bool refused = false;
    training::CheckExpert(*o, [&](Member field, const std::string& why) {
        v->Fail(field, why);
        refused = true;
    });
    o->expert = refused ? 1 : o->expert;
    o->expertTensor = refused ? 0 : o->expertTensor;
    if (o->sequenceParallel && o->tensor == 1)
    {
        if (values.Given(&asked::Training::sequenceParallel))
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
    if (values.Given(&asked::Degrees::etp) && !o->Folded())
    {
        v->notes.push_back(values.Where(&asked::Degrees::etp) +
                           ": has no effect, experts are shared by as many GPUs as --tp=" +
                           std::to_string(o->tensor) + " says");
    }
    for (const Member degree : {Member(&asked::Degrees::tp),
                                Member(&asked::Degrees::cp),
                                Member(&asked::Degrees::ep),
                                Member(&asked::Training::moeDispatcher),
                                Member(&asked::Degrees::pp)})
    {
        v->Settle(degree);
    }
    o->deepSpeedSends = values.Get(&asked::Training::pipelineSends) == "deepspeed";
    o->awaitedSends = values.Get(&asked::Training::pipelineSends) == "awaited" || o->deepSpeedSends;
    if (o->piecewiseOverlap && o->tensor == 1)
    {
        v->notes.push_back("--tp-comm-overlap has nothing to overlap with --tp=1");
        o->piecewiseOverlap = false;
    }
    if (o->piecewiseOverlap && o->tensor > 1 && !o->sequenceParallel)
    {
        v->Fail(&asked::Training::tpCommOverlap,
                "allowed: with --sequence-parallel, as in Megatron-LM");
    }
    v->DecideUnlessGiven(&asked::Training::gradientAccumulationFusion,
                         o->tensor > 1 || o->pipeline > 1);
    o->fusedAccumulation = values.Get(&asked::Training::gradientAccumulationFusion);
    const auto* schedule = training::FindPipelineSchedule(o->schedule);
    if (o->pipeline > 1 && schedule->UsualVirtualStages() > 1)
    {
        v->DecideUnlessGiven(&asked::Training::virtualStages, schedule->UsualVirtualStages());
    }
    o->virtualStages = values.Get(&asked::Training::virtualStages);
    if (o->pipeline > 1 && !values.Has(&asked::Training::pipelineSchedule))
    {
        v->Decide(&asked::Training::pipelineSchedule,
                  o->virtualStages > 1 ? "interleaved" : "1f1b");
        o->schedule = values.Get(&asked::Training::pipelineSchedule);
    }
}

} // namespace scenario
