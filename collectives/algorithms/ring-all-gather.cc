/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Ring all-gather, as NCCL does it (src/device/all_gather.h): n primitives a loop.
 *
 *     a -> b -> c -> d -> a   ranks at ring positions p = 0..3; each starts with its own piece
 *
 *     k      primitive          piece of position (p - k) mod n      p=0  p=1  p=2  p=3  (n=4)
 *     0      send               the own piece                          a    b    c    d
 *     1      recvSend                                                  d    a    b    c
 *     2      recvSend                                                  c    d    a    b
 *     3      recv                                                      b    c    d    a
 *
 * The piece of rank r is piece r of S wherever r stands in the ring. n-1 messages in series, each
 * of S / n bytes: (n-1) (alpha + S beta / n); every rank sends S (n-1) / n bytes, the lower bound.
 * Channels and loops cut every piece, not S.
 */
#include "collectives/schedules/looped-algorithm.h"
#include "collectives/schedules/ring-of-pieces.h"

namespace coll
{

namespace
{

const Registered<LoopedAlgorithm<RingOfPieces<Op::kAllGather>>> g_ringAllGather{
    "ring",
    Op::kAllGather,
    "bandwidth-optimal; n-1 messages in series",
    AlgorithmFacts{"(n-1) alpha + (n-1)/n S beta",
                   "Patarasuk & Yuan, JPDC 2009; NCCL's Ring",
                   {Knob::kChannels, Knob::kPipeline}}};

} // namespace

} // namespace coll
