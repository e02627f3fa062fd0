/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_TRAINING_KERNEL_TIME_H
#define SCENARIOS_TRAINING_KERNEL_TIME_H

#include "scenarios/models/gpu-zoo.h"
#include "scenarios/models/kernel.h"

namespace training
{

double Seconds(const Kernel& kernel, const GpuSpec& gpu, Dtype dtype);

} // namespace training

#endif // SCENARIOS_TRAINING_KERNEL_TIME_H
