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
                  "has no meaning with --zero=" + number(o.zero) +
                      "; it belongs to --zero=" + stages);
        }
        return stage;
    };
    const auto divides = [&](const char* option, uint32_t size) {
        if (o.expert > 1)
        {
            error(option, "is not there for experts that are shared out; allowed with it: --ep=1");
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
            error(option, "is for parameters that all share out; allowed with it: --sharding=full");
        }
    };
    if (o.zeroImpl == ZeroImpl::kHorovod && (o.zero > 0 || o.tensor > 1 || o.pipeline > 1))
    {
        error("zero-impl",
              "is horovod, which has plain data parallelism only; allowed with it: --zero=0, "
              "--tp=1, --pp=1");
    }
    if (o.shard > 0 && needs("sharding", o.zero > 0, "1, 2 or 3"))
    {
        divides("shard-size", o.shard);
        if (deepSpeed && o.zero < 3)
        {
            error("sharding",
                  "is hybrid, which DeepSpeed has at stage 3 (MiCS); allowed: --zero=3, or "
                  "--zero-impl=paper");
        }
    }
    if (o.quantizedWeights && needs("zero-quantized-weights", o.zero == 3, "3"))
    {
        alone("zero-quantized-weights");
    }
    if (o.secondary != 1 && needs("zero-hpz-partition-size", o.zero == 3, "3"))
    {
        divides("zero-hpz-partition-size", o.secondary);
        alone("zero-hpz-partition-size");
    }
    if (o.quantizedGradients > 0 && needs("zero-quantized-gradients", o.zero == 3, "3"))
    {
        divides("zero-quantized-gradients", o.quantizedGradients);
        alone("zero-quantized-gradients");
        if (o.quantizedGradients == all)
        {
            error("zero-quantized-gradients",
                  "goes between servers, and all " + ranks + " are in one");
        }
    }
    if (o.persistElements.value_or(0) > 0 && !(deepSpeed && o.zero == 3))
    {
        error("persistence-threshold", "belongs to --zero-impl=deepspeed with --zero=3");
    }
    if (o.tensorLists)
    {
        if (!deepSpeed || o.zero < 3)
        {
            error("zero-tensor-lists", "belongs to --zero-impl=deepspeed with --zero=3");
        }
        else if (o.shard > 0 || o.secondary != 1 || o.quantizedWeights || o.quantizedGradients > 0)
        {
            error("zero-tensor-lists",
                  "is DeepSpeed of 2021, which had neither MiCS nor ZeRO++; allowed with it: "
                  "--sharding=full, and none of zero-quantized-weights, zero-hpz-partition-size, "
                  "zero-quantized-gradients");
        }
    }
    if (o.compression != Compression::kNone)
    {
        if (o.zero > 0 || deepSpeed || o.pipeline > 1)
        {
            error("gradient-compression",
                  "goes with --zero=0 and --pp=1, and with --zero-impl=paper or horovod");
        }
        if (o.compression == Compression::kFp16 && o.GradientBytes() == 2)
        {
            error("gradient-compression",
                  "is fp16, and gradients have 16 bits already; allowed with it: --dtype=fp32, or "
                  "--reduce-dtype=fp32");
        }
    }
}

} // namespace training
