/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/schedules/pxn-layout.h"

#include "collectives/core/placement.h"

#include <algorithm>
#include <map>

namespace coll
{

PxnLayout::PxnLayout(const Placement& placement)
    : m_members(RanksByServer(placement)),
      m_serverOf(placement.serverOf.size()),
      m_placeOf(placement.serverOf.size()),
      m_gpuOf(placement.gpuOf)
{
    const uint32_t gpus = GpusPerServer(placement);
    const uint64_t nics = NicsPerServer(placement);
    const uint32_t servers = Servers();
    m_ranksAt.resize(gpus);
    m_railOf.assign(gpus, 0);
    for (uint32_t server = 0; server < servers; server++)
    {
        for (uint32_t place = 0; place < m_members[server].size(); place++)
        {
            const Rank rank = m_members[server][place];
            m_serverOf[rank] = server;
            m_placeOf[rank] = place;
            m_ranksAt[m_gpuOf[rank]].push_back(rank);
        }
    }

    // Within a single server nothing goes over a rail: one is enough.
    std::map<uint32_t, std::vector<uint32_t>> gpusOfNic;
    for (uint32_t gpu = 0; gpu < gpus; gpu++)
    {
        if (!m_ranksAt[gpu].empty())
        {
            gpusOfNic[servers > 1 ? gpu * nics / gpus : 0].push_back(gpu);
        }
    }
    for (const auto& [nic, of] : gpusOfNic)
    {
        for (const uint32_t gpu : of)
        {
            m_railOf[gpu] = Rails();
        }
        m_railNics.push_back(nic);
        m_gpusOfRail.push_back(of);
    }

    m_behind.resize(static_cast<size_t>(gpus) * servers);
    m_has.resize(m_behind.size());
    m_forwarder.assign(m_behind.size(), kNoRank);
    for (uint32_t gpu = 0; gpu < gpus; gpu++)
    {
        uint32_t behind = 0;
        for (uint32_t server = 0; server < servers && !m_ranksAt[gpu].empty(); server++)
        {
            const auto& ranks = m_ranksAt[gpu];
            const bool has = behind < ranks.size() && m_serverOf[ranks[behind]] == server;
            const auto& members = m_members[server];
            m_has[Index(gpu, server)] = has;
            // The same GPU; else the first at the same NIC; else whoever, by turns.
            Rank forwarder = has ? ranks[behind] : members[gpu % members.size()];
            if (!has)
            {
                const auto near = std::find_if(members.begin(), members.end(), [&](Rank r) {
                    return m_railOf[m_gpuOf[r]] == m_railOf[gpu];
                });
                forwarder = near != members.end() ? *near : forwarder;
            }
            m_forwarder[Index(gpu, server)] = forwarder;
            behind += has ? 1 : 0;
            m_behind[Index(gpu, server)] = behind;
        }
    }
}

} // namespace coll
