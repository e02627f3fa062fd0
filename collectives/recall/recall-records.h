/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Records: how collectives went in packets.
 */
#ifndef COLLECTIVES_RECALL_RECALL_RECORDS_H
#define COLLECTIVES_RECALL_RECALL_RECORDS_H

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace coll
{

using RecallTimes = std::vector<int64_t>; ///< ps, by rank

/// What was under way when a collective began.
struct RecallContext
{
    static constexpr uint32_t kNothing = UINT32_MAX;

    uint32_t behind = kNothing; ///< shape of the group's last one, if that had not ended
    uint32_t place = 0;         ///< in a round, of those that are recalled by rounds

    bool operator==(const RecallContext& other) const
    {
        return behind == other.behind && place == other.place;
    }
};

/// How one went.
struct RecallRecord
{
    RecallContext context;
    RecallTimes before;     ///< launched so much before the last rank
    RecallTimes ends;       ///< left so much behind the last launch
    int64_t duration = 0;   ///< the largest of ends
    bool isChecked = false; ///< there was one alike before
};

/// Those of one shape; the oldest are forgotten.
class RecallRecords
{
  public:
    /// \return one with launches as far apart: none differs by more than `tolerance` of its
    /// duration
    const RecallRecord* Find(const RecallContext& context,
                             const RecallTimes& before,
                             double tolerance) const;

    /// \return the one that was alike, and is replaced
    std::optional<RecallRecord> Keep(RecallRecord record, double tolerance);

    bool IsEmpty() const
    {
        return m_records.empty();
    }

    /// \return ps; 0 without records
    int64_t LastDuration() const
    {
        return m_records.empty() ? 0 : m_records.back().duration;
    }

  private:
    static constexpr std::size_t kMost = 256;

    std::vector<RecallRecord> m_records; ///< the newest last
};

/// \return whether no time differs by more
bool AreAlike(const RecallTimes& a, const RecallTimes& b, int64_t most);

/// \return the largest difference of two records' ends, as a share of the second's duration
double MissOf(const RecallRecord& before, const RecallRecord& now);

/**
 * The order of a group's collectives, to know at one which will be next: that which was next the
 * last time after as many of the kind in a row. So it can be in packets for the sake of the next.
 */
class RecallHistory
{
  public:
    /// The next one has launched. \return whether it was asked for
    bool Add(uint32_t track);

    /// Asks for one that the same will come behind: in a row the next one, else the one before the
    /// last added, when it comes again.
    void AskForPrevious()
    {
        m_asksNext = m_previous.track == m_last.track;
        if (!m_asksNext)
        {
            if (std::find(m_asked.begin(), m_asked.end(), m_previous) == m_asked.end())
            {
                m_asked.push_back(m_previous);
            }
        }
    }

    /// \return whether something is asked for
    bool IsAsking() const
    {
        return m_asksNext || !m_asked.empty();
    }

  private:
    struct Place
    {
        uint32_t track = UINT32_MAX;
        uint32_t count = 0;           ///< of the track, in a row
        uint32_t behind = UINT32_MAX; ///< track before those

        bool operator==(const Place& other) const
        {
            return track == other.track && count == other.count && behind == other.behind;
        }
    };

    Place m_last;
    Place m_previous;
    std::vector<Place> m_asked;
    bool m_asksNext = false;
};

} // namespace coll

#endif // COLLECTIVES_RECALL_RECALL_RECORDS_H
