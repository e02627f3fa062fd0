/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Queue pairs by the names of their ends, for --trace-qps and --trace-paths: "SRC->DST". Each end
 * is a host (server-3), a port of it (server-3:1) or a pattern, in which * stands for any text
 * (server-*). "SRC" is SRC->*; "all" is *->*.
 */
#ifndef SCENARIOS_PLACEMENT_QUEUE_PAIR_PATTERN_H
#define SCENARIOS_PLACEMENT_QUEUE_PAIR_PATTERN_H

#include "scenarios/options/member.h"
#include "topologies/topology.h"

#include <string>

namespace scenario
{

struct QueuePairPattern
{
    std::string from;
    std::string to;

    static QueuePairPattern Parse(const std::string& text);

    bool Covers(const std::string& source, const std::string& destination) const
    {
        return Means(from, source) && Means(to, destination);
    }

    /// Whether an end is meant by `pattern`. \param endpoint "server-3", or "server-3:1" if its
    /// host has several ports
    static bool Means(const std::string& pattern, const std::string& endpoint);
};

/// Checks a pattern. \return empty if its sides mean hosts or ports of this network, on two
/// different hosts; else the problem, with *nearest a similar name.
std::string CheckQueuePairPattern(const topo::Topology& topology,
                                  const std::string& text,
                                  std::string* nearest);

struct Validation;

/// All of an option's, in which nothing is twice either.
void CheckQueuePairPatterns(Validation* v, Member option, const topo::Topology& topology);

} // namespace scenario

#endif // SCENARIOS_PLACEMENT_QUEUE_PAIR_PATTERN_H
