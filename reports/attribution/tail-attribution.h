/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_ATTRIBUTION_TAIL_ATTRIBUTION_H
#define REPORTS_ATTRIBUTION_TAIL_ATTRIBUTION_H

#include "reports/attribution/link-notes.h"
#include "reports/attribution/message-parts.h"
#include "reports/attribution/path-table.h"
#include "reports/schema/object.h"
#include "reports/tables/flow-table.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace reports
{

/**
 * Says why messages were late: the slowest ones by the time they lost against an idle network, in
 * attribution.csv and in a line of words, and the sums over all measured messages.
 *
 * Built on what messages note on their way; those without that (READs) are counted apart.
 */
class TailAttribution
{
  public:
    static constexpr std::size_t SLOWEST = 1000; //!< rows of attribution.csv
    static constexpr std::size_t TOLD = 10;      //!< in stats.json

    /// \param endpoints, ports (by end of the fabric), tags names, kept by reference
    /// \param link what holds packets back there, in words; kept by reference
    TailAttribution(const std::vector<std::string>& endpoints,
                    const std::vector<std::string>& ports,
                    const std::vector<std::string>& tags,
                    const rdma::LinkWords& link);

    /// Sets additional notes on links. \param notes kept; null: none
    void SetNotes(const LinkNotes* notes)
    {
        m_notes = notes;
    }

    /// \param tags by tag: whether it is a collective, whose chunks follow one another; kept; tags
    /// beyond it are none
    void SetCollectives(const std::vector<bool>* tags)
    {
        m_collectives = tags;
    }

    /// \param parts of this message
    void Add(const FlowRecord& record, const MessageParts& parts);
    void AddUnknown();
    void Clear();

    /// `attribution` of stats.json.
    static const Object<TailAttribution>& Keys();

    nlohmann::ordered_json ToJson() const
    {
        return Keys().ToJson(*this);
    }

    /// \return one line a message, the slowest first, one for each pair of hosts and tag
    std::vector<std::string> InWords(std::size_t most) const;
    /// Write attribution.csv: the slowest, by the time lost.
    void Write(const std::string& path) const;

  private:
    struct Late
    {
        FlowRecord record;
        TimeParts parts{};
        uint32_t port{0};  //!< where it was queued or paused longest
        int64_t atPort{0}; //!< ps, there
        int64_t pausedThere{0};
        MessageParts::Others behind;
        Way way;
    };

    /// Time of last packets at a port, ps.
    struct PortTimes
    {
        std::string link;
        int64_t queued;
        int64_t paused;
    };

    /// \return the ports with most of it
    std::vector<PortTimes> WorstPorts() const;
    /// \return ps that a message took longer than alone
    static int64_t LostOn(const FlowRecord& record);
    /// \return whether a lost more time than b; of equal ones, whether a was posted first
    static bool LostMore(const FlowRecord& a, const FlowRecord& b);
    static Late LateOf(const FlowRecord& record, const MessageParts& divided);
    static bool Slower(const Late& a, const Late& b);
    std::vector<Late> Sorted() const;
    /// \return faults that lost frames between its two ends while it was under way, or what should
    /// have come back; or nothing
    std::string LostOf(const FlowRecord& record) const;
    std::string Why(const Late& late) const;
    std::string NoteOf(const Late& late) const;
    bool IsOfCollective(const Late& late) const;

    const std::vector<std::string>& m_endpoints;
    const std::vector<std::string>& m_ports;
    const std::vector<std::string>& m_tags;
    const rdma::LinkWords& m_link;
    const LinkNotes* m_notes{nullptr};
    const std::vector<bool>* m_collectives{nullptr};
    std::vector<Late> m_slowest; //!< min-heap
    TimeParts m_sums{};
    int64_t m_sum{0};
    uint64_t m_known{0};
    uint64_t m_unknown{0};
    std::vector<std::array<int64_t, 2>> m_atPort; //!< queued, paused
};

} // namespace reports

#endif /* REPORTS_ATTRIBUTION_TAIL_ATTRIBUTION_H */
