/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The rates of the flows that a change concerns.
 */
#include "topologies/scale-up/fair-network.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace topo
{

namespace
{

constexpr uint64_t kUnknown = UINT64_MAX; ///< for bit/s

/// \return bit/s: above it another rate is a faster one; below, both are rounded
constexpr uint64_t
JustAbove(uint64_t rate)
{
    return rate + (rate >> 26) + 2;
}

} // namespace

uint64_t
FairNetwork::LeastChanged() const
{
    if (!m_isOnePriority)
    {
        return 0;
    }
    uint64_t least = m_leaves;
    for (const uint32_t number : m_fresh)
    {
        const Flow& flow = m_flows[number];
        least = std::min(least, flow.cap);
        for (uint32_t leg = flow.first; leg < flow.first + flow.legs; ++leg)
        {
            const Link& link = m_links[m_legs[leg].link];
            least = std::min<uint64_t>(least, link.rate / link.flows.size());
        }
    }
    return least - (least >> 20); // rates are equal up to what they are rounded by
}

void
FairNetwork::AddToNear(uint32_t number)
{
    Link& link = m_links[number];
    if (link.seen == m_round)
    {
        return;
    }
    link.seen = m_round;
    link.next = kNever.ps;
    Sift(number); // out of the heap, as all of them change
    link.room = link.rate - link.carried;
    link.mine = 0;
    m_near.push_back(number);
}

void
FairNetwork::AddToRegion(uint32_t number)
{
    if (m_seen[number] >= m_round)
    {
        return;
    }
    m_seen[number] = m_round;
    m_region.push_back(number);
    const Flow& flow = m_flows[number];
    for (uint32_t leg = flow.first; leg < flow.first + flow.legs; ++leg)
    {
        if (m_links[m_legs[leg].link].tight)
        {
            AddToNear(m_legs[leg].link);
            m_links[m_legs[leg].link].room += flow.rate;
        }
    }
    if (flow.home != kNone)
    {
        ++m_links[flow.home].mine;
    }
}

void
FairNetwork::BeginRegion()
{
    m_region.clear();
    m_near.clear();
    m_round += 2;
    std::size_t changed = 0; // links whose flows may be others'
    for (const uint32_t number : m_dirty)
    {
        Link& link = m_links[number];
        const bool wasTight = link.tight;
        link.dirty = false;
        link.tight = link.caps > link.rate;
        link.fair = link.rate;
        link.reach = 0;
        if (wasTight || link.tight)
        {
            m_dirty[changed++] = number;
        }
    }
    m_dirty.resize(changed);
    for (const uint32_t number : m_dirty)
    {
        AddToNear(number); // first, as `mine` counts from here
    }
    for (const uint32_t number : m_fresh)
    {
        AddToRegion(number);
    }
    for (const uint32_t number : m_dirty)
    {
        const Link& link = m_links[number];
        for (std::size_t i = 0; link.homes > link.mine && i < link.flows.size(); ++i)
        {
            const Entry& entry = link.flows[i];
            if (m_flows[entry.flow].limit == number)
            {
                AddToRegion(entry.flow);
            }
        }
    }
    m_dirty.clear();
    m_due = kNever.ps;
}

bool
FairNetwork::GrowRegion(uint64_t all)
{
    const std::size_t before = m_region.size();
    // Of all that the changes could reach, links are added while they are gone through.
    const std::size_t known = m_near.size();
    for (std::size_t i = 0; i < (all == kUnknown ? known : m_near.size()); ++i)
    {
        const uint32_t number = m_near[i];
        Link& link = m_links[number];
        link.next = kNever.ps;
        const bool isFull = link.left <= (link.rate >> 26) + link.flows.size();
        const uint64_t level =
            i >= known || link.level == kUnknown ? kUnknown : JustAbove(link.level);
        if (level == kUnknown && all == kUnknown && link.homes == link.mine)
        {
            continue; // it holds up no other flow, and knows of no other end
        }
        for (const Entry& entry : link.flows)
        {
            if (m_seen[entry.flow] >= m_round)
            {
                continue;
            }
            const Flow& flow = m_flows[entry.flow];
            // It is faster than the flows that this link holds up, or is held up here in vain.
            if (flow.rate >= all || flow.rate > level ||
                (flow.limit == number && i < known && (!isFull || link.top > JustAbove(flow.rate))))
            {
                AddToRegion(entry.flow);
                continue;
            }
            link.next = flow.home == number ? std::min(link.next, flow.end) : link.next;
        }
    }
    return m_region.size() > before;
}

void
FairNetwork::Solve(int64_t now)
{
    if (m_round > UINT32_MAX - 100)
    {
        m_round = 0;
        std::fill(m_seen.begin(), m_seen.end(), 0);
        for (Link& link : m_links)
        {
            link.seen = 0;
        }
    }
    const uint64_t least = LeastChanged();
    BeginRegion();
    m_fresh.clear();
    m_leaves = UINT64_MAX;
    ++m_solves;
    constexpr uint32_t kMostRounds = 16;
    for (uint32_t round = 0;; ++round)
    {
        m_looked += m_region.size();
        FillAll();
        if (round > kMostRounds ||
            !GrowRegion(m_isOnePriority && round < kMostRounds ? kUnknown : least))
        {
            break;
        }
    }
    for (const uint32_t number : m_region)
    {
        Apply(number, now);
    }
    for (const uint32_t number : m_near)
    {
        Link& link = m_links[number];
        link.reach = static_cast<uint32_t>(m_region.size());
        link.fair = std::max(link.level == kUnknown ? 0 : link.level,
                             std::max(link.left, link.rate / (link.flows.size() + 1)));
        Sift(number);
    }
}

void
FairNetwork::FillAll()
{
    for (const uint32_t number : m_near)
    {
        Link& link = m_links[number];
        link.left = link.room;
        link.level = kUnknown;
        link.top = 0;
    }
    std::array<bool, 256> present{};
    for (const uint32_t flow : m_region)
    {
        m_seen[flow] = m_round;
        present[m_flows[flow].priority] = true;
    }
    for (uint32_t priority = 256; priority-- > 0;)
    {
        if (present[priority])
        {
            Fill(static_cast<uint8_t>(priority));
        }
    }
}

void
FairNetwork::Fill(uint8_t priority)
{
    m_byCap.clear();
    m_shares.clear();
    bool sorted = true;
    for (const uint32_t number : m_region)
    {
        const Flow& flow = m_flows[number];
        if (flow.priority != priority)
        {
            continue;
        }
        sorted = sorted && (m_byCap.empty() || m_flows[m_byCap.back()].cap <= flow.cap);
        m_byCap.push_back(number);
        for (uint32_t leg = flow.first; leg < flow.first + flow.legs; ++leg)
        {
            Link& link = m_links[m_legs[leg].link];
            if (link.tight)
            {
                ++link.waiting;
            }
        }
    }
    if (!sorted)
    {
        std::sort(m_byCap.begin(), m_byCap.end(), [this](uint32_t a, uint32_t b) {
            return m_flows[a].cap != m_flows[b].cap ? m_flows[a].cap < m_flows[b].cap : a < b;
        });
    }
    for (const uint32_t number : m_near)
    {
        const Link& link = m_links[number];
        if (link.waiting)
        {
            m_shares.push_back({link.left / link.waiting, number});
        }
    }
    std::make_heap(m_shares.begin(), m_shares.end());
    uint64_t level = 0;
    std::size_t nextCap = 0;
    while (true)
    {
        while (nextCap < m_byCap.size() && m_seen[m_byCap[nextCap]] != m_round)
        {
            ++nextCap;
        }
        if (nextCap == m_byCap.size())
        {
            return; // no link has a flow that waits
        }
        // Shares only grow while others are frozen, so the least known one is checked when it is
        // its turn.
        while (!m_shares.empty())
        {
            const Share first = m_shares.front();
            const Link& link = m_links[first.link];
            if (!link.waiting)
            {
                const Share last = m_shares.back();
                m_shares.pop_back();
                PutFirst(last);
                continue;
            }
            const uint64_t share = link.left / link.waiting;
            if (share == first.share)
            {
                break;
            }
            PutFirst({share, first.link});
        }
        const uint32_t least = m_byCap[nextCap];
        if (m_shares.empty() || m_flows[least].cap <= m_shares.front().share)
        {
            Freeze(least, m_flows[least].cap, kNone);
            continue;
        }
        const Share first = m_shares.front();
        // Links that are full at the same level are so to the bit: else ends that belong to one
        // instant would be a picosecond apart. What shares are rounded by is a bit/s.
        const uint64_t nearly = std::max<uint64_t>(level >> 30, level >> 20 ? 1 : 0);
        if (first.share > level + nearly)
        {
            level = first.share;
        }
        const uint64_t rate = std::min(level, first.share);
        Link& link = m_links[first.link];
        link.level = rate;
        for (const Entry& entry : link.flows)
        {
            if (m_seen[entry.flow] == m_round && m_flows[entry.flow].priority == priority)
            {
                Freeze(entry.flow, rate, first.link);
            }
        }
    }
}

void
FairNetwork::PutFirst(const Share& share)
{
    const std::size_t size = m_shares.size();
    for (std::size_t at = 0; at < size;)
    {
        std::size_t below = 2 * at + 1;
        below += below + 1 < size && m_shares[below] < m_shares[below + 1];
        if (below >= size || !(share < m_shares[below]))
        {
            m_shares[at] = share;
            return;
        }
        m_shares[at] = m_shares[below];
        at = below;
    }
}

void
FairNetwork::Freeze(uint32_t number, uint64_t rate, uint32_t limit)
{
    m_seen[number] = m_round + 1;
    Flow& flow = m_flows[number];
    flow.given = rate;
    flow.limit = limit;
    for (uint32_t leg = flow.first; leg < flow.first + flow.legs; ++leg)
    {
        Link& link = m_links[m_legs[leg].link];
        if (link.tight)
        {
            link.left -= rate;
            link.top = std::max(link.top, rate);
            --link.waiting;
        }
    }
}

void
FairNetwork::Apply(uint32_t number, int64_t now)
{
    Flow& flow = m_flows[number];
    uint32_t home = flow.limit;
    for (uint32_t leg = flow.first; leg < flow.first + flow.legs; ++leg)
    {
        Link& link = m_links[m_legs[leg].link];
        link.carried += flow.given - flow.rate;
        home = home == kNone && link.tight ? m_legs[leg].link : home;
    }
    const bool moved = flow.home != home;
    if (moved && flow.home != kNone)
    {
        --m_links[flow.home].homes;
    }
    if (moved && home != kNone)
    {
        ++m_links[home].homes;
    }
    flow.home = home;
    if (flow.given != flow.rate)
    {
        const Work done = static_cast<Work>(flow.rate) * static_cast<uint64_t>(now - flow.asOf);
        flow.left -= std::min(flow.left, done);
        flow.asOf = now;
        flow.rate = flow.given;
        SetEnd(flow, now);
    }
    else if (!moved && home == kNone)
    {
        return; // m_free knows
    }
    if (home != kNone)
    {
        ++flow.known;
        m_links[home].next = std::min(m_links[home].next, flow.end); // Solve sifts
        return;
    }
    NoteEnd(number);
}

} // namespace topo
