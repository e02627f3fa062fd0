/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Batches and shares of the dstack policy, for all models of a mix together.
 */
#ifndef SCENARIOS_MULTIPLEX_POLICIES_STACK_SIZES_H
#define SCENARIOS_MULTIPLEX_POLICIES_STACK_SIZES_H

#include "scenarios/multiplex/policy.h"

#include <cstdint>
#include <vector>

namespace multiplex
{

/// Share-time that a model needs for its requests, in whole GPUs.
double LoadAt(const ModelLoad& load, const RightSize& size);

/// Right sizes (RightSizes) by model:
///
///   - if GPUs can serve all: for as many times the rates as fit, at most what leaves each model
///     idle for some of its time
///   - else for equal parts of the GPUs; what a model does not ask for others have. Of three ways
///     the one with most useful work (LeastWork), interference and switches counted: all at once,
///     packed over time, one after another on a whole GPU
std::vector<RightSize> StackSizes(const Mix& mix, uint32_t gpus, const PolicySettings& settings);

} // namespace multiplex

#endif // SCENARIOS_MULTIPLEX_POLICIES_STACK_SIZES_H
