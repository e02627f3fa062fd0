/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The links that messages between servers share. For two endpoints they are the links of all
 * shortest paths. The links of one hop form a bundle, as if messages spread evenly over equal
 * paths.
 *
 *     server - leaf = spines = leaf - server      4 of them: the server's link, the leaf's links to
 *                                                 the spines, those down to the other leaf, and the
 *                                                 other server's link
 *
 * Two pairs share a bundle if it is the same set of links. Where hashes send flows to one of
 * several equal links, flows may collide although others are free. Such collisions are not modelled
 * here.
 *
 *     time    a breadth-first search for each switch with hosts that a path leads to, and the links
 *             of the shortest paths for each pair of such switches; both when first asked for
 */
#ifndef TOPOLOGIES_SCALE_UP_SHARED_LINKS_H
#define TOPOLOGIES_SCALE_UP_SHARED_LINKS_H

#include "topologies/topology.h"

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

namespace topo
{

class SharedLinks
{
  public:
    /// A hop's links in one direction.
    struct Bundle
    {
        double rate = 0;    ///< B/s of all
        double oneRate = 0; ///< B/s of the fastest, which is what one flow gets
    };

    struct Path
    {
        /// Indices into Bundles(), in order; empty: there is no path.
        std::vector<uint32_t> bundles;
        uint32_t links = 0; ///< crossed
    };

    explicit SharedLinks(const Topology& topology);

    /// From a server's endpoint to another's. With several planes: those of all planes together.
    /// The answer stays as long as this does.
    const Path& Between(EndpointId from, EndpointId to);

    /// So far.
    const std::vector<Bundle>& Bundles() const
    {
        return m_bundles;
    }

    /// The switch an endpoint hangs on; of one that hangs on another host, that host.
    NodeId AttachmentOf(EndpointId endpoint) const;

  private:
    /// A link, and from which side.
    static uint32_t Directed(LinkId link, bool fromA)
    {
        return link * 2 + (fromA ? 0 : 1);
    }

    LinkId LinkOf(EndpointId endpoint) const;
    uint32_t BundleOf(std::vector<uint32_t> directed);
    /// Distances of all switches to one.
    const std::vector<uint16_t>& DistancesTo(NodeId attachment);
    /// The bundles between the switches of two attachments.
    const std::vector<uint32_t>& Middle(NodeId from, NodeId to);

    Topology m_topology;
    double m_planes;
    std::vector<Bundle> m_bundles;
    std::map<std::vector<uint32_t>, uint32_t> m_bundleOf; ///< by directed links, sorted
    std::unordered_map<NodeId, std::vector<uint16_t>> m_distances;
    std::unordered_map<uint64_t, std::vector<uint32_t>> m_middle; ///< by two attachments
    std::unordered_map<uint64_t, Path> m_paths;                   ///< by two endpoints
};

} // namespace topo

#endif // TOPOLOGIES_SCALE_UP_SHARED_LINKS_H
