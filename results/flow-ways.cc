/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "results/flow-ways.h"

#include <algorithm>
#include <set>

namespace results
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
}

uint64_t
FlowWays::FlowsAt(uint32_t end) const
{
    return end < m_at.size() ? m_at[end] : 0;
}

std::optional<uint64_t>
FlowWays::CountCollisions(const std::vector<std::vector<uint32_t>>& sets) const
{
    if (m_flows.size() > m_mostFlows)
    {
        return std::nullopt;
    }
    std::set<uint32_t> shared;
    for (const std::vector<uint32_t>& set : sets)
    {
        if (std::any_of(set.begin(), set.end(), [this](uint32_t end) { return !FlowsAt(end); }))
        {
            shared.insert(set.begin(), set.end());
        }
    }
    uint64_t pairs = 0;
    for (const uint32_t end : shared)
    {
        const uint64_t flows = FlowsAt(end);
        pairs += flows ? flows * (flows - 1) / 2 : 0;
    }
    return pairs;
}

} // namespace results
