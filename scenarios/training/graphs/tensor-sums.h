/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * With sequence parallelism each rank of a tensor group has some of the tokens where a layer is not
 * divided. So for the parameters there (norms, biases after row-parallel products, routers, BERT's
 * product before the vocabulary) it has the gradients of its own tokens only. They are added up
 * over the group once a step, all of a rank in one all-reduce.
 *
 * The rule is Megatron-LM's (NVIDIA/Megatron-LM megatron/core/distributed/finalize_model_grads.py,
 * _allreduce_layernorm_grads; the parameters are those marked sequence_parallel in
 * megatron/core/tensor_parallel/layers.py, fusions/fused_layer_norm.py, transformer/moe/router.py,
 * and the linear layers of extensions/transformer_engine.py that every rank has whole): behind the
 * last backward and what replicas reduce, awaited; gradients are put into one tensor by one kernel
 * and back by one each.
 *
 *   DP reduction --> flatten --> all-reduce (tp) --> copy back --> optimizer
 *
 * Gradients are then whole on each rank with stages 0 and 1. Where replicas divide them (stages 2
 * and 3), a rank adds up its share: assumed, Megatron-LM has no such stage. A pipeline without a
 * flush does it in each round, ahead of the update.
 */
#ifndef SCENARIOS_TRAINING_GRAPHS_TENSOR_SUMS_H
#define SCENARIOS_TRAINING_GRAPHS_TENSOR_SUMS_H

#include "scenarios/training/graphs/communication.h"

#include <vector>

namespace training
{

/// \param options resolved. \param transfers of data parallelism, which know when they begin
void AddTensorSums(const TrainingOptions& options,
                   const RankWork& work,
                   std::vector<Transfer>& transfers);

} // namespace training

#endif // SCENARIOS_TRAINING_GRAPHS_TENSOR_SUMS_H
