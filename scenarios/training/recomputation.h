/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What backward computes again of a layer (--recompute):
 *
 *   full        blocks, whole
 *   selective   the core of attention (Korthikanti et al. 2022, section 5). Fused attention has no
 *               core to repeat; with it an FSDP job repeats what torchtitan's policy "op" does not
 *               save: all operators but attention and every second product (pytorch/torchtitan
 *               torchtitan/distributed/activation_checkpoint.py)
 *
 * --recompute-modules repeats modules instead, as Megatron-LM does
 * (megatron/core/transformer/moe/README.md of NVIDIA/Megatron-LM@022bcb5, and
 * transformer_config.py):
 *
 *   layernorm        norms ahead of attention and MLP; their output is not kept
 *   mla_up_proj      wide products of latent attention; queries, keys, values are not kept
 *   core_attn        the core of attention; its scores are not kept
 *   moe_act          activation of routed experts; its output is not kept
 *   mlp              MLPs of dense blocks, from the norm's output
 *   mlp_act          activation of dense blocks' MLPs; its output is not kept, nor the activated
 *                    factor of a gated one. No name of Megatron-LM's: fused kernels do so
 *                    (silu_bw_fused in xformers/csrc/swiglu of facebookresearch/xformers)
 *   shared_experts   experts for all tokens, from the norm's output
 *   moe              router, experts and the way of tokens to them and back, from the norm's output
 *
 * --recompute-keep keeps outputs of products of attention beside the input of a block, as JAX's
 * checkpoint policies do by name (save_qkv_proj of MaxText keeps qkv_proj, save_dot_except_mlp
 * out_proj too: dgxc-benchmarking@0b71cfd maxtext/configure.sh); full then does not repeat them.
 *
 * What a module of a layer makes anew is there while that layer's backward runs.
 */
#ifndef SCENARIOS_TRAINING_RECOMPUTATION_H
#define SCENARIOS_TRAINING_RECOMPUTATION_H

#include "scenarios/training/spec/plan-options.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace training
{

enum class Again : uint8_t
{
    kNothing,
    kCore, ///< of attention
    kHalf, ///< every second product, and what is no attention
    kModules,
    kWhole,
};

/// "core_attn, moe_act": names of modules, as --recompute-modules has them.
std::string ModulesText(uint8_t modules);
/// The module that is called so, '-' like '_'; 0: none is.
uint8_t ParseModule(std::string_view name);
/// Modules that a model has.
uint8_t ModulesOf(const ModelSpec& model);

/// \param layer its index in the model
Again AgainOf(const TrainingOptions& options, std::size_t layer);

/// Bytes of the outputs that full recomputation keeps of a part, 16-bit, of a micro-batch.
double KeptProductBytes(const Part& part, const TrainingOptions& options);

/// Seconds that backward needs to compute it again.
double SecondsAgain(const Part& part, Again again, const TrainingOptions& options);

/// Seconds of a pass, of so much of each operator. \param share 0 to 1
double SecondsOfShares(const Part& part,
                       Pass pass,
                       const TrainingOptions& options,
                       const std::function<double(const Operator&)>& share);

/// Selective recomputation of an FSDP job with fused attention: operators, as above.
bool RepeatsByOperator(const TrainingOptions& options);

/// Full recomputation leaves out what stands behind the last tensor that backward needs (without
/// dropout the last product of a block), as PyTorch's torch.utils.checkpoint does by default
/// (set_checkpoint_early_stop), and so FSDP. Megatron-LM and DeepSpeed have their own, which runs
/// the whole block: what tensor or pipeline parallelism and ZeroImpl::kDeepSpeed are taken for.
bool StopsEarly(const TrainingOptions& options);

/// Recomputed whole before its backward: all that computes, but for the last layer of the model,
/// whose backward follows its forward at once.
bool IsRecomputed(const TrainingOptions& options, std::size_t layer);

} // namespace training

#endif // SCENARIOS_TRAINING_RECOMPUTATION_H
