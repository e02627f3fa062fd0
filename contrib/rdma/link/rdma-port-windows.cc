/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The node-window engine's loop, for ports.
 */
#include "rdma-channel.h"
#include "rdma-port.h"

#include "ns3/node-window-loop.h"

namespace ns3
{

namespace
{

const NodeWindowPortsOf<RdmaPort> g_rdmaPorts;

} // namespace

} // namespace ns3
