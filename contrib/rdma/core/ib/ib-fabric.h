/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What is cabled in an InfiniBand fabric, port by port.
 *
 * Port numbers. A node of the simulator numbers its ports from 0. In InfiniBand external ports are
 * 1..254, port 0 of a switch is the management port inside it, and 255 in a forwarding table means
 * "no port" (IBA vol 1, 14.2.5.10 and chapter 18). But for IbFabric everything here is in
 * InfiniBand's numbers:
 *
 *     IB port = simulator's port + 1      IbPortOf(), SimulatorPortOf()
 *
 * Errors: input that contradicts itself throws std::invalid_argument; a port above 253 (IB's 254)
 * throws IbSubnetError.
 */
#ifndef CONTRIB_RDMA_CORE_IB_IB_FABRIC_H
#define CONTRIB_RDMA_CORE_IB_IB_FABRIC_H

#include "contrib/rdma/core/ecmp-routes.h"

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace rdma
{

constexpr uint8_t kIbNoPort = 0xFF; ///< in a forwarding table
constexpr uint8_t kIbMaxPort = 254;
constexpr uint32_t kIbNone = std::numeric_limits<uint32_t>::max();

/// The subnet cannot be set up as asked; what() says why, in one sentence.
class IbSubnetError : public std::runtime_error
{
  public:
    using std::runtime_error::runtime_error;
};

constexpr uint8_t
IbPortOf(uint16_t simulatorPort)
{
    return static_cast<uint8_t>(simulatorPort + 1);
}

constexpr uint16_t
SimulatorPortOf(uint8_t ibPort)
{
    return static_cast<uint16_t>(ibPort - 1);
}

/// What is cabled. Node numbers are indices into isHost, as for EcmpRoutes.
struct IbFabric
{
    std::vector<bool> isHost;
    std::vector<RouteLink> links;
    std::vector<RouteEndpoint> endpoints; ///< every port of a host that has an adapter
    std::vector<std::string> names;       ///< one a node, or empty
    std::vector<bool> linkDown;           ///< one a link, or empty: all are up
    std::vector<bool> nodeDown;           ///< one a node, or empty: all are up
    /// Hosts that are parts of the switch they hang on, and are routed to as that is; one a node,
    /// or empty: there are none.
    std::vector<bool> isUnit = {};

    std::string Name(uint32_t node) const
    {
        if (!names.empty() && !names[node].empty())
        {
            return names[node];
        }
        return (isHost[node] ? "host " : "switch ") + std::to_string(node);
    }
};

/// Throws std::invalid_argument unless what a subnet is made of is `good`.
inline void
CheckIb(bool good, const std::string& text)
{
    if (!good)
    {
        throw std::invalid_argument("IbSubnet: " + text);
    }
}

/// What each port of each node is wired to; and which endpoint it is.
class IbWires
{
  public:
    struct Wire
    {
        uint32_t peer = kIbNone;
        uint32_t link = kIbNone;
        uint32_t endpoint = kIbNone; ///< at this side
        uint8_t peerPort = 0;
        bool up = false; ///< the link and both nodes
    };

    explicit IbWires(const IbFabric& fabric)
        : m_fabric(fabric),
          m_rows(fabric.isHost.size())
    {
        const size_t nodes = m_rows.size();
        CheckIb(fabric.names.empty() || fabric.names.size() == nodes, "names are not one a node");
        CheckIb(fabric.nodeDown.empty() || fabric.nodeDown.size() == nodes,
                "nodeDown is not one a node");
        CheckIb(fabric.linkDown.empty() || fabric.linkDown.size() == fabric.links.size(),
                "linkDown is not one a link");
        for (uint32_t l = 0; l < fabric.links.size(); ++l)
        {
            const RouteLink& link = fabric.links[l];
            CheckIb(link.a < nodes && link.b < nodes, "a link names a node that does not exist");
            (void)At(link.b, link.portB); // its range, before it is stored in 8 bits
            SetEnd(l, link.a, link.portA, link.b, link.portB);
            SetEnd(l, link.b, link.portB, link.a, link.portA);
        }
        for (uint32_t e = 0; e < fabric.endpoints.size(); ++e)
        {
            const auto [host, port] = fabric.endpoints[e];
            CheckIb(host < nodes && fabric.isHost[host],
                    "endpoint " + std::to_string(e) + " is not on a host");
            Wire& wire = At(host, port);
            CheckIb(wire.endpoint == kIbNone,
                    "endpoints " + std::to_string(wire.endpoint) + " and " + std::to_string(e) +
                        " are the same port");
            wire.endpoint = e;
        }
    }

    bool IsUp(uint32_t node) const
    {
        return m_fabric.nodeDown.empty() || !m_fabric.nodeDown[node];
    }

    /// By IB port, [0] unused; up to the highest that is wired or an endpoint.
    const std::vector<Wire>& Of(uint32_t node) const
    {
        return m_rows[node];
    }

    /// The endpoint at the other end of a wire; kIbNone: none, or a switch.
    uint32_t PeerEndpoint(const Wire& wire) const
    {
        return m_rows[wire.peer][wire.peerPort].endpoint;
    }

  private:
    /// \param port the simulator's number
    Wire& At(uint32_t node, uint16_t port)
    {
        if (port >= kIbMaxPort)
        {
            throw IbSubnetError("IbSubnet: port " + std::to_string(port) + " of " +
                                m_fabric.Name(node) + ": an InfiniBand node has 254 ports at most");
        }
        auto& row = m_rows[node];
        if (row.size() <= port + 1u)
        {
            row.resize(port + 2u);
        }
        return row[port + 1u];
    }

    void SetEnd(uint32_t l, uint32_t node, uint16_t port, uint32_t peer, uint16_t peerPort)
    {
        Wire& wire = At(node, port);
        CheckIb(wire.link == kIbNone, "two links on one port of node " + std::to_string(node));
        wire.peer = peer;
        wire.link = l;
        wire.peerPort = IbPortOf(peerPort);
        wire.up = (m_fabric.linkDown.empty() || !m_fabric.linkDown[l]) && IsUp(node) && IsUp(peer);
    }

    const IbFabric& m_fabric;
    std::vector<std::vector<Wire>> m_rows;
};

} // namespace rdma

#endif // CONTRIB_RDMA_CORE_IB_IB_FABRIC_H
