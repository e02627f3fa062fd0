/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * All-reduce along one binary tree of servers with a chain inside each, up and down in chunks.
 *
 *     0-------4          sums go up, chunk after chunk; the root adds the last and sends the
 *           /   \        result down while later chunks are on their way up
 *          2     6
 *         / \   / \      servers; server-trees.h has the ranks of a server
 *        1   3 5   7
 *
 * 2 (log2 k + g - 1) messages in series for the first chunk, for k servers of g; but an inner rank
 * with one GPU a server sends and receives 3 S bytes, where a ring has 2 (n-1) / n S: for small
 * messages (double-binary-tree halves that for large ones). tree-schedule.h has the order, and
 * derives the cost. NCCL: src/device/all_reduce.h (runTreeSplit) on the first of its two trees.
 */
#include "collectives/schedules/tree-schedule.h"

namespace coll
{

namespace
{

const Registered<PlacedAlgorithm<TreesSchedule<1>, TreeAlgorithm>> g_treeAllReduce{
    "tree",
    Op::kAllReduce,
    "up and down one binary tree of servers, chains inside; few latencies, 3 S at inner ports",
    AlgorithmFacts{"2 (log2 k + g) alpha + 3 S beta at inner ports",
                   "NCCL, src/graph/trees.cc",
                   {Knob::kChannels, Knob::kPipeline}}};

} // namespace

} // namespace coll
