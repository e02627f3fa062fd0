/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Scatter down a k-nomial tree (k-nomial-pieces.h has the drawing, which this goes through
 * backwards, and the cost).
 *
 *     0 -> 4 5 6 7,  then 0 -> 2 3, 4 -> 6 7,  then 0 -> 1, 2 -> 3, 4 -> 5, 6 -> 7
 *     (k = 2, n = 8)
 *
 * log_k n alpha + (n-1) / n S beta for n a power of k: as many bytes from the root as direct, in a
 * few messages instead of n - 1. Binomial trees are in Thakur, Rabenseifner & Gropp, IJHPCA 19(1),
 * 2005.
 */
#include "collectives/schedules/k-nomial-pieces.h"

namespace coll
{

namespace
{

const Registered<PlacedAlgorithm<KNomialPieces<Op::kScatter>>> g_kNomialScatter{
    "k-nomial",
    Op::kScatter,
    "down a k-nomial tree (radix 4); few messages at the root",
    AlgorithmFacts{"log_r n alpha + (n-1)/n S beta, n a power of r",
                   "Thakur, Rabenseifner & Gropp, IJHPCA 2005 (binomial)",
                   {Knob::kChannels, Knob::kPipeline, Knob::kRadix}}};

} // namespace

} // namespace coll
