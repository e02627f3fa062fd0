/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Mixers whose cost grows with the tokens, not with their pairs: Gated DeltaNet (Qwen3-Next) and
 * Mamba-2 (Nemotron-H). A sequence is cut into chunks of C tokens. Inside a chunk tokens meet in
 * products of C x C matrices; a state of keys x values goes from chunk to chunk.
 *
 *   norm | projections in | short convolution | chunks | gated norm | projection out | residual
 *
 * Projections are ordinary products. The convolution, norms and gates are bound by the memory. The
 * chunks are a Operator::scan: floating-point operations and elements are counted below from the
 * kernels of the libraries that are named there; their rate is that of fused attention, and
 * backward does 2.5 times the work of forward, as there: both assumed.
 *
 * Tensor parallelism divides heads, as megatron/core/ssm of NVIDIA/Megatron-LM does.
 */
#ifndef SCENARIOS_MODELS_RECURRENCE_PARTS_H
#define SCENARIOS_MODELS_RECURRENCE_PARTS_H

#include "scenarios/models/transformer-shape.h"

namespace training
{

/// Gated DeltaNet. Parameters as Qwen3NextGatedDeltaNet of huggingface/transformers
/// src/transformers/models/qwen3_next; chunks as fla-org/flash-linear-attention
/// fla/ops/gated_delta_rule/chunk.py.
Part DeltaMixer(const Transformer& t, const Work& tokens);

/// Mamba-2. Parameters as NemotronHMamba2Mixer of huggingface/transformers
/// src/transformers/models/nemotron_h; chunks as state-spaces/mamba
/// mamba_ssm/ops/triton/ssd_combined.py.
Part MambaMixer(const Transformer& t, const Work& tokens);

} // namespace training

#endif // SCENARIOS_MODELS_RECURRENCE_PARTS_H
