/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "fabric-baseline.h"

namespace dltrain
{

FabricBaseline::FabricBaseline(const ns3::RdmaFabric& fabric, int64_t now)
    : time(now),
      nics(fabric.GetNicTotals()),
      ports(fabric.GetPortTotals())
{
    for (const auto& device : fabric.GetIbSwitches())
    {
        rerouted += device->GetRerouted();
    }
    for (uint8_t reason = 0; reason < ns3::RdmaSwitch::DROP_REASONS; ++reason)
    {
        drops.push_back(fabric.GetDrops(static_cast<ns3::RdmaSwitch::DropReason>(reason)));
    }
    for (const auto& port : fabric.GetPorts())
    {
        txWireBytes.push_back(port->GetCounters().txWireBytes);
        pausedPs.push_back(port->GetPausedPs(now));
    }
}

} // namespace dltrain
