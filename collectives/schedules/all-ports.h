/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The time of schedules that have no closed formula. Where ranks run ahead of others, messages of
 * several rounds meet at one port and share it. A rank that is late by that is not ahead in the
 * next round. So the time needs the recurrence itself, over steps, messages and turns of ports:
 *
 *     a step is done       when what it receives has come; then its message is posted
 *     a port               sends packets of the messages posted to it in turns
 *     a rank's other port  takes packets one after the other, in the order in which they left
 *     a message has come   `latency` after its last packet was taken; it is answered
 *
 * It knows lengths, latency, rate and the schedule: no switches' buffers, no pauses, no routes, no
 * queue pairs. One event a turn of a port, so it is for tens of thousands of messages.
 */
#ifndef COLLECTIVES_SCHEDULES_ALL_PORTS_H
#define COLLECTIVES_SCHEDULES_ALL_PORTS_H

#include "collectives/tuner/idle-link.h"

namespace coll
{

/// Nothing: more steps than this is worth. Precondition: all messages are between ranks.
std::optional<double> SecondsOfAllPorts(const Schedule& schedule,
                                        uint32_t ranks,
                                        const IdleLink& link);

} // namespace coll

#endif // COLLECTIVES_SCHEDULES_ALL_PORTS_H
