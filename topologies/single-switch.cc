/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/single-switch.h"

namespace topo
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
    for (uint32_t s = 0; s < r.hosts; ++s)
    {
        t.AddHost("server-" + std::to_string(s));
    }
    const NodeId sw = t.AddSwitch("switch-0", 1);
    for (uint32_t s = 0; s < r.hosts; ++s)
    {
        for (uint32_t n = 0; n < r.nicsPerServer; ++n)
        {
            t.Connect(t.Hosts()[s], sw, r.linkRate, r.linkDelay, r.bitErrorRate);
        }
    }
    result.topology = std::move(t);
    return result;
}

} // namespace topo
