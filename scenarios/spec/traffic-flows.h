/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The flows of a traffic scenario: of --pattern (traffic-patterns.cc), or of --flows
 * (traffic-files.cc).
 */
#ifndef SCENARIOS_SPEC_TRAFFIC_FLOWS_H
#define SCENARIOS_SPEC_TRAFFIC_FLOWS_H

#include "scenarios/spec/validate.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace scenario
{

constexpr uint64_t kMostFlows = 20000000;

/// Options of patterns with a load alone, and of on-off among these.
inline const std::vector<std::string> kLoadOptions{"load",
                                                   "load-of",
                                                   "cool-down",
                                                   "incast-load",
                                                   "incast-fan-in",
                                                   "incast-bytes",
                                                   "incast-arrivals"};
inline const std::vector<std::string> kOnOffOptions{"on-time", "off-time", "on-off-times"};

/// Whether flows of this pattern come at random, at a load.
bool HasLoad(const std::string& pattern);

/// Endpoint of a flow at a host: its ports take turns.
topo::EndpointId EndpointAt(const topo::Topology& topology, uint32_t host, size_t turn);

void MakePatternFlows(Validation* v, const Network& network, TrafficScenario* s);
void ReadFlowFile(Validation* v, const Network& network, TrafficScenario* s);

} // namespace scenario

#endif // SCENARIOS_SPEC_TRAFFIC_FLOWS_H
