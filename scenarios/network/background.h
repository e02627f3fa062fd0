/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --background: flows of traffic's generators beside a job.
 *
 *     --background="pattern=random,load=0.3,hosts=0-7"
 *
 * Keys are options of traffic, checked as traffic does, and `hosts`. Patterns with a load last as
 * long as the job: flows are made epoch by epoch, each epoch from a seed of its own. In other
 * patterns every flow begins again as soon as it is acknowledged, on the same queue pair.
 */
#ifndef SCENARIOS_NETWORK_BACKGROUND_H
#define SCENARIOS_NETWORK_BACKGROUND_H

#include "scenarios/job/background.h"
#include "scenarios/network/validate.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace scenario
{

std::vector<Option> BackgroundOptionRows();

/// \return null if none was asked for, or after an error
std::shared_ptr<const Background> MakeBackground(Validation* v,
                                                 const topo::Topology& topology,
                                                 const FabricSpec& fabric);

/// Decides the options of the run that depend on the background: its threads. After MakeBackground.
void SettleBackground(Validation* v, RunOptions* run);

/// In words, for plans: "poisson among 16 hosts, load 0.3".
std::string BackgroundText(const Background& background);

/**
 * Flows of traffic's keys among some hosts, as --background and jobs of flows have them.
 * \param settings keys and values
 * \param where how they are named in errors: "--background"
 * \param hosts indices into Hosts(), at least two
 * \param epoch for how long flows of a load are made at a time
 * \param callers the key that the caller reads itself, for errors that list all
 * \param errors gets what is wrong
 */
std::shared_ptr<const Background> MakeFlowsAmong(
    const std::vector<std::pair<std::string, std::string>>& settings,
    const std::string& where,
    const topo::Topology& topology,
    const std::vector<uint32_t>& hosts,
    const FabricSpec& fabric,
    uint64_t seed,
    rdma::Duration epoch,
    const std::string& callers,
    std::vector<Error>* errors);

} // namespace scenario

#endif // SCENARIOS_NETWORK_BACKGROUND_H
