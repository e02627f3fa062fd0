/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_TABLES_QUEUE_PAIR_TABLE_H
#define REPORTS_TABLES_QUEUE_PAIR_TABLE_H

#include "reports/schema/object.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace reports
{

/**
 * queue_pairs.csv: rate and window of chosen queue pairs over time, as their congestion control
 * sets them. A row is a change, and holds until the next row of the same queue pair. The first row
 * comes with its first message.
 *
 * Bounded: it has at most `MOST_QUEUE_PAIRS` queue pairs, those that were used first. At `rowLimit`
 * rows, a queue pair keeps only the last row of each interval: 1 us at first, then twice as long
 * each time. The value at the end of an interval is exact; changes in between are left out. Rows
 * are kept in memory and written at the end, which comes after Ctrl-C too.
 */
class QueuePairTable
{
  public:
    static constexpr std::size_t MOST_QUEUE_PAIRS = 1000;
    static constexpr uint64_t NO_FLOW = UINT64_MAX;
    static constexpr uint64_t NO_WINDOW = UINT64_MAX;
    static constexpr uint32_t LEFT_OUT = UINT32_MAX;

    struct Row
    {
        int64_t time;
        uint64_t flow; //!< flow that it sends; or NO_FLOW
        uint64_t rateBps;
        uint64_t windowBytes; //!< or NO_WINDOW
        uint32_t queuePair;   //!< as AddQueuePair numbers them
    };

    /// \param names of endpoints, kept by reference
    /// \param patterns as scenario::QueuePairPattern::Parse reads them
    QueuePairTable(const std::vector<std::string>& names,
                   const std::vector<std::string>& patterns,
                   std::size_t rowLimit = 200000);

    /// \return whether some queue pair of this endpoint may be chosen
    bool ChoosesFrom(uint32_t src) const;
    bool Chooses(uint32_t src, uint32_t dst) const;

    /// A chosen one. \return its number in rows, or LEFT_OUT
    uint32_t AddQueuePair(uint32_t src, uint32_t dst, uint32_t number);
    /// Adds the state from this row on. Times ascend
    void Add(const Row& row);
    void Write(const std::string& path) const;
    /// `queue_pairs_csv` of stats.json.
    static const Object<QueuePairTable>& Keys();

    nlohmann::ordered_json ToJson() const
    {
        return Keys().ToJson(*this);
    }

    std::size_t GetRows() const
    {
        return m_rows.size();
    }

    /// \return changes, of which rows are those that were kept
    uint64_t GetChanges() const
    {
        return m_changes;
    }

    /// \return a queue pair has a row in so much time at most, ps; 0: every change
    int64_t GetInterval() const
    {
        return m_interval;
    }

  private:
    static constexpr uint32_t NONE = UINT32_MAX;

    struct Ends
    {
        uint32_t src;
        uint32_t dst;
        uint32_t number;
    };

    /// Whether rows of these times are in one interval.
    bool IsSame(int64_t a, int64_t b) const;
    void Thin();

    const std::vector<std::string>& m_names;
    std::vector<std::pair<std::vector<bool>, std::vector<bool>>> m_chosen; //!< ends, by pattern
    std::size_t m_rowLimit;
    std::vector<Ends> m_ends;
    std::vector<uint32_t> m_last; //!< last row of each queue pair
    std::vector<Row> m_rows;
    int64_t m_interval{0};
    uint64_t m_changes{0};
    uint64_t m_leftOut{0}; //!< chosen ones beyond MOST_QUEUE_PAIRS
};

} // namespace reports

#endif // REPORTS_TABLES_QUEUE_PAIR_TABLE_H
