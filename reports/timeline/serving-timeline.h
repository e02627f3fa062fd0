/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_TIMELINE_SERVING_TIMELINE_H
#define REPORTS_TIMELINE_SERVING_TIMELINE_H

#include "scenarios/inference/serving-record.h"
#include "scenarios/job/scenario.h"

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

namespace reports
{

/// Requests of a serving run's timeline, the first ones.
constexpr std::size_t SERVING_TIMELINE_REQUESTS = 200;

/**
 * Writes the timeline of a serving run, a trace in the trace-event format (trace-event-file.h).
 *
 * - a process an instance: for each engine a thread "engine n" of its iterations ("engine n 2" for
 *   those that overlap, of a pipeline), with tokens and requests as arguments; counters of its
 *   queue and its KV blocks. Counters are thinned as load.csv is.
 * - a process "requests": a thread for each of the first requests, with slices "queue", "prefill",
 *   "KV transfer", "decode". A request that was not answered ends with the run.
 *
 * Iterations and requests that do not fit `maxEvents` are left out, the last ones first, and
 * "otherData" says how many.
 *
 * \return the content of "otherData". Throws CannotWrite.
 */
nlohmann::ordered_json WriteServingTimeline(const serving::ServingOutcome& outcome,
                                            const std::string& path,
                                            uint64_t maxEvents);

/// WriteTimelineOf, of a serving run.
void WriteServingTimelineOf(const scenario::RunOptions& run,
                            const serving::ServingOutcome& outcome,
                            std::ostream& os);

} // namespace reports

#endif // REPORTS_TIMELINE_SERVING_TIMELINE_H
