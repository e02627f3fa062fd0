/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/layout-search/options/objective.h"

namespace scenario
{

namespace
{

double
StepTime(double step, uint32_t /* gpus */)
{
    return step;
}

/// Of one model and one global batch, MFU falls and the price of a token grows with the GPU-seconds
/// of a step.
double
GpuSeconds(double step, uint32_t gpus)
{
    return step * gpus;
}

const RegisteredObjective g_step({"step", 1, "the shortest step", StepTime});
const RegisteredObjective g_mfu({"mfu", 2, "the largest model FLOPs utilization", GpuSeconds});
const RegisteredObjective g_cost(
    {"cost", 3, "the least $ a token; needs --price", GpuSeconds, true});
const RegisteredObjective g_gpuHours({"gpu-hours", 4, "the fewest GPU-hours a token", GpuSeconds});

} // namespace

} // namespace scenario
