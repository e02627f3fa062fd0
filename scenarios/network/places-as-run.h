/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Tiers and places as they are simulated: for the plan and stats.json.
 */
#ifndef SCENARIOS_NETWORK_PLACES_AS_RUN_H
#define SCENARIOS_NETWORK_PLACES_AS_RUN_H

#include "scenarios/job/scenario.h"
#include "scenarios/network/switch-values.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace scenario
{

/// The switches of a tier. No value: it is not the same for all of them.
struct TierAsRun
{
    std::string name;
    uint32_t switches = 0;
    std::optional<rdma::BitRate> rate;   ///< of its links to the nodes below
    std::optional<rdma::Duration> delay; ///< of these links, one way
    std::optional<SwitchValues> values;
};

struct PlacesAsRun
{
    std::vector<TierAsRun> tiers;
    std::vector<PlacedSetting> set; ///< FabricSpec::places
};

/// \return null: no place or tier has anything of its own
std::shared_ptr<const PlacesAsRun> MakePlacesAsRun(const FabricSpec& fabric,
                                                   const topo::Topology& topology);

} // namespace scenario

#endif // SCENARIOS_NETWORK_PLACES_AS_RUN_H
