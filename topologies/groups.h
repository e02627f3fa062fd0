/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Groups of switches with the same number of links between any two groups: the common part of
 * dragonfly and dragonfly-plus.
 *
 * A group has `ports` global ports, those of its first switch with them first. With g groups each
 * pair gets m = floor(ports / (g - 1)) links. Port j (g - 1) + d - 1 of group i, d = 1 .. g - 1 and
 * j < m, leads to group (i + d) mod g, to its port j (g - 1) + (g - d) - 1: "relative" arrangement,
 * all groups alike (Kim et al. leave it open, and g need not be the largest). Ports that are left
 * over, ports mod (g - 1), have no cable.
 */
#ifndef TOPOLOGIES_GROUPS_H
#define TOPOLOGIES_GROUPS_H

#include "topologies/family.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace topo
{
namespace detail
{

/// Rows of the table: "groups", "global-links".
Parameter Groups();
Parameter GlobalLinks();

/// Between each two of g groups. g > 1.
constexpr uint64_t
LinksOfPair(uint64_t ports, uint64_t groups)
{
    return ports / (groups - 1);
}

/// Calls join(group, port, group, port) for all global links, each once: groups in order, then
/// ports.
template <class F>
void
JoinGroups(uint64_t groups, uint64_t ports, const F& join)
{
    const uint64_t m = groups > 1 ? LinksOfPair(ports, groups) : 0;
    for (uint64_t i = 0; i < groups; ++i)
    {
        for (uint64_t j = 0; j < m; ++j)
        {
            for (uint64_t d = 1; i + d < groups; ++d) // the others come from their side
            {
                join(i, j * (groups - 1) + d - 1, i + d, j * (groups - 1) + (groups - d) - 1);
            }
        }
    }
}

/// Servers for one at each port of a network that says all its sizes. \param sizes names of three
/// parameters whose product is the number of ports \return 0: they are not given, or too small,
/// which is added to the errors
uint64_t ServersOfAllPorts(const TopologyRequest& r,
                           const std::array<const char*, 3>& sizes,
                           const std::string& network,
                           std::vector<Error>* errors);

/// Why so many groups cannot be joined with so many ports each; "" if they can.
std::string WhyNotJoined(uint64_t groups, uint64_t ports);

} // namespace detail
} // namespace topo

#endif // TOPOLOGIES_GROUPS_H
