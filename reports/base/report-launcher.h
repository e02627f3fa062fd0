/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_BASE_REPORT_LAUNCHER_H
#define REPORTS_BASE_REPORT_LAUNCHER_H

#include "scenarios/job/scenario.h"

#include <ostream>

namespace reports
{

/**
 * Writes report.html of a run whose files are complete: runs scripts/report and waits for it. It is
 * called once, last. Prints on `os` where the page is. The page is a convenience: if it cannot be
 * made, one line on standard error says why, and the run's exit status does not change. If an
 * output has failed there is no page, and the run reports the error.
 *
 * The script is in $DLTRAIN_ROOT (which ./ns3 sets), or in the clone that this was built in.
 */
void WriteReport(const scenario::RunOptions& run, std::ostream& os);

} // namespace reports

#endif /* REPORTS_BASE_REPORT_LAUNCHER_H */
