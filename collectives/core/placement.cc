/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/core/placement.h"

#include "collectives/core/block-sizes.h"

#include <algorithm>
#include <unordered_map>

namespace coll
{

namespace
{

/// The NICs next to these GPUs: each GPU's own, and each NIC whose nearest GPU is among them.
std::vector<uint32_t>
NicsOf(const std::vector<Rank>& ranks, const Placement& placement)
{
    const uint64_t gpus = GpusPerServer(placement);
    const uint64_t nics = NicsPerServer(placement);
    std::vector<bool> has(gpus, false);
    std::vector<bool> used(nics, false);
    for (const Rank r : ranks)
    {
        has[placement.gpuOf[r]] = true;
        used[placement.gpuOf[r] * nics / gpus] = true;
    }
    std::vector<uint32_t> result;
    for (uint32_t nic = 0; nic < nics; nic++)
    {
        if (used[nic] || has[GpuNearNic(nic, gpus, nics)])
        {
            result.push_back(nic);
        }
    }
    return result;
}

} // namespace

Placement
UniformPlacement(uint32_t servers, uint32_t gpusPerServer, uint32_t nicsPerServer)
{
    Placement placement;
    placement.nicsPerServer = nicsPerServer;
    placement.gpusPerServer = gpusPerServer;
    for (uint32_t server = 0; server < servers; server++)
    {
        for (uint32_t gpu = 0; gpu < gpusPerServer; gpu++)
        {
            placement.serverOf.push_back(server);
            placement.gpuOf.push_back(gpu);
        }
    }
    return placement;
}

uint32_t
GpusPerServer(const Placement& placement)
{
    if (placement.gpusPerServer != 0 || placement.gpuOf.empty())
    {
        return std::max(placement.gpusPerServer, 1U);
    }
    return *std::max_element(placement.gpuOf.begin(), placement.gpuOf.end()) + 1;
}

uint32_t
NicsPerServer(const Placement& placement)
{
    return std::max(placement.nicsPerServer, 1U);
}

uint32_t
NicNearGpu(uint32_t gpu, uint32_t gpusPerServer, uint32_t nicsPerServer)
{
    return static_cast<uint64_t>(gpu) * nicsPerServer / gpusPerServer;
}

uint32_t
GpuNearNic(uint32_t nic, uint32_t gpusPerServer, uint32_t nicsPerServer)
{
    return static_cast<uint64_t>(nic) * gpusPerServer / nicsPerServer;
}

std::vector<uint32_t>
Rails(const Placement& placement)
{
    const auto servers = RanksByServer(placement);
    std::vector<uint32_t> rails;
    for (const auto& ranks : servers)
    {
        const auto nics = NicsOf(ranks, placement);
        if (rails.empty())
        {
            rails = nics;
        }
        else if (rails != nics)
        {
            rails.resize(NicsPerServer(placement));
            for (uint32_t nic = 0; nic < rails.size(); nic++)
            {
                rails[nic] = nic;
            }
            return rails;
        }
    }
    return rails;
}

namespace
{

/// Of its GPUs in a server.
std::size_t
MostInAServer(const Placement& placement)
{
    std::size_t most = 1;
    for (const auto& ranks : RanksByServer(placement))
    {
        most = std::max(most, ranks.size());
    }
    return most;
}

} // namespace

double
GroupsAtItsNics(const Placement& placement, uint32_t gpus, uint32_t nics)
{
    const auto near = static_cast<double>(std::max<std::size_t>(1, Rails(placement).size()));
    const double gpusThere = near * gpus / std::max(1U, nics);
    return std::max(1.0, gpusThere / static_cast<double>(MostInAServer(placement)));
}

double
GroupsInItsServer(const Placement& placement, uint32_t gpus)
{
    return std::max(1.0, static_cast<double>(gpus) / static_cast<double>(MostInAServer(placement)));
}

bool
HasSeveralServers(const Placement& placement)
{
    const auto& servers = placement.serverOf;
    return std::any_of(servers.begin(), servers.end(), [&](uint32_t server) {
        return server != servers.front();
    });
}

uint32_t
ChannelCount(const Placement& placement, const AlgorithmOptions& options)
{
    if (options.channels != 0) // those that there would be take time to count
    {
        return options.channels;
    }
    return ChannelsOr(HasSeveralServers(placement)
                          ? std::min<uint32_t>(Rails(placement).size(), kMaxChannels)
                          : 1,
                      options);
}

std::vector<std::vector<Rank>>
RanksByServer(const Placement& placement)
{
    std::vector<std::vector<Rank>> servers;
    std::unordered_map<uint32_t, size_t> index;
    for (Rank r = 0; r < placement.serverOf.size(); r++)
    {
        const auto [found, isNew] = index.try_emplace(placement.serverOf[r], servers.size());
        if (isNew)
        {
            servers.emplace_back();
        }
        servers[found->second].push_back(r);
    }
    for (auto& ranks : servers)
    {
        std::stable_sort(ranks.begin(), ranks.end(), [&](Rank a, Rank b) {
            return placement.gpuOf[a] < placement.gpuOf[b];
        });
    }
    return servers;
}

std::string
Problem(const Collective& what, const Placement& placement, const AlgorithmOptions& options)
{
    if (what.ranks == 0)
    {
        return "a collective needs at least one rank";
    }
    constexpr uint64_t kMany = 1U << 20; // ranks; keeps steps of a lane within 32 bits
    if (what.ranks > kMany)
    {
        return std::to_string(what.ranks) + " ranks; at most " + std::to_string(kMany) +
               " are possible";
    }
    if (options.pipelineBytes != 0 && what.bytes / options.pipelineBytes >= kMany * 1024)
    {
        return "messages of at most " + std::to_string(options.pipelineBytes) + " bytes cut " +
               std::to_string(what.bytes) + " bytes into more than 2^30";
    }
    if (placement.serverOf.size() != what.ranks || placement.gpuOf.size() != what.ranks)
    {
        return std::to_string(what.ranks) + " ranks, but the placement has " +
               std::to_string(placement.serverOf.size()) + " servers and " +
               std::to_string(placement.gpuOf.size()) + " GPUs listed";
    }
    for (const auto& groups : placement.groupOf)
    {
        if (groups.size() != what.ranks)
        {
            return std::to_string(what.ranks) + " ranks, but the placement has groups for " +
                   std::to_string(groups.size());
        }
    }
    if (what.blocks)
    {
        const BlockSizes& blocks = *what.blocks;
        if (what.op != Op::kAllToAllV)
        {
            return "sizes of blocks are for alltoallv alone";
        }
        if (blocks.Ranks() != what.ranks || blocks.LargestInput() != what.bytes)
        {
            return std::to_string(what.ranks) + " ranks with inputs of at most " +
                   std::to_string(what.bytes) + " bytes, but blocks of " +
                   std::to_string(blocks.Ranks()) + " ranks with at most " +
                   std::to_string(blocks.LargestInput());
        }
    }
    if (HasRoot(what.op) && what.root >= what.ranks)
    {
        return "root " + std::to_string(what.root) + " is none of the ranks 0.." +
               std::to_string(what.ranks - 1);
    }
    if (options.channels > kMaxChannels)
    {
        return std::to_string(options.channels) + " channels; at most " +
               std::to_string(kMaxChannels) + " are possible";
    }
    if (options.radix == 1)
    {
        return "a tree of radix 1 has no branches; 2 is the least";
    }
    const uint32_t gpus = GpusPerServer(placement);
    for (Rank r = 0; r < what.ranks; r++)
    {
        if (placement.gpuOf[r] >= gpus)
        {
            return "rank " + std::to_string(r) + " is on GPU " +
                   std::to_string(placement.gpuOf[r]) + " of a server of " + std::to_string(gpus);
        }
    }
    for (const auto& ranks : RanksByServer(placement))
    {
        for (size_t i = 1; i < ranks.size(); i++)
        {
            if (placement.gpuOf[ranks[i - 1]] == placement.gpuOf[ranks[i]])
            {
                return "ranks " + std::to_string(ranks[i - 1]) + " and " +
                       std::to_string(ranks[i]) + " are on the same GPU " +
                       std::to_string(placement.gpuOf[ranks[i]]) + " of server " +
                       std::to_string(placement.serverOf[ranks[i]]);
            }
        }
    }
    return {};
}

} // namespace coll
