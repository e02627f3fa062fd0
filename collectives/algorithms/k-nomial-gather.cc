/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Gather up a k-nomial tree (k-nomial-pieces.h has the drawing and the cost).
 *
 *     1 -> 0, 3 -> 2, 5 -> 4, 7 -> 6,  then 2 3 -> 0, 6 7 -> 4,  then 4 5 6 7 -> 0
 *     (k = 2, n = 8)
 *
 * log_k n alpha + (n-1) / n S beta for n a power of k: as many bytes at the root as direct, from a
 * few senders instead of all. Binomial trees are in Thakur, Rabenseifner & Gropp, IJHPCA 19(1),
 * 2005.
 */
#include "collectives/schedules/k-nomial-pieces.h"

namespace coll
{

namespace
{

const Registered<PlacedAlgorithm<KNomialPieces<Op::kGather>>> g_kNomialGather{
    "k-nomial",
    Op::kGather,
    "up a k-nomial tree (radix 4); few senders at the root",
    AlgorithmFacts{"log_r n alpha + (n-1)/n S beta, n a power of r",
                   "Thakur, Rabenseifner & Gropp, IJHPCA 2005 (binomial)",
                   {Knob::kChannels, Knob::kPipeline, Knob::kRadix}}};

} // namespace

} // namespace coll
