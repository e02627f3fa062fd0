/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The step of a cut graph as a step graph: all ranks play one role.
 *
 *   compute    [f dense][f relu][f dense2]....[b dense2][w dense2][b relu][b dense][w dense][adam]
 *   tp                                    [all-reduce]                             [all-reduce dx]
 *   gradients                                                     [all-reduce dV] [all-reduce dW]
 *
 * b: gradients of what an operator takes; w: of its parameters, beside what b's results are
 * exchanged for. Parameters' gradients are reduced in buckets, after the last micro-batch, beside
 * backward.
 */
#ifndef SCENARIOS_OPERATOR_SEARCH_SHARDED_PLAN_H
#define SCENARIOS_OPERATOR_SEARCH_SHARDED_PLAN_H

#include "scenarios/operator-search/simulator-cost.h"
#include "scenarios/training/steps/step-graph.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace sharding
{

/// \param strategies by operator \param passes micro-batches of a step
training::TrainingPlan MakeShardedPlan(const Graph& graph,
                                       const std::vector<Strategy>& strategies,
                                       const SliceKernels& kernels,
                                       uint32_t devices,
                                       uint32_t passes);

/// Seconds of a step when collectives take their time by formula and run beside computing as the
/// graph allows; those between servers share the NICs. Nothing of too large a graph.
std::optional<double> StepSeconds(const training::TrainingPlan& plan, CommunicationTimes& times);

/// The digits of a plan's groups, from a name that it gave them ("tp-2x4").
Digits DigitsOfGroup(const std::string& name);

/// Bytes of a device: states of parameters, and what is kept for backward.
double MemoryOf(const Graph& graph,
                const std::vector<Strategy>& strategies,
                const training::TrainingOptions& options);

} // namespace sharding

#endif // SCENARIOS_OPERATOR_SEARCH_SHARDED_PLAN_H
