/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Recursive doubling all-gather: blocks of pieces double from round to round (doubling-pieces.h has
 * the drawing).
 *
 *     [5]  ->  [4 5]  ->  [4 5 6 7]  ->  [0 .. 7]        rank 5 of 8
 *
 * log2 n alpha + (n-1) / n S beta for powers of two: the lower bound in bytes with few latencies;
 * others take up to 3 (n-1) / n S at one rank. Thakur, Rabenseifner & Gropp, IJHPCA 19(1), 2005.
 */
#include "collectives/schedules/doubling-pieces.h"

namespace coll
{

namespace
{

const Registered<PlacedAlgorithm<DoublingPieces<Op::kAllGather>>> g_recursiveDoublingAllGather{
    "recursive-doubling",
    Op::kAllGather,
    "log2 n exchanges of growing blocks",
    AlgorithmFacts{"log2 n alpha + (n-1)/n S beta",
                   "Thakur, Rabenseifner & Gropp, IJHPCA 2005",
                   {Knob::kChannels, Knob::kPipeline}}};

} // namespace

} // namespace coll
