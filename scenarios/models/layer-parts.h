/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a layer of a model holds, computes, keeps and exchanges, in parts.
 */
#ifndef SCENARIOS_MODELS_LAYER_PARTS_H
#define SCENARIOS_MODELS_LAYER_PARTS_H

#include "scenarios/models/kernel.h"
#include "scenarios/models/shared-list.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace training
{

/// A quantity that grows with the work: for b samples of s tokens, b (sample + token s + pair s^2).
/// `pair` counts only what attention matrices cost, so that a fused attention can leave it out.
struct Work
{
    double sample = 0;
    double token = 0;
    double pair = 0;
    /// The same of attention that sees `window` keys at most: local s min(s, window). The works of
    /// a layer have one window.
    double local = 0;
    double window = 0;

    double At(uint32_t batch, uint32_t sequence) const
    {
        const double keys = std::min<double>(sequence, window);
        return batch * (sample + sequence * (token + pair * sequence + local * keys));
    }

    Work WithoutPairs() const
    {
        return {sample, token, 0};
    }

    Work operator*(double factor) const
    {
        return {sample * factor, token * factor, pair * factor, local * factor, window};
    }

    bool operator==(const Work& o) const
    {
        return sample == o.sample && token == o.token && pair == o.pair && local == o.local &&
               window == o.window;
    }

    bool IsZero() const
    {
        return sample == 0 && token == 0 && pair == 0 && local == 0;
    }

    Work& operator+=(const Work& o)
    {
        sample += o.sample;
        token += o.token;
        pair += o.pair;
        local += o.local;
        window = o.local != 0 ? o.window : window;
        return *this;
    }
};

/// The share of something that a rank of a tensor-parallel group has.
enum class Split : uint8_t
{
    kWhole,    ///< not split
    kTensor,   ///< one of tp equal shares
    kSequence, ///< not split; with sequence parallelism one of tp equal shares of the tokens
};

/// Modules that backward may compute again, as bits; names and contents: recomputation.h.
enum Module : uint8_t
{
    kModuleNorm = 1U << 0,
    kModuleLatent = 1U << 1, ///< wide products of latent attention
    kModuleCore = 1U << 2,
    kModuleMlp = 1U << 3,
    kModuleMoe = 1U << 4,
    kModuleActivation = 1U << 5,    ///< of routed experts
    kModuleShared = 1U << 6,        ///< experts for all tokens
    kModuleMlpActivation = 1U << 7, ///< of dense blocks' MLPs
};

/// A parameter tensor.
struct Tensor
{
    uint64_t elements = 0; ///< of one expert, if it belongs to experts
    Split split = Split::kWhole;
    /// Number of experts that have such parameters each, divided among the ranks of an
    /// expert-parallel group. 0: not of experts.
    uint32_t experts = 0;

    uint64_t All() const ///< elements in the model
    {
        return elements * (experts > 0 ? experts : 1);
    }
};

/// The backward passes that take a kept tensor, where its bytes depend on them (KeptShare).
enum class Takers : uint8_t
{
    kOthers,
    kProducts,    ///< only products with weights: narrow ones keep their cast in its place
    kProductsToo, ///< such products and an operator in 16 bits: narrow ones keep a cast beside it
};

/// Activations kept for backward.
struct Kept
{
    Work bytes; ///< with a 16-bit datatype, everything stored
    Split split = Split::kWhole;
    bool core = false;   ///< in the core of attention: selective recomputation drops it
    bool expert = false; ///< for tokens sent to the rank's experts, with even shares
    uint8_t modules = 0; ///< modules that make it: Module
    Takers takers = Takers::kOthers;
    /// Share of it that an activation makes: kModuleActivation, kModuleMlpActivation.
    double ofActivation = 0;
};

/// The role of a kPointwise of a transformer, for other launch patterns (eager-kernels.h).
enum class Role : uint8_t
{
    kOther,
    kNorm,       ///< elements: input and output
    kActivation, ///< the same
    kGate,       ///< two inputs, one through an activation, and their product
    kResidual,   ///< dropout, and the sum with what goes around
    kJoin,       ///< in backward the sum of two gradients, where products have the same input
    kEmbedding,  ///< look-ups in tables and their sum
};

/// The tables of a kEmbedding.
struct Tables
{
    uint32_t count = 0;
    double shared = 0; ///< elements of the table that tensor parallelism divides
    double whole = 0;  ///< elements of the other tables
    bool tied = false; ///< the first one is the matrix of the head, too
};

/// The computation of a layer, independent of the batch.
struct Operator
{
    KernelClass kind = KernelClass::kPointwise;
    Role role = Role::kOther;
    Split split = Split::kWhole;
    bool expert = false; ///< once for each expert of the rank, on the tokens that were sent to it
    uint8_t modules = 0; ///< modules that it is part of: Module
    double count = 1;    ///< equal ones, one after another

    /// Products: rows x inner by inner x columns. With Split::kTensor the columns are divided, or
    /// `inner` where `dividesInner` says so (Megatron's column- and row-parallel layers).
    Work rows;
    double columns = 0;
    double inner = 0;
    bool dividesInner = false;
    bool weights = true; ///< inner x columns are parameters, read and given gradients
    bool bias = false;   ///< a number is added to each column
    bool wide = false;   ///< in 16 bits where others are in fp8 or fp4: of the head, of a router

    /// Attention: lengths of one sample; Split::kTensor divides the heads.
    Work queries;
    Work keys;
    double heads = 0;
    double kvHeads = 0;
    double headSize = 0;
    double valueSize = 0; ///< 0: headSize
    double window = 0;    ///< keys that a query sees at most; 0: all of the sequence
    bool chunked = false; ///< those of its own stretch of `window` tokens, not the nearest ones
    bool causal = false;
    bool joined = false;  ///< queries, keys and values are what one product makes
    bool dropout = false; ///< has dropout; also for kResidual and kEmbedding
    Tables tables;        ///< tables of a kEmbedding

    /// Elements that a kPointwise reads and writes, forward. Also for products without a shape
    /// (columns 0).
    Work elements;
    Work bytes; ///< kPointwise: the same, in bytes, of elements that are always in fp32
    Work flops; ///< for products without a shape
    /// A product without a shape that is attention's kind of work: small products in a row, whose
    /// matrices stay on the chip (recurrence-parts.h). `elements` are those of all `count`.
    bool scan = false;
    double backward = 2; ///< kPointwise, scan: work of backward for one of forward
    /// Backward of the layer needs nothing that it or a later one makes: recomputation that stops
    /// early stops before it.
    bool last = false;
    // Of operators on pictures and vectors (model-operators.cc):
    std::vector<int32_t>
        takes;           ///< operators of the part whose outputs it takes; -1: the layer's input
    double channels = 0; ///< of what it makes, a sample
    double places = 0;

    Work Flops() const; ///< forward; a multiply-add counts 2
};

/// Tokens that find their experts over an all-to-all.
struct Routing
{
    uint32_t experts = 0; ///< among which tokens are routed
    uint32_t topK = 0;    ///< experts a token is sent to
    double elements = 0;  ///< elements of a token that travel
};

/// A piece of a layer between two places where the ranks of a parallel group exchange activations.
struct Part
{
    std::string name;            ///< "attention"; empty: the layer's only one
    std::vector<Tensor> tensors; ///< in forward order
    std::vector<Operator> operators;
    std::vector<Kept> kept;
    /// Elements that tensor parallelism adds up at its entry in backward (Megatron's f) and at its
    /// exit in forward (g). 0: nothing is exchanged there.
    Work entry;
    Work exit;
    /// Positions of a loss over a vocabulary that ranks divide. Their largest logit, sum and
    /// target's logit take three all-reduces.
    Work losses;
    std::optional<Routing> routing;
    /// The operator (with `takes`) whose output the next layer takes; -1: the layer's input.
    int32_t leaves = -1;
};

using Parts = SharedList<Part>;

/// Whether all members are the same.
bool AreEqual(const Parts& a, const Parts& b);

} // namespace training

#endif // SCENARIOS_MODELS_LAYER_PARTS_H
