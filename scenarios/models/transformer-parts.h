/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The parts of a transformer's blocks. Each starts with a norm and ends with a residual; `tokens`
 * are those of a sample that go through it.
 *
 * Activation bytes are those of Korthikanti et al. (2022), section 4.1 and table 2, term by term:
 * with dropout, an MLP of two matrices, f = 4 h and as many key-value heads as heads a block's add
 * up to b s h (34 + 5 a s / h), of which tensor parallelism divides b s h (24 + 5 a s / h) and
 * sequence parallelism the other 10.
 */
#ifndef SCENARIOS_MODELS_TRANSFORMER_PARTS_H
#define SCENARIOS_MODELS_TRANSFORMER_PARTS_H

#include "scenarios/models/transformer-shape.h"

namespace training
{

/// How a linear layer is shared out (Shoeybi et al. 2019, section 3).
enum class Linear : uint8_t
{
    kWhole,
    kColumns, ///< each rank some of the outputs
    kRows,    ///< each rank some of the inputs; its bias is whole
};

/// A norm over h elements: scale, and offset unless RMS. Every rank of a tensor group does it, or
/// with sequence parallelism on its share of the tokens.
void AddNorm(Part& part, const Work& tokens, uint64_t h, bool rms);

/// A linear layer in -> out.
void AddLinear(Part& part, const Work& tokens, uint64_t in, uint64_t out, bool bias, Linear how);

/// The end of a part: dropout, and the sum with what goes around.
void AddResidual(Part& part, const Work& tokens, uint64_t h, bool dropout);

/// Attention of tokens to one another. \param block how far it reaches
Part SelfAttention(const Transformer& t,
                   const Work& tokens,
                   bool causal,
                   const BlockShape& block = {});
/// Attention of a decoder's tokens to the encoder's output.
Part CrossAttention(const Transformer& t, const Work& tokens, const Work& source);
Part Mlp(const Transformer& t, const Work& tokens);
Part Experts(const Transformer& t, const Work& tokens);

} // namespace training

#endif // SCENARIOS_MODELS_TRANSFORMER_PARTS_H
