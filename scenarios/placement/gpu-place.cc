/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/placement/gpu-place.h"

#include "scenarios/job/scenario.h"

#include <charconv>

namespace scenario
{

std::string
FindGpu(const ClusterSpec& cluster,
        const std::vector<uint32_t>& spares,
        const std::string& name,
        GpuPlace* place)
{
    const uint32_t gpus = cluster.server.gpus;
    const uint32_t ranks = gpus * cluster.servers;
    const std::vector<topo::NodeId>& hosts = cluster.topology.Hosts();
    const auto nameOf = [&](uint32_t host) { return cluster.topology.Nodes()[hosts[host]].name; };
    const std::string allowed =
        "; allowed: gpu-0 to gpu-" + std::to_string(ranks - 1) + ", or of a server " +
        nameOf(cluster.hostOfServer[0]) + ":gpu-0 to :gpu-" + std::to_string(gpus - 1) +
        (spares.empty() ? "" : ", of a spare one " + nameOf(spares[0]) + ":gpu-0 and so on");
    const std::size_t colon = name.rfind(':');
    const std::string gpu = colon == std::string::npos ? name : name.substr(colon + 1);
    uint32_t number = 0;
    const char* end = gpu.data() + gpu.size();
    if (gpu.rfind("gpu-", 0) != 0)
    {
        return "is no GPU" + allowed;
    }
    const auto [p, bad] = std::from_chars(gpu.data() + 4, end, number);
    if (bad != std::errc() || p != end)
    {
        return "is no GPU" + allowed;
    }
    if (colon == std::string::npos)
    {
        if (number >= ranks)
        {
            return "is no GPU of this job" + allowed;
        }
        *place = {cluster.hostOfServer[number / gpus], number % gpus};
        return {};
    }
    const auto node = cluster.topology.FindNode(name.substr(0, colon));
    for (const std::vector<uint32_t>* among : {&cluster.hostOfServer, &spares})
    {
        for (const uint32_t host : node ? *among : std::vector<uint32_t>())
        {
            if (hosts[host] == *node)
            {
                *place = {host, number};
                return number < gpus ? "" : "is no GPU of that server" + allowed;
            }
        }
    }
    return "names no server of this job" + allowed;
}

} // namespace scenario
