/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "kernels.h"

#include "contrib/dltrain/base/console.h"
#include "frame.h"
#include "reports/programs/kernel-results.h"
#include "scenarios/inference/options/kernel-options.h"
#include "scenarios/inference/options/serving-options.h"

#include <iostream>

namespace dltrain
{

bool
AsksForKernels(int argc, const char* const* argv)
{
    const scenario::ReadResult read =
        scenario::ReadOptions(scenario::ServingOptionTable(), argc, argv);
    return !read.text && scenario::AsksForKernels(read.values);
}

int
CompareKernels(int argc, const char* const* argv)
{
    scenario::KernelComparison comparison = KernelsOrExit(argc, argv);
    if (const int status = MakeFolder(comparison.values, &comparison.run))
    {
        return status;
    }
    reports::PrintKernels(std::cout, comparison.kernels);
    if (comparison.run.dryRun)
    {
        return 0;
    }
    if (const std::string lost = reports::WriteKernels(comparison); !lost.empty())
    {
        return SayFailure(lost);
    }
    std::cout << "Results  " << comparison.run.out << ": stats.json, kernels.csv\n";
    return 0;
}

} // namespace dltrain
