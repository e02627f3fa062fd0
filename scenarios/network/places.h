/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Places of a network by the words of users:
 *
 *     * or all               every node
 *     core                   the switches of a tier; hosts: all hosts
 *     leaf-*                 the nodes of a pattern, * being any text
 *     leaf-0                 a node
 *     leaf-0:3               a port
 *     leaf-0->spine-1        the port out of which a link's direction goes
 *     leaf-*:0, leaf-*->*    the ports of a pattern
 *
 * A tier goes by the family's name for it ("aggregation"), by what the names of its switches begin
 * with ("agg") and by its number ("tier-2").
 */
#ifndef SCENARIOS_NETWORK_PLACES_H
#define SCENARIOS_NETWORK_PLACES_H

#include "scenarios/job/placed-setting.h"
#include "topologies/topology.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace scenario
{

struct Place
{
    PlaceLevel level = PlaceLevel::kAll;
    std::vector<topo::NodeId> nodes; ///< whole nodes, ascending
    std::vector<uint32_t> ends;      ///< ends of links: 2 x link, and 1 more for the end b
};

/// \return the end of a node's port, as of Place::ends
uint32_t EndOfPort(const topo::Topology& topology, topo::NodeId node, topo::PortId port);

/// Looks places up in one network.
class Places
{
  public:
    /// \param topology outlives this
    explicit Places(const topo::Topology& topology);

    /// \return the place; nothing, with what is wrong and a name that may have been meant
    std::optional<Place> Find(const std::string& text,
                              std::string* problem,
                              std::string* nearest) const;

    /// \return the number of a tier of switches; nothing if there is none of this name
    std::optional<uint8_t> FindTier(const std::string& text) const;

    /// A tier that there is: its number, and the names it goes by, the usual one first.
    struct Tier
    {
        uint8_t number = 0;
        std::vector<std::string> names;
        std::vector<topo::NodeId> switches;
    };

    /// The tiers of switches that there are, from the hosts up; those without a number are none.
    const std::vector<Tier>& Tiers() const
    {
        return m_tiers;
    }

    /// "edge, aggregation, core"
    std::string TierNames() const;

  private:
    std::optional<Place> FindPort(const std::string& text) const;
    std::string Nearest(const std::string& text) const;

    const topo::Topology& m_topology;
    std::vector<Tier> m_tiers;
};

} // namespace scenario

#endif // SCENARIOS_NETWORK_PLACES_H
