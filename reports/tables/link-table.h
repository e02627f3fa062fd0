/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_TABLES_LINK_TABLE_H
#define REPORTS_TABLES_LINK_TABLE_H

#include "reports/base/line-log.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace reports
{

/**
 * links.csv: the load of every directed link, interval by interval.
 *
 * When there are `rowLimit` rows, pairs of intervals are merged (shares averaged), the interval
 * doubles and the file is written anew: one interval for the whole run, and a bounded file.
 *
 * time_us is the end of the interval. rate_gbps is the transmitter's mean rate in it, which differs
 * from the cable's while a fault slows the link. utilization is the sent bytes over what that rate
 * allows: with a constant rate, the share of time in which the transmitter was busy. (A cut cable
 * and a pause change no rate.) A link whose rate changes has a row in the first interval, in that
 * of each change and in the one after, even if idle. Between rows its rate is that of the row
 * before. pause_share is the share of time in which PFC held at least one priority; the first and
 * the last interval may be shorter, then it is their share. queue_bytes is the egress queue at the
 * end of the interval, all priorities; events at the very end of an interval belong to it.
 * ecn_marks: frames that were marked at this egress in the interval. queue_peak_bytes: the longest
 * queue since the link's previous row, behind the frame that was being sent.
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

    /// The activity of a link in an interval.
    struct Row
    {
        int64_t time;   //!< end of the interval
        int64_t busyPs; //!< time that what was sent takes at the cable's own rate. Added up over
                        //!< intervals it may not be cut to them: that is done when it is written
        int64_t pausedPs;
        uint64_t queueBytes;
        uint64_t marks;
        uint64_t queuePeakBytes;
        uint32_t link; //!< index
    };

    /// A link has another rate from some time on.
    struct RateChange
    {
        int64_t time;
        uint32_t link;
    };

    /// \return mean rate in Gb/s of a link between two times; 0: it has always been the cable's
    using RateOf = std::function<double(uint32_t link, int64_t from, int64_t until)>;
    /// \return all changes so far
    using RateChanges = std::function<std::vector<RateChange>()>;

    /// \param path empty: no file
    LinkTable(const std::string& path,
              std::vector<Link> links,
              int64_t intervalPs,
              std::size_t rowLimit);

    /// Rates may change. Before the first row.
    void SetRates(RateOf rateOf, RateChanges changes);
    /// Rows are kept from here on, and those before are not.
    void StartMeasuring(int64_t now);
    /// \param row of a link that did something, cut to the interval that ends at its time
    void Add(const Row& row);
    /// All rows of an interval are there.
    void EndInterval(int64_t now);
    /// The rows of several processes, each with a table of its own, become those of the first one.
    /// Collective. \param end of the simulation; what was looked at later belongs to the interval
    /// that ends there \param max largest of all processes \param gather at the first process the
    /// rows of all
    void MergeRanks(int64_t end,
                    const std::function<int64_t(int64_t)>& max,
                    const std::function<std::vector<Row>(const std::vector<Row>&)>& gather);
    /// The file is complete. \param end of the simulation, ps
    void Close(int64_t end);

    int64_t GetInterval() const
    {
        return m_interval;
    }

    std::size_t GetRows() const
    {
        return m_rows.size();
    }

  private:
    /// Begin of the interval that ends at `time`, as far as it was measured.
    int64_t BeginOf(int64_t time) const;
    /// End of the interval that `time` is in, or ends.
    int64_t EndOf(int64_t time) const;
    /// Length of the interval that ends at `time`, as far as it was measured.
    int64_t Covered(int64_t time) const;
    /// \return mean rate in a row's interval, Gb/s
    double RateIn(const Row& row) const;
    /// \return Row::busyPs of a link that is never idle
    double MostBusyPs(const Row& row) const;
    /// Rows that a link has because its rate changes.
    void AddRowsOfChanges(int64_t end);
    /// Rows of one link and time become one.
    void JoinRows();
    /// Rows move to the ends of their intervals, and to `end` at most.
    void Align(int64_t end);
    /// Two intervals become one.
    void Double(int64_t end);
    /// Intervals double until there are fewer rows than the limit: how many there are in the end
    /// decides, whichever process they are in and whenever it counted them. \return whether they
    /// did
    bool Shorten(int64_t end);
    void Rewrite();
    void Restart(const std::string& path);
    void Write(const Row& row);

    std::vector<Link> m_links;
    RateOf m_rateOf; //!< null: no rate changes
    RateChanges m_rateChanges;
    std::string m_path;
    std::size_t m_rowLimit;
    int64_t m_interval;
    int64_t m_measuredFrom{0};
    std::deque<Row> m_rows; //!< millions: never copied to grow
    LineLog m_file;
    std::string m_line;
};

} // namespace reports

#endif // REPORTS_TABLES_LINK_TABLE_H
