/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The time of a schedule on a network that is idle otherwise, message by message and without
 * packets. It is the recurrence of steps, ports and links for servers with GPUs and NICs on any
 * network; all-ports.h has it for ranks with a port each.
 *
 *     a step is done          when what it receives has come; then its message sets out
 *     inside a server         as ports share themselves out: topo::ScaleUpModel
 *     between servers         `outside` later; it takes each bundle of links (topo::SharedLinks) on
 *                             its way after the messages that came there before, and begins at the
 *                             next one as soon as it begins at this
 *     it has come             when the last bundle has, and cables, switches and the packet that
 *                             each switch stores have had their time
 *
 * It knows nothing of queues, marks, pauses, or the hashing of flows to equal links. It has one or
 * two events per message, so it is for tens of thousands of messages. For larger schedules
 * BusiestLinkSeconds adds up the bytes on each link.
 */
#ifndef COLLECTIVES_TUNER_REPLAY_H
#define COLLECTIVES_TUNER_REPLAY_H

#include "collectives/core/schedule.h"
#include "collectives/tuner/exchange-rates.h"
#include "topologies/scale-up/shared-links.h"
#include "topologies/server.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace coll
{

/// Servers and the network between them.
struct ReplayNetwork
{
    const topo::ServerSpec* server = nullptr;
    const topo::Topology* topology = nullptr;
    topo::SharedLinks* links = nullptr;
    const std::vector<uint32_t>* hostOfServer = nullptr; ///< by Placement::serverOf
    double cable = 0;                                    ///< delay of a link, s
    double pipeline = 0;                                 ///< delay of a switch, s
    bool stores = true;  ///< a switch takes in a packet before it sends it on
    uint32_t mtu = 4096; ///< most bytes of data in a packet
    uint32_t header = 0; ///< header of each packet, bytes on the wire
};

/// The library's effect on the messages of a collective (topologies/library-model.h).
struct ReplayTimes
{
    double launch = 0;  ///< s, from entry to the first message
    double inside = 0;  ///< s, before a message in a server, beside what ScaleUpModel has
    double outside = 0; ///< s, before a message to another server
    double post = 0;    ///< s between a rank's messages to other servers
    topo::ProtocolTimes wire = {}; ///< OnWire, between servers
    uint8_t how = 0;               ///< ScaleUpModel::Post
    uint32_t nics = 0;             ///< NICs that messages to other servers use; 0: all
    bool ownNic = false;           ///< messages begin at the NIC beside the sending GPU
    bool ownNics = false;          ///< messages also end at the NIC beside the receiving GPU
    bool peersRail = false;        ///< they begin at the NIC of that number, then
    ExchangeRates rates = {};
    bool limited = false; ///< rates, between servers
};

/// How far to go.
struct ReplayLimits
{
    uint64_t messages = 100000; ///< schedules with more are not replayed
    double seconds = 1e30;      ///< later than this it does not matter when
};

/// The steps of all lanes of a schedule, network nodes' too: no fewer than its messages.
uint64_t CountMessages(const Schedule& schedule);

/// The time of the replay. Nothing if there are more messages than the limit, if two servers are
/// not connected, or if switches between servers add up. Above ReplayLimits::seconds the result is
/// some time above it.
std::optional<double> ReplaySeconds(const Schedule& schedule,
                                    const Placement& placement,
                                    const ReplayTimes& times,
                                    const ReplayNetwork& network,
                                    const ReplayLimits& limits);

/// The time that the busiest bundle of links between servers needs for all bytes that a schedule
/// sends over it. Lanes with many steps are sampled. 0: nothing goes between servers. Nothing: as
/// above.
std::optional<double> BusiestLinkSeconds(const Schedule& schedule,
                                         const Placement& placement,
                                         const ReplayTimes& times,
                                         const ReplayNetwork& network);

} // namespace coll

#endif // COLLECTIVES_TUNER_REPLAY_H
