/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/layout-search/options/kind-orders.h"

#include "scenarios/asked/cluster.h"
#include "scenarios/layout-search/options/planner-options.h"

#include <algorithm>
#include <string>

namespace scenario
{

namespace
{

/// Above it, there are too many orders.
constexpr std::size_t kMostPermuted = 3;

std::vector<std::vector<std::string>>
OrdersOf(const std::vector<std::string>& kinds)
{
    std::vector<std::vector<std::string>> orders = {kinds};
    std::vector<std::string> other = kinds;
    if (kinds.size() > kMostPermuted)
    {
        std::reverse(other.begin(), other.end());
        orders.push_back(other);
        return orders;
    }
    std::sort(other.begin(), other.end());
    do
    {
        if (other != kinds)
        {
            orders.push_back(other);
        }
    } while (std::next_permutation(other.begin(), other.end()));
    return orders;
}

} // namespace

std::vector<ReadResult>
WithOrdersOfKinds(const std::vector<ReadResult>& jobs)
{
    std::vector<ReadResult> all;
    for (const ReadResult& job : jobs)
    {
        const std::vector<std::string>& kinds = job.values.Get(&asked::Cluster::serverKinds);
        for (const auto& order : OrdersOf(kinds))
        {
            ReadResult with = job;
            if (order != kinds)
            {
                with.values.Slot(&asked::Cluster::serverKinds).list = order;
            }
            all.push_back(std::move(with));
        }
    }
    return all;
}

} // namespace scenario
