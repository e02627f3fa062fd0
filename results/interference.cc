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
    Owner& mine = m_owners[owner];
    mine.time += record.end - record.start;
    mine.throttled += parts.parts[At(TimeShare::THROTTLED)];
    for (const MessageParts::Hop& hop : parts.hops)
    {
        Port& port = mine.ports[hop.port];
        port.bytes += record.bytes;
        if (&hop == &parts.hops.front())
        {
            continue; // the sender's own NIC
        }
        const int64_t waited = std::max<int64_t>(0, hop.waited);
        const int64_t queued = std::max<int64_t>(0, hop.waited - hop.paused);
        port.waited += waited;
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

uint64_t
Interference::BytesAt(uint32_t owner, uint32_t port) const
{
    const auto found = m_owners[owner].ports.find(port);
    const uint64_t ordinary =
        owner == m_ordinary && !m_ordinaryBytes.empty() ? m_ordinaryBytes[port] : 0;
    return ordinary + (found == m_owners[owner].ports.end() ? 0 : found->second.bytes);
}

Interference::Others
Interference::FindOthers(uint32_t owner, uint32_t port) const
{
    Others of;
    of.most = owner;
    for (uint32_t other = 0; other < m_owners.size(); ++other)
    {
        const uint64_t bytes = BytesAt(other, port);
        of.all += static_cast<double>(bytes);
        of.theirs += other == owner ? 0 : static_cast<double>(bytes);
        const bool more = of.most == owner || bytes > BytesAt(of.most, port);
        of.most = other != owner && bytes > 0 && more ? other : of.most;
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
        const auto waited = static_cast<double>(of.waited);
        for (uint32_t other = 0; other < m_owners.size(); ++other)
        {
            waitedFor[other] += waited * Share(static_cast<double>(BytesAt(other, port)), here.all);
            behind[other] += other < of.behind.size() ? of.behind[other] : 0;
        }
        const double share = 1 - Share(static_cast<double>(of.bytes), here.all);
        if (here.most != owner && of.waited > 0)
        {
            links.push_back({port, waited, waited * share, share, here.most});
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
