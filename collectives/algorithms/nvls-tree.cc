/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The servers' switches add up and copy inside, two binary trees of servers between: NCCL's
 * NVLS_TREE.
 *
 *     server 0: ranks 0..3      server 1: ranks 4..7     ...     heads for NIC 0: 0, 4, 8, ...
 *
 *     0 1 2 3                   4 5 6 7
 *      \| |/                     \| |/        all send the head's piece to the switch
 *     [switch]                  [switch]      which adds up
 *         |                         |
 *        (0)  <--- tree of heads - (4)        heads add up what comes from below in the tree, and
 *         |                         |         pass the sum up; then it comes down
 *     [switch]                  [switch]
 *      /| |\                     /| |\        copied to all
 *     0 1 2 3                   4 5 6 7
 *
 * A server has a head for each NIC, the GPU next to it, and each head's piece is cut in halves for
 * two trees in which inner servers of the one are leaves of the other (server-trees.h). The
 * switch's sum is a head's first child in the tree.
 *
 * **Cost**, k servers of g GPUs, a head on each GPU. Inside as `nvls`: S (1 + 1/g) out of a GPU's
 * port and into it. Between servers each tree has k - 1 links, over which its bytes go once up and
 * once down: no server has more than four links in both trees together, so at most 2 S leave it,
 * where a ring has 2 S (n-1) / n. GPUs add up what comes from below: at most S / g each. About
 * 2 (log2 k + 2) messages in series, more with several chunks: station-schedule.h.
 *
 * Messages: a chunk of one channel; chunks are half as large from 4 servers on (src/enqueue.cc,
 * calcCollChunking, NCCL_ALGO_NVLS_TREE). The channels of a tree, half of all, take turns of its
 * piece, each over connections of its own and none waiting for another: with one message for all
 * of them every hop would wait for all, and two children's messages of 512 KiB, which come to a
 * head at once, would fill the switch's queue beyond where it marks.
 * NCCL: src/graph/connect.cc (connectNvls: channels take the trees in turn),
 * src/device/all_reduce.h.
 */
#include "collectives/core/placement.h"
#include "collectives/schedules/nvls-messages.h"
#include "collectives/schedules/server-trees.h"
#include "collectives/schedules/station-schedule.h"

namespace coll
{

namespace
{

constexpr uint32_t kTreesOfServers = 2;
constexpr NvlsCut kNvlsTreeCuts[] = {{4, 64 << 10}, {1, 32 << 10}};

uint64_t
LargestMessage(const Collective& what,
               uint64_t heads,
               uint64_t servers,
               const AlgorithmOptions& options)
{
    constexpr uint64_t kManyServers = 4;
    const uint64_t chunk = servers >= kManyServers ? kNvlsChunkBytes / 2 : kNvlsChunkBytes;
    return NvlsMessage(NvlsChunk(what.bytes, heads, NvlsChannels(options), chunk, kNvlsTreeCuts),
                       options);
}

StationPlan
NvlsTree(const Collective& what, const Placement& placement, const AlgorithmOptions& options)
{
    StationPlan plan(what);
    plan.problem = WhyNoServerSwitch(placement);
    const auto servers = RanksByServer(placement);
    if (plan.problem.empty() && servers.size() == 1 && what.ranks > 1)
    {
        plan.problem = "it has trees between servers, and the group is on one; there it is nvls";
    }
    if (!plan.problem.empty() || what.ranks == 1)
    {
        return plan;
    }
    const auto k = static_cast<uint32_t>(servers.size());
    const ServerTrees trees(UniformPlacement(k, 1), 1, kTreesOfServers, kNoRank);
    const auto rails = ChannelRails(placement, ChannelCount(placement, {}));
    plan.pieces = static_cast<uint32_t>(rails.size()) * kTreesOfServers;
    for (const Rail& rail : rails)
    {
        for (uint32_t half = 0; half < kTreesOfServers; half++)
        {
            StationTree tree;
            tree.channel = rail.channel;
            tree.piece = static_cast<uint32_t>(plan.trees.size());

            struct Reached
            {
                uint32_t server;
                uint32_t parent; // station
            };

            std::vector<Reached> reached;
            for (uint32_t server = 0; server < k; server++)
            {
                if (trees.Of(half, server).parent == kNoRank)
                {
                    reached.push_back({server, Station::kNone});
                }
            }
            for (size_t i = 0; i < reached.size(); i++)
            {
                const auto [server, parent] = reached[i];
                const auto& ranks = servers[server];
                const uint32_t head =
                    AddServerBySwitch(plan,
                                      tree,
                                      ranks,
                                      placement.serverOf[ranks.front()],
                                      ranks[PlaceNear(ranks, placement, rail.nic)],
                                      parent);
                const TreeNode& node = trees.Of(half, server);
                for (uint32_t c = 0; c < node.children; c++)
                {
                    reached.push_back({node.child[c], head});
                }
            }
            plan.trees.push_back(std::move(tree));
        }
    }
    plan.Cut(LargestMessage(what, rails.size(), k, options));
    return plan;
}

const Registered<StationAlgorithm> g_nvlsTree{
    "nvls-tree",
    Op::kAllReduce,
    "the servers' switches add up and copy; two binary trees between servers",
    InNetwork{true, false},
    &NvlsTree,
    AlgorithmFacts{"2 (log2 k + 2) alpha + 2 S beta out of a server, (1 + 1/g) S at a GPU's port",
                   "NCCL's NVLSTree",
                   {Knob::kChannels, Knob::kPipeline}}};

} // namespace

} // namespace coll
