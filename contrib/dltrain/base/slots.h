/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_SLOTS_H
#define DLTRAIN_SLOTS_H

#include "ns3/prefetch-line.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dltrain
{

/// A list with gaps: things by number, and numbers that are given back serve again, the last one
/// first. \tparam List an rdma::FixedList<T> or std::deque<T> leaves things where they are when
/// others come
template <class T, class List = std::vector<T>>
class Slots
{
  public:
    /// \return a free number; its previous content is still there
    uint32_t Take()
    {
        if (m_free.empty())
        {
            m_things.emplace_back();
            return static_cast<uint32_t>(m_things.size() - 1);
        }
        const uint32_t number = m_free.back();
        m_free.pop_back();
        return number;
    }

    void Give(uint32_t number)
    {
        m_free.push_back(number);
    }

    T& operator[](std::size_t number)
    {
        return m_things[number];
    }

    const T& operator[](std::size_t number) const
    {
        return m_things[number];
    }

    /// \pre it is in this list, and the list does not move its elements
    uint32_t NumberOf(const T* thing) const
    {
        return static_cast<uint32_t>(m_things.IndexOf(thing));
    }

    /// Take and Give will soon be called.
    void PrefetchFree() const
    {
        ns3::PrefetchLine(m_free.data() + m_free.size());
    }

    /// It will be needed soon.
    void Prefetch(std::size_t number) const
    {
        ns3::PrefetchLines(&m_things[number], &m_things[number] + 1);
    }

    /// All, those in gaps as well.
    const List& All() const
    {
        return m_things;
    }

    /// \param change is called with each, those in gaps as well
    template <class Change>
    void ForEach(Change change)
    {
        for (T& thing : m_things)
        {
            change(thing);
        }
    }

  private:
    List m_things;
    std::vector<uint32_t> m_free;
};

} // namespace dltrain

#endif // DLTRAIN_SLOTS_H
