/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Recursive halving reduce-scatter: what a rank adds up halves from round to round, down to its own
 * piece (doubling-pieces.h has the drawing, which this goes through backwards).
 *
 *     [0 .. 7]  ->  [4 5 6 7]  ->  [4 5]  ->  [5]        rank 5 of 8;
 *                                                        gives 0-3 to 1, 6-7 to 7, 4 to 4
 *
 * log2 n alpha + (n-1) / n S (beta + gamma) for powers of two: the lower bound in bytes with few
 * latencies. As piece r belongs to rank r, the first and largest half goes to the farthest rank,
 * out of a server with most of its bytes; all-reduce, whose chunks belong to nobody, begins with
 * the nearest. Thakur, Rabenseifner & Gropp, IJHPCA 19(1), 2005.
 */
#include "collectives/schedules/doubling-pieces.h"

namespace coll
{

namespace
{

const Registered<PlacedAlgorithm<DoublingPieces<Op::kReduceScatter>>>
    g_halvingDoublingReduceScatter{"halving-doubling",
                                   Op::kReduceScatter,
                                   "log2 n exchanges of shrinking halves",
                                   AlgorithmFacts{"log2 n alpha + (n-1)/n S beta",
                                                  "Thakur, Rabenseifner & Gropp, IJHPCA 2005",
                                                  {Knob::kChannels, Knob::kPipeline}}};

} // namespace

} // namespace coll
