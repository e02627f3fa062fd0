/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The answer of a program that has few lines of it: labels with words beside them, and tables.
 */
#ifndef REPORTS_BASE_ANSWER_TEXT_H
#define REPORTS_BASE_ANSWER_TEXT_H

#include <iosfwd>
#include <string>
#include <vector>

namespace reports
{

/// A label, and words in lines of at most 80 columns.
void Say(std::ostream& os, const std::string& label, const std::string& words);
/// \return of each column the length of its longest field. \pre as PrintColumns
std::vector<std::size_t> ColumnWidths(const std::vector<std::vector<std::string>>& rows);
/// Right-aligned columns, the last one left. \pre there is a row; all have as many fields
void PrintColumns(std::ostream& os, const std::vector<std::vector<std::string>>& rows);
/// "12.3%", "0.05%", "<0.01%".
std::string ShareInWords(double share);
/// "1.23 T", "1,234".
std::string LargeNumber(double number);

} // namespace reports

#endif // REPORTS_BASE_ANSWER_TEXT_H
