/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * All-reduce along two binary trees of servers, each with half the bytes: NCCL's "Tree".
 *
 *     0-------4              1-------5
 *           /   \                  /   \         servers 0..6; inner in one tree, leaf in the other
 *          2     6                3     0
 *         / \   /                / \   /         server-trees.h has the ranks of a server
 *        1   3 5                2   4 6
 *
 * Latencies as for one tree. Of S / 2 in each tree an inner server sends and receives three times
 * and a leaf once, and no server has more than four links in both: at most 2 S a rank, where one
 * tree has 3 S, and a ring 2 (n-1) / n S. tree-schedule.h has the order, and derives the cost.
 * Sanders, Speck & Traeff, Parallel Computing 35(12), 2009; NCCL: src/graph/trees.cc
 * (ncclGetDtree), src/device/all_reduce.h (runTreeSplit).
 */
#include "collectives/schedules/tree-schedule.h"

namespace coll
{

namespace
{

const Registered<PlacedAlgorithm<TreesSchedule<2>, TreeAlgorithm>> g_doubleBinaryTreeAllReduce{
    "double-binary-tree",
    Op::kAllReduce,
    "up and down two binary trees of servers with half the bytes each: NCCL's Tree",
    AlgorithmFacts{"2 (log2 k + g) alpha + 2 S beta",
                   "Sanders, Speck & Traeff, Parallel Computing 2009; NCCL's Tree",
                   {Knob::kChannels, Knob::kPipeline}}};

} // namespace

} // namespace coll
