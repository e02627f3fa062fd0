/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/part-exchanges.h"

#include "collectives/core/block-sizes.h"
#include "scenarios/training/expert-dispatch.h"
#include "scenarios/training/expert-load.h"
#include "scenarios/training/layer-kernels.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace training
{

namespace
{

/// Whether the part has experts of other ranks, to which each rank of a tensor group sends its
/// share of the tokens, or experts that another group than the tensor group shares.
bool
SendsShares(const Part& part, const TrainingOptions& o)
{
    return part.routing && (o.Folded() || (o.expert > 1 && o.tensor > 1 && o.sequenceParallel));
}

/// A part with routing has experts that all tokens go to as well.
bool
HasExpertsOfAll(const Part& part)
{
    return std::any_of(part.operators.begin(), part.operators.end(), [](const Operator& op) {
        return IsShared(op) && !op.expert;
    });
}

} // namespace

uint64_t
ActivationBytes(const TrainingOptions& o, double elements)
{
    // Absurd sizes can exceed 64 bits.
    return static_cast<uint64_t>(std::llround(std::min(elements, 1e18))) * DtypeBytes(o.dtype);
}

bool
IsShared(const Operator& op)
{
    return op.kind == KernelClass::kMatrix && op.split == Split::kTensor && op.weights;
}

void
AddTensorExchanges(const Part& part, const TrainingOptions& o, RankPart& rank)
{
    if (o.tensor == 1)
    {
        return;
    }
    const uint32_t sequence = o.Sequence() / o.context;
    const auto bytes = [&](const Work& elements) {
        return ActivationBytes(o, elements.At(o.microBatch, sequence));
    };
    // Data that only experts of other ranks need are gathered on the way to them:
    // AddExpertExchanges. Experts for all tokens gather by themselves, as any MLP does
    // (SharedExpertMLP of NVIDIA/Megatron-LM@0065cf8
    // megatron/core/transformer/moe/shared_experts.py).
    const bool whole = !SendsShares(part, o) || HasExpertsOfAll(part);
    const uint64_t entry = whole ? bytes(part.entry) : 0;
    const uint64_t exit = whole ? bytes(part.exit) : 0;
    using coll::Op;
    if (entry > 0 && o.sequenceParallel)
    {
        rank.beforeForward.push_back({Op::kAllGather, GroupOf::kTensor, entry});
        if (!o.keptGathers)
        {
            // Gathered again for the gradient of the weights, beside that of the input.
            rank.besideBackward.push_back({Op::kAllGather, GroupOf::kTensor, entry});
        }
        rank.afterBackward.push_back({Op::kReduceScatter, GroupOf::kTensor, entry});
    }
    else if (entry > 0)
    {
        rank.afterBackward.push_back({Op::kAllReduce, GroupOf::kTensor, entry});
    }
    if (exit > 0 && o.sequenceParallel)
    {
        rank.afterForward.push_back({Op::kReduceScatter, GroupOf::kTensor, exit});
        rank.beforeBackward.push_back({Op::kAllGather, GroupOf::kTensor, exit});
    }
    else if (exit > 0)
    {
        rank.afterForward.push_back({Op::kAllReduce, GroupOf::kTensor, exit});
    }
    if (!part.losses.IsZero())
    {
        // In 32 bits whatever the datatype: the largest logit, the sum, the target's.
        const auto positions =
            static_cast<uint64_t>(std::llround(part.losses.At(o.microBatch, sequence)));
        if (o.wholeLogits && o.model.transformer)
        {
            const auto logits =
                ActivationBytes(o,
                                part.losses.At(o.microBatch, sequence) *
                                    static_cast<double>(o.model.transformer->vocabulary));
            rank.afterForward.push_back({Op::kAllGather, GroupOf::kTensor, logits});
            return;
        }
        const Exchange one{Op::kAllReduce, GroupOf::kTensor, std::max<uint64_t>(positions, 1) * 4};
        rank.afterForward.insert(rank.afterForward.end(), 3, one);
    }
}

void
AddExpertExchanges(const Part& part, const TrainingOptions& o, RankPart& rank)
{
    if (!part.routing || (o.expert == 1 && !o.Folded()))
    {
        return;
    }
    const double tokens =
        static_cast<double>(o.microBatch) * o.Sequence() / o.context * ShareOf(Split::kSequence, o);
    const double sent = tokens * part.routing->topK * part.routing->elements;
    const auto bytesOf = [&](TokenType type, double elements) {
        return type == TokenType::kAsComputed
                   ? ActivationBytes(o, elements)
                   : static_cast<uint64_t>(std::llround(TokenBytes(type, elements, o.dtype)));
    };
    Exchange dispatch{coll::Op::kAllToAll, GroupOf::kExpert, bytesOf(o.dispatchType, sent)};
    Exchange combine{coll::Op::kAllToAll, GroupOf::kExpert, bytesOf(o.combineType, sent)};
    if (HasExpertLoad(o))
    {
        // Every rank's tokens like the same experts: a column of the matrix has one size.
        const std::vector<double> shares = ExpertRankShares(*part.routing, o);
        std::vector<uint64_t> there;
        std::vector<uint64_t> back(shares.size() * shares.size());
        for (std::size_t from = 0; from < shares.size(); ++from)
        {
            for (std::size_t to = 0; to < shares.size(); ++to)
            {
                there.push_back(bytesOf(o.dispatchType, sent * shares[to]));
                back[to * shares.size() + from] = bytesOf(o.combineType, sent * shares[to]);
            }
        }
        const auto take = [&](Exchange& exchange, const std::vector<uint64_t>& bytes) {
            exchange.op = coll::Op::kAllToAllV;
            exchange.blocks =
                std::make_shared<const coll::BlockSizes>(static_cast<coll::Rank>(o.expert), bytes);
            exchange.bytes = exchange.blocks->LargestInput();
        };
        take(dispatch, there);
        take(combine, back);
    }
    Exchanges there;
    Exchanges back;
    if (o.expert > 1 && o.dispatcher == Dispatcher::kDeepEp)
    {
        const ExpertSpan span = o.expertSpan.value_or(ExpertSpan{1, o.expert});
        const TokenCopies copies = CopiesOf(*part.routing, span, o.nodeLimit);
        const auto add = [&](GroupOf group, double copiesOfToken) {
            const double elements = tokens * copiesOfToken * part.routing->elements;
            there.push_back({coll::Op::kAllToAll, group, bytesOf(o.dispatchType, elements)});
            back.push_back({coll::Op::kAllToAll, group, bytesOf(o.combineType, elements)});
        };
        if (span.servers > 1)
        {
            add(GroupOf::kExpertBetween, copies.servers);
        }
        if (span.ranks > 1)
        {
            add(GroupOf::kExpertInside, copies.ranks);
            there.back().beside = back.back().beside = span.servers > 1;
        }
    }
    else if (o.expert > 1)
    {
        there.push_back(dispatch);
        back.push_back(combine);
    }
    if (SendsShares(part, o) && o.ExpertTensor() > 1)
    {
        const GroupOf group = o.Folded() ? GroupOf::kExpertTensor : GroupOf::kTensor;
        const double got = part.entry.At(o.microBatch, o.Sequence() / o.context);
        const uint64_t routed = ActivationBytes(o, got * RoutedShare(*part.routing, o));
        there.push_back(Exchange{coll::Op::kAllGather, group, routed});
        back.insert(back.begin(), Exchange{coll::Op::kReduceScatter, group, routed});
    }
    // Gradients go as their tokens did.
    for (Exchanges* before : {&rank.beforeForward, &rank.beforeBackward})
    {
        before->insert(before->begin(), there.begin(), there.end());
    }
    for (Exchanges* after : {&rank.afterForward, &rank.afterBackward})
    {
        after->insert(o.sequenceParallel ? after->end() : after->begin(), back.begin(), back.end());
    }
}

} // namespace training
