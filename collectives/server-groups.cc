/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/server-groups.h"

namespace coll
{

std::string
UnevenServers(const Placement& placement)
{
    const auto servers = RanksByServer(placement);
    for (const auto& ranks : servers)
    {
        if (ranks.size() != servers.front().size())
        {
            return "it needs the same number of ranks on every server, but server " +
                   std::to_string(placement.serverOf[servers.front().front()]) + " has " +
                   std::to_string(servers.front().size()) + " and server " +
                   std::to_string(placement.serverOf[ranks.front()]) + " has " +
                   std::to_string(ranks.size());
        }
    }
    return {};
}

std::string
TwoLevelAlgorithm::WhyNot(const Collective& what,
                          const Placement& placement,
                          const AlgorithmOptions& options) const
{
    const std::string why = OneOpAlgorithm::WhyNot(what, placement, options);
    return why.empty() ? UnevenServers(placement) : why;
}

} // namespace coll
