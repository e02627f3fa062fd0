/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/attribution/path-table.h"

#include "reports/base/line-log.h"
#include "reports/schema/table.h"

#include <algorithm>

namespace reports
{

namespace
{

/// A row of paths.csv.
struct PathRow
{
    std::string_view src;
    std::string_view dst;
    uint64_t messages;
    uint64_t bytes;
    std::optional<int64_t> mean;    ///< ps; nothing: no messages
    std::optional<int64_t> longest; ///< ps
    uint64_t packets;
    std::string path;
};

const Table<PathRow> PATHS(
    "paths.csv",
    {{"src: Sending host", &PathRow::src},
     {"dst: Receiving host", &PathRow::dst},
     {"messages (count): Messages whose last packet took this path", &PathRow::messages},
     {"bytes (B): Size of these messages", &PathRow::bytes},
     {"fct_us_mean (us): Mean of their completion times", &PathRow::mean},
     {"fct_us_max (us): Longest of these", &PathRow::longest},
     Column<PathRow>("packets (count): Packets of measured messages that arrived on this path, "
                     "with retransmissions, without trimmed or lost ones",
                     &PathRow::packets)
         .Later(),
     {"path: Links by their names in links.csv", &PathRow::path}});

} // namespace

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
    file.Write(PATHS.Header());
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
            const bool any = use.messages > 0;
            PATHS.Write(
                line,
                {m_endpoints[pair.first],
                 m_endpoints[pair.second],
                 use.messages,
                 use.bytes,
                 any ? std::optional(static_cast<int64_t>(use.time / use.messages)) : std::nullopt,
                 any ? std::optional(use.longest) : std::nullopt,
                 use.packets,
                 WayText(way, m_ports)});
            file.Write(line);
        }
    }
    file.Close();
}

const Object<PathTable>&
PathTable::Keys()
{
    static const Object<PathTable> keys{
        {"rows (count): Rows: paths of pairs of hosts", &PathTable::m_rows},
        {"pairs (count): Pairs of hosts", [](const auto& t) { return t.m_uses.size(); }},
        {"messages_left_out (count): Messages on paths beyond the first 200,000",
         &PathTable::m_leftOut},
        {"packets_left_out (count): Packets on paths beyond the first 200,000",
         &PathTable::m_packetsLeftOut}};
    return keys;
}

} // namespace reports
