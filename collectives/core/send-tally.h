/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLECTIVES_CORE_SEND_TALLY_H
#define COLLECTIVES_CORE_SEND_TALLY_H

#include "collectives/core/schedule.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace coll
{

/// Adds up a formula's messages by rank and server. The bytes that leave a server depend on the
/// placement.
class SendTally
{
  public:
    explicit SendTally(const Placement& placement)
        : m_placement(placement),
          m_sent(placement.serverOf.size(), 0)
    {
    }

    void Send(Rank from, Rank to, uint64_t bytes)
    {
        m_sent[from] += bytes;
        m_total += bytes;
        const uint32_t server = m_placement.serverOf[from];
        if (server != m_placement.serverOf[to])
        {
            m_outOf[server] += bytes;
        }
    }

    uint64_t SentBy(Rank rank) const
    {
        return m_sent[rank];
    }

    /// Sent per rank, out of a server, in all.
    void AddTo(Cost& cost) const
    {
        cost.totalBytes += m_total;
        cost.sentPerRank += static_cast<double>(*std::max_element(m_sent.begin(), m_sent.end()));
        uint64_t most = 0;
        for (const auto& [server, bytes] : m_outOf)
        {
            most = std::max(most, bytes);
        }
        cost.outOfServer += static_cast<double>(most);
    }

  private:
    const Placement& m_placement;
    std::vector<uint64_t> m_sent;
    std::unordered_map<uint32_t, uint64_t> m_outOf; ///< by server
    uint64_t m_total = 0;
};

} // namespace coll

#endif // COLLECTIVES_CORE_SEND_TALLY_H
