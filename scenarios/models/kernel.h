/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a GPU launches for a layer, in numbers: batch, sequence, datatype and the share of a
 * parallel group are in them already. How long one takes: kernel-time.h.
 */
#ifndef SCENARIOS_MODELS_KERNEL_H
#define SCENARIOS_MODELS_KERNEL_H

#include <cstdint>
#include <vector>

namespace training
{

/// The resource that bounds a kernel, and so its constants.
enum class KernelClass : uint8_t
{
    kMatrix,      ///< dense products
    kConvolution, ///< the same as a product over patches of pictures (implicit GEMM)
    kAttention,   ///< scores, softmax and context of attention
    kPointwise,   ///< memory: norms, activations, dropout, residuals, look-ups, losses
};

enum class Pass : uint8_t
{
    kForward,
    kBackwardInput,   ///< gradients of the inputs, which the layer below waits for
    kBackwardWeights, ///< gradients of the parameters, which may come later (zero bubble)
};

/// One kernel, or `launches` equal ones in a row.
struct Kernel
{
    KernelClass kind = KernelClass::kPointwise;
    Pass pass = Pass::kForward;
    double launches = 1;

    /// Each launch of kMatrix and kConvolution: `batch` products of rows x inner by inner x columns
    /// (M, K, N of BLAS). 0: the shape is not known, only `flops` and `elements`.
    double batch = 1;
    double rows = 0;
    double columns = 0;
    double inner = 0;

    /// Each launch of kAttention: so many heads (times samples), each of so many queries by keys.
    double heads = 0;
    double queries = 0;
    double keys = 0;
    double headSize = 0;
    bool causal = false; ///< a query sees the keys up to its own place only
    /// Queries are those of a longer sequence, of which each sees the nearest `keys`.
    bool window = false;
    bool fused = false; ///< FlashAttention: the matrix of scores never reaches the memory
    bool wide = false;  ///< a product in 16 bits where others are in fp8 or fp4
    bool casts = true;  ///< a narrow product's inputs are cast ahead of it, and nobody else says so

    /// FLOPs of all launches together; a multiply-add counts 2. Attention's are those of the whole
    /// matrix, causal or not, as model FLOPs are counted.
    double flops = 0;
    double elements = 0; ///< read and written, weights included; of the datatype in use
    double bytes = 0;    ///< read and written whatever the datatype is (fp32 logits, masks)
};

using Kernels = std::vector<Kernel>;

} // namespace training

#endif // SCENARIOS_MODELS_KERNEL_H
