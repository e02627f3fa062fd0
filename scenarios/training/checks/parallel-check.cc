/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/asked/degrees.h"
#include "scenarios/asked/model.h"
#include "scenarios/asked/training.h"
#include "scenarios/options/member.h"
#include "scenarios/training/checks/option-checks.h"
#include "scenarios/training/expert-dispatch.h"
#include "scenarios/training/expert-load.h"
#include "scenarios/training/fewer-layers.h"
#include "scenarios/training/gpu-kinds.h"
#include "scenarios/training/paired-actions.h"
#include "scenarios/training/rank-work.h"
#include "scenarios/training/stage-layers.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

namespace training
{

namespace
{

std::string
Number(uint64_t n)
{
    return std::to_string(n);
}

/// "1, 2, 3, 4, 6, 12": the first of them.
std::string
DivisorsText(uint32_t number)
{
    constexpr uint32_t kShown = 12;
    std::string text;
    uint32_t shown = 0;
    for (uint32_t d = 1; d <= number && shown < kShown; ++d)
    {
        if (number % d == 0)
        {
            text += (shown++ > 0 ? ", " : "") + Number(d);
        }
    }
    return text.empty() ? "1" : text;
}

/// The multiple of a number that a sequence can be as long as: the largest that is no longer.
uint32_t
MultipleNear(uint32_t tokens, uint32_t of)
{
    return std::max(tokens / of, 1U) * of;
}

/// Refuses options that cannot work where weights change with every micro-batch.
void
CheckUnflushed(const TrainingOptions& o, const Refuse& error)
{
    if (o.sharding.optimizer)
    {
        error(&asked::Training::zero,
              "is " + Number(o.sharding.Stage()) + ", but " +
                  Spell(&asked::Training::pipelineSchedule) + "=" + o.schedule +
                  " keeps several versions of a stage's weights on each GPU; allowed: 0");
    }
    if (o.layers > 0)
    {
        error(&asked::Training::layers,
              "is " + Number(o.layers) + ", which a pipeline that is never empty (" + o.schedule +
                  ") cannot be extrapolated from; allowed: without " +
                  Spell(&asked::Training::layers));
    }
    if (o.loaderRate > 0)
    {
        error(&asked::Training::loader,
              "belongs to steps that begin together, which " +
                  Spell(&asked::Training::pipelineSchedule) + "=" + o.schedule + " has none of");
    }
    if (o.context > 1)
    {
        error(&asked::Degrees::cp,
              "is " + Number(o.context) + "; allowed with " +
                  Spell(&asked::Training::pipelineSchedule) + "=" + o.schedule + ": 1");
    }
    if (o.expert > 1)
    {
        error(&asked::Degrees::ep,
              "is " + Number(o.expert) + "; allowed with " +
                  Spell(&asked::Training::pipelineSchedule) + "=" + o.schedule + ": 1");
    }
    if (o.Folded())
    {
        error(&asked::Degrees::etp,
              "is " + Number(o.ExpertTensor()) + "; allowed with " +
                  Spell(&asked::Training::pipelineSchedule) + "=" + o.schedule + ": " +
                  Spell(&asked::Degrees::tp));
    }
    const auto stages = LayersByStage(o);
    const auto stageOf = [&stages](uint32_t layer) {
        return std::find_if(stages.begin(), stages.end(), [layer](const auto& chunks) {
            const auto& own = chunks[0];
            return std::find(own.begin(), own.end(), layer) != own.end();
        });
    };
    for (uint32_t i = 0; i < o.model.layers.size(); ++i)
    {
        const LayerSpec& layer = o.model.layers[i];
        if (layer.tiedTo != kNotTied && stageOf(i) != stageOf(layer.tiedTo))
        {
            error(&asked::Training::pipelineSchedule,
                  o.schedule + " updates each stage by itself, and \"" + layer.name + "\" of " +
                      o.model.name + " shares a matrix with \"" +
                      o.model.layers[layer.tiedTo].name + "\" of another stage");
        }
    }
}

/// Checks the divisions by a tensor group.
void
CheckTensor(const TrainingOptions& o, const Refuse& error)
{
    if (o.tensor <= 1)
    {
        return;
    }
    const bool shared = std::any_of(o.model.layers.begin(),
                                    o.model.layers.end(),
                                    [](const LayerSpec& layer) { return layer.IsShared(); });
    if (!shared)
    {
        error(&asked::Degrees::tp,
              "is " + Number(o.tensor) + ", but " + o.model.name +
                  " does not say how its layers are shared out; allowed: 1, or a transformer");
    }
    else if (o.model.transformer)
    {
        const TransformerShape& t = *o.model.transformer;
        const std::pair<const char*, uint32_t> divided[] = {{"heads", t.heads},
                                                            {"key-value heads", t.kvHeads},
                                                            {"MLP columns", t.ffn},
                                                            {"linear-attention key heads or "
                                                             "Mamba groups",
                                                             t.recurrences}};
        for (const auto& [what, count] : divided)
        {
            if (count % o.tensor != 0)
            {
                error(&asked::Degrees::tp,
                      "is " + Number(o.tensor) + ", which does not divide the " + Number(count) +
                          " " + what + " of " + o.model.name + "; allowed: " +
                          DivisorsText(std::gcd(std::gcd(t.heads, t.kvHeads),
                                                std::gcd(t.ffn, t.recurrences))));
                break;
            }
        }
    }
    if (o.sequenceParallel && !o.model.hasSequence)
    {
        error(&asked::Training::sequenceParallel,
              "shares out the tokens of sequences, and the samples of " + o.model.name +
                  " are none (what a sample becomes inside the model is not shared out here); "
                  "allowed: 0");
    }
    else if (o.sequenceParallel && o.Sequence() / o.context % o.tensor != 0)
    {
        error(&asked::Training::sequenceParallel,
              "tp " + Number(o.tensor) + " does not divide the " +
                  Number(o.Sequence() / o.context) + " tokens of a sequence; allowed: 0, or " +
                  Spell(&asked::Training::seq) + "=" +
                  Number(MultipleNear(o.Sequence(), o.context * o.tensor)) + ", say");
    }
}

/// Checks the divisions by a context group.
void
CheckContext(const TrainingOptions& o, const Refuse& error)
{
    if (o.context > 1 &&
        (!o.model.transformer || !o.model.hasSequence || o.Sequence() % (2 * o.context) != 0))
    {
        // Each rank has a piece of the front and its mirror image of the back, so that all have as
        // much of the causal triangle.
        error(&asked::Degrees::cp,
              "is " + Number(o.context) +
                  (o.model.transformer && o.model.hasSequence
                       ? ", and twice that does not divide the " + Number(o.Sequence()) +
                             " tokens of a sequence; allowed: " + DivisorsText(o.Sequence() / 2) +
                             ", or " + Spell(&asked::Training::seq) + "=" +
                             Number(MultipleNear(o.Sequence(), 2 * o.context)) + ", say"
                       : ", but " + o.model.name + " has no sequences to share out; allowed: 1"));
    }
    if (o.context > 1 && o.model.transformer && o.model.transformer->recurrences > 0)
    {
        error(&asked::Degrees::cp,
              "is " + Number(o.context) + ", but how ranks hand on the states of " + o.model.name +
                  "'s linear-attention or Mamba blocks is not modelled; allowed: 1");
    }
    if (o.context > 1 && o.contextExchange == ContextExchange::kUlysses && o.model.transformer &&
        (o.model.transformer->heads / o.tensor % o.context != 0 ||
         o.model.transformer->kvHeads / o.tensor % o.context != 0))
    {
        error(&asked::Degrees::cp,
              "is " + Number(o.context) + ", which does not divide the heads of a rank (" +
                  Number(o.model.transformer->heads / o.tensor) + " of queries, " +
                  Number(o.model.transformer->kvHeads / o.tensor) + " of keys), as " +
                  Spell(&asked::Training::contextExchange) + "=ulysses needs; allowed: " +
                  DivisorsText(std::gcd(o.model.transformer->heads / o.tensor,
                                        o.model.transformer->kvHeads / o.tensor)) +
                  ", or another " + Spell(&asked::Training::contextExchange));
    }
}

/// Names the option whose number it is.
void
RefuseSchedule(const TrainingOptions& o, const PipelineRefusal& refusal, const Refuse& error)
{
    switch (refusal.of)
    {
    case PipelineRefusal::Of::kMicroBatches:
        error(&asked::Training::accumulation, "is " + Number(o.accumulation) + ", " + refusal.why);
        return;
    case PipelineRefusal::Of::kVirtualStages:
        error(&asked::Training::virtualStages,
              "is " + Number(o.virtualStages) + ", " + refusal.why);
        return;
    case PipelineRefusal::Of::kReplicas:
        error(&asked::Training::replicas, "is " + ReplicasText(o) + ", " + refusal.why);
        return;
    default:
        error(&asked::Training::pipelineSchedule, "is " + o.schedule + ": " + refusal.why);
    }
}

/// Checks the schedule of a pipeline, and the micro-batches that run through it.
void
CheckSchedule(const TrainingOptions& o, const Refuse& error)
{
    const PipelineSchedule* const schedule = FindPipelineSchedule(o.schedule);
    if (!schedule->Flushes())
    {
        CheckUnflushed(o, error);
    }
    if (o.pipeline > 1 || !schedule->Flushes())
    {
        if (const auto why = schedule->WhyNot(PipelineOf(o)))
        {
            RefuseSchedule(o, *why, error);
        }
        if (o.deepSpeedSends && (o.schedule != "1f1b" || !o.replicas.empty()))
        {
            error(&asked::Training::pipelineSends,
                  "is deepspeed, whose pipelines have " +
                      std::string(o.replicas.empty()
                                      ? "1f1b alone, but " +
                                            Spell(&asked::Training::pipelineSchedule) + "=" +
                                            o.schedule
                                      : "as many replicas of each stage") +
                      "; allowed: awaited, background");
        }
        if (o.sharding.gradients && o.zeroImpl == ZeroImpl::kDeepSpeed)
        {
            error(&asked::Training::zero,
                  "is " + Number(o.sharding.Stage()) +
                      ", but DeepSpeed has no stage 2 or 3 in a pipeline; allowed: 0, 1, or " +
                      Spell(&asked::Training::zeroImpl) + "=paper");
        }
    }
    else if (o.virtualStages > 1)
    {
        error(&asked::Training::virtualStages,
              "is " + Number(o.virtualStages) + " without a pipeline; allowed: 1, or " +
                  Spell(&asked::Degrees::pp));
    }
}

/// Columns of an expert's MLP, which the ranks of --etp share.
uint32_t
ExpertColumns(const ModelSpec& model)
{
    uint32_t columns = 0;
    for (const LayerSpec& layer : model.layers)
    {
        for (const Part& part : layer.parts)
        {
            for (const Operator& op : part.operators)
            {
                const bool shared = op.expert && op.split == Split::kTensor &&
                                    op.kind == KernelClass::kMatrix && op.dividesInner;
                columns = shared ? std::gcd(columns, static_cast<uint32_t>(op.inner)) : columns;
            }
        }
    }
    return columns;
}

/// Checks experts that are shared out over all ranks of a stage, with a tensor parallelism of their
/// own.
void
CheckFolded(const TrainingOptions& o, uint32_t experts, const Refuse& error)
{
    const std::string is = "is " + Number(o.ExpertTensor());
    if (!o.replicas.empty())
    {
        error(&asked::Degrees::etp,
              is + "; allowed with " + Spell(&asked::Training::replicas) + ": " +
                  Spell(&asked::Degrees::tp));
        return;
    }
    const uint32_t stage = o.ranks / o.pipeline;
    if (stage % o.ExpertTensor() != 0)
    {
        error(&asked::Degrees::etp,
              is + ", which does not divide the " + Number(stage) +
                  " GPUs of a pipeline stage (tp x cp x dp); allowed: " + DivisorsText(stage));
        return;
    }
    const uint32_t shared = stage / o.ExpertTensor();
    if (experts % o.expert != 0 || shared % o.expert != 0)
    {
        error(&asked::Degrees::ep,
              "is " + Number(o.expert) + ", which does not divide " +
                  (experts % o.expert != 0
                       ? "the " + Number(experts) + " experts of " + o.model.name
                       : "tp x cp x dp / etp = " + Number(shared)) +
                  "; allowed: " + DivisorsText(std::gcd(experts, shared)));
        return;
    }
    const uint32_t columns = ExpertColumns(o.model);
    if (columns % o.ExpertTensor() != 0)
    {
        error(&asked::Degrees::etp,
              is + ", which does not divide the " + Number(columns) +
                  " MLP columns of an expert of " + o.model.name +
                  "; allowed: " + DivisorsText(columns));
    }
    if (o.tensor > 1 && !o.sequenceParallel)
    {
        error(&asked::Degrees::etp,
              is + " with " + Spell(&asked::Degrees::tp) + "=" + Number(o.tensor) +
                  ", for which each rank must have its share of the tokens; allowed: with " +
                  Spell(&asked::Training::sequenceParallel));
    }
    if (!FoldsExperts(o.GetLayout()))
    {
        error(&asked::Degrees::etp,
              is + ", and with " + Spell(&asked::Training::rankOrder) + "=" +
                  DimensionOrderName(o.rankOrder) +
                  " the ranks of a stage are others with experts than without; allowed: pp first "
                  "or last in it");
    }
}

} // namespace

void
CheckExpert(const TrainingOptions& o, const Refuse& error)
{
    if (o.expert <= 1 && !o.Folded())
    {
        return;
    }
    uint32_t experts = 0;
    for (const LayerSpec& layer : o.model.layers)
    {
        for (const Part& part : layer.parts)
        {
            experts = part.routing ? part.routing->experts : experts;
        }
    }
    if (experts == 0)
    {
        error(o.expert > 1 ? Member(&asked::Degrees::ep) : Member(&asked::Degrees::etp),
              "is " + Number(o.expert > 1 ? o.expert : o.ExpertTensor()) + ", but " + o.model.name +
                  " has no experts; allowed: " + (o.expert > 1 ? "1" : Spell(&asked::Degrees::tp)));
        return;
    }
    if (o.Folded())
    {
        CheckFolded(o, experts, error);
        return;
    }
    const uint32_t shared = o.Data() * o.context;
    if (experts % o.expert != 0 || shared % o.expert != 0)
    {
        const std::string what =
            experts % o.expert != 0
                ? "the " + Number(experts) + " experts of " + o.model.name
                : "dp " + Number(o.Data()) + " x cp " + Number(o.context) + " = " + Number(shared);
        error(&asked::Degrees::ep,
              "is " + Number(o.expert) + ", which does not divide " + what +
                  "; allowed: " + DivisorsText(std::gcd(experts, shared)) +
                  (o.tensor > 1 && experts % o.expert == 0 && shared * o.tensor % o.expert == 0
                       ? ", or " + Spell(&asked::Degrees::etp) + "=1"
                       : ""));
    }
}

namespace
{

/// Checks how tokens get to their experts. \pre no error of CheckExpert, or experts that no group
/// shares
void
CheckDispatch(const TrainingOptions& o, const Refuse& error)
{
    const auto routing = RoutingOf(o.model);
    if (o.expert <= 1 || o.dispatcher != Dispatcher::kDeepEp || !routing ||
        routing->experts % o.expert != 0)
    {
        return;
    }
    if (HasExpertLoad(o))
    {
        error(&asked::Training::moeDispatcher,
              "is deepep, whose copies of a token are known for experts that are liked alike; "
              "allowed with " +
                  Spell(&asked::Model::moeSkew) + " and " +
                  Spell(&asked::Training::capacityFactor) + ": alltoall");
        return;
    }
    const ExpertSpan span = ExpertSpanOf(o.GetLayout());
    if (span.ranks == 0)
    {
        error(&asked::Training::moeDispatcher,
              "is deepep, and the " + Number(o.expert) +
                  " GPUs of an expert group are not as many in each server of " +
                  Number(o.host.gpus) + " GPUs; allowed: alltoall, or another " +
                  Spell(&asked::Degrees::ep));
        return;
    }
    const uint32_t least = (routing->topK * span.servers + routing->experts - 1) / routing->experts;
    if (o.nodeLimit > 0 && o.nodeLimit < least)
    {
        error(&asked::Training::moeNodeLimit,
              "is " + Number(o.nodeLimit) + ", and a server has " +
                  Number(routing->experts / span.servers) + " experts, fewer than the " +
                  Number(routing->topK) + " of a token; allowed: " + Number(least) + " and more");
    }
}

} // namespace

void
CheckParallel(const TrainingOptions& o, const Refuse& error)
{
    CheckDataParallel(o, error);
    CheckTensor(o, error);
    if (const auto why = WhyNotTensorGroups(o))
    {
        error(&asked::Degrees::tp, *why);
    }
    CheckContext(o, error);
    CheckExpert(o, error);
    CheckDispatch(o, error);
    if (const auto why = o.expertOverlap ? WhyNotPaired(o) : std::nullopt)
    {
        error(&asked::Training::moeOverlap, *why);
    }
    const uint32_t blocks = StageBlocksOf(o.model);
    const bool hasBlocks = o.model.layers.size() > 1 && blocks > 1;
    const bool uniform = o.partition == Partition::kUniform && !IsCounted(o);
    const bool evenly = uniform || IsCounted(o) || o.partition == Partition::kGiven;
    const uint64_t cuttable = hasBlocks && uniform ? blocks : o.model.layers.size();
    if (o.Pieces() > cuttable)
    {
        error(&asked::Degrees::pp,
              "is " + Number(o.pipeline) +
                  (o.virtualStages > 1 ? " x " + Number(o.virtualStages) + " virtual stages" : "") +
                  ", but " + o.model.name + " has " + Number(cuttable) +
                  (hasBlocks && uniform ? " blocks" : " layers") +
                  "; allowed: " + Spell(&asked::Degrees::pp) + " times " +
                  Spell(&asked::Training::virtualStages) + " up to " + Number(cuttable));
        return; // there are no stages to look at
    }
    if (const auto why = WhyNotPartitioned(o))
    {
        const bool given = o.partition == Partition::kGiven;
        const Member counted = o.countEmbedding
                                   ? &asked::Training::accountForEmbeddingInPipelineSplit
                                   : &asked::Training::accountForLossInPipelineSplit;
        error(given          ? Member(&asked::Training::pipelineLayout)
              : IsCounted(o) ? counted
                             : Member(&asked::Training::partition),
              (given || IsCounted(o) ? "" : PartitionText(o) + " ") + *why);
        return;
    }
    if (o.layers > 0 && !evenly)
    {
        error(&asked::Training::layers,
              "is " + Number(o.layers) + ", and fewer blocks are cut at other places by " +
                  Spell(&asked::Training::partition) + "=" + PartitionText(o) +
                  "; allowed: without " + Spell(&asked::Training::layers));
    }
    if (const auto why = WhyNotFewer(o))
    {
        error(&asked::Training::layers, "is " + Number(o.layers) + "; " + *why);
    }
    CheckSchedule(o, error);
}

void
CheckCopies(const TrainingOptions& o, const Refuse& error)
{
    const bool ties = std::any_of(o.model.layers.begin(),
                                  o.model.layers.end(),
                                  [](const LayerSpec& layer) { return layer.tiedTo != kNotTied; });
    if (o.pipeline == 1 || !ties)
    {
        return;
    }
    const std::vector<RankLayer> all = LayersOfModel(o);
    std::vector<uint64_t> copied;
    for (uint32_t stage = 0; stage < o.pipeline; ++stage)
    {
        std::vector<uint32_t> chunkBegin;
        uint64_t& elements = copied.emplace_back(0);
        for (const RankLayer& layer : LayersOfStage(o, all, stage, chunkBegin))
        {
            elements += layer.copied;
        }
    }
    const bool between = std::any_of(copied.begin() + 1, copied.end() - 1, [](uint64_t elements) {
        return elements > 0;
    });
    if (between || copied.front() != copied.back())
    {
        error(&asked::Degrees::pp,
              "is " + Number(o.pipeline) + ", with which " + o.model.name +
                  " has layers that share a matrix in other stages than the first and the last; "
                  "allowed: cuts that leave them there (" +
                  Spell(&asked::Degrees::pp) + ", " + Spell(&asked::Training::virtualStages) +
                  ", " + Spell(&asked::Training::partition) + ")");
    }
}

} // namespace training
