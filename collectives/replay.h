/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How long a schedule takes on a network that does nothing else, message by message and without
 * packets: the recurrence of steps, ports and links, as all-ports.h has it for ranks with a port
 * each, for servers with GPUs and NICs on any network.
 *
 *     a step is done          when what it receives has come; then its message sets out
 *     inside a server         as ports share themselves out: topo::ScaleUpModel
 *     between servers         `outside` later; it takes each bundle of links (topo::SharedLinks) on
 *                             its way after the messages that came there before, and begins at the
 *                             next one as soon as it begins at this
 *     it has come             when the last bundle has, and cables, switches and the packet that
 *                             each switch stores have had their time
 *
 * It knows nothing of queues, marks, pauses and of which of several equal links a flow is hashed
 * to. One event or two a message, so it is for tens of thousands of messages: of larger schedules
 * BusiestLinkSeconds adds up what each link carries.
 */
#ifndef COLLECTIVES_REPLAY_H
#define COLLECTIVES_REPLAY_H

#include "collectives/exchange-rates.h"
#include "collectives/schedule.h"
#include "topologies/server.h"
#include "topologies/shared-links.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace coll
{

/// Servers and what is between them.
struct ReplayNetwork
{
    const topo::ServerSpec* server = nullptr;
    const topo::Topology* topology = nullptr;
    topo::SharedLinks* links = nullptr;
    const std::vector<uint32_t>* hostOfServer = nullptr; ///< by Placement::serverOf
    double cable = 0;                                    ///< s, of a link
    double pipeline = 0;                                 ///< s, of a switch
    bool stores = true;  ///< a switch takes in a packet before it sends it on
    uint32_t mtu = 4096; ///< most bytes of data in a packet
    uint32_t header = 0; ///< of each packet, on the wire
};

/// What a library makes of the messages of a collective (topologies/library-model.h).
struct ReplayTimes
{
    double launch = 0;  ///< s, from entry to the first message
    double inside = 0;  ///< s, before a message in a server, beside what ScaleUpModel has
    double outside = 0; ///< s, before a message to another server
    topo::ProtocolTimes wire = {}; ///< OnWire, between servers
    uint8_t how = 0;               ///< ScaleUpModel::Post
    uint32_t nics = 0;             ///< that messages to other servers use; 0: all
    bool ownNic = false;           ///< they begin at the NIC beside the GPU
    bool ownNics = false;          ///< and end at that beside the other
    ExchangeRates rates = {};
    bool limited = false; ///< rates, between servers
};

/// How far to go.
struct ReplayLimits
{
    uint64_t messages = 100000; ///< with more it is not worth it
    double seconds = 1e30;      ///< later than this it does not matter when
};

/// Messages of a schedule that several ranks send, the same for all protocols; sampled where there
/// are many.
uint64_t CountMessages(const Schedule& schedule);

/// Nothing: more messages than the limit, a way that is not there, or switches between servers that
/// add up. Above ReplayLimits::seconds: some time above it.
std::optional<double> ReplaySeconds(const Schedule& schedule,
                                    const Placement& placement,
                                    const ReplayTimes& times,
                                    const ReplayNetwork& network,
                                    const ReplayLimits& limits);

/// What the busiest bundle of links between servers needs for all that a schedule sends over it;
/// of lanes with many steps by a sample. 0: nothing goes between servers. Nothing: as above.
std::optional<double> BusiestLinkSeconds(const Schedule& schedule,
                                         const Placement& placement,
                                         const ReplayTimes& times,
                                         const ReplayNetwork& network);

} // namespace coll

#endif // COLLECTIVES_REPLAY_H
