/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Rail-optimized: NIC i of every server of a group on the group's rail switch i, all rail switches
 * joined by spines. 2 rails, groups of 2 servers:
 *
 *            spine-0            spine-1
 *          //   |   \\  ...                        every rail switch to every spine
 *     rail-0-0  rail-0-1    rail-1-0  rail-1-1     switch of group, rail
 *      |    \   /    |       |    \   /    |
 *      |     \ /     |       |     \ /     |       NIC 0 left, NIC 1 right
 *      |     / \     |       |     / \     |
 *      server-0  server-1    server-2  server-3
 *
 * GPUs of the same place in servers of a group are one switch apart, where ring and tree
 * collectives go; what goes to another rail crosses a spine, unless it goes to the GPU beside that
 * rail's NIC inside the server first (PXN). NVIDIA's DGX SuperPOD is built so (sources and sizes:
 * rails.h).
 */
#include "topologies/rails.h"

namespace topo
{

namespace
{

Family
RailOptimized()
{
    Family f("rail-optimized",
             "NIC i of every server on rail switch i of its group, spines above (rails, hosts per "
             "rail, switch ports, spines, oversubscription)");
    f.parameters = RailParameters();
    f.part = "group";
    f.tiers = {"rail", "spine"};
    f.noCycles = true;
    f.make = [](const TopologyRequest& r) { return MakeRails(r, false); };
    return f;
}

const RegisteredFamily g_railOptimized(RailOptimized());

} // namespace

} // namespace topo
