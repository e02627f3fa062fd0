/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_FABRIC_STATISTICS_H
#define DLTRAIN_FABRIC_STATISTICS_H

#include "reports/stats/run-stats.h"
#include "trace-collector.h"

#include <cstddef>
#include <cstdint>

namespace dltrain
{

/// At the end of a run, before the fabric goes. Finishes the collector, so its files are complete.
/// With several Ranks collective: the first one gets the numbers of all.
reports::RunStats CollectRunStats(TraceCollector& collector,
                                  int64_t nowPs,
                                  std::size_t busiest = 5);

} // namespace dltrain

#endif // DLTRAIN_FABRIC_STATISTICS_H
