/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Networks of dimensions for those who read them from elsewhere, and the arithmetic of their nodes.
 */
#ifndef TOPOLOGIES_FAMILIES_DIMS_H
#define TOPOLOGIES_FAMILIES_DIMS_H

#include "topologies/dimensions.h"
#include "topologies/family.h"

#include <cstdint>
#include <vector>

namespace topo
{

/// Nodes, NICs and ways of a product of dimensions (families/dims.cc).
class DimensionGrid
{
  public:
    static constexpr uint32_t kNoNic = UINT32_MAX;

    explicit DimensionGrid(std::vector<Dimension> dimensions);

    const std::vector<Dimension>& Dimensions() const
    {
        return m_dimensions;
    }

    uint32_t Nodes() const
    {
        return m_nodes;
    }

    /// NICs of each node.
    uint32_t Ports() const
    {
        return m_firstNic.back();
    }

    uint32_t FirstNic(std::size_t dimension) const
    {
        return m_firstNic[dimension];
    }

    uint32_t Coordinate(uint32_t node, std::size_t dimension) const
    {
        return node / m_strides[dimension] % m_dimensions[dimension].size;
    }

    uint32_t Stride(std::size_t dimension) const
    {
        return m_strides[dimension];
    }

    /// The node so many further in a dimension, round its end.
    uint32_t Moved(uint32_t node, std::size_t dimension, uint32_t by) const
    {
        const uint32_t size = m_dimensions[dimension].size;
        const uint32_t at = Coordinate(node, dimension);
        return node - at * m_strides[dimension] + (at + by) % size * m_strides[dimension];
    }

    /// A link on the way between two nodes, as its sender and its receiver have it.
    struct Hop
    {
        std::size_t dimension = 0;
        uint32_t to = 0;         ///< the node behind it
        uint32_t nic = kNoNic;   ///< NIC of the sender for this link
        uint32_t there = kNoNic; ///< NIC of the receiver for it
        uint32_t links = 1;      ///< of a switch 2
    };

    /// The first hop by dimension order; kNoNic if both are one node.
    Hop FirstHop(uint32_t from, uint32_t to) const;

    /// \return the NICs of both ends of the way, that of the first hop and that of the last
    Hop Ends(uint32_t from, uint32_t to) const;

  private:
    std::vector<Dimension> m_dimensions;
    std::vector<uint32_t> m_strides;
    std::vector<uint32_t> m_firstNic; ///< and all of them
    uint32_t m_nodes = 1;
};

namespace detail
{

/// \param result with notes so far
TopologyResult MakeDimensions(const TopologyRequest& r,
                              std::vector<Dimension> dimensions,
                              TopologyResult result);

} // namespace detail

} // namespace topo

#endif // TOPOLOGIES_FAMILIES_DIMS_H
