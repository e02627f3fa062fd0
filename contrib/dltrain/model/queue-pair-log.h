/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef QUEUE_PAIR_LOG_H
#define QUEUE_PAIR_LOG_H

#include "ns3/rdma-fabric-helper.h"

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace dltrain
{

/**
 * queue_pairs.csv: rate and window of chosen queue pairs over time, as their congestion control
 * sets them. A row is a change, and holds until the next of the same queue pair; the first is of
 * its first message.
 *
 * Bounded: of at most `MOST_QUEUE_PAIRS` queue pairs, those that were used first. When there are
 * `rowLimit` rows, a queue pair keeps the last of each interval only, 1 us at first, then twice as
 * long each time; what stands there for the end of an interval is exact, what was between is left
 * out. Rows are kept in memory and written by Finish, which comes after Ctrl-C too.
 *
 * NICs whose queue pairs nobody chose are not listened to.
 */
class QueuePairLog
{
  public:
    static constexpr std::size_t MOST_QUEUE_PAIRS = 1000;
    static constexpr const char* HEADER = "time_us,src,dst,qp,flow,rate_gbps,window_bytes";
    static constexpr uint64_t NO_FLOW = UINT64_MAX;

    /// \param names of endpoints
    /// \param patterns as scenario::QueuePairPattern::Parse reads them
    /// \param flowOf number in flows.csv of the oldest message of a queue pair that has not
    /// arrived; or NO_FLOW
    QueuePairLog(ns3::RdmaFabric& fabric,
                 const std::vector<std::string>& names,
                 const std::vector<std::string>& patterns,
                 std::function<uint64_t(const ns3::RdmaQueuePair&)> flowOf,
                 std::size_t rowLimit = 200000);

    /// Data will be sent by this queue pair: the first row of it, if it is one of those chosen.
    void Begin(ns3::RdmaQueuePair* sender, int64_t now);
    void Write(const std::string& path) const;

    std::size_t GetRows() const
    {
        return m_rows.size();
    }

    /// \return changes, of which rows are those that were kept
    uint64_t GetChanges() const
    {
        return m_changes;
    }

    std::size_t GetQueuePairs() const
    {
        return m_ends.size();
    }

    /// \return chosen ones beyond MOST_QUEUE_PAIRS
    uint64_t GetLeftOut() const
    {
        return m_leftOut;
    }

    /// \return a queue pair has a row in so much time at most, ps; 0: every change
    int64_t GetInterval() const
    {
        return m_interval;
    }

  private:
    static constexpr uint32_t NONE = UINT32_MAX;

    struct Row
    {
        int64_t time;
        uint64_t flow;
        uint64_t rateBps;
        uint64_t windowBytes;
        uint32_t queuePair; //!< of m_ends
    };

    /// A queue pair while it is connected to this peer.
    struct Ends
    {
        uint32_t src;
        uint32_t dst;
        uint32_t number;
        uint32_t peerNumber;
    };

    void OnChange(ns3::RdmaQueuePair* qp, uint64_t, int64_t now);
    void Add(ns3::RdmaQueuePair* qp, uint32_t index, int64_t now);
    void Thin();
    bool IsChosen(uint32_t src, uint32_t dst) const;

    const std::vector<std::string>& m_names;
    std::vector<std::pair<std::vector<bool>, std::vector<bool>>> m_chosen; //!< ends, by pattern
    std::function<uint64_t(const ns3::RdmaQueuePair&)> m_flowOf;
    std::size_t m_rowLimit;
    std::vector<bool> m_listens; //!< by endpoint
    std::unordered_map<const ns3::RdmaQueuePair*, uint32_t> m_index;
    std::vector<Ends> m_ends;
    std::vector<uint32_t> m_last; //!< of each, its last row
    std::vector<Row> m_rows;
    int64_t m_interval{0};
    uint64_t m_changes{0};
    uint64_t m_leftOut{0};
};

} // namespace dltrain

#endif /* QUEUE_PAIR_LOG_H */
