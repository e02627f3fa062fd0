/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Ring reduce-scatter, as NCCL does it (src/device/reduce_scatter.h): n primitives a loop.
 *
 *     a -> b -> c -> d -> a   ranks at ring positions p = 0..3; each ends with its own piece
 *
 *     k      primitive          piece of position (p - 1 - k) mod n   p=0  p=1  p=2  p=3  (n=4)
 *     0      send                                                      d    a    b    c
 *     1      recvReduceSend                                            c    d    a    b
 *     2      recvReduceSend                                            b    c    d    a
 *     3      recvReduce         the own piece, complete                a    b    c    d
 *
 * The piece that belongs to rank r is piece r of S wherever r stands in the ring, so that buffers
 * look as MPI and NCCL promise. n-1 messages in series, each of S / n bytes: (n-1) (alpha + S beta
 * / n); every rank sends S (n-1) / n bytes, the lower bound. Channels and loops cut every piece,
 * not S.
 */
#include "collectives/schedules/looped-algorithm.h"
#include "collectives/schedules/ring-of-pieces.h"

namespace coll
{

namespace
{

const Registered<LoopedAlgorithm<RingOfPieces<Op::kReduceScatter>>> g_ringReduceScatter{
    "ring",
    Op::kReduceScatter,
    "bandwidth-optimal; n-1 messages in series",
    AlgorithmFacts{"(n-1) alpha + (n-1)/n S beta",
                   "Patarasuk & Yuan, JPDC 2009; NCCL's Ring",
                   {Knob::kChannels, Knob::kPipeline}}};

} // namespace

} // namespace coll
