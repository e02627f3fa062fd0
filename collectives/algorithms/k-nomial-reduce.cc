/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Reduce up a k-nomial tree (k-nomial-whole.h has the drawing, which this goes through backwards,
 * and the cost).
 *
 *     1 -> 0, 3 -> 2, 5 -> 4, 7 -> 6,  then 2 -> 0, 6 -> 4,  then 4 -> 0       k = 2, n = 8
 *
 * log_k n alpha + (k-1) log_k n S (beta + gamma) for n a power of k: for small S. Binomial trees
 * are in Thakur, Rabenseifner & Gropp, IJHPCA 19(1), 2005.
 */
#include "collectives/schedules/k-nomial-whole.h"

namespace coll
{

namespace
{

const Registered<PlacedAlgorithm<KNomialWhole<Op::kReduce>>> g_kNomialReduce{
    "k-nomial",
    Op::kReduce,
    "up a k-nomial tree (radix 4), whole; for small sizes",
    AlgorithmFacts{"log_r n (alpha + (r-1) S beta), n a power of r",
                   "Thakur, Rabenseifner & Gropp, IJHPCA 2005 (binomial)",
                   {Knob::kChannels, Knob::kPipeline, Knob::kRadix}}};

} // namespace

} // namespace coll
