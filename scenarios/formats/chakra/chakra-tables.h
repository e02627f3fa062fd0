/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What readers and writers of Chakra execution traces share.
 */
#ifndef SCENARIOS_FORMATS_CHAKRA_CHAKRA_TABLES_H
#define SCENARIOS_FORMATS_CHAKRA_CHAKRA_TABLES_H

#include "collectives/core/schedule.h"
#include "scenarios/training/steps/step-graph.h"

#include <utility>

namespace formats
{

/// By CollectiveCommType.
constexpr coll::Op kChakraOps[] = {coll::Op::kAllReduce,
                                   coll::Op::kReduce,
                                   coll::Op::kAllGather,
                                   coll::Op::kGather,
                                   coll::Op::kScatter,
                                   coll::Op::kBroadcast,
                                   coll::Op::kAllToAll,
                                   coll::Op::kReduceScatter,
                                   coll::Op::kReduceScatter, // of blocks: MPI_Reduce_scatter_block
                                   coll::Op::kBarrier};

/// dltrain_phase
constexpr std::pair<training::Phase, const char*> kChakraPhases[] = {
    {training::Phase::kForward, "forward"},
    {training::Phase::kBackward, "backward"},
    {training::Phase::kGradient, "gradient"},
    {training::Phase::kParameter, "parameter"},
    {training::Phase::kOptimizer, "optimizer"},
    {training::Phase::kLoading, "loading"}};

/// Whether comm_size is the n-th part of Collective::bytes.
constexpr bool
IsChakraPart(coll::Op op)
{
    return op == coll::Op::kAllGather || op == coll::Op::kGather;
}

} // namespace formats

#endif // SCENARIOS_FORMATS_CHAKRA_CHAKRA_TABLES_H
