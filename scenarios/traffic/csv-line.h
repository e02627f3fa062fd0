/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef SCENARIOS_TRAFFIC_CSV_LINE_H
#define SCENARIOS_TRAFFIC_CSV_LINE_H

#include <functional>
#include <string>
#include <vector>

namespace scenario
{

/// Fields of a line of CSV (RFC 4180, without line breaks in fields), without spaces at their ends.
/// False: a quote is not closed.
bool SplitCsvLine(std::string line, std::vector<std::string>* fields);

/// A note that names the columns of a table that its reader does not use, and those that it knows;
/// empty: it uses all. For every reader of tables with named columns. \param file the table
/// \param isUsed whether a column of this name is read
std::string UnusedColumns(const std::string& file,
                          const std::vector<std::string>& columns,
                          const std::function<bool(const std::string&)>& isUsed,
                          const std::vector<std::string>& known);
/// The same where names stand for themselves.
std::string UnusedColumns(const std::string& file,
                          const std::vector<std::string>& columns,
                          const std::vector<std::string>& known);

} // namespace scenario

#endif // SCENARIOS_TRAFFIC_CSV_LINE_H
