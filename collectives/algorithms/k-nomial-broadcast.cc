/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Broadcast down a k-nomial tree (k-nomial-whole.h has the drawing and the cost).
 *
 *     0 -> 4,  then 0 -> 2, 4 -> 6,  then 0 -> 1, 2 -> 3, 4 -> 5, 6 -> 7       k = 2, n = 8
 *
 * log_k n alpha + (k-1) log_k n S beta for n a power of k: for small S, where the ring's chain has
 * n - 1 latencies, and worse than it for large. Binomial trees are in Thakur, Rabenseifner & Gropp,
 * IJHPCA 19(1), 2005; the larger radix trades bytes for latencies.
 */
#include "collectives/schedules/k-nomial-whole.h"

namespace coll
{

namespace
{

const Registered<PlacedAlgorithm<KNomialWhole<Op::kBroadcast>>> g_kNomialBroadcast{
    "k-nomial",
    Op::kBroadcast,
    "down a k-nomial tree (radix 4), whole; for small sizes",
    AlgorithmFacts{"d = log_r n: d alpha + (r-1) d (d+1)/2 S beta, n a power of r",
                   "Thakur, Rabenseifner & Gropp, IJHPCA 2005 (binomial)",
                   {Knob::kChannels, Knob::kPipeline, Knob::kRadix}}};

} // namespace

} // namespace coll
