/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_LANE_ARRIVALS_H
#define DLTRAIN_LANE_ARRIVALS_H

#include "collectives/core/schedule.h"

#include <cstdint>
#include <memory>
#include <unordered_map>

namespace dltrain
{

/// Messages that have come to a lane and were not taken yet, counted by sender. In rings a lane has
/// one peer, so the first peer is counted without a table.
class LaneArrivals
{
  public:
    void Add(coll::Rank peer)
    {
        if (m_count == 0 && (!m_others || m_others->empty()))
        {
            m_peer = peer;
        }
        if (m_peer == peer)
        {
            ++m_count;
            return;
        }
        if (!m_others)
        {
            m_others = std::make_unique<std::unordered_map<coll::Rank, uint32_t>>();
        }
        ++(*m_others)[peer];
    }

    /// \return whether there was one
    bool Take(coll::Rank peer)
    {
        if (m_peer == peer)
        {
            if (m_count)
            {
                --m_count;
                return true;
            }
            return false;
        }
        if (m_others)
        {
            const auto it = m_others->find(peer);
            if (it != m_others->end())
            {
                if (--it->second == 0)
                {
                    m_others->erase(it);
                }
                return true;
            }
        }
        return false;
    }

    /// \pre all are of one sender
    uint32_t Count() const
    {
        return m_count;
    }

    bool IsEmpty() const
    {
        return m_count == 0 && (!m_others || m_others->empty());
    }

  private:
    coll::Rank m_peer = coll::kNoRank;
    uint32_t m_count = 0;                                               ///< messages of m_peer
    std::unique_ptr<std::unordered_map<coll::Rank, uint32_t>> m_others; ///< has no zeros
};

} // namespace dltrain

#endif // DLTRAIN_LANE_ARRIVALS_H
