/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The choice of a run's records that its timeline shows, within a maximum number of events.
 */
#ifndef REPORTS_TIMELINE_TIMELINE_CHOICE_H
#define REPORTS_TIMELINE_TIMELINE_CHOICE_H

#include "reports/timeline/timeline-records.h"

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace reports
{

/// The run has neither calls nor messages nor links.
class NothingToShow : public std::runtime_error
{
  public:
    using std::runtime_error::runtime_error;
};

} // namespace reports

namespace reports::timeline
{

/// The data of each message that the choice needs.
struct Brief
{
    double slowdown;
    uint32_t fromGpu;
    uint32_t toGpu;
};

/// The kinds of records that can be shown.
enum Kind : uint8_t
{
    kGpus,
    kCalls,
    kMessages,
    kLinks,
    kLosses,
    kCollectives
};

constexpr std::array<const char*, 6> kKindNames =
    {"gpus", "calls", "messages", "links", "losses", "collectives"};

/// By Kind: the number that exists, or is shown.
using Counts = std::array<uint64_t, kKindNames.size()>;

/// Reads the remaining files, and removes the records that do not fit.
class Choice
{
  public:
    /// Throws NothingToShow.
    Choice(Records& records, const std::string& folder, uint64_t maxEvents);

    std::vector<Call> calls;
    std::vector<Message> messages;
    std::vector<uint32_t> shownLinks; ///< the busiest first
    Counts found{};
    Counts shown{};

  private:
    /// Whether a message is slower than another, by their numbers.
    bool Slower(uint32_t a, uint32_t b) const
    {
        const double x = m_briefs[a].slowdown;
        const double y = m_briefs[b].slowdown;
        return x != y ? x > y : a < b;
    }

    /// \return the numbers of the slowest messages, in no order
    std::vector<uint32_t> Slowest(uint64_t count) const;
    std::set<uint32_t> ChooseGpus(uint64_t room) const;
    void ChooseCalls(uint64_t room);
    void ChooseLinks(uint64_t room);
    void ChooseMessages(uint64_t room);
    void FindCalls();

    Records& m_records;
    std::map<uint32_t, uint64_t> m_callsOfRank;
    std::vector<Brief> m_briefs; ///< briefs of all messages
};

} // namespace reports::timeline

#endif // REPORTS_TIMELINE_TIMELINE_CHOICE_H
