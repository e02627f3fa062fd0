/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_ATTRIBUTION_FLOW_WAYS_H
#define REPORTS_ATTRIBUTION_FLOW_WAYS_H

#include "reports/attribution/message-parts.h"

#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

namespace reports
{

/**
 * The number of flows at each port, where flows keep their paths: the path of a flow's first
 * message counts. It yields the hash collisions.
 *
 * Its memory is bounded: with more flows than it keeps, it has no result.
 */
class FlowWays
{
  public:
    static constexpr std::size_t MOST_FLOWS = 100000;

    explicit FlowWays(std::size_t mostFlows = MOST_FLOWS)
        : m_mostFlows(mostFlows)
    {
    }

    /// A message has come. \param flow a number that no other flow has
    void Add(uint64_t flow, const MessageParts& parts)
    {
        if (m_flows.size() <= m_mostFlows && m_flows.insert(flow).second)
        {
            AddNew(parts);
        }
    }

    void Clear();

    /// Flows that come from now on do not meet earlier ones.
    void Next();

    /// \param sets sets of links, each for one choice: ends of the fabric, two or more; an end may
    /// be in several sets
    /// \return pairs of flows that share a link of a set while another link of it has no flow; a
    /// link counts once. If Next() was called, the maximum over the parts between its calls.
    /// nullopt: too many flows
    std::optional<uint64_t> CountCollisions(const std::vector<std::vector<uint32_t>>& sets) const;

  private:
    using FlowsAt = std::vector<uint32_t>; //!< by end; those behind the last one have none

    void AddNew(const MessageParts& parts);
    static uint64_t Count(const FlowsAt& at, const std::vector<std::vector<uint32_t>>& sets);

    std::size_t m_mostFlows;
    bool m_tooMany{false}; //!< before Next
    std::unordered_set<uint64_t> m_flows;
    FlowsAt m_at;
    std::vector<FlowsAt> m_before; //!< Next
};

} // namespace reports

#endif // REPORTS_ATTRIBUTION_FLOW_WAYS_H
