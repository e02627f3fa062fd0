/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The latency of a model on a share of a GPU by its kernels, where nobody has measured it. A kernel
 * takes
 *
 *     launch + its time (kernel-time.h) on a GPU of p x multiprocessors, p x peak
 *              and min(1, p / kMemoryShare) x bandwidth
 *
 * so a product of fewer tiles than multiprocessors gains nothing from more of them, and neither
 * does a kernel that reads and writes fewer blocks of 2,048 elements. From there on latency is
 * flat: the knee that D-STACK (arXiv 2304.13541) argues with.
 *
 * Inference fuses what training keeps apart: pointwise kernels behind a convolution (norm,
 * activation) become a part of it, as TensorRT has it ("layer fusion", NVIDIA TensorRT Developer
 * Guide).
 */
#ifndef SCENARIOS_MULTIPLEX_KERNEL_CURVE_H
#define SCENARIOS_MULTIPLEX_KERNEL_CURVE_H

#include "scenarios/models/gpu-zoo.h"
#include "scenarios/models/kernel.h"
#include "scenarios/models/model-zoo.h"
#include "scenarios/multiplex/share-curve.h"

#include <map>

namespace multiplex
{

/// The part of the multiprocessors that can keep the whole memory bandwidth busy: assumed.
constexpr double kMemoryShare = 0.5;
/// Elements that one multiprocessor works on at a time in a pointwise kernel: 2,048 threads are
/// resident on one of a V100 (CUDA C++ Programming Guide, compute capability 7.0).
constexpr double kBlockElements = 2048;

class KernelCurve : public ShareCurve
{
  public:
    /// \pre the GPU has the datatype, and the model has layers \param sequence of models that have
    /// one \param fused see above
    KernelCurve(training::ModelSpec model,
                training::GpuSpec gpu,
                training::Dtype dtype,
                uint32_t sequence,
                bool fused = true);

    double Seconds(uint32_t batch, double percent) const override;

    /// On an instance with multiprocessors and a share of the bandwidth of its own. \pre the GPU's
    /// multiprocessors are known
    double SecondsOn(uint32_t batch, double multiprocessors, double bandwidth) const;

    std::string WhyNot(uint32_t, double) const override
    {
        return "";
    }

    uint32_t LargestBatch() const override;

    std::string Kind() const override
    {
        return "kernels";
    }

    /// Launches of one batch.
    double Launches() const;

  private:
    const training::Kernels& KernelsOf(uint32_t batch) const;

    training::ModelSpec m_model;
    training::GpuSpec m_gpu;
    training::Dtype m_dtype;
    uint32_t m_sequence;
    bool m_fused;
    mutable std::map<uint32_t, training::Kernels> m_kernels; // by batch
    mutable std::map<std::pair<uint32_t, double>, double> m_seconds;
};

} // namespace multiplex

#endif // SCENARIOS_MULTIPLEX_KERNEL_CURVE_H
