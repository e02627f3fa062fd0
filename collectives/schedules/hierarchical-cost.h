/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What the two levels of hierarchical collectives cost together: their loops are pipelined
 * (server-groups.h), so that both levels are at work at a time.
 */
#ifndef COLLECTIVES_SCHEDULES_HIERARCHICAL_COST_H
#define COLLECTIVES_SCHEDULES_HIERARCHICAL_COST_H

#include "collectives/core/cost.h"

namespace coll
{

/// Messages in series of a hierarchical all-reduce, reduce-scatter or all-gather, over all loops.
uint64_t PipelinedChain(Op op, const Extent& e);

/// The cost of k chunks of S / n on both levels; the inner level moves g-1 of g of them k times.
/// Bytes and Seconds() are as if both levels were one link, see HierarchicalSeconds().
Cost HierarchicalScatterOrGatherCost(Op op, const Extent& e);

/// The links of two levels. The `beta` of `inner` is for a GPU's port inside a server, that of
/// `outer` for all network interfaces of a server together.
struct TwoLevels
{
    AlphaBeta inner;
    AlphaBeta outer;
};

/**
 * Time of a hierarchical all-reduce, reduce-scatter or all-gather whose loops are pipelined
 * (server-groups.h). With S in N loops, in a period every phase under way does one loop,
 *
 *     inside   (g-1) a_in  + (g-1) / g S / N b_in    for each phase inside (on the same ports)
 *     between  c a_out     + out of a server / N b_out,    c = 2 (k-1) for all-reduce, else k-1
 *
 * and the period lasts as long as the slower level: one after the other with one loop, tending to
 * the slower level with many. Throws std::invalid_argument for other operations.
 */
double HierarchicalSeconds(Op op, const Extent& e, const TwoLevels& levels);

} // namespace coll

#endif // COLLECTIVES_SCHEDULES_HIERARCHICAL_COST_H
