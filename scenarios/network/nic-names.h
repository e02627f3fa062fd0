/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Ethernet's network interfaces by name; InfiniBand's are in infiniband.h.
 */
#ifndef SCENARIOS_NETWORK_NIC_NAMES_H
#define SCENARIOS_NETWORK_NIC_NAMES_H

#include "contrib/rdma/core/units.h"
#include "scenarios/options/options.h"

#include <string>
#include <vector>

namespace scenario
{

struct NicName
{
    const char* name;
    const char* description;
    rdma::BitRate rate;
};

inline const std::vector<NicName>&
NicNames()
{
    static const std::vector<NicName> names = {
        {"10GbE", "RoCEv2, 10 Gb/s", rdma::Gbps(10)},
        {"25GbE", "RoCEv2, 25 Gb/s", rdma::Gbps(25)},
        {"40GbE", "RoCEv2, 40 Gb/s", rdma::Gbps(40)},
        {"50GbE", "RoCEv2, 50 Gb/s", rdma::Gbps(50)},
        {"100GbE", "RoCEv2, 100 Gb/s", rdma::Gbps(100)},
        {"200GbE", "RoCEv2, 200 Gb/s", rdma::Gbps(200)},
        {"400GbE", "RoCEv2, 400 Gb/s", rdma::Gbps(400)},
        {"800GbE", "RoCEv2, 800 Gb/s", rdma::Gbps(800)},
    };
    return names;
}

/// The same as errors and --help list them.
inline std::vector<NamedItem>
EthernetNicItems()
{
    std::vector<NamedItem> items;
    for (const NicName& nic : NicNames())
    {
        items.push_back({nic.name, nic.description});
    }
    return items;
}

} // namespace scenario

#endif // SCENARIOS_NETWORK_NIC_NAMES_H
