/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/checks/option-checks.h"

#include <cstdint>

namespace training
{

void
CheckDataParallel(const TrainingOptions& o, const Refuse& error)
{
    const auto number = [](uint64_t n) { return std::to_string(n); };
    const uint32_t all = o.Replicas();
    const std::string ranks = number(all) + " ranks that hold the same parameters";
    const bool deepSpeed = o.zeroImpl == ZeroImpl::kDeepSpeed;
    const auto needs = [&](const char* option, bool stage, const std::string& stages) {
        if (!stage)
        {
            error(option,
                  "has no meaning with {sharding}=" + number(o.sharding.Stage()) +
                      "; it belongs to {sharding}=" + stages);
        }
        return stage;
    };
    const auto divides = [&](const char* option, uint32_t size) {
        if (o.expert > 1 || o.Folded())
        {
            error(option,
                  "is not there for experts that are shared out; allowed with it: {expert}=1" +
                      std::string(o.Folded() ? " without {expertTensor}" : ""));
        }
        else if (size < 2 || all % size != 0)
        {
            error(option,
                  "is " + number(size) + ", which " +
                      (size < 2 ? "shares nothing out" : "does not divide the " + ranks));
        }
    };
    const auto alone = [&](const char* option) {
        if (o.shard > 0)
        {
            error(option,
                  "is for parameters that all share out; allowed with it: {shardSpread}=full");
        }
    };
    if (o.zeroImpl == ZeroImpl::kHorovod &&
        (o.sharding.optimizer || o.tensor > 1 || o.pipeline > 1))
    {
        error("framework",
              "is horovod, which has plain data parallelism only; allowed with it: {sharding}=0, "
              "{tensor}=1, {pipeline}=1");
    }
    if (o.shard > 0 && needs("shardSpread", o.sharding.optimizer, "1, 2 or 3"))
    {
        divides("shardSize", o.shard);
        if (deepSpeed && !o.sharding.parameters)
        {
            error("shardSpread",
                  "is hybrid, which DeepSpeed has at stage 3 (MiCS); allowed: {sharding}=3, or "
                  "{framework}=paper");
        }
    }
    if (o.quantizedWeights && needs("quantizedWeights", o.sharding.parameters, "3"))
    {
        alone("quantizedWeights");
    }
    if (o.secondary != 1 && needs("secondPartition", o.sharding.parameters, "3"))
    {
        divides("secondPartition", o.secondary);
        alone("secondPartition");
    }
    if (o.quantizedGradients > 0 && needs("quantizedGradients", o.sharding.parameters, "3"))
    {
        divides("quantizedGradients", o.quantizedGradients);
        alone("quantizedGradients");
        if (o.quantizedGradients == all)
        {
            error("quantizedGradients", "goes between servers, and all " + ranks + " are in one");
        }
    }
    if (o.persistElements.value_or(0) > 0 && !(deepSpeed && o.sharding.parameters))
    {
        error("persistElements", "belongs to {framework}=deepspeed with {sharding}=3");
    }
    if (o.tensorLists)
    {
        if (!deepSpeed || !o.sharding.parameters)
        {
            error("tensorLists", "belongs to {framework}=deepspeed with {sharding}=3");
        }
        else if (o.shard > 0 || o.secondary != 1 || o.quantizedWeights || o.quantizedGradients > 0)
        {
            error("tensorLists",
                  "is DeepSpeed of 2021, which had neither MiCS nor ZeRO++; allowed with it: "
                  "{shardSpread}=full, and none of {quantizedWeights}, {secondPartition}, "
                  "{quantizedGradients}");
        }
    }
    if (o.compression != Compression::kNone)
    {
        if (o.sharding.optimizer || deepSpeed || o.pipeline > 1)
        {
            error("compression",
                  "goes with {sharding}=0 and {pipeline}=1, and with {framework}=paper or horovod");
        }
        if (o.compression == Compression::kFp16 && o.GradientBytes() == 2)
        {
            error("compression",
                  "is fp16, and gradients have 16 bits already; allowed with it: {dtype}=fp32, or "
                  "{gradientType}=fp32");
        }
    }
}

} // namespace training
