/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Hierarchical all-gather over k servers of g GPUs (see server-groups.h): hierarchical
 * reduce-scatter backwards.
 *
 *     1. all-gather ring across servers   k steps     the k pieces of all ranks at the same place
 *     2. all-gather ring in each server   k g steps   k messages a hop: the pieces lie apart in S
 *
 *     (k-1) (a_out + (S / n) b_out) + (g-1) a_in + k (g-1) (S / n) b_in
 *
 * Servers of unlike numbers of ranks: uneven-servers.h. Bytes a rank as in a flat ring, S (n-1) /
 * n; g + k - 2 messages in series instead of gk - 1; S (k-1) / k out of a server.
 */
#include "collectives/schedules/hierarchical-pieces.h"

namespace coll
{

namespace
{

const Registered<HierarchicalPiecesAlgorithm<Op::kAllGather>> g_hierarchicalAllGather{
    "hierarchical",
    Op::kAllGather,
    "all-gather between servers, then in the server",
    AlgorithmFacts{"the slower level's: (k-1) alpha + (k-1)/k S/g beta out of a "
                   "GPU, (g-1) alpha + (g-1)/g S beta inside",
                   "Cho et al., MLSys 2019",
                   {Knob::kChannels, Knob::kPipeline}}};

} // namespace

} // namespace coll
