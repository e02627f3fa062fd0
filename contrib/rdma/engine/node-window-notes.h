/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef NODE_WINDOW_NOTES_H
#define NODE_WINDOW_NOTES_H

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

namespace ns3
{

struct NodeWindowNote;

/**
 * \ingroup rdma
 * Notes of windows that are over (NodeWindows::Note), until their observers are told: in the order
 * of (time, context, calls), as if all nodes shared one event set.
 */
class NodeWindowNotes
{
  public:
    /// \param now clock of the simulation: the time of each note while its observer is told
    explicit NodeWindowNotes(int64_t& now)
        : m_now(now)
    {
    }

    /// \param side of NodeWindowTeam, whose shards have the note \param soon whether TellSoon tells
    /// it, not TellBefore
    void Add(uint32_t side, const NodeWindowNote& note, bool soon);
    void TellSoon();
    /// \param until a tick: later notes wait
    void TellBefore(int64_t until);

    bool IsEmpty() const
    {
        return m_waiting.empty();
    }

    /// \return whether a note of this side waits
    bool Waits(uint32_t side) const;
    /// \return when the first note was made that waits; INT64_MAX: none waits
    int64_t GetFirst() const;

    /// \return context of the note that is being told; else Simulator::NO_CONTEXT
    uint32_t GetContext() const
    {
        return m_context;
    }

  private:
    struct Told
    {
        int64_t ts;
        uint32_t context;
        uint32_t side;
        const NodeWindowNote* note;

        bool operator<(const Told& other) const
        {
            return std::tie(ts, context, note) < std::tie(other.ts, other.context, other.note);
        }
    };

    /// Sorts notes from `begin` to before `end` by time and context; one context's stay in order.
    void Sort(std::size_t begin, std::size_t end);

    int64_t& m_now;
    uint32_t m_context{UINT32_MAX};
    std::vector<Told> m_notes;      //!< that are told now
    std::vector<Told> m_waiting;    //!< not yet
    std::vector<Told> m_unsorted;   //!< while they are sorted
    std::vector<uint32_t> m_before; //!< by bin: number of notes in the bins before it
};

} // namespace ns3

#endif /* NODE_WINDOW_NOTES_H */
