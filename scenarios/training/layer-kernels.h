/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * From an operator of a layer (model-zoo.h) to the kernels of one rank: batch, sequence and the
 * rank's share are put in.
 *
 * Backward of a product is two more (gradients of its inputs and of its weights), of the same FLOPs
 * each. Backward of attention is four products for forward's two; fused attention computes the
 * scores again, five (Dao et al. 2022, algorithm 4).
 *
 * Attention that is not fused launches each of its products, and beside them, forward:
 *
 *   causal       scale, mask and softmax in one kernel, as Megatron-LM has it; dropout
 *   both ways    scale, mask, softmax, dropout: a kernel each, as PyTorch's operations one after
 *                another (NVIDIA/DeepLearningExamples@1d4211f PyTorch/LanguageModeling/BERT,
 *                modeling.py, BertSelfAttention). With 16 bits autocast has the softmax in fp32
 *                (PyTorch's list of operations that autocast to float32), so it writes 4 bytes, so
 *                does dropout, and one kernel more makes them 16 bits
 *
 * Backward is taken to move twice as much. With --kernels=megatron the passes of a causal one are
 * counted one by one, in elements of a score; its softmax reads what a query sees, half of them,
 * and writes all (megatron/fused_kernels/scaled_upper_triang_masked_softmax.h of
 * NVIDIA/Megatron-LM@2387ce0); dropout's mask is a byte, b:
 *
 *                forward                    backward
 *   scores       product 1                  two products: 1 + 1
 *   softmax      1/2 + 1                    1/2 + 1/2 + 1
 *   dropout      2 + b                      2 + b
 *   context      product 1                  two products: 1 + 1
 *
 * so backward moves 8.5 / 6 of what forward does (16 bits). With --kernels=eager all of these
 * differ, and backward's are counted, too: eager-kernels.h. Convolutions in TF32 find pictures
 * channel by channel, PyTorch's own order, while tensor cores need all channels of a place
 * together. Their inputs and outputs are transposed before or after, so the data are moved three
 * times. Recipes for 16 bits keep them in that order all along (NVIDIA/DeepLearningExamples@097c7ff
 * PyTorch/Classification/ConvNets/configs.yml: nhwc with AMP only); fp32 needs no tensor cores.
 */
#ifndef SCENARIOS_TRAINING_LAYER_KERNELS_H
#define SCENARIOS_TRAINING_LAYER_KERNELS_H

#include "scenarios/models/kernel.h"
#include "scenarios/training/spec/plan-options.h"

namespace training
{

/// \return the part of 1 that a rank of a tensor group has
double ShareOf(Split split, const TrainingOptions& options);
/// \param expert the same of a routed expert, which a group of its own may share (--etp)
double ShareOf(Split split, bool expert, const TrainingOptions& options);

/// Whether it computes the loss from the logits.
bool IsLoss(const Operator& op, const Part& part);

/// \return what one rank launches for it, for one micro-batch; nothing where a pass has no work
Kernels KernelsOf(const Operator& op, const Part& part, Pass pass, const TrainingOptions& options);

/// Tokens that a rank's experts compute for one micro-batch are so many times those of its tensor
/// group, before they are divided among its experts.
double RoutedShare(const Routing& routing, const TrainingOptions& options);

} // namespace training

#endif // SCENARIOS_TRAINING_LAYER_KERNELS_H
