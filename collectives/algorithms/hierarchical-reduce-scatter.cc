/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Hierarchical reduce-scatter over k servers of g GPUs (see server-groups.h; servers of
 * unlike numbers of ranks: uneven-servers.h).
 *
 *     1. reduce-scatter ring in each server   k g steps   the k pieces of ranks at the same place,
 *                                                         summed over the server
 *     2. reduce-scatter ring across servers   k steps     of those, the rank ends with its own
 *
 * The k pieces that one place collects lie apart in S (ranks count server by server), so phase 1
 * passes them as k messages a ring step, one behind the other: hop t of the ring, message s for the
 * piece of server s.
 *
 *     (g-1) a_in + k (g-1) (S / n) b_in + (k-1) (a_out + (S / n) b_out)
 *
 * Bytes a rank as in a flat ring, S (n-1) / n; g + k - 2 messages in series instead of gk - 1; S
 * (k-1) / k out of a server.
 */
#include "collectives/schedules/hierarchical-pieces.h"

namespace coll
{

namespace
{

const Registered<HierarchicalPiecesAlgorithm<Op::kReduceScatter>> g_hierarchicalReduceScatter{
    "hierarchical",
    Op::kReduceScatter,
    "reduce-scatter in the server, then between servers",
    AlgorithmFacts{"the slower level's: (k-1) alpha + (k-1)/k S/g beta out of a "
                   "GPU, (g-1) alpha + (g-1)/g S beta inside",
                   "Cho et al., MLSys 2019",
                   {Knob::kChannels, Knob::kPipeline}}};

} // namespace

} // namespace coll
