/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_TIMELINE_TIMELINE_WRITER_H
#define REPORTS_TIMELINE_TIMELINE_WRITER_H

#include "scenarios/job/scenario.h"

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

namespace reports
{

/// Events of the timeline that a run writes by itself: some 15 MB.
constexpr uint64_t TIMELINE_EVENTS = 100000;

/**
 * Writes the timeline of a run: a trace in the trace-event format (JSON object form; "Trace Event
 * Format", Google, 2016), which the Perfetto viewer and chrome://tracing open.
 *
 * It is made from the files in the run's folder, and needs none of them. If a run was killed, a cut
 * last line and damaged rows are left out.
 *
 * Tracks, all times in us since the simulation began, exact to the picosecond:
 * - run: threads "steps", "collectives" (from the first GPU's entry to the last one's leaving) and
 *   "losses": drops, retransmissions, time-outs, failed queue pairs (stats.json,
 *   network_events.log)
 *   "recovery": work that was lost, what recovering took, checkpoints
 * - GPU n: a thread for every stream: its calls (calls.log)
 * - NIC h: threads "sends": messages from post to arrival (flows.csv); threads "receives": the same
 *   messages at the other end, as long as they take on an idle network, ending when the last byte
 *   arrived. Slices of a thread must not overlap: messages that are under way together lie on
 *   several threads, "sends", "sends 2".
 * - links: counters: utilization (%), queue (B) and, where there were pauses, share of time paused
 *   (%) (links.csv). A value holds until the next one; equal ones are written once.
 *
 * An arrow for every message: from the sender's call, when the message was posted, to the
 * receiver's, when its last byte arrived; earlier, if the call has ended already, or later, if it
 * has not begun yet. If the call of one of the two GPUs is not in the file, or there are no calls
 * at all (traffic, collperf), the arrow goes from the message's slice at one NIC to that at the
 * other.
 *
 * The file has at most `maxEvents` events besides the names of tracks, some 150 bytes each. Records
 * that do not fit are left out whole, and "otherData" says so. It keeps the GPUs of the slowest
 * messages and every n-th other GPU, the busiest links, the slowest messages and an even choice of
 * the others. Memory: 20 bytes per row of flows.csv and about 100 per event; links.csv is held
 * whole.
 *
 * \param folder folder of the run
 * \param path path of the new file, replaced when it is complete
 * \return the content of "otherData": keys "events", "shown" and "left_out" (counts by what)
 *
 * Throws NothingToShow (timeline-choice.h), or another std::runtime_error, which names the path: a
 * file is not one of a run, or `path` cannot be written (nothing is left of it then).
 * std::invalid_argument: the results are of another schema_version.
 */
nlohmann::ordered_json WriteTimeline(const std::string& folder,
                                     const std::string& path,
                                     uint64_t maxEvents);

/**
 * Writes timeline.json of a run whose files are complete, once, with at most TIMELINE_EVENTS, and
 * says on `os` where it is. Like the report it is a convenience: if it cannot be written, one line
 * on standard error says why, and the run's exit status does not change. There is no timeline for a
 * run with nothing to show, or with a failed output.
 */
void WriteTimelineOf(const scenario::RunOptions& run, std::ostream& os);

/// The same, of a run whose timeline is not made of its files. \param choice what is said if not
/// all is shown \param write writes it, and returns what WriteTimeline does
void WriteTimelineOf(const scenario::RunOptions& run,
                     std::ostream& os,
                     const char* choice,
                     const std::function<nlohmann::ordered_json(const std::string& path)>& write);

} // namespace reports

#endif /* REPORTS_TIMELINE_TIMELINE_WRITER_H */
