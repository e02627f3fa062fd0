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
Microseconds(int64_t ps)
{
    return static_cast<double>(ps) * 1e-6;
}

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
                  const std::function<uint32_t(uint32_t tag)>& ownerOf)
{
    Owner& mine = m_owners[owner];
    for (const MessageParts::Hop& hop : parts.hops)
    {
        Port& port = mine.ports[hop.port];
        port.bytes += record.bytes;
        if (&hop == &parts.hops.front())
        {
            continue; // the sender's own NIC
        }
        const int64_t queued = std::max<int64_t>(0, hop.waited - hop.paused);
        mine.waited += queued;
        mine.paused += hop.paused;
        if (queued > 0 && hop.behind.known && hop.behind.tag != UINT32_MAX)
        {
            const uint32_t other = ownerOf(hop.behind.tag);
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
        owner.waited = 0;
        owner.paused = 0;
        owner.ports.clear();
    }
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
    return found == m_owners[owner].ports.end() ? 0 : found->second.bytes;
}

nlohmann::ordered_json
Interference::ToJson(uint32_t owner, const std::string& nameless, std::size_t mostLinks) const
{
    const Owner& mine = m_owners[owner];
    std::vector<int64_t> behind(m_owners.size(), 0);
    std::vector<std::pair<int64_t, uint32_t>> links; // time behind others, port
    for (const auto& [port, of] : mine.ports)
    {
        int64_t others = 0;
        for (uint32_t other = 0; other < of.behind.size(); ++other)
        {
            behind[other] += of.behind[other];
            others += other == owner ? 0 : of.behind[other];
        }
        if (others > 0)
        {
            links.emplace_back(others, port);
        }
    }
    std::sort(links.begin(), links.end(), [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    links.resize(std::min(links.size(), mostLinks));

    const int64_t forOthers =
        std::accumulate(behind.begin(), behind.end(), int64_t{0}) - behind[owner];
    nlohmann::ordered_json json;
    json["waited_us"] = Microseconds(mine.waited);
    json["waited_for_others_us"] = Microseconds(forOthers);
    json["paused_us"] = Microseconds(mine.paused);
    json["behind"] = nlohmann::ordered_json::array();
    for (uint32_t other = 0; other < behind.size(); ++other)
    {
        if (behind[other] > 0)
        {
            json["behind"].push_back(
                {{"job", NameOf(other, nameless)},
                 {"waited_us", Microseconds(behind[other])},
                 {"share",
                  Share(static_cast<double>(behind[other]), static_cast<double>(mine.waited))}});
        }
    }
    json["links"] = nlohmann::ordered_json::array();
    for (const auto& [time, port] : links)
    {
        const std::vector<int64_t>& here = mine.ports.at(port).behind;
        uint32_t worst = owner;
        uint64_t all = 0;
        for (uint32_t other = 0; other < m_owners.size(); ++other)
        {
            all += BytesAt(other, port);
            const bool waits = other != owner && other < here.size() && here[other] > 0;
            worst = waits && (worst == owner || here[other] > here[worst]) ? other : worst;
        }
        const auto own = static_cast<double>(BytesAt(owner, port));
        json["links"].push_back(
            {{"link", m_ports[port]},
             {"waited_for_others_us", Microseconds(time)},
             {"slowed_by", NameOf(worst, nameless)},
             {"share_of_bytes_of_others", 1 - Share(own, static_cast<double>(all))}});
    }
    return json;
}

} // namespace results
