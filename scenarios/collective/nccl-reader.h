/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * NCCL's variables taken for options and limits.
 */
#ifndef SCENARIOS_COLLECTIVE_NCCL_READER_H
#define SCENARIOS_COLLECTIVE_NCCL_READER_H

#include "scenarios/collective/nccl-environment.h"

namespace scenario
{

/// The value of --nccl-env for the variables of the shell.
constexpr const char* kNcclEnvironment = "environment";

/// The prefix of all names.
constexpr const char* kNcclPrefix = "NCCL_";

/// Sets what the variables of a run mean: values of options that were not given, and limits; errors
/// and notes are added.
void TakeNcclVariables(Validation* v, const NcclVariables& variables, NcclLimits* limits);

} // namespace scenario

#endif // SCENARIOS_COLLECTIVE_NCCL_READER_H
