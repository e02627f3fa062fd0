/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/collective/collective-times.h"

#include "collectives/core/placement.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/collective/network-choices.h"
#include "scenarios/network/cluster-options.h"

#include <algorithm>
#include <cmath>

namespace scenario
{

coll::Rank
CollectiveTimes::KindsOf(const std::vector<coll::Rank>& members) const
{
    const auto& kindOf = m_options.machineOfServer;
    if (kindOf.empty())
    {
        return 0;
    }
    const uint32_t gpus = m_cluster.server.gpus;
    const uint32_t kind = kindOf[members.front() / gpus];
    const bool alike = std::all_of(members.begin(), members.end(), [&](coll::Rank rank) {
        return kindOf[rank / gpus] == kind;
    });
    return alike ? kind : UINT32_MAX;
}

uint32_t
CollectiveTimes::GroupOf(const std::vector<coll::Rank>& members)
{
    const uint32_t gpus = m_cluster.server.gpus;
    const coll::Rank first = members.front() / gpus * gpus;
    std::vector<coll::Rank> relative(members.size());
    std::transform(members.begin(), members.end(), relative.begin(), [first](coll::Rank rank) {
        return rank - first; // modulo 2^32, which still tells groups apart
    });
    if (!m_cluster.kinds.empty()) // else all servers are alike
    {
        relative.push_back(KindsOf(members));
    }
    const auto [at, isNew] =
        m_groupOf.emplace(std::move(relative), static_cast<uint32_t>(m_placements.size()));
    if (isNew)
    {
        m_placements.push_back(PlacementOf(m_cluster, members));
        m_between.push_back(coll::HasSeveralServers(m_placements.back()));
    }
    return at->second;
}

int64_t
CollectiveTimes::Seconds(const coll::Collective& what,
                         const coll::Placement& placement,
                         double share,
                         double beside)
{
    if (what.ranks < 2)
    {
        return 0;
    }
    const CollectiveOptions& options = m_options;
    coll::Machine machine = options.MachineFor(placement);
    machine.nicRate /= coll::HasSeveralServers(placement) ? share : 1;
    machine.bridgeRate /= beside;
    const coll::Choice choice = ModelChoiceOf(options, what, placement);
    const auto seconds = coll::EstimateSeconds(*choice.algorithm,
                                               choice.protocol.value_or(topo::Protocol::kSimple),
                                               what,
                                               placement,
                                               options.OptionsFor(what.op, choice),
                                               machine);
    return std::llround(seconds.value_or(0) * 1e12);
}

int64_t
CollectiveTimes::Collective(uint32_t group,
                            coll::Op op,
                            uint64_t bytes,
                            const std::shared_ptr<const coll::BlockSizes>& blocks,
                            uint32_t crossing)
{
    const auto [at, isNew] = m_times.try_emplace({group, op, bytes, blocks.get(), crossing}, 0);
    if (isNew)
    {
        const coll::Placement& placement = m_placements[group];
        const topo::ServerSpec& server = m_cluster.server;
        coll::Collective what;
        what.op = op;
        what.bytes = bytes;
        what.ranks = static_cast<coll::Rank>(placement.serverOf.size());
        what.blocks = blocks;
        const uint32_t gpus = crossing > 0 ? crossing : server.gpus;
        at->second = Seconds(what,
                             placement,
                             coll::GroupsAtItsNics(placement, gpus, server.nics),
                             coll::GroupsInItsServer(placement, server.gpus));
        if (blocks)
        {
            m_blocks.push_back(blocks);
        }
    }
    return at->second;
}

int64_t
CollectiveTimes::Message(coll::Rank from, coll::Rank to, uint64_t bytes, uint32_t together)
{
    const topo::ServerSpec& server = m_cluster.server;
    const bool inside = from / server.gpus == to / server.gpus;
    const auto [at, isNew] =
        m_messages.try_emplace({inside, KindsOf({from, to}), together, bytes}, 0);
    if (isNew)
    {
        coll::Collective what;
        what.op = coll::Op::kSendRecv;
        what.bytes = bytes;
        what.ranks = 2;
        const double share = together / static_cast<double>(std::max(1U, server.nics));
        // The formula has both send, to each other. Here one does.
        at->second =
            Seconds(what, PlacementOf(m_cluster, {from, to}), std::max(1.0, share), together / 2.0);
    }
    return at->second;
}

} // namespace scenario
