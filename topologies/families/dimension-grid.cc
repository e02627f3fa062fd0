/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/families/dims.h"

#include <utility>

namespace topo
{

DimensionGrid::DimensionGrid(std::vector<Dimension> dimensions)
    : m_dimensions(std::move(dimensions)),
      m_firstNic(1, 0)
{
    for (const Dimension& one : m_dimensions)
    {
        m_strides.push_back(m_nodes);
        m_nodes *= one.size;
        m_firstNic.push_back(m_firstNic.back() + one.Ports());
    }
}

DimensionGrid::Hop
DimensionGrid::FirstHop(uint32_t from, uint32_t to) const
{
    for (std::size_t d = 0; d < m_dimensions.size(); ++d)
    {
        const uint32_t size = m_dimensions[d].size;
        const uint32_t a = Coordinate(from, d);
        const uint32_t b = Coordinate(to, d);
        if (a == b)
        {
            continue;
        }
        const uint32_t first = m_firstNic[d];
        const uint32_t up = (b + size - a) % size; // steps
        Hop hop;
        hop.dimension = d;
        switch (m_dimensions[d].kind)
        {
        case DimensionKind::kFull:
            hop.to = Moved(from, d, up);
            hop.nic = first + up - 1;
            hop.there = first + size - up - 1;
            return hop;
        case DimensionKind::kSwitch:
            hop.to = Moved(from, d, up);
            hop.nic = hop.there = first;
            hop.links = 2;
            return hop;
        case DimensionKind::kRing:
        case DimensionKind::kLine:
            break;
        }
        const bool line = m_dimensions[d].kind == DimensionKind::kLine;
        const bool goesUp = line ? b > a : 2 * up == size ? a % 2 == 0 : 2 * up < size;
        hop.to = Moved(from, d, goesUp ? 1 : size - 1);
        hop.nic = first + (goesUp || size == 2 ? 0 : 1);
        hop.there = first + (goesUp && size > 2 ? 1 : 0);
        return hop;
    }
    return {};
}

DimensionGrid::Hop
DimensionGrid::Ends(uint32_t from, uint32_t to) const
{
    Hop ends = FirstHop(from, to);
    ends.links = 0;
    for (Hop hop = FirstHop(from, to); hop.nic != kNoNic; hop = FirstHop(hop.to, to))
    {
        ends.there = hop.there;
        ends.to = hop.to;
        ends.links += hop.links;
    }
    return ends;
}

} // namespace topo
