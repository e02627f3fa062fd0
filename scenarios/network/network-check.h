/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Checks that need the network and the pairs of hosts that communicate:
 *
 *   error  two ends that must talk and that no route connects (as rdma::EcmpRoutes routes: hosts do
 *          not forward)
 *   error  a switch whose buffer does not hold its headroom and guaranteed minima
 *   error  credits (CBFC) on a link that faults or circuits take frames from
 *   note   settings that are valid and must go wrong: time-outs shorter than the round trip or than
 *          the time between ACKs, ECN marking from less than one frame
 *
 * Everything about switches is left to the run if ns-3 settings change them: those are not known
 * here.
 */
#ifndef SCENARIOS_NETWORK_NETWORK_CHECK_H
#define SCENARIOS_NETWORK_NETWORK_CHECK_H

#include "scenarios/job/scenario.h"
#include "scenarios/job/serving-scenario.h"
#include "scenarios/options/options.h"

#include <string>
#include <utility>
#include <vector>

namespace scenario
{

/// Errors and notes are added to. At most one error.
void CheckNetwork(const ReadResult& read,
                  const TrainingScenario& s,
                  std::vector<Error>* errors,
                  std::vector<std::string>* notes);
void CheckNetwork(const ReadResult& read,
                  const CollperfScenario& s,
                  std::vector<Error>* errors,
                  std::vector<std::string>* notes);
void CheckNetwork(const ReadResult& read,
                  const TrafficScenario& s,
                  std::vector<Error>* errors,
                  std::vector<std::string>* notes);

void CheckNetwork(const ReadResult& read,
                  const ServingScenario& s,
                  std::vector<Error>* errors,
                  std::vector<std::string>* notes);

} // namespace scenario

#endif // SCENARIOS_NETWORK_NETWORK_CHECK_H
