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

} // namespace dltrain

#endif /* STUCK_REPORT_H */
