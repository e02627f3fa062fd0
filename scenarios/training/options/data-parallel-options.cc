/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/options/data-parallel-options.h"

#include "scenarios/asked/modes.h"
#include "scenarios/asked/training.h"
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
    const std::string& text = v->values.Get(&asked::Training::gradientCompression);
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
            v->Fail(&asked::Training::gradientCompression, allowed);
        }
    }
    else if (text != "none")
    {
        v->Fail(&asked::Training::gradientCompression, allowed);
    }
}

} // namespace

std::vector<Option>
DataParallelOptionRows()
{
    const Section section = Section{"/training", "Training"}.Only(when::Collectives());
    const Section stage3 = section.Only(when::Zero("3"));
    const Section deepSpeed = stage3.Only(when::Is("zero-impl", {"deepspeed"}));
    return {
        section
            .Bytes("first-bucket", "gradients in the bucket that is reduced first (PyTorch's DDP)")
            .As(&asked::Training::firstBucket)
            .Otherwise("1MiB; that of --buckets if given, or with --tp or --pp")
            .Range(1, 1e15)
            .Example("4MiB")
            .Only(when::Zero("0"))
            .Only(when::Is("zero-impl", {"paper"}).Usual())
            .IdleUnless(when::Job(job::kReplicas))
            .To(&training::TrainingOptions::firstBucketBytes),
        section.Name("reduce-dtype", "gradients are kept and reduced in it")
            .As(&asked::Training::reduceDtype)
            .Alias("communication-data-type")
            .Names("datatype of gradients",
                   {{"parameters", "that of parameters, --dtype"}, {"fp32", "32 bits"}})
            .Otherwise("parameters")
            .Example("fp32")
            .IdleUnless(when::HalfPrecision()),
        section
            .Name("sharding",
                  "from --zero=1 on: among whom the parameters (at stage 3; before that gradients "
                  "and "
                  "the optimizer's state) are shared out")
            .As(&asked::Training::sharding)
            .Names("sharding",
                   {{"full", "all ranks that hold the same"},
                    {"hybrid",
                     "--shard-size of them; gradients are added up among the copies (FSDP's hybrid "
                     "shard, MiCS)"}})
            .Otherwise("full; hybrid with --shard-size")
            .Example("hybrid"),
        section.Integer("shard-size", "ranks that share one copy out")
            .As(&asked::Training::shardSize)
            .Alias("mics-shard-size")
            .Otherwise("those of a server")
            .Range(2, 1e6)
            .Example("4")
            .Only(when::Is("sharding", {"hybrid"})),
        stage3.Flag("zero-quantized-weights", "parameters are gathered in 8 bits (ZeRO++)")
            .As(&asked::Training::zeroQuantizedWeights)
            .Otherwise("0")
            .Example("1")
            .To(&training::TrainingOptions::quantizedWeights),
        stage3
            .Integer("zero-hpz-partition-size",
                     "ranks that share a second copy of the parameters, from which backward "
                     "gathers; with deepspeed all gathers but a step's first (ZeRO++)")
            .As(&asked::Training::zeroHpzPartitionSize)
            .Otherwise("1")
            .Range(1, 1e6)
            .Example("8")
            .To(&training::TrainingOptions::secondary),
        stage3
            .Flag("zero-quantized-gradients",
                  "gradients go in 4 bits, within servers and then between them (ZeRO++)")
            .As(&asked::Training::zeroQuantizedGradients)
            .Otherwise("0")
            .Example("1"),
        deepSpeed
            .Integer("persistence-threshold", "tensors of up to so many elements are on every rank")
            .As(&asked::Training::persistenceThreshold)
            .Alias("stage3-param-persistence-threshold")
            .Otherwise("100000")
            .Range(0, 1e15)
            .Example("1000000")
            .To(&training::TrainingOptions::persistElements),
        deepSpeed
            .Flag("zero-tensor-lists",
                  "collectives of lists of tensors, each of which is copied, as "
                  "until 2021; since then of flat buffers")
            .As(&asked::Training::zeroTensorLists)
            .Otherwise("0")
            .Example("1")
            .To(&training::TrainingOptions::tensorLists),
        section.Duration("cycle-time", "from one look for gradients to the next")
            .As(&asked::Training::cycleTime)
            .Otherwise("1ms")
            .Range(0, 1e13)
            .Example("5ms")
            .Only(when::Is("zero-impl", {"horovod"}))
            .IdleUnless(when::Job(job::kReplicas))
            .To(&training::TrainingOptions::cycleTime),
        section
            .Text("gradient-compression",
                  "gradients are sent in 16 bits, or only this share of them, the largest")
            .As(&asked::Training::gradientCompression)
            .Shows("none|fp16|topk:RATIO")
            .Otherwise("none")
            .Example("topk:0.01")
            .Only(when::Zero("0")),
    };
}

void
MakeDataParallel(Validation* v, training::TrainingOptions* o, uint32_t gpus)
{
    auto& values = v->values;
    v->Settle(&asked::Training::zeroImpl);
    o->wideReduction = values.Given(&asked::Training::reduceDtype) &&
                       values.Get(&asked::Training::reduceDtype) == "fp32";
    const bool hybrid = values.Given(&asked::Training::sharding)
                            ? values.Get(&asked::Training::sharding) == "hybrid"
                            : values.Given(&asked::Training::shardSize);
    if (hybrid)
    {
        v->Decide(&asked::Training::sharding, "hybrid");
        o->shard = values.Given(&asked::Training::shardSize)
                       ? values.Get(&asked::Training::shardSize)
                       : InOneServer(*o, gpus);
        if (o->shard == o->Replicas())
        {
            v->notes.push_back("--sharding=hybrid is as full here: there is one copy of the "
                               "parameters on the " +
                               std::to_string(o->shard) + " ranks that share it out");
        }
    }
    v->Settle(&asked::Training::sharding);
    o->quantizedGradients =
        values.Get(&asked::Training::zeroQuantizedGradients) ? InOneServer(*o, gpus) : 0;
    if (values.Given(&asked::Training::gradientCompression))
    {
        MakeCompression(v, o);
    }
}

void
DecideDataParallel(Validation* v, const training::TrainingOptions& o)
{
    if (!o.sharding.optimizer && o.zeroImpl == training::ZeroImpl::kPaper)
    {
        v->Decide(&asked::Training::firstBucket, rdma::Bytes(*o.firstBucketBytes));
    }
    if (o.shard > 0)
    {
        v->Decide(&asked::Training::shardSize, o.shard);
    }
    if (o.sharding.parameters && o.zeroImpl == training::ZeroImpl::kDeepSpeed)
    {
        v->Decide(&asked::Training::persistenceThreshold, *o.persistElements);
    }
    if (o.zeroImpl == training::ZeroImpl::kHorovod)
    {
        v->Decide(&asked::Training::cycleTime, rdma::Duration(o.cycleTime.ps));
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
    if (o.order != training::CollectiveOrder::kFifo)
    {
        text += ", collectives by " + training::CollectiveOrderName(o.order);
    }
    if (o.chunkBytes > 0)
    {
        text += ", chunks of " + HumanBytes(static_cast<double>(o.chunkBytes));
    }
    if (o.inFlight > 1)
    {
        text += ", " + std::to_string(o.inFlight) + " in flight";
    }
    if (o.overlapNextForward)
    {
        text += ", the next forward beside reductions";
    }
    if (o.compression == training::Compression::kTopK)
    {
        text += ", the largest " + Format("%.4g", o.topRatio * 100) + "% of gradients sent";
    }
    return text;
}

} // namespace scenario
