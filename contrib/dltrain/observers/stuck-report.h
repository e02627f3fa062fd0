/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef STUCK_REPORT_H
#define STUCK_REPORT_H

#include "trace-collector.h"

#include <cstddef>
#include <string>
#include <vector>

namespace dltrain
{

/**
 * Why a fabric makes no progress, for people: failed queue pairs, queue pairs with unacknowledged
 * bytes, ports that PFC holds (InfiniBand: without credits), and the cycle of a deadlock if there
 * is one. Empty if nothing is outstanding. With several Ranks it is collective; the first one gets
 * the knowledge of all.
 */
std::string DescribeStuck(TraceCollector& collector, std::size_t most = 10);

/// Describes the unfinished work of this rank, in lines. With several Ranks that have hosts it is
/// collective.
/// \return at the first one the lines of all, each rank's under its number
std::string DescribeRanks(const std::vector<std::string>& lines);

} // namespace dltrain

#endif /* STUCK_REPORT_H */
