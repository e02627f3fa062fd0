/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RESULTS_LINK_TABLE_H
#define RESULTS_LINK_TABLE_H

#include "results/line-log.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace results
{

/**
 * links.csv: what every directed link carried, interval by interval.
 *
 * When there are `rowLimit` rows, pairs of intervals are merged (shares averaged, of two queues the
 * longer), the interval doubles and the file is written anew: one interval for the whole run, and a
 * bounded file.
 *
 * time_us is the end of the interval. utilization is the share of it in which the transmitter was
 * busy, pause_share that in which PFC held at least one priority; the first and the last interval
 * may be shorter, then it is their share. queue_bytes is the egress queue at the end of the
 * interval, all priorities; what happens at the very end of an interval belongs to it. ecn_marks:
 * frames that were marked at this egress in the interval.
 */
class LinkTable
{
  public:
    /// A directed link; its names outlive the table.
    struct Link
    {
        std::string_view name;
        std::string_view from;
        std::string_view to;
        double rateGbps;
    };

    /// What a link did in an interval.
    struct Row
    {
        int64_t time; //!< end of the interval
        int64_t busyPs;
        int64_t pausedPs;
        uint64_t queueBytes;
        uint64_t marks;
        uint32_t link; //!< index
    };

    /// \param path empty: no file
    LinkTable(const std::string& path,
              std::vector<Link> links,
              int64_t intervalPs,
              std::size_t rowLimit);

    /// Rows are kept from here on, and those before are not.
    void StartMeasuring(int64_t now);
    /// \param row of a link that did something, cut to the interval that ends at its time
    void Add(Row row);
    /// All rows of an interval are there.
    void EndInterval(int64_t now);
    /// The rows of several processes, each with a table of its own, become those of the first one.
    /// Collective. \param end of the simulation; what was looked at later belongs to the interval
    /// that ends there \param max largest of all processes \param gather at the first process the
    /// rows of all
    void MergeRanks(int64_t end,
                    const std::function<int64_t(int64_t)>& max,
                    const std::function<std::vector<Row>(const std::vector<Row>&)>& gather);
    /// The file is complete.
    void Close();

    int64_t GetInterval() const
    {
        return m_interval;
    }

    std::size_t GetRows() const
    {
        return m_rows.size();
    }

    static constexpr const char* HEADER =
        "time_us,link,from,to,rate_gbps,utilization,queue_bytes,pause_share,ecn_marks";

  private:
    /// Length of the interval that ends at `time`, as far as it was measured.
    int64_t Covered(int64_t time) const;
    /// Rows of one link and time become one.
    void JoinRows();
    void Rewrite();
    void Restart(const std::string& path);
    void Write(const Row& row);

    std::vector<Link> m_links;
    std::string m_path;
    std::size_t m_rowLimit;
    int64_t m_interval;
    int64_t m_measuredFrom{0};
    std::deque<Row> m_rows; //!< millions: never copied to grow
    LineLog m_file;
    std::string m_line;
};

} // namespace results

#endif // RESULTS_LINK_TABLE_H
