/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/scale-up/shared-links.h"

#include <algorithm>

namespace topo
{

namespace
{

constexpr uint16_t kUnreached = 0xffff;

uint64_t
KeyOf(uint32_t a, uint32_t b)
{
    return static_cast<uint64_t>(a) << 32 | b;
}

} // namespace

SharedLinks::SharedLinks(const Topology& topology)
    : m_topology(topology),
      m_planes(std::max(1U, topology.About().planes))
{
}

LinkId
SharedLinks::LinkOf(EndpointId endpoint) const
{
    const Endpoint& at = m_topology.Endpoints()[endpoint];
    return m_topology.Nodes()[at.host].ports[at.port];
}

NodeId
SharedLinks::AttachmentOf(EndpointId endpoint) const
{
    const Endpoint& at = m_topology.Endpoints()[endpoint];
    return m_topology.Peer(at.host, at.port);
}

uint32_t
SharedLinks::BundleOf(std::vector<uint32_t> directed)
{
    std::sort(directed.begin(), directed.end());
    const auto [found, isNew] =
        m_bundleOf.try_emplace(std::move(directed), static_cast<uint32_t>(m_bundles.size()));
    if (isNew)
    {
        Bundle bundle;
        for (const uint32_t link : found->first)
        {
            const double rate = static_cast<double>(m_topology.Links()[link / 2].rate.bps) / 8;
            bundle.rate += rate * m_planes; // all planes are alike
            bundle.oneRate = std::max(bundle.oneRate, rate * m_planes);
        }
        m_bundles.push_back(bundle);
    }
    return found->second;
}

const std::vector<uint16_t>&
SharedLinks::DistancesTo(NodeId attachment)
{
    std::vector<uint16_t>& distance = m_distances[attachment];
    if (!distance.empty())
    {
        return distance;
    }
    const std::vector<Node>& nodes = m_topology.Nodes();
    distance.assign(nodes.size(), kUnreached);
    std::vector<NodeId> queue = {attachment};
    distance[attachment] = 0;
    for (std::size_t i = 0; i < queue.size(); ++i)
    {
        const NodeId node = queue[i];
        for (const LinkId l : nodes[node].ports)
        {
            const Link& link = m_topology.Links()[l];
            const NodeId peer = link.a == node ? link.b : link.a;
            if (nodes[peer].kind == NodeKind::kSwitch && distance[peer] == kUnreached)
            {
                distance[peer] = distance[node] + 1;
                queue.push_back(peer);
            }
        }
    }
    return distance;
}

const std::vector<uint32_t>&
SharedLinks::Middle(NodeId from, NodeId to)
{
    const auto [found, isNew] = m_middle.try_emplace(KeyOf(from, to));
    std::vector<uint32_t>& bundles = found->second;
    const std::vector<uint16_t>& distance = DistancesTo(to);
    if (!isNew || distance[from] == kUnreached)
    {
        return bundles;
    }
    const std::vector<Node>& nodes = m_topology.Nodes();
    std::vector<NodeId> layer = {from};
    while (layer.front() != to)
    {
        std::vector<uint32_t> directed;
        std::vector<NodeId> next;
        for (const NodeId node : layer)
        {
            for (const LinkId l : nodes[node].ports)
            {
                const Link& link = m_topology.Links()[l];
                const NodeId peer = link.a == node ? link.b : link.a;
                if (nodes[peer].kind == NodeKind::kSwitch && distance[peer] + 1 == distance[node])
                {
                    directed.push_back(Directed(l, link.a == node));
                    next.push_back(peer);
                }
            }
        }
        std::sort(next.begin(), next.end());
        next.erase(std::unique(next.begin(), next.end()), next.end());
        bundles.push_back(BundleOf(std::move(directed)));
        layer = std::move(next);
    }
    return bundles;
}

const SharedLinks::Path&
SharedLinks::Between(EndpointId from, EndpointId to)
{
    const auto [found, isNew] = m_paths.try_emplace(KeyOf(from, to));
    Path& path = found->second;
    if (!isNew)
    {
        return path;
    }
    const Endpoint& a = m_topology.Endpoints()[from];
    const Endpoint& b = m_topology.Endpoints()[to];
    const LinkId out = LinkOf(from);
    const LinkId in = LinkOf(to);
    const NodeId switchOfA = AttachmentOf(from);
    const NodeId switchOfB = AttachmentOf(to);
    const auto directed = [this](LinkId link, NodeId node) {
        return Directed(link, m_topology.Links()[link].a == node);
    };
    if (switchOfA == b.host)
    {
        path.bundles = {BundleOf({directed(out, a.host)})};
        path.links = 1;
        return path;
    }
    const auto isSwitch = [this](NodeId node) {
        return m_topology.Nodes()[node].kind == NodeKind::kSwitch;
    };
    if (!isSwitch(switchOfA) || !isSwitch(switchOfB) ||
        DistancesTo(switchOfB)[switchOfA] == kUnreached)
    {
        return path;
    }
    const std::vector<uint32_t>& middle = Middle(switchOfA, switchOfB);
    path.bundles = {BundleOf({directed(out, a.host)})};
    path.bundles.insert(path.bundles.end(), middle.begin(), middle.end());
    path.bundles.push_back(BundleOf({directed(in, switchOfB)}));
    path.links = static_cast<uint32_t>(path.bundles.size());
    return path;
}

} // namespace topo
