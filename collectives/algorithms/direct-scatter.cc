/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Direct scatter: the root sends each rank its piece, all of them at once (direct-root-schedule.h
 * has the drawing and the cost).
 */
#include "collectives/schedules/direct-root-schedule.h"

namespace coll
{

namespace
{

const Registered<PlacedAlgorithm<DirectRootSchedule<Op::kScatter>>> g_directScatter{
    "direct",
    Op::kScatter,
    "all pieces from the root at once",
    AlgorithmFacts{"alpha + (n-1)/n S beta; n-1 messages at the root",
                   "nccl-tests",
                   {Knob::kChannels, Knob::kPipeline}}};

} // namespace

} // namespace coll
