/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * An InfiniBand subnet as its manager sees it: nodes and ports, GUIDs and LIDs. Ports have
 * InfiniBand's numbers: ib-fabric.h.
 */
#ifndef CONTRIB_RDMA_CORE_IB_IB_SUBNET_H
#define CONTRIB_RDMA_CORE_IB_IB_SUBNET_H

#include "ib-fabric.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rdma
{

/// Made by DiscoverIbSubnet (ib-discovery.h).
class IbSubnet
{
  public:
    /// What port `port` of a switch is wired to.
    struct Peer
    {
        uint32_t node = kIbNone;        ///< kIbNone: nothing
        uint32_t switchIndex = kIbNone; ///< of the node, if it is a switch
        uint32_t endpoint = kIbNone;    ///< of the node's port, if it is a host's
        uint32_t link = kIbNone;        ///< index into IbFabric::links
        uint8_t port = 0;               ///< IB number at the node
        bool live = false;              ///< link and both nodes are up, and the walk came here
    };

    struct Switch
    {
        uint32_t node = kIbNone;
        uint64_t guid = 0;
        uint16_t lid = 0; ///< of port 0; 0: none yet
        uint8_t lmc = 0;
        uint8_t ports = 0; ///< external ports: the highest that is wired
        bool reached = false;
        std::vector<Peer> peers; ///< [0..ports], [0] unused
    };

    struct Endpoint
    {
        uint32_t node = kIbNone;
        uint64_t guid = 0;
        uint16_t lid = 0; ///< base LID; 0: none yet
        uint8_t lmc = 0;
        uint8_t port = 0; ///< IB number
        bool reached = false;
        bool unit = false;              ///< IbFabric::isUnit
        uint32_t switchIndex = kIbNone; ///< of the switch that it is wired to; live or not
        uint8_t switchPort = 0;
        uint32_t direct = kIbNone; ///< the endpoint that it is wired to without a switch
    };

    /// Who answers to a LID: one of the two is kIbNone, or both for a LID not given.
    struct Owner
    {
        uint32_t endpoint = kIbNone;
        uint32_t switchIndex = kIbNone;
    };

    /// All switches by ascending node number, reached or not: an index stays the same over sweeps.
    const std::vector<Switch>& Switches() const
    {
        return m_switches;
    }

    /// As in IbFabric::endpoints.
    const std::vector<Endpoint>& Endpoints() const
    {
        return m_endpoints;
    }

    bool HasNode(uint32_t node) const
    {
        return node < m_switchOfNode.size();
    }

    /// kIbNone for a host.
    uint32_t SwitchOfNode(uint32_t node) const
    {
        return m_switchOfNode[node];
    }

    Owner OwnerOf(uint32_t lid) const
    {
        return lid < m_owners.size() ? m_owners[lid] : Owner{};
    }

    /// The highest LID given; 0: none.
    uint16_t TopLid() const
    {
        return static_cast<uint16_t>(m_owners.size() - 1);
    }

    /// Nodes in the order in which the walk met them.
    const std::vector<uint32_t>& DiscoveryOrder() const
    {
        return m_order;
    }

    /// Nodes of switches; includes those that are down.
    std::vector<uint32_t> UnreachedSwitches() const
    {
        std::vector<uint32_t> all;
        for (const Switch& s : m_switches)
        {
            if (!s.reached)
            {
                all.push_back(s.node);
            }
        }
        return all;
    }

    /// Indices of endpoints; includes those that are down or not wired.
    std::vector<uint32_t> UnreachedEndpoints() const
    {
        std::vector<uint32_t> all;
        for (uint32_t e = 0; e < m_endpoints.size(); ++e)
        {
            if (!m_endpoints[e].reached)
            {
                all.push_back(e);
            }
        }
        return all;
    }

    const std::string& Name(uint32_t node) const
    {
        return m_names[node];
    }

    uint8_t Lmc() const
    {
        return m_lmc;
    }

    size_t MemoryBytes() const;

  private:
    friend class IbDiscovery;

    std::vector<Switch> m_switches;
    std::vector<Endpoint> m_endpoints;
    std::vector<uint32_t> m_switchOfNode;
    std::vector<Owner> m_owners = std::vector<Owner>(1); ///< by LID
    std::vector<uint32_t> m_order;
    std::vector<std::string> m_names;
    uint8_t m_lmc = 0;
};

inline size_t
IbSubnet::MemoryBytes() const
{
    size_t bytes = m_switches.capacity() * sizeof(Switch) +
                   m_endpoints.capacity() * sizeof(Endpoint) +
                   (m_switchOfNode.capacity() + m_order.capacity()) * sizeof(uint32_t) +
                   m_owners.capacity() * sizeof(Owner) + m_names.capacity() * sizeof(std::string);
    for (const Switch& s : m_switches)
    {
        bytes += s.peers.capacity() * sizeof(Peer);
    }
    return bytes;
}

} // namespace rdma

#endif // CONTRIB_RDMA_CORE_IB_IB_SUBNET_H
