/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The node-window engine's events that are not needed: what happens in them is done in another one,
 * or when somebody looks.
 */
#include "node-window-ports.h"
#include "node-windows.h"

namespace ns3
{

uint64_t
NodeWindows::GetSparedEvents() const
{
    int64_t count = 0;
    for (const Unit& unit : m_units)
    {
        count += unit.spared;
    }
    return static_cast<uint64_t>(count);
}

void
NodeWindows::Listen()
{
    for (Unit& unit : m_units)
    {
        for (NodeWindowPort* port : unit.arrivals.GetPorts())
        {
            NodeWindowPorts::Get().Listen(*port);
        }
    }
}

} // namespace ns3
