/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_PROGRAMS_CAPTURE_RESULTS_H
#define REPORTS_PROGRAMS_CAPTURE_RESULTS_H

#include "reports/schema/object.h"
#include "scenarios/formats/capture/capture-findings.h"
#include "scenarios/job/scenario.h"

#include <ostream>

namespace reports
{

/// stats.json's keys of a capture: its memory and its mistakes.
const Object<formats::Findings>& CaptureKeys();

/// The same in lines; of a correct script the memory only.
void PrintCapture(std::ostream& os, const formats::Findings& findings);

/**
 * Ends a run whose script has failed, or has mistakes that keep it from running
 * (CaptureOutcome::why): says so, and writes stats.json and the report. A dry run writes nothing.
 * \return the exit status
 */
int EndWithoutSteps(const scenario::TrainingScenario& scenario, std::ostream& os);

} // namespace reports

#endif // REPORTS_PROGRAMS_CAPTURE_RESULTS_H
