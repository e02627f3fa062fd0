/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * One setting of a place of the network, as --set, a scenario or a topology file has it.
 */
#ifndef SCENARIOS_JOB_PLACED_SETTING_H
#define SCENARIOS_JOB_PLACED_SETTING_H

#include "topologies/topology.h"

#include <cstdint>
#include <string>
#include <vector>

namespace scenario
{

/// How narrow a place is: a narrower one wins.
enum class PlaceLevel : uint8_t
{
    kAll,
    kTier,
    kPattern,
    kName,
    kPort
};

struct PlacedSetting
{
    std::string where; ///< where the user wrote it: "--set", "x.json: /fabric/set/core/ecn_kmin"
    std::string place; ///< "core"
    std::string key;   ///< as the user wrote it: "ecn-kmin"
    std::string attribute; ///< "ns3::RdmaSwitch::EcnKmin"
    std::string value;     ///< as ns-3 reads it: "1000000"
    std::string text;      ///< as the user wrote it: "1MB"
    PlaceLevel level = PlaceLevel::kAll;
    std::vector<topo::NodeId> nodes; ///< whole nodes, ascending
    std::vector<uint32_t> ends; ///< ends of links, ascending: 2 x link, and 1 more for the end b

    /// "core:ecn-kmin=1MB"
    std::string Said() const
    {
        return place + ":" + key + "=" + text;
    }

    /// What an error says behind `where`: "1MB" if that names place and key.
    std::string SaidThere() const
    {
        const std::string last = "/" + key;
        const bool named = where.size() > last.size() &&
                           where.compare(where.size() - last.size(), last.size(), last) == 0;
        return named ? text : Said();
    }
};

} // namespace scenario

#endif // SCENARIOS_JOB_PLACED_SETTING_H
