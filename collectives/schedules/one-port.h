/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The time of schedules in which all ranks do the same at the same time, each round a place of its
 * own, as on a torus: one port stands for all. What this rank sends in a lane is, at its neighbour,
 * what that one receives in the lane next; and so what this rank receives.
 *
 *     lane 0   send a ------ latency ------ receive, send b ------ ...
 *     lane 1   send c ------ latency ------ receive, send d ------ ...
 *     port     a c a c a c c                b d b d ...            packets in turns
 *
 * So lanes hide each other's latencies, as much as their bytes at the port are apart: a recurrence
 * over messages, turns of packets and latencies, without ranks.
 */
#ifndef COLLECTIVES_SCHEDULES_ONE_PORT_H
#define COLLECTIVES_SCHEDULES_ONE_PORT_H

#include "collectives/tuner/idle-link.h"

namespace coll
{

/// Nothing: more steps than this is worth. Precondition: as above.
std::optional<double> SecondsOfOnePort(const Schedule& schedule, const IdleLink& link);

} // namespace coll

#endif // COLLECTIVES_SCHEDULES_ONE_PORT_H
