/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_TABLES_EVENT_LOG_H
#define REPORTS_TABLES_EVENT_LOG_H

#include "reports/base/line-log.h"

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace reports
{

/**
 * network_events.log: `time_us what where details`, one event a line, in order of time.
 *
 * Each kind of event has a budget of lines, so that many pauses do not hide the one drop; beyond it
 * events are only counted, which the file says where it happens. At its end stand the totals, of
 * the whole run and of its measured part, which is what stats.json counts: `# total pause 50,
 * measured 11`.
 */
class EventLog
{
  public:
    enum Kind : uint8_t
    {
        NOTE,
        PAUSE,
        RESUME,
        ECN,
        DROP,
        RETRANSMISSION,
        TIMEOUT,
        QP_ERROR,
        FAULT, //!< without one it has no total
        KINDS
    };

    /// \param warmup nothing is measured before StartMeasuring
    explicit EventLog(const std::string& path, uint64_t linesPerKind = 20000, bool warmup = false);

    /// Count an event. \return whether its line is wanted too
    bool Count(Kind kind, uint64_t events = 1);
    void Write(int64_t now, Kind kind, std::string_view where, std::string_view details);
    /// The warm-up ends: counts from here on are measured.
    void StartMeasuring(int64_t now);
    /// The same without a line in the log.
    void StartCounting();
    /// The totals, of all events and of the measured ones, and the file complete.
    void Finish(int64_t now);

    /// The place of a line among those of all ranks. Equal places are of one rank, in its order.
    struct Order
    {
        int64_t time; //!< when it is written, ps
        uint32_t context;
        uint32_t port;

        bool operator<(const Order& other) const
        {
            return std::tie(time, context, port) < std::tie(other.time, other.context, other.port);
        }
    };

    /// With several ranks, each keeps its lines. MergeRanks, which is collective and comes before
    /// Finish, writes all lines to the first rank's file, in this order.
    /// \param order gives the place of a line that is written now
    void KeepLines(std::function<Order()> order);
    /// \param sum sum of a number over all ranks
    /// \param gather texts of all ranks, by rank, at the first rank; elsewhere nothing
    void MergeRanks(const std::function<uint64_t(uint64_t)>& sum,
                    const std::function<std::vector<std::string>(const std::string&)>& gather);

    static const char* GetKindName(Kind kind);

  private:
    struct Line
    {
        Order order;
        int64_t time;
        Kind kind;
        std::string text; //!< where and details
    };

    LineLog m_file;
    uint64_t m_limit;
    bool m_measuring;
    std::array<uint64_t, KINDS> m_counts{};
    std::array<uint64_t, KINDS> m_warmup{}; //!< counts before measuring
    std::array<uint64_t, KINDS> m_lines{};
    std::string m_line;
    std::function<Order()> m_order; //!< null: lines are not kept
    std::vector<Line> m_kept;
};

} // namespace reports

#endif /* REPORTS_TABLES_EVENT_LOG_H */
