/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --pcap-...: how captures are written, and of which flows.
 */
#ifndef SCENARIOS_NETWORK_CAPTURE_OPTIONS_H
#define SCENARIOS_NETWORK_CAPTURE_OPTIONS_H

#include "scenarios/job/scenario.h"
#include "scenarios/options/options.h"
#include "scenarios/options/validation.h"

#include <string>
#include <vector>

namespace scenario
{

/// Rows for the options table, behind --pcap itself.
std::vector<Option> CaptureOptionRows(const Section& section);

/// Reads and checks them. `topology`: null if it is not valid; flows are then not checked.
CaptureOptions MakeCapture(Validation* v, const topo::Topology* topology);

/// Checks an entry of --pcap-flow. \return empty if `flow` is "pfc", "credits" (InfiniBand only),
/// or "a->b" of this topology's hosts or their ports; else the problem.
std::string CheckFlowName(const topo::Topology& topology,
                          bool infiniBand,
                          const std::string& flow,
                          std::string* nearest);

/// Checks an entry of --pcap by the rule of rdma::SelectsPort, which the captures use too. \return
/// empty if `name` is "all", or one of a node, a port and a link of this network; else the problem.
std::string CheckCaptureName(const topo::Topology& topology,
                             const std::string& name,
                             std::string* nearest);

/// All of --pcap, in which nothing is twice either.
void CheckCaptureNames(Validation* v, const topo::Topology& topology);

} // namespace scenario

#endif // SCENARIOS_NETWORK_CAPTURE_OPTIONS_H
