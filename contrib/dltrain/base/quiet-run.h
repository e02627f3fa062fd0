/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_QUIET_RUN_H
#define DLTRAIN_QUIET_RUN_H

#include "scenarios/job/scenario.h"

#include <ostream>

namespace dltrain
{

/// For runs beside the one that was asked for: a job by itself, a measurement. Nobody reads it.
std::ostream& NoOutput();

/// The same run, which writes no files.
scenario::RunOptions WithoutOutputs(const scenario::RunOptions& run);

} // namespace dltrain

#endif // DLTRAIN_QUIET_RUN_H
