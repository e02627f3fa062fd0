/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * From a recording to a plan: streams, groups, tags, and the ranks with the same role.
 *
 *   computing          stream 0, in the order of the recording
 *   host, a thread     a stream each, beside computing
 *   collectives        a stream a kind of groups; a kind is communicators that share no rank
 *   messages           to and from each other rank a stream, and more of them (up to 16, then as
 *                      needed) where messages may be under way at the same time
 *
 * Ranks cannot wait for each other for ever: all streams follow one order of all events of all
 * ranks, in which every event comes after its dependencies.
 */
#ifndef SCENARIOS_FORMATS_RECORDED_RECORDED_PLAN_H
#define SCENARIOS_FORMATS_RECORDED_RECORDED_PLAN_H

#include "scenarios/formats/recording.h"

#include <optional>
#include <string>
#include <vector>

namespace formats
{

/**
 * Nothing, and an error, if the recording cannot be run: events that wait for each other, sends
 * without receives, sizes that differ at the two ends, ranks of a communicator that do not call the
 * same collectives.
 *
 * \param file for errors
 * \param ranks of the plan: at least as many as the recording has; the others do nothing
 * \return a plan whose roles are for one step; samplesPerStep, flopsPerGpuPerStep, gpuMemoryBytes
 * are 0
 */
std::optional<training::TrainingPlan> MakePlan(const Recording& recording,
                                               const std::string& file,
                                               uint32_t ranks,
                                               std::vector<topo::Error>& errors);

} // namespace formats

#endif // SCENARIOS_FORMATS_RECORDED_RECORDED_PLAN_H
