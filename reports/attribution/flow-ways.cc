/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/attribution/flow-ways.h"

#include <algorithm>
#include <set>
#include <utility>

namespace reports
{

void
FlowWays::AddNew(const MessageParts& parts)
{
    for (const MessageParts::Hop& hop : parts.hops)
    {
        m_at.resize(std::max<std::size_t>(m_at.size(), hop.port + 1), 0);
        ++m_at[hop.port];
    }
}

void
FlowWays::Clear()
{
    m_flows.clear();
    m_at.clear();
    m_before.clear();
    m_tooMany = false;
}

void
FlowWays::Next()
{
    m_tooMany = m_tooMany || m_flows.size() > m_mostFlows;
    m_flows.clear();
    if (!m_at.empty())
    {
        m_before.push_back(std::move(m_at));
        m_at.clear();
    }
}

uint64_t
FlowWays::Count(const FlowsAt& at, const std::vector<std::vector<uint32_t>>& sets)
{
    const auto flowsAt = [&at](uint32_t end) { return end < at.size() ? uint64_t{at[end]} : 0; };
    std::set<uint32_t> shared;
    for (const std::vector<uint32_t>& set : sets)
    {
        if (std::any_of(set.begin(), set.end(), [&](uint32_t end) { return !flowsAt(end); }))
        {
            shared.insert(set.begin(), set.end());
        }
    }
    uint64_t pairs = 0;
    for (const uint32_t end : shared)
    {
        const uint64_t flows = flowsAt(end);
        pairs += flows ? flows * (flows - 1) / 2 : 0;
    }
    return pairs;
}

std::optional<uint64_t>
FlowWays::CountCollisions(const std::vector<std::vector<uint32_t>>& sets) const
{
    if (m_tooMany || m_flows.size() > m_mostFlows)
    {
        return std::nullopt;
    }
    uint64_t most = Count(m_at, sets);
    for (const FlowsAt& at : m_before)
    {
        most = std::max(most, Count(at, sets));
    }
    return most;
}

} // namespace reports
