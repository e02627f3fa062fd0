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
 * What a fabric that makes no progress is stuck on, for people: failed queue pairs, queue pairs
 * with bytes that are not acknowledged, ports that PFC holds (InfiniBand: that have no
 * credits), and the cycle of a deadlock if there is one. Empty if nothing is outstanding. With
 * several Ranks collective; the first one gets what all know.
 */
std::string DescribeStuck(TraceCollector& collector, std::size_t most = 10);

/// What this rank of several says of what it has not done, in lines; with several Ranks that have
/// hosts collective. \return at the first one the lines of all, each rank's under its number
std::string DescribeRanks(const std::vector<std::string>& lines);

} // namespace dltrain

#endif /* STUCK_REPORT_H */
