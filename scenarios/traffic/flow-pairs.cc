/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/traffic/flow-pairs.h"

#include <algorithm>
#include <tuple>

namespace scenario
{

namespace
{

struct Key
{
    uint32_t src;
    uint32_t dst;
    uint32_t flow;
    uint32_t connection;
    uint8_t priority;

    bool IsOfPair(const Key& other) const
    {
        return std::tie(src, dst, priority, connection) ==
               std::tie(other.src, other.dst, other.priority, other.connection);
    }
};

/// Calls what(flow, the one of its pair before it, or itself), pair by pair: sorted once, as a
/// million flows may be of a million pairs, and a map of those is larger than the flows.
/// \param connections whether they make pairs
template <class What>
void
ForEachOfPairs(const std::vector<FlowEnds>& flows, bool connections, What what)
{
    std::vector<Key> keys;
    keys.reserve(flows.size());
    for (const FlowEnds& flow : flows)
    {
        keys.push_back({flow.src,
                        flow.dst,
                        static_cast<uint32_t>(keys.size()),
                        connections ? flow.connection : 0,
                        flow.priority});
    }
    std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
        return std::tie(a.src, a.dst, a.priority, a.connection, a.flow) <
               std::tie(b.src, b.dst, b.priority, b.connection, b.flow);
    });
    for (std::size_t i = 0; i < keys.size(); ++i)
    {
        const bool follows = i > 0 && keys[i].IsOfPair(keys[i - 1]);
        what(keys[i].flow, keys[follows ? i - 1 : i].flow);
    }
}

} // namespace

std::vector<uint32_t>
LanesOf(const std::vector<FlowEnds>& flows)
{
    std::vector<uint32_t> lanes(flows.size());
    ForEachOfPairs(flows, false, [&lanes](uint32_t flow, uint32_t before) {
        lanes[flow] = flow == before ? 0 : lanes[before] + 1;
    });
    return lanes;
}

FlowPairs::FlowPairs(const std::vector<FlowEnds>& flows)
    : pairOf(flows.size()),
      next(flows.size())
{
    ForEachOfPairs(flows, true, [this](uint32_t flow, uint32_t before) {
        if (flow == before)
        {
            first.push_back(flow);
        }
        pairOf[flow] = static_cast<uint32_t>(first.size() - 1);
        next[before] = flow;
        next[flow] = flow;
    });
}

} // namespace scenario
