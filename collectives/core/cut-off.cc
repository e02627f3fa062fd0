/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/core/cut-off.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace coll
{

namespace
{

/// Sets of members, joined.
class Parts
{
  public:
    explicit Parts(Rank members)
        : m_of(members)
    {
        std::iota(m_of.begin(), m_of.end(), 0);
    }

    Rank Of(Rank member)
    {
        while (m_of[member] != member)
        {
            member = m_of[member] = m_of[m_of[member]];
        }
        return member;
    }

    void Join(Rank a, Rank b)
    {
        m_of[Of(a)] = Of(b);
    }

  private:
    std::vector<Rank> m_of;
};

std::set<Edge>
EdgesOf(const Schedule& schedule, Lane lane)
{
    std::set<Edge> edges;
    for (Rank member = 0; member < schedule.Members(); ++member)
    {
        if (lane >= schedule.Lanes(member))
        {
            continue;
        }
        Rank last = kNoRank; // most steps have the peer of the one before
        const StepIndex steps = schedule.Steps(member, lane);
        for (StepIndex k = 0; k < steps; ++k)
        {
            const Rank peer = schedule.At(member, lane, k).sendPeer;
            if (peer != kNoRank && peer != last)
            {
                edges.emplace(member, peer);
                last = peer;
            }
        }
    }
    return edges;
}

} // namespace

std::vector<SplitLanes>
SplitWithout(const Schedule& schedule, const std::set<Edge>& lost)
{
    Lane lanes = 0;
    for (Rank member = 0; member < schedule.Members(); ++member)
    {
        lanes = std::max(lanes, schedule.Lanes(member));
    }
    std::vector<SplitLanes> result;
    for (Lane lane = 0; lane < lanes; ++lane)
    {
        Parts joined(schedule.Members());
        bool hit = false;
        for (const Edge& edge : EdgesOf(schedule, lane))
        {
            if (lost.count(edge))
            {
                hit = true;
            }
            else
            {
                joined.Join(edge.first, edge.second);
            }
        }
        if (!hit)
        {
            continue;
        }
        std::map<Rank, std::vector<Rank>> byRoot;
        for (Rank rank = 0; rank < schedule.What().ranks; ++rank)
        {
            byRoot[joined.Of(rank)].push_back(rank);
        }
        SplitLanes split{{lane}, {}};
        for (auto& [root, ranks] : byRoot)
        {
            split.parts.push_back(std::move(ranks));
        }
        std::sort(split.parts.begin(), split.parts.end());
        const auto same = std::find_if(result.begin(), result.end(), [&](const SplitLanes& other) {
            return other.parts == split.parts;
        });
        if (same == result.end())
        {
            result.push_back(std::move(split));
        }
        else
        {
            same->lanes.push_back(lane);
        }
    }
    return result;
}

} // namespace coll
