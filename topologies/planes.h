/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Several planes: each NIC has a port in each of several equal networks, which are not joined.
 *
 *       plane 0: leaf-spine          plane 1: the same again
 *        |     |        |             |     |        |
 *        |     |   .----|-------------'     |        |
 *        |     '---|----|------.   .--------'        |
 *        |   .-----'    |      |   |      .----------'      a port of every NIC in each plane, of
 *      server-0         |    server-1     |                 1 / planes of the NIC's rate
 *                       '--- server-2 ----'
 *
 * As in Alibaba's HPN (SIGCOMM 2024: NICs of 2 x 200 Gb/s, each port in a plane of its own). All
 * rates of a plane are 1 / planes of the requested ones. So N planes carry as much as one network
 * of the full rate, over N times as many switches and cables of 1 / N of the rate.
 *
 * Ports: NIC n of a server has its ports n x planes + p, p the plane. Switches are called as in one
 * plane, with "p0-" and on before it. A message stays in the plane in which it begins. The code
 * that opens a connection chooses its plane.
 */
#ifndef TOPOLOGIES_PLANES_H
#define TOPOLOGIES_PLANES_H

#include "topologies/family.h"

namespace topo
{
namespace detail
{

constexpr uint32_t kMostPlanes = 8;

/// The family's network for the request, once for each plane.
TopologyResult MakePlanes(const TopologyRequest& request, const Family& family);

} // namespace detail
} // namespace topo

#endif // TOPOLOGIES_PLANES_H
