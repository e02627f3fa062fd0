/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A table as a file of a run's folder.
 */
#ifndef REPORTS_SCHEMA_TABLE_FILE_H
#define REPORTS_SCHEMA_TABLE_FILE_H

#include "reports/schema/table.h"

#include <string>

namespace reports
{

/// Writes a table whose rows `rows(write)` gives to a file of the folder. \return its name
template <typename Row, typename Rows>
std::string
WriteRows(const std::string& out,
          const std::string& prefix,
          const Table<Row>& table,
          const Rows& rows)
{
    const std::string name = prefix + table.GetFile();
    LineLog file(out + "/" + name);
    file.Write(table.Header());
    std::string line;
    rows([&](const Row& row) {
        table.Write(line, row);
        file.Write(line);
    });
    file.Close();
    return name;
}

} // namespace reports

#endif // REPORTS_SCHEMA_TABLE_FILE_H
