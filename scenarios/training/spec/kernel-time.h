/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The time of a kernel on a GPU: the time of its launch and of its work. The time of the work
 * depends on the class:
 *
 *   products       sqrt(c^2 + m^2): c = FLOPs in whole tiles / rate, m = bytes / bandwidth. The two
 *                  overlap, but for a large product perfectly so: the root is between max(c, m) and
 *                  their sum. What c counts: tiles, below.
 *   convolutions   as the product over patches, at a rate of their own; bytes are those of pictures
 *   attention      fused: sqrt(c^2 + m^2) at rates of its own, forward and backward, whatever the
 *                  size of heads (MPT's steps with heads of 64 and 128 differ by less than 4%), and
 *                  causal only what a query sees;
 *                  not fused: its products (c) and, one after another, its passes over the matrices
 *                  of scores (m at the bandwidth of pointwise kernels)
 *   pointwise      bytes / bandwidth
 *   optimizer      the same, at a bandwidth of its own
 *
 * Rates and bandwidths are shares of the GPU's peaks (KernelRates); the same constants serve all
 * models and shapes. They are fitted by scripts/fit-compute.
 *
 * Tiles. A library cuts the rows x columns of a product into tiles, one a multiprocessor at a time;
 * it has some shapes of them and takes the best. A smaller tile reads more for each FLOP, so its
 * rate is lower. Parts beyond the edge of the matrix are computed all the same. And the last wave
 * of tiles is not full:
 *
 *      columns
 *     +----+----+--        9 tiles on 4 multiprocessors: 2.25 waves, which take 3 if tiles are
 *     |    |    | :        alike, 2.25 if the library shares them out evenly. In between:
 *     +----+----+--        3^w x 2.25^(1 - w).
 *     |    |    | :        With less than a wave, the inner dimension is split as well, into
 *     +----+----+--        pieces of `split` at least, so that more multiprocessors get work.
 *     :    :    : : rows
 *
 * fp8 and NVFP4 are for products and convolutions only: their inputs have fewer bytes
 * (NarrowFormat), their outputs 2. All else (attention, pointwise, parameters, gradients) is 16
 * bit, as Transformer Engine has it by default, and so are the products of the head (output_layer
 * of megatron/core/models/gpt/gpt_model.py of NVIDIA/Megatron-LM@007562f, which is none of
 * Transformer Engine's; filter_fqns of torchtitan's train_configs) and of routers (arXiv
 * 2412.19437, section 3.3.1). Each product's activations (forward) and gradients (backward) are
 * cast by kernels of their own, for two products: that none is fused into the kernel before is
 * assumed. Weights are cast once a step, which is not counted.
 */
#ifndef SCENARIOS_TRAINING_SPEC_KERNEL_TIME_H
#define SCENARIOS_TRAINING_SPEC_KERNEL_TIME_H

#include "scenarios/models/gpu-zoo.h"
#include "scenarios/models/kernel.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace training
{

/// Constants that are the same for all GPUs, datatypes and shapes. The first three were fitted
/// together on a coarse grid: they have the least mean error for measured products when each GPU's
/// rates are fitted anew (scripts/fit-compute --shared).
struct KernelCosts
{
    /// A tile of rows x columns reads rows + columns elements for as many multiply-adds as their
    /// product, so its rate is as 1 / (1 + tile (1 / rows + 1 / columns)).
    double tile = 8;
    /// w: the cost of a last wave that is not full. 0: only its tiles; 1: as a full one.
    double wave = 0.2;
    /// The smallest piece of the inner dimension that is worth a multiprocessor of its own.
    double split = 8192;
};

/// The GPU as it is in training: its products at the rate of a load that lasts
/// (KernelRates::sustained), and with them what goes by their rate. What products of a table, timed
/// alone, take is told by the GPU itself.
GpuSpec InTraining(GpuSpec gpu);

/// Seconds of all `launches` of a kernel. The GPU has the datatype (Peak() > 0). Never less than
/// FLOPs / peak or bytes / bandwidth; grows with every dimension. 0 launches: 0.
double Seconds(const Kernel& kernel,
               const GpuSpec& gpu,
               Dtype dtype,
               const KernelCosts& costs = {});

/// FLOPs that a product takes the time of: those of its tiles, each as much more than the largest
/// tile's as it is slower, on a GPU of so many multiprocessors (0: not known, so no waves). At
/// least 2 x batch x rows x columns x inner.
double TiledFlops(double batch,
                  double rows,
                  double columns,
                  double inner,
                  double multiprocessors,
                  const KernelCosts& costs = {});

/// How parameters are updated. States (momentum, variance, master copy) are fp32; without a master
/// copy, as where PyTorch's optimizers are given a model of 16 bits, of the datatype.
enum class Optimizer : uint8_t
{
    kSgd,
    kMomentum, ///< SGD with one momentum
    kAdam,     ///< AdamW moves as many bytes
    kLamb,
    kAdafactor, ///< without momentum
};

/// "sgd", "momentum", "adam", "lamb", "adafactor".
std::string OptimizerName(Optimizer optimizer);
std::optional<Optimizer> ParseOptimizer(std::string_view text);

/// Bytes that are kept for a parameter: an fp32 copy with 16-bit datatypes, momentum, variance.
/// Adafactor's variance is a row and a column for each matrix, which is not counted.
uint32_t OptimizerStateBytes(Optimizer optimizer, Dtype dtype, bool master = true);

/// It needs norms or means of whole tensors, so a rank cannot update a part of one by itself.
bool NeedsWholeTensors(Optimizer optimizer);

/// Bytes that an update reads and writes for a parameter: fused kernels, one pass over memory each
/// (LAMB: five, Adafactor: three). 16-bit datatypes with an fp32 master copy write the parameter as
/// well.
double OptimizerBytes(Optimizer optimizer, Dtype dtype, bool master = true);
/// Seconds of updating so many parameters, those of a GPU's partition. 0 parameters: 0.
double OptimizerSeconds(Optimizer optimizer,
                        double parameters,
                        const GpuSpec& gpu,
                        Dtype dtype,
                        bool master = true);

} // namespace training

#endif // SCENARIOS_TRAINING_SPEC_KERNEL_TIME_H
