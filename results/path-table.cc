/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "results/path-table.h"

#include "results/line-log.h"

#include <algorithm>

namespace results
{

Way
WayOf(const MessageParts& parts)
{
    Way way;
    for (const MessageParts::Hop& hop : parts.hops)
    {
        way.push_back(hop.port);
    }
    return way;
}

std::string
WayText(const Way& way, const std::vector<std::string>& ports)
{
    std::string text;
    for (const uint32_t port : way)
    {
        const std::string& name = ports[port];
        text += text.empty() ? name : name.substr(name.find("->"));
    }
    return text;
}

PathTable::PathTable(const std::vector<std::string>& endpoints,
                     const std::vector<std::string>& ports,
                     std::function<bool(uint32_t from, uint32_t to)> wanted,
                     std::size_t mostRows)
    : m_endpoints(endpoints),
      m_ports(ports),
      m_wanted(std::move(wanted)),
      m_mostRows(mostRows)
{
}

PathTable::Use*
PathTable::Find(const Pair& pair, const Way& way, uint64_t& leftOut)
{
    const auto [known, isNew] = m_isWanted.try_emplace(pair, false);
    if (isNew)
    {
        known->second = m_wanted(pair.first, pair.second);
    }
    if (!known->second)
    {
        return nullptr;
    }
    std::map<Way, Use>& ways = m_uses[pair];
    const auto use = ways.find(way);
    if (use != ways.end())
    {
        return &use->second;
    }
    if (m_rows == m_mostRows)
    {
        ++leftOut;
        return nullptr;
    }
    ++m_rows;
    return &ways[way];
}

void
PathTable::Add(const FlowRecord& record, const MessageParts& parts)
{
    if (Use* use = Find({record.src, record.dst}, WayOf(parts), m_leftOut))
    {
        const int64_t time = record.end - record.start;
        ++use->messages;
        use->bytes += record.bytes;
        use->time += static_cast<uint64_t>(time);
        use->longest = std::max(use->longest, time);
    }
}

void
PathTable::AddPackets(uint32_t src, uint32_t dst, const Way& way, uint64_t packets)
{
    uint64_t ways = 0;
    if (Use* use = Find({src, dst}, way, ways))
    {
        use->packets += packets;
    }
    m_packetsLeftOut += ways * packets;
}

void
PathTable::Clear()
{
    m_uses.clear();
    m_rows = 0;
    m_leftOut = 0;
    m_packetsLeftOut = 0;
}

void
PathTable::Write(const std::string& path) const
{
    LineLog file(path);
    file.Write("src,dst,messages,bytes,fct_us_mean,fct_us_max,packets,path");
    std::string line;
    for (const auto& [pair, ways] : m_uses)
    {
        std::vector<std::pair<Way, Use>> order(ways.begin(), ways.end());
        std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
            return std::make_pair(a.second.packets, a.second.messages) >
                   std::make_pair(b.second.packets, b.second.messages);
        });
        for (const auto& [way, use] : order)
        {
            line.clear();
            AppendField(line, m_endpoints[pair.first]);
            line += ',';
            AppendField(line, m_endpoints[pair.second]);
            line += ',';
            AppendInteger(line, use.messages);
            line += ',';
            AppendInteger(line, use.bytes);
            line += ',';
            if (use.messages)
            {
                AppendMicroseconds(line, static_cast<int64_t>(use.time / use.messages));
            }
            line += ',';
            if (use.messages)
            {
                AppendMicroseconds(line, use.longest);
            }
            line += ',';
            AppendInteger(line, use.packets);
            line += ',';
            AppendField(line, WayText(way, m_ports));
            file.Write(line);
        }
    }
    file.Close();
}

nlohmann::ordered_json
PathTable::ToJson() const
{
    return {{"rows", m_rows},
            {"pairs", m_uses.size()},
            {"messages_left_out", m_leftOut},
            {"packets_left_out", m_packetsLeftOut}};
}

} // namespace results
