/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/recall/recall-flows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace coll
{

RecallFlows::Names
RecallFlows::ConnectedTo(uint32_t first) const
{
    Names names{first};
    std::vector<uint32_t> toSee{first};
    while (!toSee.empty())
    {
        const uint32_t name = toSee.back();
        toSee.pop_back();
        for (const RecallLoad& load : *m_flows.at(name).loads)
        {
            for (const uint32_t other : m_flowsOfPort.at(load.port))
            {
                if (names.insert(other).second)
                {
                    toSee.push_back(other);
                }
            }
        }
    }
    return names;
}

double
RecallFlows::ShareOf(const Flow& flow, const RecallLoad& load)
{
    // What began before its last launch may have sent some by then.
    return std::min(1.0, static_cast<double>(load.busy) / flow.duration);
}

std::map<uint32_t, double>
RecallFlows::SpeedsOf(const Names& names) const
{
    struct Port
    {
        double free = 1;
        double level = 0; ///< of those that still grow: share for each unit of level
    };

    std::map<uint32_t, double> speeds;
    std::vector<uint32_t> tails;
    std::map<uint32_t, double> most; // by flow that grows: its largest share of a port, alone
    std::map<uint32_t, Port> ports;
    for (const uint32_t name : names)
    {
        const Flow& flow = m_flows.at(name);
        if (flow.done >= flow.duration)
        {
            continue;
        }
        if (flow.isTail)
        {
            tails.push_back(name);
            continue;
        }
        double& share = most.emplace(name, 0).first->second;
        for (const RecallLoad& load : *flow.loads)
        {
            share = std::max(share, ShareOf(flow, load));
        }
        if (share == 0)
        {
            speeds[name] = 1;
            most.erase(name);
        }
    }
    double level = 0; // each has a share of so much of its most loaded port, or all that it wants
    while (!most.empty())
    {
        ports.clear();
        for (const auto& [name, speed] : speeds)
        {
            const Flow& flow = m_flows.at(name);
            for (const RecallLoad& load : *flow.loads)
            {
                ports[load.port].free -= speed * ShareOf(flow, load);
            }
        }
        double next = std::numeric_limits<double>::infinity();
        for (const auto& [name, share] : most)
        {
            next = std::min(next, share);
            const Flow& flow = m_flows.at(name);
            for (const RecallLoad& load : *flow.loads)
            {
                ports[load.port].level += ShareOf(flow, load) / share;
            }
        }
        for (const auto& [number, port] : ports)
        {
            if (port.level > 0)
            {
                next = std::min(next, std::max(port.free, 0.0) / port.level);
            }
        }
        level = std::max(level, next);
        constexpr double kNearly = 1 - 1e-9;
        for (auto one = most.begin(); one != most.end();)
        {
            const Flow& flow = m_flows.at(one->first);
            const bool isFull =
                std::any_of(flow.loads->begin(), flow.loads->end(), [&](const RecallLoad& load) {
                    const Port& port = ports.at(load.port);
                    return load.busy > 0 && level * port.level >= port.free * kNearly;
                });
            if (isFull || level >= one->second * kNearly)
            {
                speeds[one->first] = std::min(1.0, level / one->second);
                one = most.erase(one);
            }
            else
            {
                ++one;
            }
        }
    }
    for (const uint32_t name : tails)
    {
        speeds[name] = 1;
    }
    return speeds;
}

void
RecallFlows::Advance(const Names& names, int64_t until)
{
    int64_t now = std::numeric_limits<int64_t>::max();
    for (const uint32_t name : names)
    {
        now = std::min(now, m_flows.at(name).asOf);
    }
    while (now < until)
    {
        const std::map<uint32_t, double> speeds = SpeedsOf(names);
        double next = static_cast<double>(until - now);
        for (const auto& [name, speed] : speeds)
        {
            const Flow& flow = m_flows.at(name);
            next = std::min(next, std::ceil((flow.duration - flow.done) / speed));
        }
        const int64_t step = std::max<int64_t>(1, static_cast<int64_t>(next));
        for (const auto& [name, speed] : speeds)
        {
            Flow& flow = m_flows.at(name);
            flow.done = std::min(flow.duration, flow.done + speed * static_cast<double>(step));
        }
        now += step;
    }
    for (const uint32_t name : names)
    {
        m_flows.at(name).asOf = now;
    }
}

void
RecallFlows::Foresee(const Names& names, int64_t now)
{
    std::map<uint32_t, double> kept;
    std::map<uint32_t, int64_t> ends;
    for (const uint32_t name : names)
    {
        const Flow& flow = m_flows.at(name);
        kept[name] = flow.done;
        ends[name] = std::max(flow.end, now + static_cast<int64_t>(flow.duration - flow.done));
    }
    std::map<uint32_t, std::size_t> told;
    int64_t at = now;
    while (true)
    {
        const std::map<uint32_t, double> speeds = SpeedsOf(names);
        if (speeds.empty())
        {
            break;
        }
        double next = std::numeric_limits<double>::infinity();
        for (const auto& [name, speed] : speeds)
        {
            const Flow& flow = m_flows.at(name);
            next = std::min(next, std::ceil((flow.duration - flow.done) / speed));
        }
        const auto step = std::max<int64_t>(1, static_cast<int64_t>(next));
        for (const auto& [name, speed] : speeds)
        {
            Flow& flow = m_flows.at(name);
            const double before = flow.done;
            flow.done = std::min(flow.duration, before + speed * static_cast<double>(step));
            for (std::size_t& i = told[name]; i < flow.parts.size(); ++i)
            {
                Part& part = flow.parts[i];
                const double left = static_cast<double>(part.offset) - before;
                if (static_cast<double>(part.offset) > flow.done)
                {
                    break;
                }
                const int64_t when = at + static_cast<int64_t>(std::llround(left / speed));
                if (part.at != when && (part.at < 0 || part.at > now + m_delay))
                {
                    part.at = std::max(when, now + m_delay);
                    flow.user->EndPart(flow.name, part.number, part.at);
                }
                flow.end = std::max(flow.end, part.at);
            }
        }
        at += step;
    }
    for (const auto& [name, done] : kept)
    {
        Flow& flow = m_flows.at(name);
        flow.done = done;
        m_doubt.slowed.Add(ends.at(name), flow.end);
    }
}

void
RecallFlows::Begin(RecallFlowUser& user,
                   uint32_t owner,
                   uint64_t name,
                   const std::vector<RecallLoad>& loads,
                   int64_t now,
                   const std::vector<int64_t>& parts)
{
    ForgetEnded(now);
    Flow flow{&user, owner, false, name, &loads, {}, 1, 0, now, now};
    for (uint32_t part = 0; part < parts.size(); ++part)
    {
        flow.parts.push_back({part, parts[part], -1});
        flow.duration = std::max(flow.duration, static_cast<double>(parts[part]));
    }
    std::stable_sort(flow.parts.begin(), flow.parts.end(), [](const Part& a, const Part& b) {
        return a.offset < b.offset;
    });
    // What was apart until now has come this far each for itself.
    Names known;
    for (const RecallLoad& load : loads)
    {
        const Names there = m_flowsOfPort[load.port];
        for (const uint32_t other : there)
        {
            if (known.count(other) == 0 && m_flows.count(other))
            {
                const Names names = BringTo(other, now);
                known.insert(names.begin(), names.end());
            }
        }
    }
    for (const uint32_t other : known)
    {
        Flow& its = m_flows.at(other);
        its.isTail = its.isTail || its.owner == owner;
    }
    const uint32_t number = m_next++;
    m_flows.emplace(number, std::move(flow));
    for (const RecallLoad& load : loads)
    {
        m_flowsOfPort[load.port].insert(number);
    }
    known.insert(number);
    Foresee(known, now);
}

RecallFlows::Names
RecallFlows::BringTo(uint32_t first, int64_t now)
{
    Names names = ConnectedTo(first);
    Advance(names, now);
    for (auto name = names.begin(); name != names.end();)
    {
        const auto flow = m_flows.find(*name);
        if (flow->second.end >= now)
        {
            ++name;
            continue;
        }
        for (const RecallLoad& load : *flow->second.loads)
        {
            m_flowsOfPort[load.port].erase(*name);
        }
        m_flows.erase(flow);
        name = names.erase(name);
    }
    return names;
}

void
RecallFlows::ForgetEnded(int64_t now)
{
    if (m_flows.size() < m_most)
    {
        return;
    }
    std::vector<uint32_t> all;
    for (const auto& [number, flow] : m_flows)
    {
        all.push_back(number);
    }
    Names known;
    for (const uint32_t number : all)
    {
        if (m_flows.count(number) && known.count(number) == 0)
        {
            const Names names = BringTo(number, now);
            known.insert(names.begin(), names.end());
        }
    }
    m_most = 32 + 2 * m_flows.size();
}

bool
RecallFlows::IsBesideRecalled(uint32_t owner,
                              const std::vector<RecallLoad>& loads,
                              int64_t now) const
{
    return std::any_of(loads.begin(), loads.end(), [&](const RecallLoad& load) {
        const auto flows = m_flowsOfPort.find(load.port);
        const auto others = m_inPacketsOfPort.find(load.port);
        return (flows != m_flowsOfPort.end() && std::any_of(flows->second.begin(),
                                                            flows->second.end(),
                                                            [&](uint32_t name) {
                                                                const Flow& flow = m_flows.at(name);
                                                                return flow.owner != owner &&
                                                                       flow.end > now;
                                                            })) ||
               (others != m_inPacketsOfPort.end() &&
                std::any_of(others->second.begin(), others->second.end(), [&](uint32_t number) {
                    const InPackets& its = m_inPackets.at(number);
                    return its.owner != owner && its.until > now &&
                           (its.use == Use::FOLLOWS || its.use == Use::HELD_EARLY);
                }));
    });
}

bool
RecallFlows::IsBesidePackets(uint32_t owner,
                             const std::vector<RecallLoad>& loads,
                             int64_t now) const
{
    return std::any_of(loads.begin(), loads.end(), [&](const RecallLoad& load) {
        const auto its = m_inPacketsOfPort.find(load.port);
        return its != m_inPacketsOfPort.end() &&
               std::any_of(its->second.begin(), its->second.end(), [&](uint32_t number) {
                   const InPackets& one = m_inPackets.at(number);
                   return one.owner != owner && IsSent(one, now);
               });
    });
}

std::set<uint32_t>
RecallFlows::FindUsers(uint32_t owner, const std::vector<RecallLoad>& loads, int64_t now) const
{
    std::set<uint32_t> users;
    for (const RecallLoad& load : loads)
    {
        if (const auto flows = m_flowsOfPort.find(load.port); flows != m_flowsOfPort.end())
        {
            for (const uint32_t name : flows->second)
            {
                const Flow& flow = m_flows.at(name);
                if (flow.end > now)
                {
                    users.insert(flow.owner);
                }
            }
        }
        if (const auto its = m_inPacketsOfPort.find(load.port); its != m_inPacketsOfPort.end())
        {
            for (const uint32_t number : its->second)
            {
                const InPackets& one = m_inPackets.at(number);
                if (one.use == Use::SENT || one.use == Use::FOLLOWS)
                {
                    users.insert(one.owner);
                }
            }
        }
    }
    users.erase(owner);
    return users;
}

uint32_t
RecallFlows::BeginPackets(uint32_t owner,
                          const std::vector<RecallLoad>& loads,
                          int64_t now,
                          Use use,
                          int64_t until)
{
    const uint32_t number = m_next++;
    InPackets& its =
        m_inPackets.emplace(number, InPackets{owner, &loads, use, until, true}).first->second;
    for (const RecallLoad& load : loads)
    {
        Names& names = m_inPacketsOfPort[load.port];
        for (const uint32_t name : names)
        {
            InPackets& other = m_inPackets.at(name);
            if (other.owner != owner && IsSent(other, now) && IsSent(its, now))
            {
                other.isAlone = its.isAlone = false;
            }
        }
        names.insert(number);
    }
    return number;
}

bool
RecallFlows::EndPackets(uint32_t number)
{
    const InPackets its = m_inPackets.at(number);
    m_inPackets.erase(number);
    for (const RecallLoad& load : *its.loads)
    {
        m_inPacketsOfPort[load.port].erase(number);
    }
    return !its.isAlone;
}

} // namespace coll
