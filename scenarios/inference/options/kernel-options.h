/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * dlserve's options for kernels: formats of weights, the engine's own collectives, and measured
 * kernels to compare with.
 */
#ifndef SCENARIOS_INFERENCE_OPTIONS_KERNEL_OPTIONS_H
#define SCENARIOS_INFERENCE_OPTIONS_KERNEL_OPTIONS_H

#include "scenarios/inference/measured-kernels.h"
#include "scenarios/job/serving-scenario.h"
#include "scenarios/options/options.h"

#include <string>
#include <vector>

namespace scenario
{

struct Validation;

std::vector<Option> KernelRows();

/// Formats of weights and collectives. \pre the GPU and the framework are chosen
void ReadKernels(Validation* v, ServingScenario* scenario);

/// Measured kernels, with the times of iterations for them.
struct KernelComparison
{
    RunOptions run;
    Values values; ///< all as read
    std::vector<serving::MeasuredKernel> kernels;
};

struct KernelResult
{
    KernelComparison scenario;
    std::vector<Error> errors;
};

/// Whether --kernel-times was given.
bool AsksForKernels(const Values& values);

/// \param read by ServingOptionTable, with --kernel-times
KernelResult ValidateKernels(const ReadResult& read);

} // namespace scenario

#endif // SCENARIOS_INFERENCE_OPTIONS_KERNEL_OPTIONS_H
