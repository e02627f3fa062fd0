/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/options/software-options.h"

#include "scenarios/asked/modes.h"
#include "scenarios/asked/training.h"

namespace scenario
{

std::vector<Option>
SoftwareOptionRows()
{
    const Section section{"/training", "Training"};
    const Section collective = section.Only(when::Collectives());
    return {
        section
            .Real("eager-bytes",
                  "memory traffic of eager operators beyond those that --kernels=eager counts: "
                  "bytes of a token, hidden unit and block, forward and backward")
            .As(&asked::Training::eagerBytes)
            .Range(0, 1e4)
            .Default("0")
            .Example("175")
            .IdleUnless(when::Job(job::kAttention))
            .To(&training::TrainingOptions::eagerBytes),
        section
            .Real("score-bytes",
                  "memory traffic of attention without --fused-attention beyond what --kernels "
                  "counts: bytes of a score, forward and backward")
            .As(&asked::Training::scoreBytes)
            .Range(0, 1e4)
            .Default("0")
            .Example("54")
            .IdleUnless(when::Job(job::kAttention))
            .To(&training::TrainingOptions::scoreBytes),
        section
            .Duration("host-launch",
                      "time of the host for a kernel; where it is longer than the kernels "
                      "themselves, the GPU waits for its host")
            .As(&asked::Training::hostLaunch)
            .Default("0ns")
            .Example("7us")
            .IdleUnless(when::Job(job::kAttention)),
        section
            .List("recompute-keep",
                  "outputs of attention's products that --recompute=full keeps, as JAX names them: "
                  "qkv_proj, out_proj")
            .As(&asked::Training::recomputeKeep)
            .Shows("PRODUCT,...")
            .Distinct()
            .Otherwise("none")
            .Example("qkv_proj"),
        section.Name("norm", "kernels of norms")
            .As(&asked::Training::norm)
            .Names("kernels of norms",
                   {{"kernels", "as --kernels has them"},
                    {"torch", "RMSNorm written with PyTorch's operators"}})
            .Default("kernels")
            .Example("torch")
            .IdleUnless(when::Job(job::kAttention))
            .To(&training::TrainingOptions::norm, training::ParseNormKernels),
        section.Name("loss", "how the loss is computed from the logits")
            .As(&asked::Training::loss)
            .Names("loss",
                   {{"plain", "cross-entropy of 16-bit logits; keeps fp32 probabilities"},
                    {"float", "of logits made fp32 before, which are kept too"},
                    {"unfused",
                     "as float, an operator a kernel; the gradient in fp32 stands beside both"}})
            .Default("plain")
            .Example("float")
            .IdleUnless(when::Job(job::kAttention))
            .To(&training::TrainingOptions::loss, training::ParseLoss),
        section.Name("logits", "logits of a rank with --tp")
            .As(&asked::Training::logits)
            .Names("logits of a rank",
                   {{"sharded", "its share of the vocabulary"},
                    {"whole", "those of the whole vocabulary, gathered ahead of the loss"}})
            .Default("sharded")
            .Example("whole")
            .IdleUnless(when::Job(job::kAttention)),
        section
            .Flag("kept-gathers",
                  "with --sequence-parallel: inputs of products are kept gathered for backward, "
                  "not gathered again")
            .As(&asked::Training::keptGathers)
            .Default("0")
            .Example("1"),
        section
            .Flag("gradient-copies",
                  "with --reduce-dtype=fp32: 16-bit gradients stay beside their sum")
            .As(&asked::Training::gradientCopies)
            .Default("0")
            .Example("1")
            .To(&training::TrainingOptions::gradientCopies),
        collective.Name("bucketing", "gradients reduced together, unless --buckets says it")
            .As(&asked::Training::bucketing)
            .Names("bucketing",
                   {{"size", "25 MiB, or as --zero-impl has it"},
                    {"megatron",
                     "40M elements, 1M a data-parallel rank if that is more, on all stages"},
                    {"block", "those of a block, as FSDP's units"}})
            .Default("size")
            .Example("megatron")
            .IdleUnless(when::Job(job::kReplicas))
            .To(&training::TrainingOptions::bucketing, training::ParseBucketing),
        collective
            .Real("overlap-share",
                  "with --overlap: this share of buckets and gathers goes beside computing, the "
                  "others go as without it")
            .As(&asked::Training::overlapShare)
            .Range(0, 1)
            .Default("1")
            .Example("0.5")
            .IdleUnless(when::Job(job::kReplicas))
            .To(&training::TrainingOptions::overlapShare),
        collective
            .Name("accumulate",
                  "from --zero=2 on: what a rank adds up over the micro-batches of a step")
            .As(&asked::Training::accumulate)
            .Names("gradients added up",
                   {{"sharded", "its share; they are reduced with each micro-batch"},
                    {"unsharded", "all of them; they are reduced once a step (FSDP's no_sync)"}})
            .Default("sharded")
            .Example("unsharded"),
    };
}

void
MakeSoftware(Validation* v, training::TrainingOptions* o)
{
    const Values& values = v->values;
    o->wholeLogits = values.Get(&asked::Training::logits) == "whole";
    o->hostLaunch = static_cast<double>(values.Get(&asked::Training::hostLaunch).ps) * 1e-12;
    if (values.Given(&asked::Training::recomputeKeep))
    {
        for (const std::string& name : values.Get(&asked::Training::recomputeKeep))
        {
            const uint8_t kept = name == "qkv_proj"   ? training::kKeptQkv
                                 : name == "out_proj" ? training::kKeptOut
                                                      : 0;
            o->keptProducts |= kept;
            if (kept == 0)
            {
                v->Fail(&asked::Training::recomputeKeep,
                        "has " + name + "; allowed: qkv_proj, out_proj");
            }
        }
        if (o->recompute != training::Recompute::kFull)
        {
            v->Fail(&asked::Training::recomputeKeep, "allowed with --recompute=full");
        }
    }
    o->keptGathers = values.Get(&asked::Training::keptGathers);
    if (o->keptGathers && !(o->tensor > 1 && o->sequenceParallel))
    {
        v->notes.push_back(values.Where(&asked::Training::keptGathers) +
                           ": has no effect without --sequence-parallel and --tp above 1");
    }
    const auto idle = [v, &values](auto member, bool is, const char* why) {
        if (is && values.Given(member))
        {
            v->notes.push_back(values.Where(member) + ": has no effect " + why);
        }
    };
    idle(&asked::Training::logits, o->wholeLogits && o->tensor == 1, "without --tp above 1");
    idle(&asked::Training::scoreBytes,
         o->scoreBytes > 0 && o->fusedAttention,
         "with --fused-attention");
    idle(&asked::Training::bucketing,
         values.Given(&asked::Training::buckets),
         "with --buckets, which says what is reduced together");
    idle(&asked::Training::overlapShare,
         o->overlapShare < 1 && !*training::ResolvedOptions(*o).overlap,
         "without --overlap");
    o->wholeAccumulation = values.Get(&asked::Training::accumulate) == "unsharded";
    if (o->wholeAccumulation && (!o->sharding.gradients || o->offload != training::Offload::kNone))
    {
        v->Fail(&asked::Training::accumulate,
                "allowed with --zero=2 or 3 and without --offload; below stage 2 gradients are "
                "whole until the end of a step anyway");
    }
    idle(&asked::Training::accumulate,
         o->wholeAccumulation && o->accumulation == 1,
         "with one micro-batch a step");
    if (o->gradientCopies && !o->wideReduction)
    {
        v->Fail(&asked::Training::gradientCopies, "allowed with --reduce-dtype=fp32");
    }
}

std::string
WhoseRates(const std::string& recipe)
{
    return recipe.empty() ? "NVIDIA's tuned kernels; --recipe has other software's"
                          : "--recipe=" + recipe;
}

} // namespace scenario
