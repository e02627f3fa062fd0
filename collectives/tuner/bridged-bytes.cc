/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/tuner/bridged-bytes.h"

#include "collectives/core/placement.h"

#include <algorithm>
#include <map>

namespace coll
{

namespace
{

/// Of the bytes that GPUs of a server send each other, those that cross its host bridge.
double
BridgedShare(const Collective& what, const Placement& placement, uint32_t island)
{
    if (island == 0)
    {
        return 1; // PCIe between all
    }
    double most = 0; // of any server
    const auto servers = RanksByServer(placement);
    for (const auto& ranks : servers)
    {
        std::map<uint32_t, double> ranksOf; // by island
        for (const Rank rank : ranks)
        {
            ++ranksOf[placement.gpuOf[rank] / island];
        }
        const auto gpus = static_cast<double>(ranks.size());
        const auto islands = static_cast<double>(ranksOf.size());
        if (ranksOf.size() < 2)
        {
            continue;
        }
        double share = 0;
        if (IsExchange(what.op) && what.op != Op::kSendRecv) // all pairs alike
        {
            double inside = 0;
            for (const auto& [number, count] : ranksOf)
            {
                inside += count * (count - 1);
            }
            share = 1 - inside / (gpus * (gpus - 1));
        }
        else // neighbours: a ring, of which a link is a NIC's if there are other servers
        {
            share = servers.size() > 1 ? (islands - 1) / (gpus - 1) : islands / gpus;
        }
        most = std::max(most, share);
    }
    return most;
}

} // namespace

double
BridgedBytes(const Algorithm& algorithm,
             const Cost& cost,
             const Collective& what,
             const Placement& placement,
             const Machine& machine)
{
    // What switches between servers send counts in the total, so it says nothing of servers.
    if (machine.bridgeRate <= 0 || algorithm.Uses().fabricSwitches)
    {
        return 0;
    }
    const auto servers = static_cast<double>(RanksByServer(placement).size());
    const double sent = static_cast<double>(cost.totalBytes) / servers;
    return BridgedShare(what, placement, machine.island) *
           std::max(0.0, servers > 1 ? sent - cost.outOfServer : sent);
}

} // namespace coll
