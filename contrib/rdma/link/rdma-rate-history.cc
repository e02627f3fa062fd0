/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-rate-history.h"

#include <algorithm>

namespace ns3
{

double
RdmaRateHistory::GetMean(int64_t from, int64_t until, uint64_t rate) const
{
    auto past = std::find_if(m_past.begin(), m_past.end(), [from](const PastRate& one) {
        return one.until > from;
    });
    if (past == m_past.end() || from >= until)
    {
        return static_cast<double>(past == m_past.end() ? rate : past->bps);
    }
    if (past->until >= until)
    {
        return static_cast<double>(past->bps);
    }
    double bits = 0; // x 1e12
    int64_t begin = from;
    for (; past != m_past.end() && begin < until; ++past)
    {
        const int64_t end = std::min(past->until, until);
        bits += static_cast<double>(past->bps) * static_cast<double>(end - begin);
        begin = end;
    }
    bits += static_cast<double>(rate) * static_cast<double>(until - begin);
    return bits / static_cast<double>(until - from);
}

} // namespace ns3
