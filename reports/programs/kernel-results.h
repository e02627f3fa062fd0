/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What dlserve says and writes of measured kernels (--kernel-times): stats.json, kernels.csv.
 */
#ifndef REPORTS_PROGRAMS_KERNEL_RESULTS_H
#define REPORTS_PROGRAMS_KERNEL_RESULTS_H

#include "scenarios/inference/options/kernel-options.h"

#include <iosfwd>
#include <string>
#include <vector>

namespace reports
{

/// Medians by kind and GPU, and by generation.
void PrintKernels(std::ostream& os, const std::vector<serving::MeasuredKernel>& kernels);

/// \return why a file cannot be written; empty: all are
std::string WriteKernels(const scenario::KernelComparison& comparison);

} // namespace reports

#endif // REPORTS_PROGRAMS_KERNEL_RESULTS_H
