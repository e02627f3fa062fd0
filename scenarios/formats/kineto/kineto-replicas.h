/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * One rank's work for all ranks: its process groups, shifted until all ranks are in one.
 *
 *     rank 0 of 8, groups [0 1] and [0 2 4 6]:   [0 1] [2 3] [4 5] [6 7]
 *                                                [0 2 4 6] [1 3 5 7]
 *
 * The lowest rank that is in no group yet is the lowest of the next one: if shifted groups fill the
 * ranks at all, this is the only way. A group that does not fill them is an error.
 *
 * A message goes to the rank that stands as far behind in its group as in the group of the recorded
 * rank, around the group; without a group, around all ranks. If such sends do not meet as many
 * receives of their sizes, ranks do different work, as stages of a pipeline do: an error.
 */
#ifndef SCENARIOS_FORMATS_KINETO_KINETO_REPLICAS_H
#define SCENARIOS_FORMATS_KINETO_KINETO_REPLICAS_H

#include "scenarios/formats/recording.h"

#include <cstdint>
#include <string>

namespace formats
{

/**
 * \param rank of the profiled run: the only one in the recording, whose communicators and peers
 * have the run's numbers. Messages have a communicator, too, or kWithoutGroup
 * \param ranks as many as shall be
 * \return why not, or nothing
 */
std::string ReplicateRank(coll::Rank rank, uint32_t ranks, Recording* recording);

} // namespace formats

#endif // SCENARIOS_FORMATS_KINETO_KINETO_REPLICAS_H
