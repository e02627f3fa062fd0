/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/options/expert-options.h"

#include "scenarios/asked/degrees.h"
#include "scenarios/asked/modes.h"
#include "scenarios/asked/training.h"
#include "scenarios/training/spec/plan-options.h"

namespace scenario
{

std::vector<Option>
ExpertOptionRows()
{
    const Section section{"/training", "Parallelism"};
    const Section collective = section.Only(when::Collectives());
    const Section exchange = collective.IdleUnless(when::Above("ep", 1));
    const auto degree = [&](const char* name, const char* help) {
        return section.Integer(name, help).Range(1, 1e6).Example("2");
    };
    const auto type = [&](const char* name, const char* help) {
        return exchange.Name(name, help)
            .Names("type",
                   {{"fp8", "8 bits, and a scale of 32 bits for 128 elements (DeepSeek-V3)"},
                    {"bf16", "16 bits"},
                    {"fp32", "32 bits"}})
            .Otherwise("--dtype")
            .Example("fp8");
    };
    return {
        degree("ep",
               "expert parallel: GPUs that share the experts; divides dp x cp, with --etp "
               "tp x cp x dp / etp")
            .As(&asked::Degrees::ep)
            .Alias("ep-size")
            .Alias("expert-parallel-size")
            .Alias("expert-model-parallel-size")
            .Default("1"),
        degree("etp",
               "expert tensor parallel: GPUs that share every expert, in the place of --tp; with "
               "--ep they are counted over tp x cp x dp (Megatron-LM's parallel folding)")
            .As(&asked::Degrees::etp)
            .Alias("expert-tensor-parallel-size")
            .Otherwise("--tp"),
        collective
            .Flag("moe-overlap",
                  "with --ep: overlap the all-to-alls of one micro-batch with the computing of "
                  "another, layer by layer, as DualPipe and Megatron-LM do")
            .As(&asked::Training::moeOverlap)
            .Alias("overlap-moe-expert-parallel-comm")
            .Default("0")
            .To(&training::TrainingOptions::expertOverlap),
        collective
            .Flag("moe-shared-expert-overlap",
                  "with --ep: experts for all tokens compute beside the all-to-alls of the others "
                  "(Megatron-LM)")
            .As(&asked::Training::moeSharedExpertOverlap)
            .Default("0")
            .To(&training::TrainingOptions::sharedOverlap),
        exchange.Name("moe-dispatcher", "how tokens get to their experts and back")
            .As(&asked::Training::moeDispatcher)
            .Names("dispatcher",
                   {{"alltoall", "once for each expert of a token"},
                    {"deepep",
                     "once to each server over the network, and once to each GPU inside it, as "
                     "DeepEP and Megatron-LM's flex dispatcher do"}})
            .Default("alltoall")
            .Example("deepep")
            .To(&training::TrainingOptions::dispatcher, training::ParseDispatcher),
        exchange
            .Integer("moe-node-limit",
                     "node-limited routing: experts of a token are on at most so many servers "
                     "(DeepSeek-V3: 4)")
            .As(&asked::Training::moeNodeLimit)
            .Range(1, 1e6)
            .Otherwise("no limit")
            .Example("4")
            .IdleUnless(when::Is("moe-dispatcher", {"deepep"}))
            .To(&training::TrainingOptions::nodeLimit),
        type("moe-dispatch-type", "data type of tokens on the way to experts, and of gradients")
            .As(&asked::Training::moeDispatchType)
            .To(&training::TrainingOptions::dispatchType, training::ParseTokenType),
        type("moe-combine-type", "data type of what experts send back, and of gradients there")
            .As(&asked::Training::moeCombineType)
            .To(&training::TrainingOptions::combineType, training::ParseTokenType),
    };
}

} // namespace scenario
