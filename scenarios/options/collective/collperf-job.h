/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * collperf's iterations as the steps of a job, which can fail and recover as a training job does.
 */
#ifndef SCENARIOS_OPTIONS_COLLECTIVE_COLLPERF_JOB_H
#define SCENARIOS_OPTIONS_COLLECTIVE_COLLPERF_JOB_H

#include "scenarios/options/validation.h"
#include "scenarios/run/scenario.h"

#include <memory>

namespace scenario
{

/// A step of it is an iteration: one collective of all ranks, on one stream, and no computing. Its
/// cluster, fabric and collectives are left to the caller; run has the RecoverySpec alone. Errors
/// are added. \return null: nobody asked for a recovery, and no GPU fails
std::shared_ptr<TrainingScenario> MakeCollperfJob(Validation* v,
                                                  const ClusterSpec& cluster,
                                                  const CollperfScenario& s);

} // namespace scenario

#endif // SCENARIOS_OPTIONS_COLLECTIVE_COLLPERF_JOB_H
