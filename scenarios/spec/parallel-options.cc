/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/spec/parallel-options.h"

#include "scenarios/spec/format.h"
#include "scenarios/training/pipeline/schedule.h"
#include "topologies/names.h"

namespace scenario
{

namespace
{

std::vector<NamedItem>
ScheduleItems()
{
    std::vector<NamedItem> items;
    for (const training::PipelineSchedule* schedule : training::PipelineSchedules())
    {
        // A step graph begins and ends with an empty pipeline.
        if (schedule->Flushes())
        {
            items.push_back({schedule->Name(), schedule->Description()});
        }
    }
    return items;
}

} // namespace

std::vector<Option>
ParallelOptionRows()
{
    const std::string group = "Parallelism";
    const std::string json = "/training";
    const auto degree = [&](const char* name, const char* help) {
        return Opt(name, Kind::kInteger, json, group, help).Range(1, 1e6).Example("2");
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
            .Alias("pp-size")
            .Alias("pipeline-parallel")
            .Alias("pipeline-parallel-size")
            .Alias("pipeline-model-parallel-size")
            .Default("1"),
        degree("dp", "data parallel: copies of the model")
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
        Opt("rank-order",
            Kind::kText,
            json,
            group,
            "along which dimension ranks are counted first; ranks fill servers in their order")
            .Shows("tp-cp-ep-dp-pp")
            .Default("tp-cp-ep-dp-pp"),
        Opt("sequence-parallel",
            Kind::kFlag,
            json,
            group,
            "with --tp: norms, dropout and residuals on a share of the tokens")
            .Default("0"),
        Opt("tp-overlap",
            Kind::kFlag,
            json,
            group,
            "with --tp: what is exchanged behind a backward runs beside the gradients of weights, "
            "as in Megatron-LM since 2022")
            .Default("1"),
        Opt("tp-comm-overlap",
            Kind::kFlag,
            json,
            group,
            "with --sequence-parallel: gathers and reduce-scatters in pieces, beside the products "
            "that they come before or behind")
            .Default("0"),
        Opt("gradient-accumulation-fusion",
            Kind::kFlag,
            json,
            group,
            "the product that makes a weight's gradient adds it to those of earlier micro-batches, "
            "as in Megatron-LM since 2022, instead of a kernel of its own")
            .Otherwise("1 with --tp or --pp, else 0")
            .Example("0"),
        Opt("context-exchange",
            Kind::kName,
            json,
            group,
            "with --cp: how attention gets at the keys of the whole sequence")
            .Names("exchange",
                   {{"ring", "keys and values go round while attention computes"},
                    {"all-gather", "keys and values are gathered before it"},
                    {"ulysses", "all-to-all between tokens and heads, before and after it"}})
            .Default("ring"),
        Opt("pipeline-schedule",
            Kind::kName,
            json,
            group,
            "in which order a stage computes its micro-batches")
            .Names("schedule", ScheduleItems)
            .Otherwise("1f1b; interleaved with --virtual-stages")
            .Example("gpipe"),
        Opt("layers",
            Kind::kInteger,
            json,
            group,
            "simulate so many of the model's blocks, and fewer, and extrapolate the step")
            .Range(1, 1e6)
            .Otherwise("all")
            .Example("6"),
        degree("virtual-stages", "chunks of layers a stage has, far apart in the model")
            .Default("1"),
    };
}

void
DecideGpus(Validation* v)
{
    auto& values = v->values;
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

void
MakeParallel(Validation* v, training::TrainingOptions* o)
{
    auto& values = v->values;
    o->tensor = values.U32("tp");
    o->pipeline = values.U32("pp");
    o->context = values.U32("cp");
    o->expert = values.U32("ep");
    const std::string gpus = topo::Counted(o->ranks, "GPU");
    const uint64_t copy = uint64_t(o->tensor) * o->pipeline * o->context;
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
    v->Decide("dp", std::to_string(data));
    if (data * o->context % o->expert != 0)
    {
        v->Fail("ep",
                "does not divide dp " + std::to_string(data) + " x cp " +
                    std::to_string(o->context) + " = " + std::to_string(data * o->context));
    }
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
    o->layers = values.Present("layers") ? values.U32("layers") : 0;
    o->sequenceParallel = values.Flag("sequence-parallel");
    if (o->sequenceParallel && o->tensor == 1)
    {
        if (values.Given("sequence-parallel"))
        {
            v->notes.push_back("--sequence-parallel shares nothing out with --tp=1");
        }
        o->sequenceParallel = false;
    }
    o->tensorOverlap = values.Flag("tp-overlap");
    o->piecewiseOverlap = values.Flag("tp-comm-overlap");
    if (o->piecewiseOverlap && o->tensor > 1 && !o->sequenceParallel)
    {
        v->Fail("tp-comm-overlap", "allowed: with --sequence-parallel, as in Megatron-LM");
    }
    v->DecideUnlessGiven("gradient-accumulation-fusion",
                         o->tensor > 1 || o->pipeline > 1 ? "1" : "0");
    o->fusedAccumulation = values.Flag("gradient-accumulation-fusion");
    o->contextExchange = *training::ParseContextExchange(values.Text("context-exchange"));
    o->virtualStages = values.U32("virtual-stages");
    if (o->pipeline > 1)
    {
        v->DecideUnlessGiven("pipeline-schedule", o->virtualStages > 1 ? "interleaved" : "1f1b");
    }
    if (values.Present("pipeline-schedule"))
    {
        o->schedule = values.Text("pipeline-schedule");
    }
}

} // namespace scenario
