/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef COLLECTIVE_RUNNER_COOKIES_H
#define COLLECTIVE_RUNNER_COOKIES_H

#include "collectives/core/schedule.h"

#include <cstdint>

// The fields that CollectiveRunner packs into numbers that travel with its messages. Private to it.

namespace dltrain
{

/**
 * What a channel's cookie says to both of its ends. Positions are less than 2^20 (coll::Problem).
 *
 *     63           40 39   20 19  0
 *     [ communicator |  from |  to ]
 */
constexpr uint32_t POSITION_BITS = 20;
constexpr uint32_t MOST_COMMUNICATORS = 1U << 24;

/// Bits of a message's immediate to a switch between servers: the rest is the plan's number.
constexpr uint32_t SEQUENCE_BITS = 20;
constexpr uint32_t SEQUENCE_MASK = (1U << SEQUENCE_BITS) - 1;
constexpr uint32_t MOST_NUMBERED = 1U << (32 - SEQUENCE_BITS);

struct Address
{
    uint32_t communicator;
    coll::Rank from; ///< positions
    coll::Rank to;
};

inline uint64_t
CookieOf(const Address& address)
{
    return static_cast<uint64_t>(address.communicator) << 2 * POSITION_BITS |
           static_cast<uint64_t>(address.from) << POSITION_BITS | address.to;
}

inline Address
AddressOf(uint64_t cookie)
{
    constexpr uint64_t POSITION = (1U << POSITION_BITS) - 1;
    return {static_cast<uint32_t>(cookie >> 2 * POSITION_BITS),
            static_cast<coll::Rank>(cookie >> POSITION_BITS & POSITION),
            static_cast<coll::Rank>(cookie & POSITION)};
}

} // namespace dltrain

#endif // COLLECTIVE_RUNNER_COOKIES_H
