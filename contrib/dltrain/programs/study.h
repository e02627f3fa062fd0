/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --study: the run with each combination of some options, in a process of its own each, and a table
 * of their step times.
 */
#ifndef DLTRAIN_STUDY_H
#define DLTRAIN_STUDY_H

#include "scenarios/job/scenario.h"

namespace dltrain
{

/// Runs all combinations, prints the table, the fastest first, and writes study.csv.
/// \return the exit status
int RunStudy(const scenario::TrainingScenario& scenario);

} // namespace dltrain

#endif // DLTRAIN_STUDY_H
