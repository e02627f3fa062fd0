/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The kernels that PyTorch launches for a transformer's layers without fusion (--kernels=eager):
 * one per operator, forward and backward, with the data that each reads and writes. S: scores,
 * heads x queries x keys; Q, K, V, O: queries, keys, values and the context that comes out; 1
 * stands for an element of the datatype, b for a byte, f for four bytes.
 *
 * Attention that is not fused, causal as karpathy/nanoGPT@0011cd4 model.py ("manual implementation
 * of attention"), both ways as NVIDIA/DeepLearningExamples@1d4211f PyTorch/LanguageModeling/BERT
 * modeling.py (BertSelfAttention), whose softmax autocast has in fp32 where the datatype has 16
 * bits (layer-kernels.h):
 *
 *                     forward                            backward, from the last to the first
 *   heads             copies of Q, K, V: 2 each          copies of the gradients of Q and V: 2 each
 *                     (a product of batches wants        (that of K comes out as the next one wants
 *                     heads outside of tokens)           it), and one puts three into one: 2
 *                                                        (Q+K+V)
 *   scores            product: Q, K, S                   two products: S, Q, K each
 *   scale             2 S                                2 S
 *   mask, causal      copy 2 S; filled in place 2 S      the same, of the gradient
 *                     and a byte for queries x keys
 *   mask, both ways   2 S, one for each key              none: the added term has no gradient
 *   softmax           2 S; in fp32 S + f S               3 S; in fp32 (f + f + 1) S
 *   dropout           2 S + b S; in fp32 (f + f + b) S   the same
 *   back to 16 bits   (f + 1) S, after fp32 only         the same
 *   context           product: S, V, O                   two products: S, V, O each
 *   heads             copy of O: 2                       copy of its gradient: 2
 *
 * masked_fill out of place is a copy and a fill (pytorch/pytorch@v1.13.1
 * aten/src/ATen/native/TensorAdvancedIndexing.cpp, masked_fill). With fewer heads of keys and
 * values than of queries these are repeated by their copies, as Hugging Face's repeat_kv does, and
 * their gradients are added up by a kernel each. Fused attention (FlashAttention) takes heads as
 * they lie (pytorch/pytorch@007ae17 aten/src/ATen/native/transformers/cuda/attention.cu), so only
 * the gradients of Q, K and V are put together.
 *
 *   norm              2                                  two kernels, both read gradient and input:
 *                                                        one for the gradient of the input, one for
 *                                                        those of the parameters
 *                                                        (layer_norm_kernel.cu,
 *                                                        LayerNormBackwardKernelImplInternal): 5
 *   activation        2                                  3: gradient and input, gradient
 *   gate              2 and 3                            3 kernels of 3: of both inputs of the
 *                                                        product, of the activation; one of 3 more
 *                                                        adds the two products' gradients of one
 *                                                        input
 *   residual          dropout 2 + b, sum 3               dropout 2 + b, sum of both gradients 3
 *   embedding         a look-up of 2 for each table, a   dropout; a gradient for each table, whose
 *                     sum of 3 for each but the first;   rows all are written; if the head has the
 *                     dropout 2 + b                      same matrix, the sum of the two: 3
 *   bias              in the product                     a sum over the rows of the gradient
 *
 * All norms are kernels of their own, also those by root mean squares (PyTorch 1.13 has none for
 * them). Rotary positions are left out, as without this option.
 */
#ifndef SCENARIOS_TRAINING_EAGER_KERNELS_H
#define SCENARIOS_TRAINING_EAGER_KERNELS_H

#include "scenarios/models/kernel.h"
#include "scenarios/training/spec/plan-options.h"

namespace training
{

/// Forward and kBackwardInput; with fused attention what stands beside its kernel.
Kernels EagerAttention(const Operator& op, Pass pass, const TrainingOptions& options);

/// The kernels of a role. \param elements op.elements for one micro-batch, the rank's share
Kernels EagerPointwise(const Operator& op,
                       double elements,
                       Pass pass,
                       const TrainingOptions& options);

/// RMSNorm written with PyTorch's operators (--norm=torch): of an element 13 units of the datatype
/// forward and 40 backward, of which 30 to 40 were counted (Aleph-Alpha/scaling@01b9d21
/// src/scaling/core/nn/norm/rms_norm.py). \param elements op.elements for one micro-batch
Kernels TorchNorm(const Operator& op, double elements, Pass pass);

/// The gradient of the bias beside that of the weights. \param weights its kernel
Kernel EagerBias(const Kernel& weights);

/// \return bytes of a score, of all heads, that are kept beyond those of layer-kernels.h
double EagerScoreBytes(const Operator& op, const TrainingOptions& options);

} // namespace training

#endif // SCENARIOS_TRAINING_EAGER_KERNELS_H
