/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Reduce up a binary tree of servers with a chain inside each, in chunks.
 *
 *     root------4          the root's server is the first, and the root the first in it
 *             /   \
 *            2     6       servers; server-trees.h has the ranks of a server
 *           / \   / \
 *          1   3 5   7
 *
 * log2 k + g - 1 messages in series for k servers of g, where the ring's chain has n - 1; an inner
 * rank with one GPU a server receives and adds up 2 S bytes, the chain's S. tree-schedule.h has the
 * order, and derives the cost. The tree is that of NCCL's src/graph/trees.cc.
 */
#include "collectives/schedules/tree-schedule.h"

namespace coll
{

namespace
{

const Registered<PlacedAlgorithm<TreesSchedule<1>, TreeAlgorithm>> g_treeReduce{
    "tree",
    Op::kReduce,
    "up a binary tree of servers, chains inside, in chunks",
    AlgorithmFacts{"(log2 k + g) alpha + 2 S beta at inner ports",
                   "NCCL, src/graph/trees.cc",
                   {Knob::kChannels, Knob::kPipeline}}};

} // namespace

} // namespace coll
