/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_TRAINING_CHECKS_PLAN_CHECK_H
#define SCENARIOS_TRAINING_CHECKS_PLAN_CHECK_H

#include "scenarios/training/spec/plan-options.h"

#include <vector>

namespace training
{

/// Errors (values out of range, datatype the GPU does not have) and warnings (does not fit the
/// GPU's memory). MakePlan may be called only if none is an error.
std::vector<Problem> Check(const TrainingOptions& options);

} // namespace training

#endif // SCENARIOS_TRAINING_CHECKS_PLAN_CHECK_H
