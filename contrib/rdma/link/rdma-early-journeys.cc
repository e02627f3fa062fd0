/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-early-journeys.h"

#include <algorithm>
#include <utility>

namespace ns3
{

void
RdmaEarlyJourneys::Keep(uint64_t psn, std::unique_ptr<RdmaJourney> journey, int64_t now)
{
    const auto same =
        std::find_if(m_kept.begin(), m_kept.end(), [psn](const Early& e) { return e.psn == psn; });
    if (same == m_kept.end())
    {
        m_kept.push_back({psn, now, std::move(journey)});
        return;
    }
    same->journey = std::move(journey);
    same->came = now;
}

std::unique_ptr<RdmaJourney>
RdmaEarlyJourneys::Take(uint64_t psn, bool repeats, int64_t now)
{
    std::unique_ptr<RdmaJourney> found;
    for (std::size_t i = 0; i < m_kept.size();)
    {
        Early& early = m_kept[i];
        if (early.psn > psn)
        {
            ++i;
            continue;
        }
        if (early.psn == psn)
        {
            found = std::move(early.journey);
            (repeats ? found->lateByLoss : found->overtook) = now - early.came;
        }
        if (i + 1 < m_kept.size())
        {
            early = std::move(m_kept.back());
        }
        m_kept.pop_back();
    }
    return found;
}

} // namespace ns3
