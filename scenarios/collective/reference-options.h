/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * collperf --reference: an output of nccl-tests (scenarios/formats/nccl/nccl-output.h), whose times
 * stand beside the run's own.
 */
#ifndef SCENARIOS_COLLECTIVE_REFERENCE_OPTIONS_H
#define SCENARIOS_COLLECTIVE_REFERENCE_OPTIONS_H

#include "scenarios/job/scenario.h"
#include "scenarios/options/options.h"
#include "scenarios/options/validation.h"

#include <string>

namespace scenario
{

Option ReferenceOptionRow(const Section& section);

/// Reads the reference into the scenario, whose operation, sizes and ranks are known. Adds errors
/// for another operation or number of GPUs, and if no size is one of the run's; notes for other
/// hosts and for missing statements.
void TakeReference(Validation* v, uint32_t servers, CollperfScenario* s);

} // namespace scenario

#endif // SCENARIOS_COLLECTIVE_REFERENCE_OPTIONS_H
