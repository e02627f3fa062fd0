/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/graphs/tensor-sums.h"

#include "scenarios/training/graphs/shared-transfers.h"

#include <algorithm>
#include <string>

namespace training
{

namespace
{

struct Sum
{
    uint64_t elements = 0;
    double tensors = 0;
};

/// Adds the tensors of a part that every rank has whole. Excluded are tensors whose gradients each
/// rank makes whole. These are tables of positions and token types, whose rows are added before
/// tokens are divided (LanguageModelEmbedding of
/// megatron/core/models/common/embeddings/language_model_embedding.py), and products of one token
/// of a sample (BERT's pooler), with their biases.
void
AddPart(const Part& part, Sum& sum)
{
    double elements = 0;
    double tensors = 0;
    for (const Tensor& tensor : part.tensors)
    {
        const bool own = tensor.split != Split::kTensor && tensor.experts == 0;
        elements += own ? static_cast<double>(tensor.elements) : 0;
        tensors += own ? 1 : 0;
    }
    for (const Operator& op : part.operators)
    {
        if (op.role == Role::kEmbedding && op.tables.count > 0)
        {
            elements -= op.tables.whole;
            tensors -= op.tables.count - (op.tables.shared > 0 ? 1 : 0);
        }
        if (op.kind == KernelClass::kMatrix && op.split == Split::kWhole && !op.expert &&
            op.weights && op.rows.token == 0 && op.rows.sample > 0)
        {
            elements -= (op.inner + 1) * op.columns;
            tensors -= 2;
        }
    }
    sum.elements += static_cast<uint64_t>(std::max(elements, 0.0));
    sum.tensors += std::max(tensors, 0.0);
}

Sum
SumOf(const TrainingOptions& o, const RankWork& work)
{
    Sum sum;
    if (!o.sequenceParallel || o.tensor == 1)
    {
        return sum;
    }
    for (const RankLayer& layer : work.layers)
    {
        for (const Part& part : o.model.layers[layer.index].parts)
        {
            AddPart(part, sum);
        }
    }
    if (o.sharding.gradients)
    {
        sum.elements = (sum.elements + o.Sharers() - 1) / o.Sharers();
    }
    return sum;
}

/// \param made the last computation that makes gradients. \param user the one that steps
void
Add(const TrainingOptions& o,
    const Sum& sum,
    Position made,
    Position user,
    std::vector<uint32_t> behind,
    const std::string& round,
    std::vector<Transfer>& transfers)
{
    const uint64_t bytes = sum.elements * o.GradientBytes();
    const double moved = 2 * static_cast<double>(bytes);
    const std::string what = "gradients of own tokens" + round;
    const auto last = [&transfers] { return static_cast<uint32_t>(transfers.size() - 1); };

    Transfer flat;
    flat.task = MemoryTask(o, Phase::kGradient, moved, "flatten " + what);
    flat.made = flat.begin = made;
    flat.inLine = true;
    flat.behind = std::move(behind);
    transfers.push_back(std::move(flat));

    Transfer sent;
    sent.task = Collective(Phase::kGradient,
                           kTensorStream,
                           GroupOf::kTensor,
                           coll::Op::kAllReduce,
                           bytes,
                           "all-reduce " + what);
    sent.made = sent.begin = made;
    sent.inLine = true;
    sent.behind = {last()};
    sent.users = {user};
    transfers.push_back(std::move(sent));

    Transfer back;
    back.task = MemoryTask(o, Phase::kGradient, moved, "copy back " + what, sum.tensors);
    back.users = {user};
    back.inLine = true;
    back.behind = {last()};
    transfers.push_back(std::move(back));
}

} // namespace

void
AddTensorSums(const TrainingOptions& o, const RankWork& work, std::vector<Transfer>& transfers)
{
    const Sum sum = SumOf(o, work);
    if (sum.elements == 0)
    {
        return;
    }
    if (!Flushes(o))
    {
        for (const DoneAction& done : work.actions)
        {
            if (done.action.kind == PipelineAction::Kind::kBackward)
            {
                Add(o,
                    sum,
                    done.span.last,
                    done.span.last + 1,
                    {},
                    OfMicroBatch(o, done.action.microBatch),
                    transfers);
            }
        }
        return;
    }
    const Position optimizer = work.FirstOptimizer();
    std::vector<uint32_t> reduced;
    for (uint32_t i = 0; i < transfers.size(); ++i)
    {
        const Transfer& t = transfers[i];
        const bool gradients = t.task.stream == kGradientStream || t.task.stream == kCopyStream;
        if (gradients && t.begin != kStart && t.begin < optimizer)
        {
            reduced = {i}; // on its stream the last of all
        }
    }
    Add(o, sum, optimizer - 1, optimizer, std::move(reduced), "", transfers);
}

} // namespace training
