/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Which kernel scaled_dot_product_attention of PyTorch 2 takes on a GPU: PyTorch asks a function
 * that CUDA's part of it has, and CPU-only PyTorch has not. Rules are those of v2.6.0
 * aten/src/ATen/native/transformers/cuda/sdp_utils.cpp, as far as they are about types and sizes.
 */
#ifndef CAPTURE_ATTENTION_CHOICE_H
#define CAPTURE_ATTENTION_CHOICE_H

namespace capture
{

/// \param capability major compute capability of the GPU. Nothing in 1.13, which has no such
/// function: ../inside/fused_kernels.py.
void InstallAttentionChoice(int capability);

} // namespace capture

#endif // CAPTURE_ATTENTION_CHOICE_H
