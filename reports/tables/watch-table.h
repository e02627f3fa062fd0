/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_TABLES_WATCH_TABLE_H
#define REPORTS_TABLES_WATCH_TABLE_H

#include "reports/base/line-log.h"
#include "reports/schema/object.h"
#include "reports/tables/link-table.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace reports
{

/**
 * watch.csv: chosen ports at a fixed interval, which never becomes longer.
 *
 * time_us is the end of the interval; events at that very time belong to it. A port has a row if
 * something happened in the interval, and one behind it with zeros, so that lines end where they
 * should. No row: all is zero. Rows ascend by time, and then by the port's number. Beyond the limit
 * of rows there are none.
 */
class WatchTable
{
  public:
    /// A port in an interval.
    struct Row
    {
        int64_t time;    //!< end of the interval, ps
        int64_t covered; //!< length of it that was measured, ps
        int64_t busyPs;  //!< time that what was sent in it takes at the link's own rate
        int64_t pausedPs;
        uint64_t queueBytes;
        uint64_t marks;
        uint32_t link; //!< index

        bool IsQuiet() const
        {
            return busyPs == 0 && pausedPs == 0 && queueBytes == 0 && marks == 0;
        }
    };

    /// \param path empty: no file \param ports how many are watched \param keeps rows until
    /// MergeRanks, instead of writing them at once
    WatchTable(const std::string& path,
               std::vector<LinkTable::Link> links,
               std::size_t ports,
               int64_t intervalPs,
               bool keeps,
               std::size_t rowLimit = 10000000);

    void Add(const Row& row);
    /// The rows of several processes become those of the first one. Collective. \param gather at
    /// the first process the rows of all
    void MergeRanks(const std::function<std::vector<Row>(const std::vector<Row>&)>& gather);
    void Close();

    /// `watch_csv` of stats.json.
    static const Object<WatchTable>& Keys();

    nlohmann::ordered_json ToJson() const
    {
        return Keys().ToJson(*this);
    }

    std::size_t GetRows() const
    {
        return m_count;
    }

  private:
    void Write(const Row& row);

    std::vector<LinkTable::Link> m_links;
    std::size_t m_ports;
    int64_t m_interval;
    bool m_keeps;
    std::size_t m_rowLimit;
    std::size_t m_count{0};
    bool m_cut{false}; //!< there would be more rows
    std::vector<Row> m_rows;
    LineLog m_file;
    std::string m_line;
};

} // namespace reports

#endif // REPORTS_TABLES_WATCH_TABLE_H
