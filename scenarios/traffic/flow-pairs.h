/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Flows by their source, destination and priority, "pairs", and by the connection that they share.
 * What is said of a flow here depends on the flows of its own pair alone, and on their order in the
 * list.
 */
#ifndef SCENARIOS_TRAFFIC_FLOW_PAIRS_H
#define SCENARIOS_TRAFFIC_FLOW_PAIRS_H

#include <cstdint>
#include <vector>

namespace scenario
{

/// The values that make flows belong to one pair.
struct FlowEnds
{
    uint32_t src = 0;
    uint32_t dst = 0;
    uint8_t priority = 0;
    uint32_t connection = 0; ///< FlowPairs: makes pairs of one source, destination and priority two
};

/// \return of each flow, how many of its source, destination and priority stand before it
std::vector<uint32_t> LanesOf(const std::vector<FlowEnds>& flows);

/// The flows of each pair, in their order.
struct FlowPairs
{
    explicit FlowPairs(const std::vector<FlowEnds>& flows);

    std::vector<uint32_t> pairOf; ///< by flow
    std::vector<uint32_t> next;   ///< by flow: the next one of its pair; of the last, itself
    std::vector<uint32_t> first;  ///< by pair: its first flow
};

} // namespace scenario

#endif // SCENARIOS_TRAFFIC_FLOW_PAIRS_H
