/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * --background: flows of traffic's generators beside a job.
 *
 *     --background="pattern=random,load=0.3,hosts=0-7"
 *
 * Keys are options of traffic, checked as traffic does, and `hosts`. Patterns with a load go on for
 * as long as the job does: flows are made for an epoch after the other, each from a seed of its
 * own. Of the others every flow begins anew as soon as it is acknowledged, on the same queue pair.
 */
#ifndef SCENARIOS_SPEC_BACKGROUND_H
#define SCENARIOS_SPEC_BACKGROUND_H

#include "scenarios/spec/protocol.h"
#include "scenarios/spec/validate.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace scenario
{

/// What runs beside a job.
struct Background
{
    std::string pattern;
    FlowOperation operation = FlowOperation::kWrite;
    ProtocolSpec protocol;
    bool repeats = false; ///< each flow begins again when it has ended; there is one epoch
    QueuePairUse queuePairs = QueuePairUse::kReused;
    rdma::Duration epoch;            ///< flows are made for so long at a time
    OfferedLoad offered;             ///< of patterns with a load
    uint64_t rateBps = 0;            ///< of all links of its hosts together, one direction
    uint32_t hosts = 0;              ///< that take part
    std::vector<uint8_t> priorities; ///< of its flows by RDMA: lossless ones
    /// Flows of an epoch, by start, which counts from the beginning of that epoch.
    std::function<std::vector<Flow>(uint32_t epoch)> flows;
};

std::vector<Option> BackgroundOptionRows();

/// \return null: none was asked for, or there is an error
std::shared_ptr<const Background> MakeBackground(Validation* v,
                                                 const topo::Topology& topology,
                                                 const FabricSpec& fabric);

/// What follows for the run: its threads. After MakeBackground.
void SettleBackground(Validation* v, RunOptions* run);

/// In words, for plans: "poisson among 16 hosts, load 0.3".
std::string BackgroundText(const Background& background);

/**
 * Flows of traffic's keys among some hosts, as --background and jobs of flows have them.
 * \param settings keys and values \param where how they are named in errors: "--background"
 * \param hosts indices into Hosts(), at least two \param epoch for how long flows of a load are
 * made at a time \param callers the key that the caller reads itself, for errors that list all
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

/// How long flows of a load are made for at a time. Any length gives the same load; a longer one
/// takes more memory.
constexpr int64_t kBackgroundEpochPs = 10000000000;

} // namespace scenario

#endif // SCENARIOS_SPEC_BACKGROUND_H
