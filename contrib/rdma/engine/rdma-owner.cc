/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-owner.h"

#include "rdma-event-order.h"

#include "ns3/abort.h"
#include "ns3/boolean.h"
#include "ns3/global-value.h"
#include "ns3/simulator.h"

namespace ns3
{

namespace
{

GlobalValue g_checkOwners("RdmaCheckOwners",
                          "Whether it is checked that a node's state changes by its own events "
                          "only; what breaks that ends the program. For tests",
                          BooleanValue(false),
                          MakeBooleanChecker());

} // namespace

bool RdmaOwner::g_checks = false;
uint64_t RdmaOwner::g_checked = 0;

void
RdmaOwner::ReadGlobalValue()
{
    BooleanValue value;
    g_checkOwners.GetValue(value);
    g_checks = value.Get();
}

void
RdmaOwner::Assert(uint32_t node, const char* what)
{
    ++g_checked;
    const uint32_t context = Simulator::GetContext();
    NS_ABORT_MSG_IF(context != node && !RdmaEventOrder::IsGlobal(context),
                    "an event of node " << context << " " << what << " of node " << node << ", at "
                                        << Simulator::Now().As(Time::NS));
}

} // namespace ns3
