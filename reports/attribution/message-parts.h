/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_ATTRIBUTION_MESSAGE_PARTS_H
#define REPORTS_ATTRIBUTION_MESSAGE_PARTS_H

#include "contrib/rdma/core/link-words.h"

#include <array>
#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <string>

namespace reports
{

/// Where the time of a message can have gone. The parts of a message add up to its completion time.
enum class TimeShare : uint8_t
{
    BACKLOG,       //!< line time of earlier messages of its queue pair
    NIC_TURNS,     //!< other queue pairs' turns at the sender's NIC
    NIC_PAUSED,    //!< the sender's NIC paused by PFC
    THROTTLED,     //!< paced by the congestion control
    WINDOW,        //!< the window was closed
    REPEATING,     //!< after losses
    SERIALIZATION, //!< line time of its packets at the sender, and of the last one on every link
    PROPAGATION,   //!< cables and switch pipelines
    QUEUED,        //!< behind others in switches
    PAUSED,        //!< in switches whose egress port was paused
    HOST,          //!< limits of NICs: bus, contexts
    COUNT
};

constexpr std::size_t TIME_SHARES = static_cast<std::size_t>(TimeShare::COUNT);

/// ps, by TimeShare
using TimeParts = std::array<int64_t, TIME_SHARES>;

constexpr std::size_t
At(TimeShare share)
{
    return static_cast<std::size_t>(share);
}

/// \return "backlog", ... as in the files
const char* GetTimeShareName(TimeShare share);

/// \return the same in words that follow a percentage: "waiting for earlier messages on the same
/// connection". Terminal, attribution.csv and the report all use these. A connection is a queue
/// pair.
const char* GetTimeShareWords(TimeShare share, const rdma::LinkWords& link);

/// TimeShare::BACKLOG of a collective's message, in such words: its chunks follow one another at
/// the speed of the line.
inline constexpr const char* PIPELINING =
    "pipelining (waiting for the previous chunk on the same connection)";

/// \return the same for both kinds of links: "in switches paused by PFC or waiting for credits"
std::string WordsOfLinks(const std::string& ethernet, const std::string& infiniBand);
std::string GetTimeShareMeaning(TimeShare share);

/// Where the time of one message went.
struct MessageParts
{
    /// The packets that it was queued behind in a switch.
    struct Others
    {
        uint32_t src{0}; //!< endpoints
        uint32_t dst{0};
        uint32_t tag{UINT32_MAX}; //!< tag of their message; UINT32_MAX: none is in flight
        bool known{false};        //!< false: the queue was empty, or `ordinary`
        bool ordinary{false};     //!< ordinary packets (TCP, UDP), of any flow; then not `known`
    };

    /// A port that its last packet left: the sender's NIC first, then one for each switch.
    struct Hop
    {
        //! Ps from its arrival there (at the NIC: from the post) to its arrival at the next port
        int64_t time{0};
        int64_t waited{0}; //!< part of it that is not serialization, cable or pipeline
        int64_t paused{0}; //!< part of it while PFC had stopped the port
        Others behind;     //!< switches only
        uint32_t port{0};  //!< end of a link in the fabric
        TimeShare why{TimeShare::SERIALIZATION}; //!< cause of most of the wait
    };

    /// Ports between two hosts of a fat-tree of three tiers: up to this number, no memory is
    /// allocated.
    static constexpr std::size_t COMMON_HOPS = 6;

    TimeParts parts{};
    boost::container::small_vector<Hop, COMMON_HOPS> hops;
};

} // namespace reports

#endif // REPORTS_ATTRIBUTION_MESSAGE_PARTS_H
