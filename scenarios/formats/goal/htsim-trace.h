/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * htsim's connection matrices (scenarios/traffic/htsim-matrix.h) as a step: nodes are ranks, flows
 * messages, what waits for a trigger waits for the flows that call it. Messages of one connection
 * (`msg`) have one tag, and so a queue pair (recorded-lanes.h).
 *
 * A rank knows when its own flows are done and when it has got one. So a flow may wait for those of
 * its source and for those to its source; one that waits for a flow between two others is an error,
 * as are multishot triggers but for those of one flow and one call (each call starts another flow:
 * which one is not known before), and several calls of a oneshot one, of which the first counts.
 */
#ifndef SCENARIOS_FORMATS_GOAL_HTSIM_TRACE_H
#define SCENARIOS_FORMATS_GOAL_HTSIM_TRACE_H

#include "scenarios/formats/recording.h"

#include <optional>
#include <string>
#include <vector>

namespace formats
{

/// Recording::format of a connection matrix.
constexpr const char* kHtsimFormat = "htsim matrix";

/// Nothing, and an error with its line, if the text is no matrix, or waits for what no rank knows.
/// \param file for errors
std::optional<Recording> ReadHtsimTrace(const std::string& text,
                                        const std::string& file,
                                        std::vector<topo::Error>& errors);

} // namespace formats

#endif // SCENARIOS_FORMATS_GOAL_HTSIM_TRACE_H
