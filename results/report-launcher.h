/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORT_LAUNCHER_H
#define REPORT_LAUNCHER_H

#include "scenarios/run/scenario.h"

#include <ostream>

namespace results
{

/**
 * Writes report.html of a run whose files are complete: runs scripts/report and waits for it. Once,
 * last. Says on `os` where the page is. The page is a convenience: where it cannot be made, one
 * line on standard error says why, and the run's exit status stays what it is. Not where an output
 * has failed: of half a result there is no page, and the error is the run's to say.
 *
 * The script is that of $DLTRAIN_ROOT (which ./ns3 sets), or of the clone that this was built in.
 */
void WriteReport(const scenario::RunOptions& run, std::ostream& os);

} // namespace results

#endif /* REPORT_LAUNCHER_H */
