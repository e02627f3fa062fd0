/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What every program says on the terminal at its end.
 */
#ifndef REPORTS_STATS_RUN_SUMMARY_H
#define REPORTS_STATS_RUN_SUMMARY_H

#include "reports/base/run-outcome.h"
#include "reports/stats/run-stats.h"
#include "scenarios/job/scenario.h"

#include <cstdint>
#include <ostream>
#include <string>

namespace reports
{

/// FCT, congestion, losses and busiest links, some ten lines.
void PrintRunStats(std::ostream& os, const RunStats& run);
/// A line, if ECMP's hash put flows on one link while an equal one had none: then times are one
/// draw of many. So may forwarding tables, which are the same in each. Where algorithms' times are
/// what a run is about.
void PrintLuckOfWays(std::ostream& os, const RunStats& run);
/// Frame-hops and their speed, memory, where the files are. On standard error: why it is not
/// completed. \param moreFiles ", a.txt, b.txt"
void PrintEnd(std::ostream& os,
              const scenario::RunOptions& run,
              const RunOutcome& outcome,
              const RunStats& network,
              const std::string& moreFiles = "");

} // namespace reports

#endif // REPORTS_STATS_RUN_SUMMARY_H
