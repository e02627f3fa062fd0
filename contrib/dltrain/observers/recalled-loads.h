/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_RECALLED_LOADS_H
#define DLTRAIN_RECALLED_LOADS_H

#include "collectives/recall/recall-book.h"
#include "collectives/recall/recall-network.h"

#include <cstdint>
#include <vector>

namespace dltrain
{

/**
 * What links would have carried of collectives that were recalled, not sent: bytes by end of the
 * fabric, as if each had been sent evenly from the last launch to the last end. Between the nodes'
 * events. With preambles and gaps.
 */
class RecalledLoads
{
  public:
    RecalledLoads(uint32_t ends, uint32_t ranks, const coll::RecallSettings& settings)
        : m_ends(ends),
          m_network(settings),
          m_rounds(ranks, 0)
    {
    }

    /// Ports of what is recalled are ends of the fabric.
    coll::RecallNetwork& GetNetwork()
    {
        return m_network;
    }

    /// \return RecallNetwork::isOpaque
    bool IsOpaque() const
    {
        return m_network.isOpaque;
    }

    /// In an event of a rank's server, or before the first one: it begins a round.
    void BeginRound(uint32_t rank, uint32_t round, int64_t now);

    /// In an event of its server.
    uint32_t RoundOf(uint32_t rank) const
    {
        return m_rounds[rank];
    }

    /// \param from,until ps
    void Add(uint32_t end, uint64_t wireBytes, uint64_t frames, int64_t from, int64_t until);

    /// \return bytes up to now; now never decreases
    uint64_t GetBytes(uint32_t end, int64_t now);

    /// \return whether something is sent after now
    bool IsSending(int64_t now) const
    {
        return m_until > now;
    }

    /// Messages that were not sent, in bytes.
    void AddMessages(uint64_t bytes)
    {
        m_messageBytes += bytes;
    }

    uint64_t GetMessageBytes() const
    {
        return m_messageBytes;
    }

    /// \return of all ends together, whenever
    uint64_t GetFrames() const
    {
        return m_frames;
    }

    /// Who recalls. \param book outlives the last call of GetStatistics
    void AddBook(coll::RecallBook& book)
    {
        m_books.push_back(&book);
    }

    /// \return of all who recall, at the end of the run; of times, those of the one with most
    coll::RecallStatistics GetStatistics(int64_t now) const;

    /// \return the share by which the time since then may be wrong
    double GetError(int64_t measuredFrom, int64_t now) const;

  private:
    struct Load
    {
        uint64_t bytes;
        int64_t from;
        int64_t until;
    };

    struct End
    {
        uint64_t sent = 0;
        std::vector<Load> sending;
    };

    /// Groups are recalled by rounds, if none of their collectives came again.
    void JoinIfInVain(int64_t now);

    std::vector<coll::RecallBook*> m_books;
    std::vector<End> m_ends;
    coll::RecallNetwork m_network;
    std::vector<uint32_t> m_rounds; ///< by rank
    bool m_isJudged = false;        ///< JoinIfInVain
    uint64_t m_frames = 0;
    uint64_t m_messageBytes = 0;
    int64_t m_until = 0;
};

} // namespace dltrain

#endif // DLTRAIN_RECALLED_LOADS_H
