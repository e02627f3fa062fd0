/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "results/load-spread.h"

#include <algorithm>
#include <cmath>

namespace results
{

LoadSpread
SpreadOf(const std::vector<double>& loads)
{
    double sum = 0;
    double squares = 0;
    double most = 0;
    for (const double load : loads)
    {
        sum += load;
        squares += load * load;
        most = std::max(most, load);
    }
    LoadSpread spread;
    if (sum > 0)
    {
        const double n = static_cast<double>(loads.size());
        const double mean = sum / n;
        double apart = 0; // not from the squares: of equal loads it has to be 0
        for (const double load : loads)
        {
            apart += (load - mean) * (load - mean);
        }
        spread.maxOverMean = most / mean;
        spread.cov = std::sqrt(apart / n) / mean;
        spread.jain = sum * sum / (n * squares);
    }
    return spread;
}

std::vector<TierLoad>
TiersOf(std::vector<LinkSetLoad> sets, const std::vector<std::string>& names)
{
    // A fixed order, so that sums are the same whoever has collected them.
    std::stable_sort(sets.begin(), sets.end(), [](const LinkSetLoad& a, const LinkSetLoad& b) {
        return a.tier != b.tier ? a.tier < b.tier : a.node < b.node;
    });
    std::vector<TierLoad> tiers;
    for (auto first = sets.begin(); first != sets.end();)
    {
        const auto last = std::find_if(first, sets.end(), [first](const LinkSetLoad& set) {
            return set.tier != first->tier;
        });
        TierLoad tier;
        tier.tier = first->tier;
        tier.mean = {0, 0, 0};
        double bytes = 0;
        double most = 0;
        for (auto set = first; set != last; ++set)
        {
            bytes += set->bytes;
            most = std::max(most, set->bytes);
        }
        for (auto set = first; set != last; ++set)
        {
            if (set->bytes <= 0)
            {
                continue;
            }
            ++tier.sets;
            tier.links += set->links;
            const double share = set->bytes / bytes;
            tier.mean.maxOverMean += share * set->spread.maxOverMean;
            tier.mean.cov += share * set->spread.cov;
            tier.mean.jain += share * set->spread.jain;
            if (set->bytes >= most / 2 &&
                (tier.where.empty() || set->spread.maxOverMean > tier.worst))
            {
                tier.worst = set->spread.maxOverMean;
                tier.where = names.at(set->node);
            }
        }
        if (tier.sets)
        {
            tiers.push_back(tier);
        }
        first = last;
    }
    return tiers;
}

nlohmann::ordered_json
ToJson(const BalanceStats& balance)
{
    nlohmann::ordered_json j;
    j["balancer"] = balance.balancer;
    j["out_of_order_packets"] = balance.outOfOrder;
    j["out_of_order_dropped"] = balance.notKept;
    j["largest_reorder_packets"] = balance.largestReorder;
    j["largest_held_bytes"] = balance.largestHeldBytes;
    j["path_changes"] = balance.pathChanges;
    j["hash_collisions"] = balance.hashCollisions ? nlohmann::ordered_json(*balance.hashCollisions)
                                                  : nlohmann::ordered_json();
    j["equal_cost_links"] = nlohmann::ordered_json::array();
    for (const TierLoad& tier : balance.tiers)
    {
        j["equal_cost_links"].push_back({{"tier", tier.tier},
                                         {"sets", tier.sets},
                                         {"links", tier.links},
                                         {"max_over_mean", tier.mean.maxOverMean},
                                         {"cov", tier.mean.cov},
                                         {"jain", tier.mean.jain},
                                         {"worst_max_over_mean", tier.worst},
                                         {"worst_switch", tier.where}});
    }
    return j;
}

} // namespace results
