/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fabric-baseline.h"

namespace dltrain
{

FabricBaseline::FabricBaseline(const ns3::RdmaFabric& fabric, int64_t now)
    : time(now),
      nics(fabric.GetNicTotals()),
      ports(fabric.GetPortTotals()),
      rerouted(fabric.GetRerouted()),
      trims(fabric.GetTrimTotals())
{
    for (uint8_t reason = 0; reason < ns3::RdmaSwitchBase::DROP_REASONS; ++reason)
    {
        drops.push_back(fabric.GetDrops(static_cast<ns3::RdmaSwitchBase::DropReason>(reason)));
    }
    for (const auto& port : fabric.GetPorts())
    {
        txWireBytes.push_back(port->GetTxWireBytes());
        pausedPs.push_back(port->GetPausedPs(now));
        ordinaryBytes.push_back(port->GetCounters().ordinaryBytes);
    }
}

} // namespace dltrain
