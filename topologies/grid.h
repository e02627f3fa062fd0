/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Switches on a grid, as torus and hyperx have them: switch i of sizes n_0 x n_1 x ... has the
 * coordinate (i / stride_d) mod n_d in dimension d; the last one changes fastest.
 */
#ifndef TOPOLOGIES_GRID_H
#define TOPOLOGIES_GRID_H

#include "topologies/topology.h"

#include <cstdint>
#include <string>
#include <vector>

namespace topo
{
namespace detail
{

struct Grid
{
    std::vector<uint32_t> sizes;
    std::vector<uint32_t> stride;
    std::vector<NodeId> switches; ///< by number

    uint32_t Coordinate(uint32_t number, std::size_t dimension) const
    {
        return number / stride[dimension] % sizes[dimension];
    }
};

/// Adds its switches, of tier 1. \param sizes one or more, together at most kMostNodes
Grid AddGrid(Topology* topology, const std::string& kind, const std::vector<uint32_t>& sizes);

} // namespace detail
} // namespace topo

#endif // TOPOLOGIES_GRID_H
