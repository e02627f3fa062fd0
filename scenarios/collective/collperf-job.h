/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * collperf's iterations as the steps of a job, which can fail and recover as a training job does.
 */
#ifndef SCENARIOS_COLLECTIVE_COLLPERF_JOB_H
#define SCENARIOS_COLLECTIVE_COLLPERF_JOB_H

#include "scenarios/job/scenario.h"
#include "scenarios/options/validation.h"

#include <memory>

namespace scenario
{

/// Makes the job whose steps are iterations: one collective of all ranks, on one stream, without
/// computation. The caller fills in cluster, fabric and collectives; run has the RecoverySpec
/// alone. Adds errors.
/// \return null if no recovery was asked for, and no GPU fails
std::shared_ptr<TrainingScenario> MakeCollperfJob(Validation* v,
                                                  const ClusterSpec& cluster,
                                                  const CollperfScenario& s);

} // namespace scenario

#endif // SCENARIOS_COLLECTIVE_COLLPERF_JOB_H
