/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/grid.h"

namespace topo
{
namespace detail
{

Grid
AddGrid(Topology* topology, const std::string& kind, const std::vector<uint32_t>& sizes)
{
    Grid grid{sizes, std::vector<uint32_t>(sizes.size(), 1), {}};
    for (std::size_t d = sizes.size() - 1; d-- > 0;)
    {
        grid.stride[d] = grid.stride[d + 1] * sizes[d + 1];
    }
    const uint32_t count = grid.stride[0] * sizes[0];
    grid.switches.reserve(count);
    for (uint32_t i = 0; i < count; ++i)
    {
        std::vector<uint32_t> at;
        for (std::size_t d = 0; d < sizes.size(); ++d)
        {
            at.push_back(grid.Coordinate(i, d));
        }
        grid.switches.push_back(topology->AddSwitchAt(kind, 1, at));
    }
    return grid;
}

} // namespace detail
} // namespace topo
