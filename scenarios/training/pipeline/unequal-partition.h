/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Layers to the pieces of a pipeline whose stages compute at different speeds. As BalancedPartition
 * (partition.h), with costs that depend on the piece:
 *
 *     least(k, i) = min over cuts j of max { cost of layers i .. j on piece k, least(k + 1, j) }
 *
 * AMP (Li et al. 2022, arXiv 2210.07297, section 4) balances stages on unequal GPUs by such a
 * programme, too.
 */
#ifndef SCENARIOS_TRAINING_PIPELINE_UNEQUAL_PARTITION_H
#define SCENARIOS_TRAINING_PIPELINE_UNEQUAL_PARTITION_H

#include <cstdint>
#include <vector>

namespace training
{

/// The partition with the cheapest costliest piece. Among several, the one with the earliest first
/// cut, then the earliest second cut, and so on. Takes layers^2 x pieces / 2 at most.
/// \param costs of each piece's GPU: [piece][layer], not negative
/// \return layers of each piece \pre 1 <= pieces <= layers
std::vector<uint32_t> UnequalPartition(const std::vector<std::vector<double>>& costs);

} // namespace training

#endif // SCENARIOS_TRAINING_PIPELINE_UNEQUAL_PARTITION_H
