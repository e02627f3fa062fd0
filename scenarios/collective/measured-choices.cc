/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/collective/measured-choices.h"

#include "collectives/core/registry.h"
#include "scenarios/collective/collective-options.h"
#include "scenarios/collective/network-choices.h"
#include "scenarios/network/cluster-options.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <unordered_map>

namespace scenario
{

namespace
{

/// Above it only bytes count: of a ring on 1,024 ranks each message has 256 KiB then. Assumed.
constexpr uint64_t kLargestMeasured = uint64_t{256} << 20;

/// An index: there is only one choice.
constexpr std::size_t kNothingToTry = SIZE_MAX;

/// Groups of one text lie alike: on as many servers with as many GPUs each, in the same order.
std::string
ShapeOf(const coll::Placement& placement)
{
    std::unordered_map<uint32_t, std::size_t> servers;
    const uint32_t first = placement.gpuOf.empty()
                               ? 0
                               : *std::min_element(placement.gpuOf.begin(), placement.gpuOf.end());
    std::string shape;
    for (std::size_t i = 0; i < placement.serverOf.size(); ++i)
    {
        const std::size_t server =
            servers.try_emplace(placement.serverOf[i], servers.size()).first->second;
        shape += std::to_string(server) + "." + std::to_string(placement.gpuOf[i] - first) + " ";
    }
    return shape;
}

std::string
NameOf(const coll::Collective& what, const coll::Placement& placement)
{
    return coll::OpName(what.op) + " " + std::to_string(what.root) + " " +
           std::to_string(RangeOf(what.bytes).at) + ": " + ShapeOf(placement);
}

} // namespace

SizeRange
RangeOf(uint64_t bytes)
{
    if (bytes == 0)
    {
        return {0, 1, 0};
    }
    // The nearest power of two, by ratio; the squares below fit into 64 bits.
    const uint64_t size = std::min(bytes, 2 * kLargestMeasured);
    uint64_t at = 1;
    while (at < kLargestMeasured && size * size >= 2 * at * at)
    {
        at *= 2;
    }
    // The least size whose square is at least that.
    const auto root = [](uint64_t square) {
        auto size = static_cast<uint64_t>(std::sqrt(static_cast<double>(square)));
        while (size * size < square)
        {
            ++size;
        }
        while (size > 0 && (size - 1) * (size - 1) >= square)
        {
            --size;
        }
        return size;
    };
    const uint64_t from = at == 1 ? 1 : root(at * at / 2);
    return {from, at == kLargestMeasured ? UINT64_MAX : root(2 * at * at), at};
}

bool
MeasuredCollective::IsKnown() const
{
    return std::all_of(tried.begin(), tried.end(), [](const TriedChoice& one) {
        return one.ps >= 0;
    });
}

const TriedChoice&
MeasuredCollective::Best() const
{
    const TriedChoice* best = &tried.front();
    for (const TriedChoice& one : tried)
    {
        if (one.ps > 0 && (best->ps <= 0 || one.ps < best->ps))
        {
            best = &one;
        }
    }
    return *best;
}

void
MeasuredChoices::Plan(const CollectiveOptions& options,
                      const ClusterSpec& cluster,
                      const std::vector<UsedBy>& groups)
{
    if (m_network)
    {
        for (NetworkChoice& one : ChoicesByNetwork(*m_network, options, cluster, groups))
        {
            const bool known =
                std::any_of(m_byNetwork.begin(), m_byNetwork.end(), [&one](const auto& other) {
                    return other.what == one.what && other.best.algorithm == one.best.algorithm;
                });
            if (!known)
            {
                m_byNetwork.push_back(std::move(one));
            }
        }
        return;
    }
    std::vector<std::set<coll::Rank>> busy;
    for (const MeasuredCollective& one : m_all)
    {
        std::set<coll::Rank>& its = busy.emplace_back();
        for (const std::vector<coll::Rank>& ranks : one.groups)
        {
            its.insert(ranks.begin(), ranks.end());
        }
    }
    for (const UsedBy& group : groups)
    {
        std::vector<coll::Rank> ranks = group.ranks;
        if (ranks.empty())
        {
            ranks.resize(std::size_t{cluster.servers} * cluster.server.gpus);
            std::iota(ranks.begin(), ranks.end(), 0);
        }
        const coll::Placement placement = PlacementOf(cluster, ranks);
        for (coll::Collective what : group.collectives)
        {
            const SizeRange range = RangeOf(what.bytes);
            if (!IsLeftToTuner(options, what, placement))
            {
                continue;
            }
            what.bytes = range.at;
            const auto [at, isNew] = m_index.try_emplace(NameOf(what, placement), kNothingToTry);
            if (isNew)
            {
                const auto candidates = CandidatesOf(options, what, placement);
                if (candidates.size() > 1)
                {
                    at->second = m_all.size();
                    MeasuredCollective& one = m_all.emplace_back();
                    one.what = what;
                    one.range = range;
                    for (const coll::Choice& choice : candidates)
                    {
                        one.tried.push_back({choice});
                    }
                    busy.emplace_back();
                }
            }
            if (at->second == kNothingToTry)
            {
                continue;
            }
            // Among groups that share ranks only the first counts: the others would not run at the
            // same time.
            std::set<coll::Rank>& its = busy[at->second];
            if (std::none_of(ranks.begin(), ranks.end(), [&its](coll::Rank rank) {
                    return its.count(rank) > 0;
                }))
            {
                its.insert(ranks.begin(), ranks.end());
                m_all[at->second].groups.push_back(ranks);
            }
        }
    }
}

const MeasuredCollective*
MeasuredChoices::Find(const coll::Collective& what, const coll::Placement& placement) const
{
    if (m_all.empty())
    {
        return nullptr;
    }
    const auto found = m_index.find(NameOf(what, placement));
    return found == m_index.end() || found->second == kNothingToTry ? nullptr
                                                                    : &m_all[found->second];
}

} // namespace scenario
