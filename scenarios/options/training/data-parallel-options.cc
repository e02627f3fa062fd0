/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/options/training/data-parallel-options.h"

#include "scenarios/options/format.h"

#include <algorithm>
#include <charconv>

namespace scenario
{

namespace
{

/// The number of ranks in the server of the first, among those that hold the same parameters.
uint32_t
InOneServer(const training::TrainingOptions& o, uint32_t gpus)
{
    training::Layout layout = o.GetLayout();
    layout.shard = 0;
    layout.local = 0;
    const auto group = GroupsOf(layout, training::GroupOf::kGradient).front();
    return static_cast<uint32_t>(std::count_if(group.begin(), group.end(), [&](coll::Rank rank) {
        return rank / gpus == group.front() / gpus;
    }));
}

/// "topk:0.01": its number; nothing if there is none from above 0 to 1.
std::optional<double>
RatioOf(const std::string& text)
{
    double ratio = 0;
    const char* const end = text.data() + text.size();
    const auto [after, bad] = std::from_chars(text.data() + text.find(':') + 1, end, ratio);
    if (bad != std::errc() || after != end || !(ratio > 0 && ratio <= 1))
    {
        return std::nullopt;
    }
    return ratio;
}

void
MakeCompression(Validation* v, training::TrainingOptions* o)
{
    using training::Compression;
    const std::string& text = v->values.Text("gradient-compression");
    const std::string allowed = "allowed: none, fp16, or topk:RATIO with a ratio above 0, up to 1";
    if (text == "fp16")
    {
        o->compression = Compression::kFp16;
    }
    else if (text.rfind("topk:", 0) == 0)
    {
        const auto ratio = RatioOf(text);
        o->compression = Compression::kTopK;
        o->topRatio = ratio.value_or(1);
        if (!ratio)
        {
            v->Fail("gradient-compression", allowed);
        }
    }
    else if (text != "none")
    {
        v->Fail("gradient-compression", allowed);
    }
}

} // namespace

std::vector<Option>
DataParallelOptionRows()
{
    const std::string json = "/training";
    const std::string group = "Training";
    return {
        Opt("first-bucket",
            Kind::kBytes,
            json,
            group,
            "--zero=0: gradients in the bucket that is reduced first (PyTorch's DDP)")
            .Otherwise("1MiB; that of --buckets if given, or with --tp or --pp")
            .Range(1, 1e15)
            .Example("4MiB"),
        Opt("reduce-dtype", Kind::kName, json, group, "gradients are kept and reduced in it")
            .Alias("communication-data-type")
            .Names("datatype of gradients",
                   {{"parameters", "that of parameters, --dtype"}, {"fp32", "32 bits"}})
            .Otherwise("parameters")
            .Example("fp32"),
        Opt("sharding",
            Kind::kName,
            json,
            group,
            "from --zero=1 on: among whom the parameters (at stage 3; before that gradients and "
            "the optimizer's state) are shared out")
            .Names("sharding",
                   {{"full", "all ranks that hold the same"},
                    {"hybrid",
                     "--shard-size of them; gradients are added up among the copies (FSDP's hybrid "
                     "shard, MiCS)"}})
            .Otherwise("full; hybrid with --shard-size")
            .Example("hybrid"),
        Opt("shard-size",
            Kind::kInteger,
            json,
            group,
            "with --sharding=hybrid: ranks that share one copy out")
            .Alias("mics-shard-size")
            .Otherwise("those of a server")
            .Range(2, 1e6)
            .Example("4"),
        Opt("zero-quantized-weights",
            Kind::kFlag,
            json,
            group,
            "stage 3: parameters are gathered in 8 bits (ZeRO++)")
            .Otherwise("0")
            .Example("1"),
        Opt("zero-hpz-partition-size",
            Kind::kInteger,
            json,
            group,
            "stage 3: ranks that share a second copy of the parameters, from which backward "
            "gathers; with deepspeed all gathers but a step's first (ZeRO++)")
            .Otherwise("1: there is none")
            .Range(1, 1e6)
            .Example("8"),
        Opt("zero-quantized-gradients",
            Kind::kFlag,
            json,
            group,
            "stage 3: gradients go in 4 bits, within servers and then between them (ZeRO++)")
            .Otherwise("0")
            .Example("1"),
        Opt("persistence-threshold",
            Kind::kInteger,
            json,
            group,
            "stage 3 with deepspeed: tensors of up to so many elements are on every rank")
            .Alias("stage3-param-persistence-threshold")
            .Otherwise("100000")
            .Range(0, 1e15)
            .Example("1000000"),
        Opt("zero-tensor-lists",
            Kind::kFlag,
            json,
            group,
            "stage 3 with deepspeed: collectives of lists of tensors, each of which is copied, as "
            "until 2021; since then of flat buffers")
            .Otherwise("0")
            .Example("1"),
        Opt("cycle-time",
            Kind::kDuration,
            json,
            group,
            "with --zero-impl=horovod: from one look at what gradients there are to the next")
            .Otherwise("1ms")
            .Range(0, 1e13)
            .Example("5ms"),
        Opt("gradient-compression",
            Kind::kText,
            json,
            group,
            "--zero=0: gradients are sent in 16 bits, or only this share of them, the largest")
            .Shows("none|fp16|topk:RATIO")
            .Otherwise("none")
            .Example("topk:0.01"),
    };
}

const std::vector<std::string>&
DataParallelOptionNames()
{
    static const std::vector<std::string> names = [] {
        std::vector<std::string> list;
        for (const Option& option : DataParallelOptionRows())
        {
            list.push_back(option.name);
        }
        return list;
    }();
    return names;
}

void
MakeDataParallel(Validation* v, training::TrainingOptions* o, uint32_t gpus)
{
    auto& values = v->values;
    const bool plain = o->zero == 0 && o->zeroImpl == training::ZeroImpl::kPaper;
    if (values.Given("first-bucket"))
    {
        o->firstBucketBytes = values.Integer("first-bucket");
        if (!plain)
        {
            v->MustNotBeGiven({"first-bucket"}, "belongs to --zero=0 with --zero-impl=paper");
        }
    }
    o->wideReduction = values.Given("reduce-dtype") && values.Text("reduce-dtype") == "fp32";
    const bool hybrid =
        values.Given("sharding") ? values.Text("sharding") == "hybrid" : values.Given("shard-size");
    if (hybrid)
    {
        v->Decide("sharding", "hybrid");
        o->shard = values.Given("shard-size") ? values.U32("shard-size") : InOneServer(*o, gpus);
        if (o->shard == o->Replicas())
        {
            v->notes.push_back("--sharding=hybrid is as full here: there is one copy of the "
                               "parameters on the " +
                               std::to_string(o->shard) + " ranks that share it out");
        }
    }
    else
    {
        v->MustNotBeGiven({"shard-size"}, "belongs to --sharding=hybrid");
    }
    o->quantizedWeights = values.Flag("zero-quantized-weights");
    o->secondary =
        values.Given("zero-hpz-partition-size") ? values.U32("zero-hpz-partition-size") : 1;
    o->quantizedGradients = values.Flag("zero-quantized-gradients") ? InOneServer(*o, gpus) : 0;
    if (values.Given("persistence-threshold"))
    {
        o->persistElements = values.Integer("persistence-threshold");
    }
    o->tensorLists = values.Flag("zero-tensor-lists");
    if (values.Given("cycle-time"))
    {
        o->cycleTime = values.Duration("cycle-time");
        if (o->zeroImpl != training::ZeroImpl::kHorovod)
        {
            v->MustNotBeGiven({"cycle-time"}, "belongs to --zero-impl=horovod");
        }
    }
    if (values.Given("gradient-compression"))
    {
        MakeCompression(v, o);
    }
}

void
DecideDataParallel(Validation* v, const training::TrainingOptions& o)
{
    if (o.zero == 0 && o.zeroImpl == training::ZeroImpl::kPaper)
    {
        v->Decide("first-bucket", CanonicalBytes(*o.firstBucketBytes));
    }
    if (o.shard > 0)
    {
        v->Decide("shard-size", std::to_string(o.shard));
    }
    if (o.zero == 3 && o.zeroImpl == training::ZeroImpl::kDeepSpeed)
    {
        v->Decide("persistence-threshold", std::to_string(*o.persistElements));
    }
    if (o.zeroImpl == training::ZeroImpl::kHorovod)
    {
        v->Decide("cycle-time", CanonicalDuration(o.cycleTime.ps));
    }
}

std::string
DataParallelText(const training::TrainingOptions& o)
{
    std::string text;
    if (o.wideReduction)
    {
        text += ", gradients in fp32";
    }
    if (o.shard > 0)
    {
        text += ", hybrid sharding (" + std::to_string(o.shard) + " ranks a copy)";
    }
    if (o.quantizedWeights)
    {
        text += ", parameters gathered in 8 bits";
    }
    if (o.secondary > 1)
    {
        text += ", a second copy on " + std::to_string(o.secondary) + " ranks";
    }
    if (o.quantizedGradients > 0)
    {
        text += ", gradients in 4 bits";
    }
    if (o.tensorLists)
    {
        text += ", collectives of lists";
    }
    if (o.compression == training::Compression::kFp16)
    {
        text += ", gradients sent in fp16";
    }
    if (o.compression == training::Compression::kTopK)
    {
        text += ", the largest " + Format("%.4g", o.topRatio * 100) + "% of gradients sent";
    }
    return text;
}

} // namespace scenario
