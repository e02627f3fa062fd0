/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_BALANCE_STATISTICS_H
#define DLTRAIN_BALANCE_STATISTICS_H

#include "fabric-baseline.h"
#include "reports/attribution/flow-ways.h"
#include "reports/attribution/link-notes.h"
#include "reports/stats/load-spread.h"

#include <vector>

namespace dltrain
{

/// The effect of load balancing since the baseline. With several Ranks it is collective: the first
/// one gets the numbers of all.
/// \param nics sums over all ranks, since the baseline except for values that are no sums
/// \param ways paths of flows; null: not known
reports::BalanceStats CollectBalance(const ns3::RdmaFabric& fabric,
                                     const FabricBaseline& base,
                                     int64_t now,
                                     const ns3::RdmaNicCounters& nics,
                                     const reports::FlowWays* ways);

/// The bytes that all directed links have carried since the baseline, for reports::LinkNotes. In
/// one rank only.
std::vector<reports::LinkNotes::Load> LoadsOfLinks(const ns3::RdmaFabric& fabric,
                                                   const FabricBaseline& base,
                                                   int64_t now);

} // namespace dltrain

#endif // DLTRAIN_BALANCE_STATISTICS_H
