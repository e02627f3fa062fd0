/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What is between cudaProfilerStart and cudaProfilerStop is a step of the capture.
 */
#ifndef CUDA_PROFILER_API_H
#define CUDA_PROFILER_API_H

#include "cuda_runtime_api.h"

#endif /* CUDA_PROFILER_API_H */
