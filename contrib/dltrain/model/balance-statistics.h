/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_BALANCE_STATISTICS_H
#define DLTRAIN_BALANCE_STATISTICS_H

#include "fabric-baseline.h"
#include "results/load-spread.h"

namespace dltrain
{

/// What became of packets that could choose between ways, since the baseline. With several Ranks
/// collective: the first one gets the numbers of all. \param nics of all ranks, since the baseline
/// but for what is no sum
results::BalanceStats CollectBalance(const ns3::RdmaFabric& fabric,
                                     const FabricBaseline& base,
                                     const ns3::RdmaNicCounters& nics);

} // namespace dltrain

#endif // DLTRAIN_BALANCE_STATISTICS_H
