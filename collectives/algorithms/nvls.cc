/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The server's switch adds up and copies: NCCL's NVLS (NVLink SHARP).
 *
 *     the piece of head 1:
 *
 *     (0) (1) (2) (3)                                    (0) (1) (2) (3)
 *       \  \   /  /                                       ^  ^   ^  ^
 *        [ switch ] ---- sum ---> (1) ---- sum --->      [  switch    ]
 *          adds up                                           copies
 *
 *     |---------- reduce-scatter ---|---------- all-gather ------------|
 *     |-------------------------- all-reduce --------------------------|
 *
 * Each GPU of the server is the head of a piece. Of it all GPUs, its head too, send what they have
 * to the switch (the head reads it there: multimem.ld_reduce), which sends the sum to the head; the
 * head writes it once (multimem.st), and the switch copies it to all, the head too.
 *
 * **Cost**, n GPUs. Out of a port go S of contributions and S / n of the own piece, as much comes
 * in: S (1 + 1/n) for all-reduce, where a ring has 2 S (n-1) / n. Reduce-scatter: S out, S / n in;
 * all-gather: S / n out, S in; a ring has S (n-1) / n. GPUs add up nothing. Four messages in series
 * (two for the halves), more with several chunks: station-schedule.h.
 *
 * **Several servers** (all-reduce): switches between servers add up too, a tree of them for each
 * NIC. Each server has a head for each NIC, the GPU next to it; a head sends its server's sum up
 * the tree of its NIC, and gets the sum of all. So inside as above, S out of a server and S into
 * it. NCCL has this when CollNet is there (src/enqueue.cc: no NVLS on several nodes without).
 *
 * Messages: nvls-messages.h. NCCL's smaller chunks for several servers with slow networks are left
 * out. NCCL: src/device/all_reduce.h (NCCL_ALGO_NVLS), src/device/reduce_kernel.h (multimem),
 * src/transport/nvls.cc, src/graph/connect.cc (connectNvls).
 */
#include "collectives/core/placement.h"
#include "collectives/schedules/nvls-messages.h"
#include "collectives/schedules/station-schedule.h"

namespace coll
{

namespace
{

/// calcCollChunking, NCCL_ALGO_NVLS.
constexpr NvlsCut kNvlsCuts[] = {{64, 64 << 10}, {8, 32 << 10}, {2, 16 << 10}};
/// GPUs of a server, each a head of a tree of all; assumed: more than one switch joins.
constexpr uint32_t kMostHeads = 1024;

uint64_t
LargestMessage(const Collective& what, uint64_t heads, const AlgorithmOptions& options)
{
    const uint64_t channels = NvlsChannels(options);
    return NvlsMessage(channels *
                           NvlsChunk(what.bytes, heads, channels, kNvlsChunkBytes, kNvlsCuts),
                       options);
}

StationPlan
OneServer(const Collective& what,
          const Placement& placement,
          const std::vector<Rank>& ranks,
          const AlgorithmOptions& options)
{
    StationPlan plan(what);
    if (what.ranks > kMostHeads)
    {
        plan.problem = std::to_string(what.ranks) + " ranks of one server; at most " +
                       std::to_string(kMostHeads) + " are possible";
        return plan;
    }
    plan.pieces = what.ranks;
    const uint64_t nics = NicsPerServer(placement);
    for (uint32_t i = 0; i < ranks.size(); i++)
    {
        const Rank head = ranks[i];
        StationTree tree;
        tree.channel =
            static_cast<uint32_t>(placement.gpuOf[head] * nics / GpusPerServer(placement));
        // The head is the rank that ends with a piece, or begins with it.
        tree.piece = HasPieces(what.op) ? head : i;
        AddServerBySwitch(plan, tree, ranks, placement.serverOf[head], head, Station::kNone);
        plan.trees.push_back(std::move(tree));
    }
    plan.Cut(LargestMessage(what, what.ranks, options));
    return plan;
}

StationPlan
SeveralServers(const Collective& what,
               const Placement& placement,
               const std::vector<std::vector<Rank>>& servers,
               const AlgorithmOptions& options)
{
    StationPlan plan(what);
    const auto rails = ChannelRails(placement, ChannelCount(placement, {}));
    const Aggregation switches(placement, rails);
    if (!switches.Problem().empty())
    {
        plan.problem = switches.Problem() + "; on several servers nvls needs that, and nvls-tree "
                                            "does without";
        return plan;
    }
    plan.pieces = static_cast<uint32_t>(rails.size());
    for (uint32_t i = 0; i < rails.size(); i++)
    {
        StationTree tree;
        tree.channel = rails[i].channel;
        tree.piece = i;
        const auto above = switches.AddTo(plan, tree, rails[i]);
        for (size_t server = 0; server < servers.size(); server++)
        {
            const auto& ranks = servers[server];
            AddServerBySwitch(plan,
                              tree,
                              ranks,
                              placement.serverOf[ranks.front()],
                              ranks[PlaceNear(ranks, placement, rails[i].nic)],
                              above[server]);
        }
        plan.trees.push_back(std::move(tree));
    }
    switches.Cut(plan, LargestMessage(what, rails.size(), options), options.pipelineBytes != 0);
    return plan;
}

StationPlan
Nvls(const Collective& what, const Placement& placement, const AlgorithmOptions& options)
{
    StationPlan plan(what);
    plan.problem = WhyNoServerSwitch(placement);
    if (!plan.problem.empty())
    {
        return plan;
    }
    const auto servers = RanksByServer(placement);
    if (servers.size() == 1)
    {
        return what.ranks == 1 ? plan : OneServer(what, placement, servers.front(), options);
    }
    if (what.op != Op::kAllReduce)
    {
        plan.problem = OpName(what.op) +
                       " goes through the switch of one server, and the group is "
                       "on " +
                       std::to_string(servers.size());
        return plan;
    }
    return SeveralServers(what, placement, servers, options);
}

const Registered<StationAlgorithm> g_nvlsAllReduce{
    "nvls",
    Op::kAllReduce,
    "the server's switch adds up and copies; on several servers with SHARP between",
    InNetwork{true, true},
    &Nvls,
    AlgorithmFacts{
        "4 alpha + (1 + 1/n) S beta at a GPU's port; several servers: S beta out of each",
        "NCCL's NVLS (NVLink SHARP)",
        {Knob::kChannels, Knob::kPipeline}}};

const Registered<StationAlgorithm> g_nvlsReduceScatter{
    "nvls",
    Op::kReduceScatter,
    "the server's switch adds up; inside a server",
    InNetwork{true, false},
    &Nvls,
    AlgorithmFacts{"2 alpha + S beta at a GPU's port",
                   "NCCL's NVLS (NVLink SHARP)",
                   {Knob::kChannels, Knob::kPipeline}}};

const Registered<StationAlgorithm> g_nvlsAllGather{
    "nvls",
    Op::kAllGather,
    "the server's switch copies; inside a server",
    InNetwork{true, false},
    &Nvls,
    AlgorithmFacts{"2 alpha + S beta at a GPU's port",
                   "NCCL's NVLS (NVLink SHARP)",
                   {Knob::kChannels, Knob::kPipeline}}};

} // namespace

} // namespace coll
