/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "results/interference.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace results
{

namespace
{

double
Share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

} // namespace

void
Interference::AddOwner(const std::string& name)
{
    m_owners.emplace_back().name = name;
}

void
Interference::Add(const FlowRecord& record,
                  const MessageParts& parts,
                  uint32_t owner,
                  const std::function<uint32_t(uint32_t tag)>& ownerOf,
                  uint32_t ordinary)
{
    while (static_cast<std::size_t>(record.end / m_interval) >= MOST_INTERVALS)
    {
        Coarsen();
    }
    const auto first = static_cast<std::size_t>(record.start / m_interval);
    const auto last = static_cast<std::size_t>(record.end / m_interval);
    m_first = std::min(m_first, first);
    m_last = std::max(m_last, last);
    Owner& mine = m_owners[owner];
    mine.time += record.end - record.start;
    mine.throttled += parts.parts[At(TimeShare::THROTTLED)];
    for (const MessageParts::Hop& hop : parts.hops)
    {
        const auto [found, isNew] = mine.ports.try_emplace(hop.port);
        Port& port = found->second;
        if (isNew)
        {
            std::vector<uint32_t>& there = m_ownersAt[hop.port];
            there.insert(std::lower_bound(there.begin(), there.end(), owner), owner);
        }
        port.intervals.resize(std::max(port.intervals.size(), last + 1));
        uint64_t before = 0; // bytes of the intervals so far
        for (std::size_t i = first; i <= last; ++i)
        {
            const auto until =
                static_cast<double>(static_cast<int64_t>(i + 1) * m_interval - record.start);
            const auto share = until / static_cast<double>(record.end - record.start);
            const uint64_t passed =
                i == last ? record.bytes
                          : static_cast<uint64_t>(share * static_cast<double>(record.bytes));
            port.intervals[i].bytes += passed - before;
            before = passed;
        }
        if (&hop == &parts.hops.front())
        {
            continue; // the sender's own NIC
        }
        const int64_t waited = std::max<int64_t>(0, hop.waited);
        const int64_t queued = std::max<int64_t>(0, hop.waited - hop.paused);
        port.intervals[last].waited += waited;
        if (queued > 0 &&
            (hop.behind.ordinary || (hop.behind.known && hop.behind.tag != UINT32_MAX)))
        {
            const uint32_t other = hop.behind.ordinary ? ordinary : ownerOf(hop.behind.tag);
            port.behind.resize(std::max<std::size_t>(port.behind.size(), other + 1), 0);
            port.behind[other] += queued;
        }
    }
}

void
Interference::Clear()
{
    for (Owner& owner : m_owners)
    {
        owner.ports.clear();
        owner.time = owner.throttled = 0;
    }
    m_ownersAt.clear();
    m_first = SIZE_MAX;
    m_last = 0;
}

void
Interference::Coarsen()
{
    m_interval *= 2;
    m_first = m_first == SIZE_MAX ? m_first : m_first / 2;
    m_last /= 2;
    for (Owner& owner : m_owners)
    {
        for (auto& [number, port] : owner.ports)
        {
            for (std::size_t i = 0; i < port.intervals.size(); ++i)
            {
                const Interval was = std::exchange(port.intervals[i], {});
                port.intervals[i / 2].waited += was.waited;
                port.intervals[i / 2].bytes += was.bytes;
            }
            port.intervals.resize((port.intervals.size() + 1) / 2);
        }
    }
}

void
Interference::SetOrdinary(uint32_t owner, std::vector<uint64_t> bytes)
{
    m_ordinary = owner;
    m_ordinaryBytes = std::move(bytes);
}

const std::string&
Interference::NameOf(uint32_t owner, const std::string& nameless) const
{
    return owner == 0 ? nameless : m_owners[owner].name;
}

double
Interference::BytesAt(uint32_t owner, uint32_t port, std::size_t interval) const
{
    const auto found = m_owners[owner].ports.find(port);
    const bool has =
        found != m_owners[owner].ports.end() && interval < found->second.intervals.size();
    const bool ordinary = owner == m_ordinary && !m_ordinaryBytes.empty() && m_first <= interval &&
                          interval <= m_last;
    return (has ? static_cast<double>(found->second.intervals[interval].bytes) : 0) +
           (ordinary ? static_cast<double>(m_ordinaryBytes[port]) /
                           static_cast<double>(m_last - m_first + 1)
                     : 0);
}

std::vector<uint32_t>
Interference::OwnersAt(uint32_t port) const
{
    const auto found = m_ownersAt.find(port);
    std::vector<uint32_t> owners =
        found == m_ownersAt.end() ? std::vector<uint32_t>() : found->second;
    const auto place = std::lower_bound(owners.begin(), owners.end(), m_ordinary);
    if (!m_ordinaryBytes.empty() && m_ordinaryBytes[port] > 0 &&
        (place == owners.end() || *place != m_ordinary))
    {
        owners.insert(place, m_ordinary);
    }
    return owners;
}

Interference::Others
Interference::FindOthers(uint32_t owner, uint32_t port) const
{
    Others of;
    of.most = owner;
    const std::vector<uint32_t> owners = OwnersAt(port);
    std::vector<double> sums(owners.size(), 0);
    std::vector<double> here(owners.size(), 0);
    const std::vector<Interval>& intervals = m_owners[owner].ports.at(port).intervals;
    for (std::size_t i = 0; i < intervals.size(); ++i)
    {
        if (intervals[i].bytes == 0 && intervals[i].waited == 0)
        {
            continue;
        }
        double all = 0;
        for (std::size_t k = 0; k < owners.size(); ++k)
        {
            here[k] = BytesAt(owners[k], port, i);
            sums[k] += here[k];
            all += here[k];
        }
        const auto waited = static_cast<double>(intervals[i].waited);
        of.waited += waited;
        for (std::size_t k = 0; k < owners.size() && waited > 0; ++k)
        {
            of.waitedFor[owners[k]] += waited * Share(here[k], all);
        }
    }
    double most = 0;
    for (std::size_t k = 0; k < owners.size(); ++k)
    {
        of.all += sums[k];
        if (owners[k] == owner)
        {
            continue;
        }
        of.theirs += sums[k];
        if (sums[k] > most)
        {
            most = sums[k];
            of.most = owners[k];
        }
    }
    return of;
}

nlohmann::ordered_json
Interference::SharedMost(uint32_t owner, const std::string& nameless) const
{
    Others best;
    uint32_t at = 0;
    for (const auto& [port, none] : m_owners[owner].ports)
    {
        const Others here = FindOthers(owner, port);
        if (here.theirs > best.theirs)
        {
            best = here;
            at = port;
        }
    }
    if (best.theirs == 0)
    {
        return {};
    }
    return {{"link", m_ports[at]},
            {"job", NameOf(best.most, nameless)},
            {"share_of_bytes_of_others", Share(best.theirs, best.all)}};
}

nlohmann::ordered_json
Interference::ToJson(uint32_t owner, const std::string& nameless, std::size_t mostLinks) const
{
    struct Link
    {
        uint32_t port;
        double waited;    // ps
        double forOthers; // ps
        double share;     // of the bytes there, others'
        uint32_t most;    // of the others, who has most bytes there
    };

    const Owner& mine = m_owners[owner];
    std::vector<double> waitedFor(m_owners.size(), 0); // ps
    std::vector<int64_t> behind(m_owners.size(), 0);   // ps
    std::vector<Link> links;
    for (const auto& [port, of] : mine.ports)
    {
        const Others here = FindOthers(owner, port);
        for (const auto& [other, time] : here.waitedFor)
        {
            waitedFor[other] += time;
        }
        for (std::size_t other = 0; other < of.behind.size(); ++other)
        {
            behind[other] += of.behind[other];
        }
        if (here.most != owner && here.waited > 0)
        {
            const auto own = here.waitedFor.find(owner);
            links.push_back({port,
                             here.waited,
                             here.waited - (own == here.waitedFor.end() ? 0 : own->second),
                             Share(here.theirs, here.all),
                             here.most});
        }
    }
    std::sort(links.begin(), links.end(), [](const Link& a, const Link& b) {
        return a.forOthers != b.forOthers ? a.forOthers > b.forOthers : a.port < b.port;
    });
    links.resize(std::min(links.size(), mostLinks));

    const double all = std::accumulate(waitedFor.begin(), waitedFor.end(), 0.0);
    nlohmann::ordered_json json;
    json["messages_us"] = static_cast<double>(mine.time) * 1e-6;
    json["waited_us"] = all * 1e-6;
    json["waited_for_others_us"] = (all - waitedFor[owner]) * 1e-6;
    json["named_from_share"] = NAMED_FROM_SHARE;
    json["throttled_us"] = static_cast<double>(mine.throttled) * 1e-6;
    json["waited_for"] = nlohmann::ordered_json::array();
    json["behind"] = nlohmann::ordered_json::array();
    for (uint32_t other = 0; other < m_owners.size(); ++other)
    {
        if (waitedFor[other] > 0)
        {
            json["waited_for"].push_back(
                {{"job", NameOf(other, nameless)}, {"waited_us", waitedFor[other] * 1e-6}});
        }
        if (behind[other] > 0)
        {
            json["behind"].push_back({{"job", NameOf(other, nameless)},
                                      {"waited_us", static_cast<double>(behind[other]) * 1e-6}});
        }
    }
    json["links"] = nlohmann::ordered_json::array();
    for (const Link& link : links)
    {
        json["links"].push_back({{"link", m_ports[link.port]},
                                 {"waited_us", link.waited * 1e-6},
                                 {"waited_for_others_us", link.forOthers * 1e-6},
                                 {"slowed_by", NameOf(link.most, nameless)},
                                 {"share_of_bytes_of_others", link.share}});
    }
    json["shares"] = SharedMost(owner, nameless);
    return json;
}

} // namespace results
