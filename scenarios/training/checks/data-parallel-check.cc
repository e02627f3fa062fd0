/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/asked/degrees.h"
#include "scenarios/asked/model.h"
#include "scenarios/asked/training.h"
#include "scenarios/options/member.h"
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
    const auto needs = [&](Member option, bool stage, const std::string& stages) {
        if (!stage)
        {
            error(option,
                  "has no meaning with " + Spell(&asked::Training::zero) + "=" +
                      number(o.sharding.Stage()) + "; it belongs to " +
                      Spell(&asked::Training::zero) + "=" + stages);
        }
        return stage;
    };
    const auto divides = [&](Member option, uint32_t size) {
        if (o.expert > 1 || o.Folded())
        {
            error(option,
                  "is not there for experts that are shared out; allowed with it: " +
                      Spell(&asked::Degrees::ep) + "=1" +
                      std::string(o.Folded() ? " without " + Spell(&asked::Degrees::etp) : ""));
        }
        else if (size < 2 || all % size != 0)
        {
            error(option,
                  "is " + number(size) + ", which " +
                      (size < 2 ? "shares nothing out" : "does not divide the " + ranks));
        }
    };
    const auto alone = [&](Member option) {
        if (o.shard > 0)
        {
            error(option,
                  "is for parameters that all share out; allowed with it: " +
                      Spell(&asked::Training::sharding) + "=full");
        }
    };
    if (o.zeroImpl == ZeroImpl::kHorovod &&
        (o.sharding.optimizer || o.tensor > 1 || o.pipeline > 1))
    {
        error(&asked::Training::zeroImpl,
              "is horovod, which has plain data parallelism only; allowed with it: " +
                  Spell(&asked::Training::zero) + "=0, " + Spell(&asked::Degrees::tp) + "=1, " +
                  Spell(&asked::Degrees::pp) + "=1");
    }
    if (o.shard > 0 && needs(&asked::Training::sharding, o.sharding.optimizer, "1, 2 or 3"))
    {
        divides(&asked::Training::shardSize, o.shard);
        if (deepSpeed && !o.sharding.parameters)
        {
            error(&asked::Training::sharding,
                  "is hybrid, which DeepSpeed has at stage 3 (MiCS); allowed: " +
                      Spell(&asked::Training::zero) + "=3, or " +
                      Spell(&asked::Training::zeroImpl) + "=paper");
        }
    }
    if (o.quantizedWeights &&
        needs(&asked::Training::zeroQuantizedWeights, o.sharding.parameters, "3"))
    {
        alone(&asked::Training::zeroQuantizedWeights);
    }
    if (o.secondary != 1 &&
        needs(&asked::Training::zeroHpzPartitionSize, o.sharding.parameters, "3"))
    {
        divides(&asked::Training::zeroHpzPartitionSize, o.secondary);
        alone(&asked::Training::zeroHpzPartitionSize);
    }
    if (o.quantizedGradients > 0 &&
        needs(&asked::Training::zeroQuantizedGradients, o.sharding.parameters, "3"))
    {
        divides(&asked::Training::zeroQuantizedGradients, o.quantizedGradients);
        alone(&asked::Training::zeroQuantizedGradients);
        if (o.quantizedGradients == all)
        {
            error(&asked::Training::zeroQuantizedGradients,
                  "goes between servers, and all " + ranks + " are in one");
        }
    }
    if (o.persistElements.value_or(0) > 0 && !(deepSpeed && o.sharding.parameters))
    {
        error(&asked::Training::persistenceThreshold,
              "belongs to " + Spell(&asked::Training::zeroImpl) + "=deepspeed with " +
                  Spell(&asked::Training::zero) + "=3");
    }
    if (o.tensorLists)
    {
        if (!deepSpeed || !o.sharding.parameters)
        {
            error(&asked::Training::zeroTensorLists,
                  "belongs to " + Spell(&asked::Training::zeroImpl) + "=deepspeed with " +
                      Spell(&asked::Training::zero) + "=3");
        }
        else if (o.shard > 0 || o.secondary != 1 || o.quantizedWeights || o.quantizedGradients > 0)
        {
            error(&asked::Training::zeroTensorLists,
                  "is DeepSpeed of 2021, which had neither MiCS nor ZeRO++; allowed with it: " +
                      Spell(&asked::Training::sharding) + "=full, and none of " +
                      Spell(&asked::Training::zeroQuantizedWeights) + ", " +
                      Spell(&asked::Training::zeroHpzPartitionSize) + ", " +
                      Spell(&asked::Training::zeroQuantizedGradients));
        }
    }
    if (o.compression != Compression::kNone)
    {
        if (o.sharding.optimizer || deepSpeed || o.pipeline > 1)
        {
            error(&asked::Training::gradientCompression,
                  "goes with " + Spell(&asked::Training::zero) + "=0 and " +
                      Spell(&asked::Degrees::pp) + "=1, and with " +
                      Spell(&asked::Training::zeroImpl) + "=paper or horovod");
        }
        if (o.compression == Compression::kFp16 && o.GradientBytes() == 2)
        {
            error(&asked::Training::gradientCompression,
                  "is fp16, and gradients have 16 bits already; allowed with it: " +
                      Spell(&asked::Model::dtype) + "=fp32, or " +
                      Spell(&asked::Training::reduceDtype) + "=fp32");
        }
    }
}

} // namespace training
