/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_EXAMPLES_ONE_SWITCH_H
#define RDMA_EXAMPLES_ONE_SWITCH_H

#include "ns3/rdma-fabric-helper.h"

#include <string>
#include <vector>

/// Hosts h0, h1, ... on one switch; 100 Gb/s and 1 us everywhere.
struct OneSwitch
{
    explicit OneSwitch(uint32_t hosts)
    {
        for (uint32_t i = 0; i < hosts; ++i)
        {
            nodes.push_back({"h" + std::to_string(i), false});
            links.push_back({i, hosts, 100000000000, 1000000, 0});
        }
        nodes.push_back({"switch", true});
    }

    std::vector<ns3::RdmaNodeSpec> nodes;
    std::vector<ns3::RdmaLinkSpec> links;
};

#endif /* RDMA_EXAMPLES_ONE_SWITCH_H */
