/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The number of tokens that the experts of a mixture get.
 *
 * Skew s: the r-th most popular of E experts is chosen in proportion to 1 / r^s (Zipf). A token
 * chooses an expert at most once, so an expert has at most 1 / topK of all choices; the others get
 * the excess in proportion. The seed shuffles the ranks r among experts, the same for all layers:
 * at the end of each layer the ranks of an expert group wait for the busiest one, whichever it is.
 *
 * Capacity factor c: an expert takes at most c times its even share of the tokens of a rank's
 * micro-batch (c x tokens x topK / E; Switch Transformer, GShard); the rest are dropped: neither
 * sent nor computed. Nothing is padded up to the capacity.
 */
#ifndef SCENARIOS_TRAINING_EXPERT_LOAD_H
#define SCENARIOS_TRAINING_EXPERT_LOAD_H

#include "scenarios/models/model-zoo.h"
#include "scenarios/training/spec/plan-options.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace training
{

/// The share of all tokens' choices that each expert takes. The sum is 1 less the dropped share.
/// \param capacity 0: no limit
std::vector<double> ExpertShares(uint32_t experts,
                                 uint32_t topK,
                                 double skew,
                                 double capacity,
                                 uint64_t seed);

/// The same of the ranks of an expert group: rank i has experts [i E / ep, (i + 1) E / ep).
std::vector<double> ExpertRankShares(const Routing& routing, const TrainingOptions& options);

/// The place in an expert group whose experts get most tokens.
uint32_t BusiestPosition(const TrainingOptions& options);

/// Whether either option is given.
bool AsksForExpertLoad(const TrainingOptions& options);

/// Whether tokens are shared out in another way than evenly and all: without skew, experts that
/// take their even share drop nothing.
bool HasExpertLoad(const TrainingOptions& options);

/// The routing of the model's first layer with experts; nothing if it has none.
std::optional<Routing> RoutingOf(const ModelSpec& model);

/// The share of choices that is dropped.
double DroppedShare(const TrainingOptions& options);

} // namespace training

#endif // SCENARIOS_TRAINING_EXPERT_LOAD_H
