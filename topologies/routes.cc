/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/routes.h"

#include <cstdint>

namespace topo
{

namespace
{

/// Follows the next hops from one switch on, depth first.
class Follower
{
  public:
    Follower(const Topology& topology, const rdma::EcmpRoutes& routes, EndpointId endpoint)
        : m_topology(topology),
          m_routes(routes),
          m_endpoint(endpoint),
          m_state(topology.Nodes().size(), State::kNew)
    {
    }

    std::string From(NodeId start)
    {
        struct Visit
        {
            NodeId node;
            uint32_t next; ///< of its next hops
        };

        std::vector<Visit> path{{start, 0}};
        m_state[start] = State::kOnPath;
        while (!path.empty())
        {
            const NodeId node = path.back().node;
            const auto hops = m_routes.NextHops(node, m_endpoint);
            if (path.back().next == hops.size)
            {
                m_state[node] = State::kDone;
                path.pop_back();
                continue;
            }
            const NodeId peer = m_topology.Peer(node, hops[path.back().next++]);
            if (m_topology.Nodes()[peer].kind == NodeKind::kHost)
            {
                if (peer != m_topology.Endpoints()[m_endpoint].host)
                {
                    return "end at host " + Name(peer);
                }
                continue;
            }
            if (m_state[peer] == State::kOnPath)
            {
                std::string circle = Name(peer);
                for (std::size_t i = path.size(); i-- > 0 && path[i].node != peer;)
                {
                    circle = Name(path[i].node) + " -> " + circle;
                }
                return "go " + Name(peer) + " -> " + circle + " in a circle";
            }
            if (m_state[peer] == State::kNew)
            {
                if (m_routes.NextHops(peer, m_endpoint).empty())
                {
                    return "end at switch " + Name(peer) + ", which has no way on";
                }
                m_state[peer] = State::kOnPath;
                path.push_back({peer, 0});
            }
        }
        return {};
    }

    bool IsNew(NodeId node) const
    {
        return m_state[node] == State::kNew;
    }

  private:
    enum class State : uint8_t
    {
        kNew,
        kOnPath,
        kDone
    };

    const std::string& Name(NodeId node) const
    {
        return m_topology.Nodes()[node].name;
    }

    const Topology& m_topology;
    const rdma::EcmpRoutes& m_routes;
    EndpointId m_endpoint;
    std::vector<State> m_state;
};

} // namespace

std::string
WhyNoRoute(const Topology& topology, const rdma::EcmpRoutes& routes, EndpointId endpoint)
{
    Follower follower(topology, routes, endpoint);
    for (NodeId node = 0; node < topology.Nodes().size(); ++node)
    {
        const bool isSwitch = topology.Nodes()[node].kind == NodeKind::kSwitch;
        if (isSwitch && follower.IsNew(node) && !routes.NextHops(node, endpoint).empty())
        {
            const std::string wrong = follower.From(node);
            if (!wrong.empty())
            {
                return wrong;
            }
        }
    }
    return {};
}

} // namespace topo
