/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Full mesh: every switch has a link to every other one.
 *
 *     mesh-0 ------- mesh-1        ports-per-mesh server ports a switch, filled one after another
 *       |  \       /   |           one link of the fabric rate between any two switches
 *       |    \   /     |
 *       |    /   \     |           m switches: m (m - 1) / 2 links, one shortest path
 *       |  /       \   |
 *     mesh-2 ------- mesh-3
 *
 * What is not given is chosen: as many server ports a switch as there are switches.
 */
#include "topologies/family.h"
#include "topologies/names.h"

namespace topo
{

namespace
{

TopologyResult
MakeFullMesh(const TopologyRequest& r)
{
    TopologyResult result;
    if (r.hosts == 0)
    {
        result.errors.push_back({"hosts", "", "a full mesh needs a number of servers", ""});
        return result;
    }
    const uint64_t ports = uint64_t(r.hosts) * r.nicsPerServer;
    uint64_t perSwitch = r.parameters.Count("ports-per-mesh");
    while (!r.parameters.Has("ports-per-mesh") && perSwitch * perSwitch < ports)
    {
        ++perSwitch;
    }
    const uint64_t switches = (ports + perSwitch - 1) / perSwitch;
    constexpr uint64_t kMostSwitches = 1024; // links grow with the square
    if (switches > kMostSwitches)
    {
        result.errors.push_back({"ports-per-mesh",
                                 std::to_string(perSwitch),
                                 "server ports a switch make " + std::to_string(switches) +
                                     " switches; allowed: at most " + std::to_string(kMostSwitches),
                                 ""});
        return result;
    }
    Topology t;
    for (uint32_t s = 0; s < r.hosts; ++s)
    {
        t.AddHost("server-" + std::to_string(s));
    }
    std::vector<NodeId> mesh;
    for (uint32_t s = 0; s < switches; ++s)
    {
        mesh.push_back(t.AddSwitchAt("mesh", 1, {s})); // called mesh-0, ...
    }
    for (uint64_t p = 0; p < ports; ++p)
    {
        t.Connect(t.Hosts()[p / r.nicsPerServer],
                  mesh[p / perSwitch],
                  r.linkRate,
                  r.linkDelay,
                  r.bitErrorRate);
    }
    const rdma::BitRate rate = r.fabricRate.bps == 0 ? r.linkRate : r.fabricRate;
    for (size_t a = 0; a < mesh.size(); ++a)
    {
        for (size_t b = a + 1; b < mesh.size(); ++b)
        {
            t.Connect(mesh[a], mesh[b], rate, r.linkDelay, r.bitErrorRate);
        }
    }
    Description about;
    about.name = "full-mesh, " + Counted(switches, "switch", "switches");
    about.parameters.SetCount("ports-per-mesh", perSwitch);
    t.Describe(std::move(about));
    result.notes.push_back("full-mesh: " + Counted(switches, "switch", "switches") + " of " +
                           Counted(perSwitch, "server port"));
    result.topology = std::move(t);
    return result;
}

Family
FullMesh()
{
    Family f("full-mesh", "switches that are all linked to one another (ports per mesh)");
    f.parameters = {
        CountParameter("ports-per-mesh", "server ports of a switch")
            .Chosen("as many as there are switches")
            .Example("3"),
    };
    f.tiers = {"mesh"};
    f.make = MakeFullMesh;
    return f;
}

const RegisteredFamily g_fullMesh(FullMesh());

} // namespace

} // namespace topo
