/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The flow files of HPCC's ns-3 code and its descendants:
 *
 *   3                            number of flows
 *   0 16 3 100 40000000 2.0      src dst pg dport bytes start_s, ascending start
 *   ...
 *
 * src and dst are node numbers of the topology file. Without dport, five fields a line whose
 * start has a decimal point, it is ConWeave's (conweave-project/conweave-ns3). Accepted as tools
 * and people write them: blank lines, any white space, CR LF, a missing final newline. Lines behind
 * the announced flows are ignored, as by HPCC's reader: remarks that begin with '#' or "First
 * line:" (as the published file's do) silently, others with a note. Everything else is an error
 * with its line.
 *
 * Start times become picoseconds exactly as far as the decimal text goes. dport is checked and not
 * used: the UDP port of RoCEv2 is always 4791.
 */
#ifndef SCENARIOS_TRAFFIC_HPCC_FLOWS_H
#define SCENARIOS_TRAFFIC_HPCC_FLOWS_H

#include "contrib/rdma/core/units.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace scenario
{

struct HpccFlow
{
    uint32_t src = 0; ///< node number
    uint32_t dst = 0;
    uint8_t priority = 3;
    uint16_t dport = 100;
    uint64_t bytes = 0;
    rdma::TimePoint start;
};

struct HpccFlows
{
    std::vector<HpccFlow> flows;
    std::string error; ///< "flow.txt:7: ..."; empty if the text is fine
    std::string note;  ///< what was ignored; empty: nothing
};

/// Whether a text begins as such a file: with a number alone in its first line.
bool IsHpccFlows(const std::string& text);

/// `notAHost` returns the problem with a node number ("is a switch", "the topology has nodes 0 to
/// 15"), or "".
HpccFlows ReadHpccFlows(const std::string& text,
                        const std::string& origin,
                        const std::function<std::string(uint64_t)>& notAHost);

/// A file that ReadHpccFlows, and HPCC's own code, reads back. Flows must be in ascending order of
/// start.
std::string WriteHpccFlows(const std::vector<HpccFlow>& flows);

} // namespace scenario

#endif // SCENARIOS_TRAFFIC_HPCC_FLOWS_H
