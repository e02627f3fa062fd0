/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_STATS_LOSS_COUNTS_H
#define REPORTS_STATS_LOSS_COUNTS_H

#include "reports/base/quantile-sketch.h"
#include "reports/schema/object.h"

#include <cstdint>

namespace reports
{

/// The retransmissions of TCP.
struct SegmentCounts
{
    uint64_t sent = 0;          ///< segments with data
    uint64_t retransmitted = 0; ///< segments that begin below data sent before
    uint64_t timeouts = 0;      ///< after which a connection sent again
    uint64_t timeoutPs = 0;     ///< waited until these, summed

    SegmentCounts& operator+=(const SegmentCounts& other)
    {
        sent += other.sent;
        retransmitted += other.retransmitted;
        timeouts += other.timeouts;
        timeoutPs += other.timeoutPs;
        return *this;
    }
};

/// The fate of datagrams, in the whole run: sent = received + lost + in flight.
struct DatagramCounts
{
    uint64_t sent = 0;
    uint64_t received = 0;
    /// Sent, and not behind the last one of its connection that has come.
    uint64_t seen = 0;
    QuantileSketch delay; ///< ps, from the sender's socket to the receiver's

    /// One that comes late is lost no more.
    uint64_t GetLost() const
    {
        return seen - received;
    }

    uint64_t GetUnderWay() const
    {
        return sent - seen;
    }
};

/// Adds keys of stats.json.
void AddTo(nlohmann::ordered_json& json, const SegmentCounts& counts);
void AddTo(nlohmann::ordered_json& json, const DatagramCounts& counts);
/// Words for the keys of both.
const Shape& LossWords();

} // namespace reports

#endif // REPORTS_STATS_LOSS_COUNTS_H
