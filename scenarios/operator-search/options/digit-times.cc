/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/operator-search/options/digit-times.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace scenario
{

double
DigitTimes::Seconds(coll::Op op, double bytes, const sharding::Digits& digits)
{
    Groups& groups = GroupsOf(digits);
    const auto whole = static_cast<uint64_t>(std::llround(std::max(1.0, bytes)));
    const auto [known, isAsked] =
        groups.seconds.try_emplace(whole * 16 + static_cast<uint64_t>(op), 0);
    if (isAsked)
    {
        int64_t slowest = 0;
        for (const auto& [group, crossing] : groups.kinds)
        {
            slowest = std::max(slowest, m_times.Collective(group, op, whole, nullptr, crossing));
        }
        known->second = static_cast<double>(slowest) * 1e-12;
    }
    return known->second;
}

bool
DigitTimes::TakesNics(const sharding::Digits& digits)
{
    const auto& kinds = GroupsOf(digits).kinds;
    return std::any_of(kinds.begin(), kinds.end(), [this](const auto& kind) {
        return m_times.IsBetween(kind.first);
    });
}

DigitTimes::Groups&
DigitTimes::GroupsOf(const sharding::Digits& digits)
{
    const auto [at, isNew] = m_groups.try_emplace(digits);
    if (isNew)
    {
        at->second.kinds = KindsOf(digits);
    }
    return at->second;
}

std::map<uint32_t, uint32_t>
DigitTimes::KindsOf(const sharding::Digits& digits)
{
    std::map<coll::Rank, uint32_t> crossing; // GPUs, by server
    std::map<uint32_t, std::set<coll::Rank>> servers;
    for (const auto& group : sharding::GroupsAlong(digits, m_ranks))
    {
        const uint32_t kind = m_times.GroupOf(group);
        auto& of = servers[kind];
        for (const coll::Rank rank : group)
        {
            if (m_times.IsBetween(kind))
            {
                ++crossing[rank / m_gpus];
                of.insert(rank / m_gpus);
            }
        }
    }
    std::map<uint32_t, uint32_t> kinds;
    for (const auto& [kind, of] : servers)
    {
        uint32_t& most = kinds[kind];
        for (const coll::Rank server : of)
        {
            most = std::max(most, crossing[server]);
        }
    }
    return kinds;
}

} // namespace scenario
