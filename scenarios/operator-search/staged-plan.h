/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The step of a pipeline whose stages are cut operator by operator. A stage runs its micro-batches
 * in the order of 1F1B; each of its ranks sends the parts of a tensor that it has to the ranks that
 * need them, in point-to-point messages:
 *
 *   made by 2 ranks, rows cut    wanted by 4, columns cut
 *   rank 0  rows 0-1             rank 2 column 0: rows 0-1 from 0, rows 2-3 from 1; and so on
 *   rank 1  rows 2-3
 */
#ifndef SCENARIOS_OPERATOR_SEARCH_STAGED_PLAN_H
#define SCENARIOS_OPERATOR_SEARCH_STAGED_PLAN_H

#include "scenarios/operator-search/staged-search.h"
#include "scenarios/training/steps/step-graph.h"

#include <cstdint>
#include <vector>

namespace sharding
{

/// A part of a tensor on its way.
struct PartMessage
{
    uint32_t from = 0; ///< rank of the sender's stage
    uint32_t to = 0;   ///< rank of the receiver's
    double elements = 0;
};

/// Messages that bring a tensor into another layout on other devices. Of several devices that have
/// a part, receivers take one after another.
std::vector<PartMessage> MessagesBetween(const std::vector<uint64_t>& shape,
                                         const Layout& from,
                                         uint32_t senders,
                                         const Layout& to,
                                         uint32_t receivers);

training::TrainingPlan MakeStagedPlan(const StagedSharding& staged,
                                      const SliceKernels& kernels,
                                      uint32_t devices,
                                      uint32_t passes);

} // namespace sharding

#endif // SCENARIOS_OPERATOR_SEARCH_STAGED_PLAN_H
