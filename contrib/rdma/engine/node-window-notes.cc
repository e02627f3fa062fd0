/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "node-window-notes.h"

#include "node-window-shard.h"
#include "prefetch-line.h"

#include "ns3/simulator.h"

#include <algorithm>

namespace ns3
{

void
NodeWindowNotes::Add(uint32_t side, const NodeWindowNote& note, bool soon)
{
    (soon ? m_notes : m_waiting).push_back({note.ts, note.context, side, &note});
}

bool
NodeWindowNotes::Waits(uint32_t side) const
{
    return std::any_of(m_waiting.begin(), m_waiting.end(), [side](const Told& told) {
        return told.side == side;
    });
}

int64_t
NodeWindowNotes::GetFirst() const
{
    int64_t first = INT64_MAX;
    for (const Told& told : m_waiting)
    {
        first = std::min(first, told.ts);
    }
    return first;
}

void
NodeWindowNotes::Sort(std::size_t begin, std::size_t end)
{
    constexpr std::size_t FEW = 16;
    const std::size_t size = end - begin;
    Told* notes = m_notes.data() + begin;
    if (size <= FEW)
    {
        std::sort(notes, notes + size);
        return;
    }
    // They are spread over the window: of as many bins as there are notes most have one or two. To
    // sort them all at once costs three times as much, as no processor foresees how two compare.
    // Where thousands of nodes do the same at the same time they are spread over contexts.
    bool byTime = true;
    int64_t first = 0;
    int64_t last = 0;
    const auto keyOf = [&byTime](const Told& told) {
        return byTime ? told.ts : int64_t{told.context};
    };
    const auto findBounds = [&] {
        first = last = keyOf(*notes);
        for (std::size_t i = 1; i < size; ++i)
        {
            first = std::min(first, keyOf(notes[i]));
            last = std::max(last, keyOf(notes[i]));
        }
        return first < last;
    };
    if (!findBounds())
    {
        byTime = false;
        if (!findBounds())
        {
            std::sort(notes, notes + size);
            return;
        }
    }
    uint32_t shift = 0;
    while (static_cast<std::size_t>((last - first) >> shift) >= size)
    {
        ++shift;
    }
    const auto binOf = [&](const Told& told) {
        return static_cast<std::size_t>((keyOf(told) - first) >> shift);
    };
    const std::size_t bins = m_before.size(); // behind those of whoever sorts a bin by this
    m_before.resize(bins + size + 1, 0);
    for (std::size_t i = 0; i < size; ++i)
    {
        ++m_before[bins + binOf(notes[i]) + 1];
    }
    for (std::size_t bin = 1; bin < size; ++bin)
    {
        m_before[bins + bin] += m_before[bins + bin - 1];
    }
    m_unsorted.assign(notes, notes + size);
    for (const Told& told : m_unsorted)
    {
        notes[m_before[bins + binOf(told)]++] = told;
    }
    // Now each bin's count is where the next one begins.
    for (std::size_t bin = 0, from = 0; bin < size; ++bin)
    {
        const std::size_t to = m_before[bins + bin];
        if (to - from > 1)
        {
            Sort(begin + from, begin + to);
        }
        from = to;
    }
    m_before.resize(bins);
}

void
NodeWindowNotes::TellBefore(int64_t until)
{
    const auto waits = [until](const Told& told) { return told.ts >= until; };
    const auto told = std::partition(m_waiting.begin(), m_waiting.end(), waits);
    m_notes.assign(told, m_waiting.end());
    m_waiting.erase(told, m_waiting.end());
    TellSoon();
}

void
NodeWindowNotes::TellSoon()
{
    if (m_notes.empty())
    {
        return;
    }
    // A context's own lie in one shard, in their order.
    Sort(0, m_notes.size());
    // What the collectors of thousands of nodes know of one of them is in no cache.
    constexpr std::size_t DISTANCE = 3;
    constexpr std::size_t FARTHEST = DISTANCE * NodeWindowNote::DEPTHS;
    const std::size_t size = m_notes.size();
    for (std::size_t i = 0; i < size; ++i)
    {
        if (i + FARTHEST + DISTANCE < size)
        {
            const NodeWindowNote* note = m_notes[i + FARTHEST + DISTANCE].note;
            PrefetchLines(note, note + 1);
        }
        for (uint32_t depth = 0; depth < NodeWindowNote::DEPTHS; ++depth)
        {
            const std::size_t place = i + FARTHEST - DISTANCE * depth;
            if (place < size && m_notes[place].note->prefetch)
            {
                const NodeWindowNote& note = *m_notes[place].note;
                note.prefetch(note.sink, note.payload, depth);
            }
        }
        const Told& told = m_notes[i];
        m_now = told.ts;
        m_context = told.context;
        told.note->tell(told.note->sink, told.note->payload);
    }
    m_context = Simulator::NO_CONTEXT;
    m_notes.clear();
}

} // namespace ns3
