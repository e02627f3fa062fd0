/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A table of measured kernels, and the times that iterations have for the same: dlserve
 * --kernel-times. Columns as those of tests/golden/measured/measured_kernels.csv.
 */
#ifndef SCENARIOS_INFERENCE_MEASURED_KERNELS_H
#define SCENARIOS_INFERENCE_MEASURED_KERNELS_H

#include <optional>
#include <string>
#include <vector>

namespace serving
{

/// A row of the table, with the simulated time.
struct MeasuredKernel
{
    std::string row;
    std::string kind;
    std::string gpu;
    std::string generation;
    std::string dtype;
    double measured = 0;             ///< s
    std::optional<double> simulated; ///< s; nothing: `why` says why
    std::string why;

    double Ratio() const
    {
        return *simulated / measured;
    }
};

/// Rows of a kind on a GPU.
struct KernelErrors
{
    std::string kind;
    std::string gpu;
    std::size_t rows = 0;
    double ratio = 0; ///< median of simulated over measured
    double error = 0; ///< median of its distance from 1
};

/// \param problem what is wrong with the table, and in which line; empty: nothing. A row that
/// nothing here simulates is no problem.
std::vector<MeasuredKernel> ReadMeasuredKernels(const std::string& path, std::string* problem);

/// By kind and GPU, in the order of the table; then by generation, with "all" as their kind.
std::vector<KernelErrors> KernelErrorsOf(const std::vector<MeasuredKernel>& kernels);

} // namespace serving

#endif // SCENARIOS_INFERENCE_MEASURED_KERNELS_H
