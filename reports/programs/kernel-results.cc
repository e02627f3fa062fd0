/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/programs/kernel-results.h"

#include "reports/base/answer-text.h"
#include "reports/base/output-errors.h"
#include "reports/schema/table-file.h"
#include "reports/stats/stats-file.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <ostream>

namespace reports
{

namespace
{

using serving::KernelErrors;
using serving::MeasuredKernel;

const Table<MeasuredKernel> KERNELS(
    "kernels.csv",
    {{"row: Its name in the table", &MeasuredKernel::row},
     {"kind: Kind of kernel", &MeasuredKernel::kind},
     {"gpu: GPU", &MeasuredKernel::gpu},
     {"dtype: Data type of the table", &MeasuredKernel::dtype},
     {"measured_us (us): Time of the row; 0: it has none",
      [](const MeasuredKernel& k) { return k.measured * 1e6; }},
     {"simulated_us (us): Time of an iteration's kernel; empty: none here",
      [](const MeasuredKernel& k) {
          return k.simulated ? std::optional(*k.simulated * 1e6) : std::nullopt;
      }},
     {"ratio: Simulated over measured; empty: not simulated",
      [](const MeasuredKernel& k) {
          return k.simulated ? std::optional(k.Ratio()) : std::nullopt;
      }},
     {"why: Reason why it is not simulated; empty: it is", [](const MeasuredKernel& k) {
          return k.why.empty() ? std::nullopt : std::optional(k.why);
      }}});

std::string
Ratio(double ratio)
{
    char text[32];
    std::snprintf(text, sizeof text, "%.2f", ratio);
    return text;
}

} // namespace

void
PrintKernels(std::ostream& os, const std::vector<MeasuredKernel>& kernels)
{
    std::vector<std::vector<std::string>> rows = {{"rows", "error", "ratio", "kind, GPU"}};
    for (const KernelErrors& of : serving::KernelErrorsOf(kernels))
    {
        rows.push_back({std::to_string(of.rows),
                        ShareInWords(of.error),
                        Ratio(of.ratio),
                        of.kind + ", " + of.gpu});
    }
    os << "Medians of simulated over measured times\n\n";
    PrintColumns(os, rows);
    std::map<std::string, std::size_t> why;
    for (const MeasuredKernel& kernel : kernels)
    {
        if (!kernel.simulated)
        {
            ++why[kernel.why];
        }
    }
    os << "\n";
    for (const auto& [reason, count] : why)
    {
        Say(os, "Left out", std::to_string(count) + ": " + reason);
    }
}

std::string
WriteKernels(const scenario::KernelComparison& comparison)
{
    WriteRows(comparison.run.out, "", KERNELS, [&comparison](const auto& write) {
        std::for_each(comparison.kernels.begin(), comparison.kernels.end(), write);
    });
    RunOutcome outcome;
    outcome.completed = true;
    WriteStats(BeginStats("dlserve", comparison.run, outcome), comparison.run.out);
    return OutputErrors::First();
}

} // namespace reports
