/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Rail-only: each rail is a network of its own, and nothing but the links inside servers joins
 * them. 2 rails, groups of 2 servers, and the same with one group:
 *
 *        spine-0              spine-1                rail-0-0             rail-0-1
 *        /     \              /     \                 |  |  |             |  |  |
 *   rail-0-0 rail-1-0   rail-0-1 rail-1-1             NIC 0 of            NIC 1 of
 *     |  |     |  |       |  |     |  |               every server        every server
 *     NIC 0 of 0, 1,      NIC 1 of 0, 1,
 *        2, 3                2, 3
 *
 * W. Wang, M. Ghobadi, K. Shakeri, Y. Zhang, N. Hasani, "Rail-only: A Low-Cost High-Performance
 * Network for Training LLMs with Trillion Parameters", arXiv 2307.12169: a Clos network a rail, no
 * spine across rails; what goes to another rail is forwarded inside a server.
 */
#include "topologies/rails.h"

namespace topo
{

namespace
{

Family
RailOnly()
{
    Family f("rail-only",
             "NIC i of every server on rail i, each rail a network of its own (rails, hosts per "
             "rail, switch ports, spines of a rail, oversubscription)");
    f.parameters = RailParameters();
    f.part = "group";
    f.tiers = {"rail", "spine"};
    f.noCycles = true;
    f.make = [](const TopologyRequest& r) { return MakeRails(r, true); };
    return f;
}

const RegisteredFamily g_railOnly(RailOnly());

} // namespace

} // namespace topo
