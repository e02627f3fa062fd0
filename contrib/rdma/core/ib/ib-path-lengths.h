/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How much longer are the paths of these tables than shortest ones, and with how many virtual lanes
 * could dfsssp take those?
 *
 *     IbPathLengths lengths = IbMeasurePaths(subnet, tables);
 *     lengths.taken / lengths.shortest // 1.074 for updn on a ring of six switches
 *     IbLanesOfShortest(subnet, 8)     // 2 there
 *
 * Links between switches, mean of all pairs of host ports behind different switches, the first LID
 * of each. O(switches x host ports x links of a path).
 */
#ifndef CONTRIB_RDMA_CORE_IB_IB_PATH_LENGTHS_H
#define CONTRIB_RDMA_CORE_IB_IB_PATH_LENGTHS_H

#include "ib-routing-dfsssp.h"

namespace rdma
{

struct IbPathLengths
{
    double taken = 0;
    double shortest = 0; ///< 0: no two host ports are behind different switches
};

inline IbPathLengths
IbMeasurePaths(const IbSubnet& subnet, const IbTables& tables)
{
    const IbSwitchGraph graph = IbSwitchGraph::Of(subnet);
    uint64_t pairs = 0;
    uint64_t taken = 0;
    uint64_t shortest = 0;
    std::vector<uint32_t> distance;
    std::vector<uint32_t> order;
    for (uint32_t from = 0; from < graph.Size(); ++from)
    {
        if (graph.hosts[from] == 0)
        {
            continue;
        }
        distance.assign(graph.Size(), kIbNone);
        order.assign(1, from);
        distance[from] = 0;
        for (std::size_t i = 0; i < order.size(); ++i)
        {
            for (uint32_t a = graph.begin[order[i]]; a < graph.begin[order[i] + 1]; ++a)
            {
                if (distance[graph.arcs[a].to] == kIbNone)
                {
                    distance[graph.arcs[a].to] = distance[order[i]] + 1;
                    order.push_back(graph.arcs[a].to);
                }
            }
        }
        for (uint32_t to = 0; to < graph.Size(); ++to)
        {
            for (const IbSwitchGraph::Destination& destination : graph.destinations[to])
            {
                if (to == from || !destination.host || distance[to] == kIbNone)
                {
                    continue;
                }
                uint32_t links = 0;
                uint32_t at = from;
                while (at != to && at != kIbNone && links <= graph.Size())
                {
                    const uint8_t port = tables.OutPort(at, destination.lid);
                    const auto& peers = subnet.Switches()[at].peers;
                    at = port < peers.size() ? peers[port].switchIndex : kIbNone;
                    ++links;
                }
                if (at == to)
                {
                    pairs += graph.hosts[from];
                    taken += uint64_t{graph.hosts[from]} * links;
                    shortest += uint64_t{graph.hosts[from]} * distance[to];
                }
            }
        }
    }
    const auto mean = [pairs](uint64_t sum) {
        return pairs ? static_cast<double>(sum) / static_cast<double>(pairs) : 0;
    };
    return {mean(taken), mean(shortest)};
}

/// \param most data VLs
/// \return with how many data VLs, 1, 2, 4 or 8, dfsssp can route it; 0: it needs more than `most`
inline uint32_t
IbLanesOfShortest(const IbSubnet& subnet, uint32_t most)
{
    IbRoutingOptions options;
    for (uint32_t lanes = 1; lanes <= most; lanes *= 2)
    {
        options.vls = static_cast<uint8_t>(lanes);
        if (IbTryDfsssp(subnet, options, IbBalance::kNone))
        {
            return lanes;
        }
    }
    return 0;
}

} // namespace rdma

#endif // CONTRIB_RDMA_CORE_IB_IB_PATH_LENGTHS_H
