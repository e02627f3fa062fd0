/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Flows as a table, the first line naming the columns:
 *
 *   start_ns,src,dst,bytes
 *   0,0,3,40000000
 *   1500.25,server-1,server-3,64000
 *
 * The start is one of start_ns, start_us, start_s; src and dst are hosts from 0 or their names,
 * with a port or without ("server-1:0"); priority (0 to 7), tag, and class, cc, cc-preset,
 * transport and rate (traffic-classes.h; empty: as the network has it) may be there, and path, the
 * switches that its frames go over ("leaf-0>spine-1>leaf-2"; empty: as the network has it); a note
 * names other columns. So flows.csv of an earlier run is such a table. The lines may stand in any
 * order: flows are made by ascending start, those of one start in the order of the file.
 */
#ifndef SCENARIOS_TRAFFIC_FLOW_CSV_H
#define SCENARIOS_TRAFFIC_FLOW_CSV_H

#include "contrib/rdma/core/units.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace scenario
{

struct CsvFlow
{
    uint32_t src = 0;
    uint32_t dst = 0;
    uint64_t bytes = 0;
    uint32_t line = 0; ///< of the file, from 1
    rdma::TimePoint start;
    std::optional<uint8_t> priority; ///< nothing: there is no such column
    std::string tag;
    std::vector<std::string> path; ///< names of switches; empty: none is named
    std::vector<std::string> wish; ///< by CsvFlows::wishes
};

struct CsvFlows
{
    std::vector<CsvFlow> flows;
    std::string error;               ///< "flows.csv:7: ..."; empty if the text is fine
    std::string note;                ///< names columns that are not used; empty: none
    std::vector<std::string> wishes; ///< columns of a class that are there
};

/// Whether a text is such a table, and not a flow file of HPCC's.
bool IsFlowCsv(const std::string& text);

/// \param find finds the number of a named host; false, with the allowed names in the second place,
/// if there is none
CsvFlows ReadFlowCsv(
    const std::string& text,
    const std::string& origin,
    const std::function<bool(const std::string& name, uint32_t* number, std::string* allowed)>&
        find);

} // namespace scenario

#endif // SCENARIOS_TRAFFIC_FLOW_CSV_H
