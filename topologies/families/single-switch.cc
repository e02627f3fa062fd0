/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * All servers on one switch: a star, and the fixture of most closed forms.
 *
 *     server-0  server-1  server-2       port s x nicsPerServer + n of switch-0
 *            \        |        /         leads to NIC n of server s
 *             `--- switch-0 --'
 */
#include "topologies/family.h"

namespace topo
{

namespace
{

TopologyResult
MakeSingleSwitch(const TopologyRequest& r)
{
    TopologyResult result;
    constexpr uint64_t kMostPorts = 65535;
    if (r.hosts == 0)
    {
        result.errors.push_back({"hosts", "", "a single switch needs a number of servers", ""});
        return result;
    }
    if (uint64_t(r.hosts) * r.nicsPerServer > kMostPorts)
    {
        result.errors.push_back({"hosts",
                                 std::to_string(r.hosts),
                                 "servers of " + std::to_string(r.nicsPerServer) +
                                     " NICs need more than the " + std::to_string(kMostPorts) +
                                     " ports of a switch; fat-tree or leaf-spine have room",
                                 ""});
        return result;
    }
    Topology t;
    detail::AddServers(&t, r.hosts);
    const NodeId sw = t.AddSwitchAt("switch", 1, {0});
    detail::ConnectServers(&t, r, [sw](uint64_t) { return sw; });
    result.topology = std::move(t);
    return result;
}

Family
SingleSwitch()
{
    Family f("single-switch", "all servers on one switch");
    f.parameters = {detail::Planes()};
    f.fabricLinks = false;
    f.tiers = {"switch"};
    f.noCycles = true;
    f.make = MakeSingleSwitch;
    return f;
}

const RegisteredFamily g_singleSwitch(SingleSwitch());

} // namespace

} // namespace topo
