/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Flows cut by size into groups of about the same number, for the slowdown over flow size.
 *
 * A group is made of whole sizes: flows of one size are never in two groups. The analysis of HPCC's
 * ns-3 code (alibaba-edu/High-Precision-Congestion-Control, analysis/fct_analysis.py) cuts the n
 * flows at i n / g, whatever their sizes, after a sort by size in which equal sizes end up in the
 * order of their slowdown: flows of one size become g groups, each slower than the one before.
 * Where all sizes differ the groups here are those of that code.
 */
#ifndef SCENARIOS_TRAFFIC_SIZE_GROUPS_H
#define SCENARIOS_TRAFFIC_SIZE_GROUPS_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace scenario
{

/// Flows begin to end - 1 of the ascending sizes.
struct SizeGroup
{
    std::size_t begin = 0;
    std::size_t end = 0;
};

/// The groups, ascending, none of them empty, all flows in them: at most `groups`, and at most one
/// per size. Flows are cut at i n / groups. A size belongs to the group that has the middle one of
/// its flows (the lower one of two).
/// \param ascending bytes of every flow
std::vector<SizeGroup> GroupBySize(const std::vector<uint64_t>& ascending, uint32_t groups);

} // namespace scenario

#endif // SCENARIOS_TRAFFIC_SIZE_GROUPS_H
