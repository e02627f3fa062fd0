/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/traffic/size-groups.h"

namespace scenario
{

std::vector<SizeGroup>
GroupBySize(const std::vector<uint64_t>& ascending, uint32_t groups)
{
    std::vector<SizeGroup> result;
    const std::size_t n = ascending.size();
    std::size_t group = 0; // group of the size before
    std::size_t next = 0;
    for (std::size_t begin = 0; begin < n; begin = next)
    {
        for (next = begin + 1; next < n && ascending[next] == ascending[begin];)
        {
            ++next;
        }
        const std::size_t middle = begin + (next - begin - 1) / 2;
        const std::size_t before = group;
        while (group + 1 < groups && (group + 1) * n / groups <= middle)
        {
            ++group;
        }
        if (result.empty() || group != before)
        {
            result.push_back({begin, next});
        }
        else
        {
            result.back().end = next;
        }
    }
    return result;
}

} // namespace scenario
