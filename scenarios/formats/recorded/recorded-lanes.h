/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The queue pair of each message of a recording. A lane of two ranks is a queue pair: its messages
 * arrive in the order in which they are sent.
 *
 *     tag 7    s0 s1 s2 s3 ...     each begins when the one before has begun, or later: one lane,
 *                                  as a library sends what it sends to one rank
 *     tag 8    t0 t1               neither waits for what the other waits for: two lanes, and up
 *                                  to 16 of a pair; then in turns, each waiting for one more
 *
 * A lane has up to 32 messages in flight, each on a stream of its own, which is its slot. The next
 * message waits for them.
 */
#ifndef SCENARIOS_FORMATS_RECORDED_RECORDED_LANES_H
#define SCENARIOS_FORMATS_RECORDED_RECORDED_LANES_H

#include "scenarios/formats/recording.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace formats
{

/// An event of a rank.
struct At
{
    coll::Rank rank = 0;
    uint32_t event = 0;
};

struct Message
{
    At send;
    At receive;
};

struct Lane
{
    uint32_t number = 0; ///< number among the lanes from one rank to another
    uint32_t slot = 0;   ///< below kMostUnderWay; of receives 0: they wait in the order of sends
};

/// Messages of a lane that are posted at the same time: assumed.
constexpr uint32_t kMostUnderWay = 32;
/// The most dependencies of an event, as GraphTables counts them.
constexpr uint32_t kMostAfter = UINT16_MAX;

/// [rank][event]
template <class T>
using OfEvents = std::vector<std::vector<T>>;

/// From a rank to a rank.
using Messages = std::map<std::pair<coll::Rank, coll::Rank>, std::vector<Message>>;

/**
 * \param place places of events in an order in which all can run
 * \param messages sorted on return by the place of their sends
 * \param after dependencies of events, sorted; sends get more, so that those of a lane begin in its
 * order: MessageMatch sees that they do
 * \return why not, or nothing
 */
std::string AssignLanes(const Recording& recording,
                        const OfEvents<std::size_t>& place,
                        Messages& messages,
                        OfEvents<std::vector<uint32_t>>* after,
                        OfEvents<Lane>* laneOf);

} // namespace formats

#endif // SCENARIOS_FORMATS_RECORDED_RECORDED_LANES_H
