/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_LAYOUT_SEARCH_FIRST_RANKS_H
#define SCENARIOS_LAYOUT_SEARCH_FIRST_RANKS_H

#include "scenarios/training/spec/plan-options.h"

#include <cstdint>
#include <vector>

namespace planner
{

/// A rank of the first stage for each way in which pipelines lie on servers: the kinds of their
/// GPUs, how many servers their groups are spread over, and which neighbours are on one server.
/// Where groups fill servers, or servers groups, rank 0 alone. Tensor groups of 6 on servers of 8:
/// {0, 6}, since ranks 6 to 11 are on two servers. Of pipelines that lie alike, the one whose
/// experts get most tokens (--moe-skew).
/// \param gpus of a server
std::vector<coll::Rank> FirstRanks(const training::TrainingOptions& options, uint32_t gpus);

} // namespace planner

#endif // SCENARIOS_LAYOUT_SEARCH_FIRST_RANKS_H
