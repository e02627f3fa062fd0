/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "topologies/scale-up/fair-network.h"

#include <algorithm>
#include <cstddef>

namespace topo
{

FairNetwork::FairNetwork(std::vector<rdma::BitRate> links)
    : m_links(links.size())
{
    for (std::size_t i = 0; i < links.size(); ++i)
    {
        m_links[i].rate = m_links[i].fair = links[i].bps;
    }
}

uint32_t
FairNetwork::Open(const std::vector<uint32_t>& path,
                  rdma::BitRate most,
                  uint8_t priority,
                  uint64_t cookie)
{
    if (m_idle.empty())
    {
        m_idle.push_back(static_cast<uint32_t>(m_flows.size()));
        m_flows.emplace_back();
        m_seen.push_back(0);
    }
    const uint32_t number = m_idle.back();
    m_idle.pop_back();
    m_priority = m_flows.size() == 1 ? priority : m_priority;
    m_isOnePriority = m_isOnePriority && priority == m_priority;
    Flow& flow = m_flows[number];
    const uint32_t known = flow.known;
    flow = {};
    flow.known = known;
    flow.legs = static_cast<uint32_t>(path.size());
    flow.cap = most.bps;
    flow.priority = priority;
    flow.cookie = cookie;
    if (m_unused.size() <= path.size())
    {
        m_unused.resize(path.size() + 1);
    }
    std::vector<uint32_t>& unused = m_unused[path.size()];
    if (unused.empty())
    {
        unused.push_back(static_cast<uint32_t>(m_legs.size()));
        m_legs.resize(m_legs.size() + path.size());
    }
    flow.first = unused.back();
    unused.pop_back();
    for (std::size_t i = 0; i < path.size(); ++i)
    {
        m_legs[flow.first + i] = {path[i], 0};
        flow.cap = std::min(flow.cap, m_links[path[i]].rate);
    }
    return number;
}

void
FairNetwork::Close(uint32_t number)
{
    if (m_flows[number].touched)
    {
        m_flows[number].closed = true;
        return;
    }
    Release(number);
}

void
FairNetwork::Release(uint32_t number)
{
    const Flow& flow = m_flows[number];
    m_unused[flow.legs].push_back(flow.first);
    m_idle.push_back(number);
}

void
FairNetwork::Touch(uint32_t number)
{
    if (!m_flows[number].touched)
    {
        m_flows[number].touched = true;
        m_touched.push_back(number);
    }
}

void
FairNetwork::Begin(uint32_t number, rdma::Duration alone, rdma::TimePoint now)
{
    Flow& flow = m_flows[number];
    flow.busy = true;
    flow.begun = flow.asOf = now.ps;
    flow.left = static_cast<Work>(alone.ps) * flow.cap;
    Touch(number);
}

bool
FairNetwork::Ended(rdma::TimePoint now, End& end)
{
    const auto tell = [this](uint32_t number) {
        Flow& flow = m_flows[number];
        flow.busy = false;
        flow.left = 0;
        flow.end = kNever.ps;
        ++flow.known;
        m_ended.push_back({flow.cookie, flow.limit});
        Touch(number);
    };
    if (m_told == m_ended.size())
    {
        m_told = 0;
        m_ended.clear();
        while (!m_free.empty() && m_free.front().end <= now.ps)
        {
            const FreeEnd first = m_free.front();
            std::pop_heap(m_free.begin(), m_free.end());
            m_free.pop_back();
            if (m_flows[first.flow].known == first.known)
            {
                tell(first.flow);
            }
        }
        while (!m_ends.empty() && m_links[m_ends.front()].next <= now.ps)
        {
            const uint32_t number = m_ends.front();
            Link& link = m_links[number];
            link.next = kNever.ps;
            for (const Entry& entry : link.flows)
            {
                const Flow& flow = m_flows[entry.flow];
                if (flow.home != number)
                {
                    continue;
                }
                if (flow.end <= now.ps)
                {
                    tell(entry.flow);
                }
                link.next = std::min(link.next, flow.end);
            }
            Sift(number);
        }
    }
    if (m_told == m_ended.size())
    {
        return false;
    }
    end = m_ended[m_told++];
    return true;
}

rdma::TimePoint
FairNetwork::NextEnd()
{
    int64_t next = m_due;
    while (!m_free.empty())
    {
        const FreeEnd& first = m_free.front();
        if (m_flows[first.flow].known == first.known)
        {
            next = std::min(next, first.end);
            break;
        }
        std::pop_heap(m_free.begin(), m_free.end());
        m_free.pop_back();
    }
    return rdma::TimePoint(m_ends.empty() ? next : std::min(next, m_links[m_ends.front()].next));
}

void
FairNetwork::Settle(rdma::TimePoint now)
{
    // Ended flows first: what they leave is no part of what new ones meet.
    for (const uint32_t number : m_touched)
    {
        if (!m_flows[number].busy && m_flows[number].isOn)
        {
            TakeOff(number, now.ps);
        }
    }
    for (const uint32_t number : m_touched)
    {
        Flow& flow = m_flows[number];
        flow.touched = false;
        if (flow.closed)
        {
            Release(number);
        }
        else if (flow.busy && flow.isOn)
        {
            SetEnd(flow, now.ps); // it goes on
            NoteEnd(number);
        }
        else if (flow.busy)
        {
            PutOn(number, now.ps);
        }
    }
    m_touched.clear();
    if (m_due <= now.ps)
    {
        Solve(now.ps);
    }
}

int64_t
FairNetwork::Patience(uint32_t reach, int64_t duration)
{
    constexpr uint32_t kMost = 4096;
    return reach <= kExact ? 0 : (duration >> 20) * std::min(reach, kMost);
}

void
FairNetwork::Spoil(uint32_t number, int64_t due)
{
    m_due = std::min(m_due, due);
    if (!m_links[number].dirty)
    {
        m_links[number].dirty = true;
        m_dirty.push_back(number);
    }
}

void
FairNetwork::PutOn(uint32_t number, int64_t now)
{
    Flow& flow = m_flows[number];
    flow.isOn = true;
    m_fresh.push_back(number);
    flow.rate = 0;
    flow.end = kNever.ps;
    flow.home = flow.limit = kNone;
    uint64_t fair = flow.cap;
    uint32_t reach = 0;
    for (uint32_t leg = flow.first; leg < flow.first + flow.legs; ++leg)
    {
        Link& link = m_links[m_legs[leg].link];
        m_legs[leg].place = static_cast<uint32_t>(link.flows.size());
        link.flows.push_back({number, leg});
        link.caps += flow.cap;
        fair = std::min(fair, link.fair);
        reach = std::max(reach, link.reach);
    }
    const int64_t takes =
        fair ? static_cast<int64_t>(std::min<Work>(flow.left / fair, INT64_MAX / 2)) : 0;
    const int64_t due = now + std::min(Patience(reach, takes), kNever.ps - 1 - now);
    for (uint32_t leg = flow.first; leg < flow.first + flow.legs; ++leg)
    {
        Spoil(m_legs[leg].link, due);
    }
}

void
FairNetwork::TakeOff(uint32_t number, int64_t now)
{
    Flow& flow = m_flows[number];
    flow.isOn = false;
    if (flow.home != kNone)
    {
        --m_links[flow.home].homes;
    }
    m_leaves = std::min(m_leaves, flow.rate);
    for (uint32_t leg = flow.first; leg < flow.first + flow.legs; ++leg)
    {
        const uint32_t on = m_legs[leg].link;
        Link& link = m_links[on];
        const Entry last = link.flows.back();
        link.flows[m_legs[leg].place] = last;
        m_legs[last.leg].place = m_legs[leg].place;
        link.flows.pop_back();
        link.caps -= flow.cap;
        link.carried -= flow.rate;
        Spoil(on, now + Patience(link.reach, now - flow.begun));
    }
    flow.rate = 0;
}

void
FairNetwork::SetEnd(Flow& flow, int64_t now)
{
    flow.end = kNever.ps;
    if (flow.rate == 0)
    {
        return;
    }
    // Rounded up: at that picosecond nothing is left.
    const Work takes = (flow.left + flow.rate - 1) / flow.rate;
    // The rest of a rate may be bits a second: practically for ever.
    if (takes < static_cast<uint64_t>(kNever.ps - now))
    {
        flow.end = now + static_cast<int64_t>(takes);
    }
}

void
FairNetwork::NoteEnd(uint32_t number)
{
    Flow& flow = m_flows[number];
    ++flow.known;
    if (flow.home == kNone)
    {
        if (flow.end != kNever.ps)
        {
            m_free.push_back({flow.end, number, flow.known});
            std::push_heap(m_free.begin(), m_free.end());
        }
        return;
    }
    Link& home = m_links[flow.home];
    if (flow.end < home.next)
    {
        home.next = flow.end;
        Sift(flow.home);
    }
}

bool
FairNetwork::IsBefore(uint32_t link, uint32_t other) const
{
    return m_links[link].next != m_links[other].next ? m_links[link].next < m_links[other].next
                                                     : link < other;
}

void
FairNetwork::Sift(uint32_t number)
{
    Link& link = m_links[number];
    if (link.place == kNone)
    {
        if (link.next == kNever.ps)
        {
            return;
        }
        link.place = static_cast<uint32_t>(m_ends.size());
        m_ends.push_back(number);
    }
    else if (link.next == kNever.ps)
    {
        const uint32_t last = m_ends.back();
        m_ends.pop_back();
        const uint32_t place = link.place;
        link.place = kNone;
        if (last != number)
        {
            m_ends[place] = last;
            m_links[last].place = place;
            Sift(last);
        }
        return;
    }
    uint32_t at = link.place;
    const auto put = [this](uint32_t place, uint32_t which) {
        m_ends[place] = which;
        m_links[which].place = place;
    };
    while (at > 0 && IsBefore(number, m_ends[(at - 1) / 2]))
    {
        put(at, m_ends[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    while (true)
    {
        uint32_t below = 2 * at + 1;
        if (below >= m_ends.size())
        {
            break;
        }
        if (below + 1 < m_ends.size() && IsBefore(m_ends[below + 1], m_ends[below]))
        {
            ++below;
        }
        if (!IsBefore(m_ends[below], number))
        {
            break;
        }
        put(at, m_ends[below]);
        at = below;
    }
    put(at, number);
}

} // namespace topo
