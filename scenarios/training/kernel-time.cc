/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/kernel-time.h"

#include <algorithm>

namespace training
{

double
Seconds(const Kernel& kernel, const GpuSpec& gpu, Dtype dtype)
{
    const double memory = (kernel.elements * DtypeBytes(dtype) + kernel.bytes) /
                          (gpu.memoryBandwidth * gpu.memoryEfficiency);
    const double matrix = kernel.flops / (gpu.Peak(dtype) * gpu.Efficiency(dtype));
    return kernel.kind == KernelClass::kAttention && !kernel.fused ? memory + matrix
                                                                   : std::max(memory, matrix);
}

} // namespace training
