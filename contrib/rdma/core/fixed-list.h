/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_CORE_FIXED_LIST_H
#define RDMA_CORE_FIXED_LIST_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace rdma
{

/**
 * A list that grows at its end and leaves things where they are. Unlike std::deque it says itself
 * where a thing is, without another piece of memory that has to be looked at first: pieces of
 * twice the size each, and a table of them in the list.
 *
 *     piece 0: 8 things, piece 1: 16, piece 2: 32, ...
 */
template <class T>
class FixedList
{
  public:
    template <class List, class Thing>
    class Iterator
    {
      public:
        Iterator(List* list, std::size_t at)
            : m_list(list),
              m_at(at)
        {
        }

        Thing& operator*() const
        {
            return (*m_list)[m_at];
        }

        Iterator& operator++()
        {
            ++m_at;
            return *this;
        }

        bool operator!=(const Iterator& other) const
        {
            return m_at != other.m_at;
        }

      private:
        List* m_list;
        std::size_t m_at;
    };

    /// \return the new one, at the end
    T& emplace_back()
    {
        std::unique_ptr<T[]>& piece = m_pieces.at(PieceOf(m_size));
        if (!piece)
        {
            piece = std::make_unique<T[]>(FIRST << PieceOf(m_size));
        }
        return (*this)[m_size++];
    }

    std::size_t size() const
    {
        return m_size;
    }

    /// \pre at < size()
    T& operator[](std::size_t at)
    {
        return m_pieces[PieceOf(at)][PlaceOf(at)];
    }

    const T& operator[](std::size_t at) const
    {
        return m_pieces[PieceOf(at)][PlaceOf(at)];
    }

    /// \pre it is one of them \return its number; O(log size)
    std::size_t IndexOf(const T* thing) const
    {
        const std::less<const T*> isBefore;
        std::size_t piece = 0;
        while (!m_pieces[piece] || isBefore(thing, &m_pieces[piece][0]) ||
               !isBefore(thing, &m_pieces[piece][0] + (FIRST << piece)))
        {
            ++piece;
        }
        return static_cast<std::size_t>(thing - &m_pieces[piece][0]) + (FIRST << piece) - FIRST;
    }

    Iterator<FixedList, T> begin()
    {
        return {this, 0};
    }

    Iterator<FixedList, T> end()
    {
        return {this, m_size};
    }

    Iterator<const FixedList, const T> begin() const
    {
        return {this, 0};
    }

    Iterator<const FixedList, const T> end() const
    {
        return {this, m_size};
    }

  private:
    static constexpr std::size_t FIRST = 8;
    /// Together more than 2^24 things, which is as many queue pairs as there are numbers.
    static constexpr std::size_t PIECES = 22;

    static std::size_t PieceOf(std::size_t at)
    {
        return 63 - static_cast<std::size_t>(__builtin_clzll(at / FIRST + 1));
    }

    static std::size_t PlaceOf(std::size_t at)
    {
        return at + FIRST - (FIRST << PieceOf(at));
    }

    std::array<std::unique_ptr<T[]>, PIECES> m_pieces;
    std::size_t m_size = 0;
};

} // namespace rdma

#endif // RDMA_CORE_FIXED_LIST_H
