/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --block-sizes of collperf: the shares of the blocks of each rank for each other one in an
 * all-to-all-v.
 *
 *   # expert 1 is popular      a line a rank, a number for each rank it sends to
 *   1 2 1 1
 *   1,3,1,1
 *   1 2.5 1 0
 *   2 2 1 1
 *
 * Numbers are separated by commas or spaces; comments after '#' and blank lines are skipped.
 */
#ifndef COLLECTIVES_CORE_BLOCK_WEIGHTS_H
#define COLLECTIVES_CORE_BLOCK_WEIGHTS_H

#include "collectives/core/schedule.h"

#include <string>
#include <vector>

namespace coll
{

/// Rows of ranks x ranks shares; empty: equal blocks.
using BlockWeights = std::vector<double>;

/**
 * The sizes of ROCm/rccl-tests (src/alltoallv.cu): with n ranks, rank i has k = (i + j) mod n times
 * 2 / n of the mean block for rank j, and the mean block where k is 0.
 */
BlockWeights RcclTestsWeights(Rank ranks);

/// Reads a file's text. \return false: *error has the problem, with origin and line
bool ParseBlockWeights(const std::string& text,
                       const std::string& origin,
                       Rank ranks,
                       BlockWeights* weights,
                       std::string* error);

/// The collective of one size, with blocks of whole elements. The rank with the largest sum of
/// shares has `bytes`, less rounding.
/// \param weights empty: equal blocks, of just `bytes`
Collective AllToAllV(Rank ranks,
                     uint64_t bytes,
                     const BlockWeights& weights,
                     uint32_t elementBytes);

} // namespace coll

#endif // COLLECTIVES_CORE_BLOCK_WEIGHTS_H
