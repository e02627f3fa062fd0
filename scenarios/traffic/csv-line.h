/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_TRAFFIC_CSV_LINE_H
#define SCENARIOS_TRAFFIC_CSV_LINE_H

#include <string>
#include <vector>

namespace scenario
{

/// Fields of a line of CSV (RFC 4180, without line breaks in fields), without spaces at their ends.
/// False: a quote is not closed.
bool SplitCsvLine(std::string line, std::vector<std::string>* fields);

} // namespace scenario

#endif // SCENARIOS_TRAFFIC_CSV_LINE_H
