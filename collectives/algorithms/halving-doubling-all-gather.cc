/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The all-gather of Rabenseifner's all-reduce: vector doubling, distance doubling. With pieces that
 * belong to ranks in their order that is recursive doubling (doubling-pieces.h has the drawing),
 * and this its other name, so that --algorithm=halving-doubling does both halves of an all-reduce.
 *
 *     [5]  ->  [4 5]  ->  [4 5 6 7]  ->  [0 .. 7]        rank 5 of 8
 *
 * log2 n alpha + (n-1) / n S beta for powers of two. Thakur, Rabenseifner & Gropp, IJHPCA 19(1),
 * 2005.
 */
#include "collectives/schedules/doubling-pieces.h"

namespace coll
{

namespace
{

const Registered<PlacedAlgorithm<DoublingPieces<Op::kAllGather>>> g_halvingDoublingAllGather{
    "halving-doubling",
    Op::kAllGather,
    "the second half of Rabenseifner's all-reduce: recursive-doubling by its other name",
    AlgorithmFacts{"log2 n alpha + (n-1)/n S beta",
                   "Thakur, Rabenseifner & Gropp, IJHPCA 2005",
                   {Knob::kChannels, Knob::kPipeline}}};

} // namespace

} // namespace coll
