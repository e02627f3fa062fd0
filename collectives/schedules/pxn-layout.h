/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Which rank forwards which blocks in a rail-aligned all-to-all (pxn-all-to-all.cc): servers, rails
 * and the GPUs at them.
 */
#ifndef COLLECTIVES_SCHEDULES_PXN_LAYOUT_H
#define COLLECTIVES_SCHEDULES_PXN_LAYOUT_H

#include "collectives/core/schedule.h"

#include <string>
#include <vector>

namespace coll
{

class PxnLayout
{
  public:
    explicit PxnLayout(const Placement& placement);

    uint32_t Servers() const
    {
        return static_cast<uint32_t>(m_members.size());
    }

    /// By GPU.
    const std::vector<Rank>& Members(uint32_t server) const
    {
        return m_members[server];
    }

    uint32_t ServerOf(Rank rank) const
    {
        return m_serverOf[rank];
    }

    /// Its place among the members of its server.
    uint32_t PlaceOf(Rank rank) const
    {
        return m_placeOf[rank];
    }

    uint32_t GpuOf(Rank rank) const
    {
        return m_gpuOf[rank];
    }

    uint32_t Rails() const
    {
        return static_cast<uint32_t>(m_railNics.size());
    }

    /// The NIC of a rail.
    uint32_t Nic(uint32_t rail) const
    {
        return m_railNics[rail];
    }

    /// GPUs whose rail it is, on any server.
    const std::vector<uint32_t>& GpusOf(uint32_t rail) const
    {
        return m_gpusOfRail[rail];
    }

    uint32_t RailOf(uint32_t gpu) const
    {
        return m_railOf[gpu];
    }

    /// Ranks that are this GPU of their servers.
    const std::vector<Rank>& RanksAt(uint32_t gpu) const
    {
        return m_ranksAt[gpu];
    }

    /// The number of those ranks in other servers.
    uint32_t RemoteRanksAt(uint32_t gpu, uint32_t server) const
    {
        return static_cast<uint32_t>(m_ranksAt[gpu].size()) - (Has(gpu, server) ? 1 : 0);
    }

    /// The x-th of those ranks, counted from the next server on; the server's own rank is the last.
    Rank RankAt(uint32_t gpu, uint32_t server, uint32_t x) const
    {
        const auto& ranks = m_ranksAt[gpu];
        const uint64_t i = uint64_t{m_behind[Index(gpu, server)]} + x;
        return ranks[i < ranks.size() ? i : i - ranks.size()];
    }

    bool Has(uint32_t gpu, uint32_t server) const
    {
        return m_has[Index(gpu, server)];
    }

    /// The rank that sends out of this server to ranks with this GPU number.
    Rank Forwarder(uint32_t gpu, uint32_t server) const
    {
        return m_forwarder[Index(gpu, server)];
    }

  private:
    size_t Index(uint32_t gpu, uint32_t server) const
    {
        return static_cast<size_t>(gpu) * m_members.size() + server;
    }

    std::vector<std::vector<Rank>> m_members;
    // By rank.
    std::vector<uint32_t> m_serverOf;
    std::vector<uint32_t> m_placeOf;
    std::vector<uint32_t> m_gpuOf;
    // By rail.
    std::vector<uint32_t> m_railNics;
    std::vector<std::vector<uint32_t>> m_gpusOfRail;
    // By GPU.
    std::vector<uint32_t> m_railOf;
    std::vector<std::vector<Rank>> m_ranksAt;
    // By GPU and server.
    std::vector<uint32_t> m_behind; ///< how many of RanksAt are on this server or before
    std::vector<bool> m_has;
    std::vector<Rank> m_forwarder;
};

} // namespace coll

#endif // COLLECTIVES_SCHEDULES_PXN_LAYOUT_H
