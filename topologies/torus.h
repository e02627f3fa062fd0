/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Torus of any number of dimensions: rings (one dimension), tori, and with wrap = false lines and
 * meshes.
 *
 *     torus 4x3:      sw-0-0 -- sw-0-1 -- sw-0-2 -- (sw-0-0)
 *                       |         |         |
 *                     sw-1-0 -- sw-1-1 -- sw-1-2 -- (sw-1-0)
 *                       |         |         |
 *                     sw-2-0 -- sw-2-1 -- sw-2-2 -- (sw-2-0)
 *                       |         |         |
 *                     sw-3-0 -- sw-3-1 -- sw-3-2 -- (sw-3-0)
 *                       |         |         |
 *                    (sw-0-0)  (sw-0-1)  (sw-0-2)       hostsPerSwitch server ports a switch
 *
 * The name of a switch is its coordinates. Server s, NIC n takes server port s x nicsPerServer + n,
 * counted switch by switch, the last coordinate first: in 4x3 with one server port a switch,
 * server-4 is at sw-1-1.
 *
 * Links of a dimension of size n: n if it wraps, n - 1 if not, and 1 if n is 2 (its two links would
 * join the same two switches). So a torus of sizes n1 x n2 x ... with all n > 2 has one link a
 * switch and dimension, a degree of twice the dimensions, and a diameter of sum(floor(n / 2)); a
 * mesh has sum(n - 1) (Dally & Towles, "Principles and Practices of Interconnection Networks",
 * 2004, ch. 5). Ports of a switch follow from the order in which links are made: servers first,
 * then dimension by dimension.
 *
 * What is not given is chosen: hostsPerSwitch = server ports / switches, rounded up, or 1 where
 * there is no number of servers; the sizes as a torus of two dimensions, as square as can be, with
 * room for the servers (a ring if there are fewer than 3 x 3 switches).
 */
#ifndef TOPOLOGIES_TORUS_H
#define TOPOLOGIES_TORUS_H

#include "topologies/family.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace topo
{

/// More dimensions make names and pictures that nobody can read.
constexpr uint32_t kMostTorusDimensions = 6;

/// What ParseTorusSizes takes, for people.
extern const char* const kTorusSizesHelp;

/// "4x4x2"; nothing if it is not 1 to 6 numbers from 2 to 65535 with an x between them.
std::optional<std::vector<uint32_t>> ParseTorusSizes(const std::string& text);

/// "4x4x2"
std::string TorusSizesText(const std::vector<uint32_t>& sizes);

TopologyResult MakeTorus(const TopologyRequest& request);

} // namespace topo

#endif // TOPOLOGIES_TORUS_H
