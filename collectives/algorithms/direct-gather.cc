/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Direct gather: all ranks send their pieces to the root at once (direct-root-schedule.h has the
 * drawing and the cost). The root's port is the bound, and n-1 senders meet there: an incast.
 */
#include "collectives/schedules/direct-root-schedule.h"

namespace coll
{

namespace
{

const Registered<PlacedAlgorithm<DirectRootSchedule<Op::kGather>>> g_directGather{
    "direct",
    Op::kGather,
    "all pieces to the root at once",
    AlgorithmFacts{"alpha + (n-1)/n S beta; n-1 messages at the root",
                   "nccl-tests",
                   {Knob::kChannels, Knob::kPipeline}}};

} // namespace

} // namespace coll
