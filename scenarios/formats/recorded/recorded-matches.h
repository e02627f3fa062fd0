/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What of a recording belongs together: a send and its receive, the members' calls of a collective;
 * and what waits for what, without events that take no time. The first step of MakePlan
 * (recorded-plan.h).
 */
#ifndef SCENARIOS_FORMATS_RECORDED_RECORDED_MATCHES_H
#define SCENARIOS_FORMATS_RECORDED_RECORDED_MATCHES_H

#include "collectives/core/block-sizes.h"
#include "scenarios/formats/recorded/recorded-lanes.h"
#include "scenarios/formats/recording.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace formats
{

struct Matches
{
    std::vector<std::size_t> first;        ///< number of a rank's first event; and the end
    OfEvents<std::vector<uint32_t>> after; ///< sorted; no nothings
    /// [communicator][k]: its members' events, in communicator order.
    std::vector<std::vector<std::vector<At>>> calls;
    std::vector<std::vector<uint32_t>> callOf; ///< [rank][event]: k of `calls`
    /// Blocks of all-to-all-v, by number.
    std::vector<std::shared_ptr<const coll::BlockSizes>> blocks;
    Messages messages;

    /// The number of an event among those of all ranks.
    std::size_t Number(const At& at) const
    {
        return first[at.rank] + at.event;
    }
};

/// "gemm" of rank 3, for errors.
std::string NameOf(const Recording& recording, const At& at);

/// Nothing, and an error, where MakePlan says so: all but ranks that wait for each other.
std::optional<Matches> MatchEvents(const Recording& recording,
                                   const std::string& file,
                                   std::vector<topo::Error>& errors);

} // namespace formats

#endif // SCENARIOS_FORMATS_RECORDED_RECORDED_MATCHES_H
