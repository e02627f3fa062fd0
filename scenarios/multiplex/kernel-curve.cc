/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/multiplex/kernel-curve.h"

#include "scenarios/training/layer-kernels.h"
#include "scenarios/training/spec/kernel-time.h"

#include <algorithm>
#include <cmath>

namespace multiplex
{

using training::Kernel;
using training::KernelClass;
using training::Kernels;

namespace
{

/// The largest batch of models that nobody has measured: iGniter's profile goes so far.
constexpr uint32_t MOST_BATCH = 32;

/// The share of the bandwidth that this share of the multiprocessors can keep busy.
double
BusyShare(double share)
{
    return std::min(1.0, share / kMemoryShare);
}

/// That share of a GPU, and that of its memory's bandwidth.
training::GpuSpec
PartOf(training::GpuSpec gpu, double share, double bandwidth)
{
    for (double* const peak :
         {&gpu.peakFp32, &gpu.peakTf32, &gpu.peakFp16, &gpu.peakBf16, &gpu.peakFp8, &gpu.peakFp4})
    {
        *peak *= share;
    }
    if (gpu.multiprocessors > 0)
    {
        gpu.multiprocessors = std::max(1.0, std::round(gpu.multiprocessors * share));
    }
    gpu.memoryBandwidth *= bandwidth;
    return gpu;
}

double
SecondsOf(const Kernel& kernel,
          const training::GpuSpec& gpu,
          training::Dtype dtype,
          double multiprocessors,
          double bandwidth)
{
    const double seconds = training::Seconds(kernel, gpu, dtype);
    if (kernel.kind != KernelClass::kPointwise || multiprocessors <= 0)
    {
        return seconds;
    }
    // Too few blocks to keep the memory busy.
    const double launch = kernel.launches * gpu.rates.launch;
    const double blocks = kernel.elements / std::max(1.0, kernel.launches) / kBlockElements;
    const double used = std::min(gpu.multiprocessors, std::max(1.0, blocks));
    const double has = std::min(bandwidth, BusyShare(used / multiprocessors));
    return launch + (seconds - launch) * bandwidth / has;
}

} // namespace

KernelCurve::KernelCurve(training::ModelSpec model,
                         training::GpuSpec gpu,
                         training::Dtype dtype,
                         uint32_t sequence,
                         bool fused)
    : m_model(std::move(model)),
      m_gpu(std::move(gpu)),
      m_dtype(dtype),
      m_sequence(sequence),
      m_fused(fused)
{
}

const Kernels&
KernelCurve::KernelsOf(uint32_t batch) const
{
    const auto [it, isNew] = m_kernels.try_emplace(batch);
    Kernels& kernels = it->second;
    if (!isNew)
    {
        return kernels;
    }
    training::TrainingOptions options;
    options.gpu = m_gpu;
    options.microBatch = batch;
    options.sequence = m_sequence;
    options.dtype = m_dtype;
    options.fusedAttention = m_fused;
    bool behindProduct = false;
    for (const training::LayerSpec& layer : m_model.layers)
    {
        for (const training::Part& part : layer.parts)
        {
            for (const training::Operator& op : part.operators)
            {
                for (Kernel kernel :
                     training::KernelsOf(op, part, training::Pass::kForward, options))
                {
                    const bool pointwise = kernel.kind == KernelClass::kPointwise;
                    if (m_fused && pointwise && behindProduct)
                    {
                        continue;
                    }
                    behindProduct = kernel.kind == KernelClass::kConvolution;
                    kernels.push_back(kernel);
                }
            }
        }
    }
    return kernels;
}

double
KernelCurve::Seconds(uint32_t batch, double percent) const
{
    const auto [it, isNew] = m_seconds.try_emplace({batch, percent}, 0);
    if (isNew)
    {
        const double share = percent / kWholeGpu;
        const training::GpuSpec part = PartOf(m_gpu, share, BusyShare(share));
        const double had =
            m_gpu.multiprocessors > 0 ? BusyShare(part.multiprocessors / m_gpu.multiprocessors) : 1;
        for (const Kernel& kernel : KernelsOf(batch))
        {
            it->second += SecondsOf(kernel, part, m_dtype, m_gpu.multiprocessors, had);
        }
    }
    return it->second;
}

double
KernelCurve::SecondsOn(uint32_t batch, double multiprocessors, double bandwidth) const
{
    const training::GpuSpec part =
        PartOf(m_gpu, multiprocessors / m_gpu.multiprocessors, bandwidth);
    double seconds = 0;
    for (const Kernel& kernel : KernelsOf(batch))
    {
        seconds += SecondsOf(kernel, part, m_dtype, m_gpu.multiprocessors, bandwidth);
    }
    return seconds;
}

uint32_t
KernelCurve::LargestBatch() const
{
    return MOST_BATCH;
}

double
KernelCurve::Launches() const
{
    double launches = 0;
    for (const Kernel& kernel : KernelsOf(1))
    {
        launches += kernel.launches;
    }
    return launches;
}

} // namespace multiplex
