/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/stats/load-spread.h"

#include <algorithm>
#include <cmath>

namespace reports
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

const Object<BalanceStats>&
BalanceKeys()
{
    static const Object<TierLoad> tier{
        {"tier: Tier of the switches: 1 next to hosts", &TierLoad::tier},
        {"sets (count): Sets that carried anything", &TierLoad::sets},
        {"links (count): Links in these sets", &TierLoad::links},
        {"max_over_mean (ratio): Busiest link of a set over its mean; 1: even",
         [](const auto& t) { return t.mean.maxOverMean; }},
        {"cov (ratio): Standard deviation over mean; 0: even",
         [](const auto& t) { return t.mean.cov; }},
        {"jain (0 to 1): Jain's index; 1: even, 1/n: one of n links has all",
         [](const auto& t) { return t.mean.jain; }},
        {"worst_max_over_mean (ratio): Most uneven set among those with at least half the bytes of "
         "the busiest",
         &TierLoad::worst},
        {"worst_switch: Switch of that set", &TierLoad::where}};
    using Balance = BalanceStats;
    static const Object<Balance> keys{
        {"balancer: Load balancer, or the senders' scheme", &Balance::balancer},
        {"out_of_order_packets (packets): Data packets that arrived behind a missing one",
         &Balance::outOfOrder},
        {"out_of_order_dropped (packets): Of these: dropped by the receiver", &Balance::notKept},
        {"largest_reorder_packets (packets): How far the most of them was ahead; whole run",
         &Balance::largestReorder},
        {"largest_held_bytes (B): Most that a receiver held for one queue pair; whole run",
         &Balance::largestHeldBytes},
        {"path_changes (packets): Packets that a sender put on another path than the one before",
         &Balance::pathChanges},
        {"hash_collisions (count): Pairs of flows on one link while another of the set had none; "
         "null: flows keep no path, no --attribution, several processes, above 100,000 flows",
         &Balance::hashCollisions},
        {"equal_cost_links: Sets of links that packets could choose from, by tier, weighted by "
         "bytes",
         &Balance::tiers,
         tier}};
    return keys;
}

} // namespace reports
