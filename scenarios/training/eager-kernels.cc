/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/eager-kernels.h"

#include "scenarios/training/layer-kernels.h"

namespace training
{

namespace
{

Kernel
Moves(double elements, double bytes = 0)
{
    Kernel kernel;
    kernel.elements = elements;
    kernel.bytes = bytes;
    return kernel;
}

/// Products of a batch, one for each head of each sample.
Kernel
Batched(double batch, double rows, double columns, double inner)
{
    Kernel kernel;
    kernel.kind = KernelClass::kMatrix;
    kernel.batch = batch;
    kernel.rows = rows;
    kernel.columns = columns;
    kernel.inner = inner;
    kernel.flops = 2 * batch * rows * columns * inner;
    kernel.elements = batch * (rows * inner + inner * columns + rows * columns);
    return kernel;
}

/// Softmax and dropout of 16 bits are in fp32.
bool
IsWidened(const Operator& op, const TrainingOptions& o)
{
    return !op.causal && DtypeBytes(o.dtype) == 2;
}

/// Sizes of one rank's micro-batch.
struct Shape
{
    Shape(const Operator& op, const TrainingOptions& o)
        : heads(op.heads * ShareOf(op.split, o) * o.microBatch),
          queries(op.queries.At(1, o.Sequence() / o.context)),
          keys(op.keys.At(1, o.Sequence())),
          size(op.headSize),
          value(op.valueSize > 0 ? op.valueSize : op.headSize),
          scores(heads * queries * keys),
          q(heads * queries * size),
          k(heads * keys * size),
          v(heads * keys * value),
          out(heads * queries * value),
          grouped(op.kvHeads / op.heads)
    {
    }

    double heads;
    double queries;
    double keys;
    double size;
    double value;
    double scores;
    double q;
    double k;
    double v;
    double out;
    double grouped; ///< heads of keys for one of queries
};

/// Between the two products, forward.
void
AddScores(const Shape& x, const Operator& op, const TrainingOptions& o, Kernels& kernels)
{
    const double s = x.scores;
    kernels.push_back(Moves(2 * s)); // scale
    if (op.causal)
    {
        kernels.push_back(Moves(2 * s));
        kernels.push_back(Moves(2 * s, x.queries * x.keys));
    }
    else
    {
        kernels.push_back(Moves(2 * s + o.microBatch * x.keys));
    }
    if (IsWidened(op, o))
    {
        kernels.push_back(Moves(s, 4 * s));
        if (op.dropout)
        {
            kernels.push_back(Moves(0, 9 * s));
        }
        kernels.push_back(Moves(s, 4 * s)); // 16 bits again
        return;
    }
    kernels.push_back(Moves(2 * s));
    if (op.dropout)
    {
        kernels.push_back(Moves(2 * s, s));
    }
}

/// The same, backward.
void
AddScoreGradients(const Shape& x, const Operator& op, const TrainingOptions& o, Kernels& kernels)
{
    const double s = x.scores;
    if (IsWidened(op, o))
    {
        kernels.push_back(Moves(s, 4 * s));
        if (op.dropout)
        {
            kernels.push_back(Moves(0, 9 * s));
        }
        kernels.push_back(Moves(s, 8 * s));
    }
    else
    {
        if (op.dropout)
        {
            kernels.push_back(Moves(2 * s, s));
        }
        kernels.push_back(Moves(3 * s));
    }
    if (op.causal)
    {
        kernels.push_back(Moves(2 * s));
        kernels.push_back(Moves(2 * s, x.queries * x.keys));
    }
    kernels.push_back(Moves(2 * s)); // scale
}

Kernels
Forward(const Shape& x, const Operator& op, const TrainingOptions& o)
{
    Kernels kernels{Moves(2 * x.q),
                    Moves((1 + x.grouped) * x.k),
                    Batched(x.heads, x.queries, x.keys, x.size)};
    AddScores(x, op, o, kernels);
    kernels.push_back(Moves((1 + x.grouped) * x.v));
    kernels.push_back(Batched(x.heads, x.queries, x.value, x.keys));
    kernels.push_back(Moves(2 * x.out));
    return kernels;
}

Kernels
Backward(const Shape& x, const Operator& op, const TrainingOptions& o)
{
    Kernels kernels{Moves(2 * x.out),
                    Batched(x.heads, x.keys, x.value, x.queries),
                    Batched(x.heads, x.queries, x.keys, x.value)};
    AddScoreGradients(x, op, o, kernels);
    kernels.push_back(Batched(x.heads, x.size, x.keys, x.queries));
    kernels.push_back(Batched(x.heads, x.queries, x.size, x.keys));
    kernels.push_back(Moves(2 * x.q));
    kernels.push_back(Moves(2 * x.grouped * x.v));
    if (x.grouped < 1)
    {
        kernels.push_back(Moves((1 + x.grouped) * x.k)); // sums over the heads of a group
        kernels.push_back(Moves((1 + x.grouped) * x.v));
        kernels.push_back(Moves(2 * x.grouped * x.k));
    }
    return kernels;
}

} // namespace

Kernels
EagerAttention(const Operator& op, Pass pass, const TrainingOptions& o)
{
    const Shape x(op, o);
    Kernels kernels;
    if (!o.fusedAttention)
    {
        kernels = pass == Pass::kForward ? Forward(x, op, o) : Backward(x, op, o);
        // Backward moves twice what forward does.
        kernels.front().bytes += o.scoreBytes * (pass == Pass::kForward ? 1 : 2) / 3 * x.scores;
    }
    if (pass != Pass::kForward && op.joined)
    {
        kernels.push_back(Moves(2 * (x.q + x.grouped * (x.k + x.v))));
    }
    for (Kernel& kernel : kernels)
    {
        kernel.launches *= op.count;
        kernel.flops *= op.count;
        kernel.elements *= op.count;
        kernel.bytes *= op.count;
    }
    return kernels;
}

Kernels
EagerPointwise(const Operator& op, double elements, Pass pass, const TrainingOptions& o)
{
    const bool forward = pass == Pass::kForward;
    Kernels kernels;
    const auto move = [&](double some, double bytes = 0) {
        kernels.push_back(Moves(some, bytes));
        kernels.back().launches = op.count;
    };
    switch (op.role)
    {
    case Role::kOther:
        break;
    case Role::kNorm: {
        const double n = elements / 2;
        move(forward ? 2 * n : 5 * n);
        kernels.back().launches = (forward ? 1 : 2) * op.count;
        break;
    }
    case Role::kActivation:
        move(elements / 2 * (forward ? 2 : 3));
        break;
    case Role::kGate: {
        const double n = elements / 3;
        move((forward ? 2 : 3) * n);
        move(3 * n);
        if (!forward)
        {
            move(3 * n);
        }
        break;
    }
    case Role::kResidual: {
        const double n = elements / 3;
        if (op.dropout)
        {
            move(2 * n, n);
        }
        move(3 * n);
        break;
    }
    case Role::kJoin:
        if (!forward)
        {
            move(elements);
        }
        break;
    case Role::kEmbedding: {
        const Tables& tables = op.tables;
        const double n = elements / (tables.count + 1.0);
        for (uint32_t i = 0; i < tables.count; ++i)
        {
            if (forward)
            {
                move(2 * n);
            }
            if (forward && i > 0)
            {
                move(3 * n);
            }
        }
        if (op.dropout)
        {
            move(2 * n, n);
        }
        if (!forward)
        {
            const double shared = tables.shared * ShareOf(Split::kTensor, o);
            move(n + shared);
            if (tables.count > 1)
            {
                move((tables.count - 1) * n + tables.whole);
                kernels.back().launches = (tables.count - 1) * op.count;
            }
            if (tables.tied)
            {
                move(3 * shared);
            }
        }
        break;
    }
    }
    return kernels;
}

Kernels
TorchNorm(const Operator& op, double elements, Pass pass)
{
    // Six kernels forward: cast, square, mean, reciprocal root, product, scale with its cast.
    Kernel kernel = Moves(elements / 2 * (pass == Pass::kForward ? 13 : 40));
    kernel.launches = (pass == Pass::kForward ? 6 : 10) * op.count;
    return {kernel};
}

Kernel
EagerBias(const Kernel& weights)
{
    // The product is rows: inputs, columns: outputs, inner: tokens (or the first two turned).
    Kernel kernel;
    kernel.launches = weights.launches;
    kernel.elements = weights.launches * (weights.inner + 1) * weights.columns;
    return kernel;
}

double
EagerScoreBytes(const Operator& op, const TrainingOptions& o)
{
    // Softmax's result in fp32 is kept beside its converted copy.
    return IsWidened(op, o) ? (op.dropout ? 2 : 4) * op.heads : 0;
}

} // namespace training
