/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Which ways messages took through the network: paths.csv.
 */
#ifndef REPORTS_ATTRIBUTION_PATH_TABLE_H
#define REPORTS_ATTRIBUTION_PATH_TABLE_H

#include "reports/attribution/message-parts.h"
#include "reports/schema/object.h"
#include "reports/tables/flow-table.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace reports
{

/// Ports that a packet left, the sender's NIC first: ends of the fabric.
using Way = boost::container::small_vector<uint32_t, MessageParts::COMMON_HOPS>;

/// \return of a message's last packet, by whose arrival it is complete
Way WayOf(const MessageParts& parts);

/// \param ports names of directed links by end, "a->b". \return "server-0->edge-0-0->server-1"
std::string WayText(const Way& way, const std::vector<std::string>& ports);

/**
 * The paths of packets between pairs of endpoints, with the number of packets on each. For messages
 * whose last packet took the path: their number, bytes and completion times. A flow that keeps its
 * path (ECMP) has one, with all of its messages.
 *
 * Its memory is bounded: paths beyond a number of rows are counted and left out.
 */
class PathTable
{
  public:
    static constexpr std::size_t MOST_ROWS = 200000;

    /// \param endpoints names, kept by reference
    /// \param ports names, kept by reference
    /// \param wanted whether a pair of endpoints (from, to) is of interest; called once for each
    PathTable(const std::vector<std::string>& endpoints,
              const std::vector<std::string>& ports,
              std::function<bool(uint32_t from, uint32_t to)> wanted,
              std::size_t mostRows = MOST_ROWS);

    void Add(const FlowRecord& record, const MessageParts& parts);
    /// \param packets that came from src to dst by this way
    void AddPackets(uint32_t src, uint32_t dst, const Way& way, uint64_t packets);
    void Clear();

    /// Write paths.csv: by source, destination, and the way of most packets first, of most messages
    /// among equals.
    void Write(const std::string& path) const;
    /// `paths_csv` of stats.json.
    static const Object<PathTable>& Keys();

    nlohmann::ordered_json ToJson() const
    {
        return Keys().ToJson(*this);
    }

  private:
    using Pair = std::pair<uint32_t, uint32_t>; //!< source, destination

    struct Use
    {
        uint64_t packets = 0;
        uint64_t messages = 0;
        uint64_t bytes = 0;
        unsigned __int128 time = 0; //!< sum of completion times, ps: 64 bits hold 100 days only
        int64_t longest = 0;        //!< ps
    };

    /// \return the use of a path, which may be new; null: the pair is not wanted, or there is no
    /// room
    Use* Find(const Pair& pair, const Way& way, uint64_t& leftOut);

    const std::vector<std::string>& m_endpoints;
    const std::vector<std::string>& m_ports;
    std::function<bool(uint32_t from, uint32_t to)> m_wanted;
    std::size_t m_mostRows;
    std::map<Pair, bool> m_isWanted;
    std::map<Pair, std::map<Way, Use>> m_uses;
    std::size_t m_rows = 0;
    uint64_t m_leftOut = 0; //!< messages
    uint64_t m_packetsLeftOut = 0;
};

} // namespace reports

#endif // REPORTS_ATTRIBUTION_PATH_TABLE_H
