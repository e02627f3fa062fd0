/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Buffers whose bytes hold, instead of a value, which ranks' contributions were added up in them:
 * what the checker (checker.h) computes with.
 */
#ifndef COLLECTIVES_CORE_SYMBOLIC_BYTES_H
#define COLLECTIVES_CORE_SYMBOLIC_BYTES_H

#include "collectives/core/schedule.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

namespace coll
{

using SetId = uint32_t;

/// Sets of ranks, each stored once and known by a number, so that a byte's content is small and
/// unions are looked up.
class RankSets
{
  public:
    static constexpr SetId kEmpty = 0;

    explicit RankSets(Rank ranks)
        : m_words((ranks + 63) / 64)
    {
        Intern(Bits(m_words, 0));
        m_all = kEmpty;
        for (Rank r = 0; r < ranks; r++)
        {
            Bits bits(m_words, 0);
            bits[r / 64] = uint64_t{1} << r % 64;
            m_single.push_back(Intern(bits));
            m_all = Union(m_all, m_single.back()).first;
        }
    }

    SetId Single(Rank rank) const
    {
        return m_single[rank];
    }

    SetId All() const
    {
        return m_all;
    }

    /// The union, and whether the two had a rank in common.
    std::pair<SetId, bool> Union(SetId a, SetId b)
    {
        if (a > b)
        {
            std::swap(a, b);
        }
        const auto [known, isNew] = m_unions.try_emplace(uint64_t{a} << 32 | b);
        if (isNew)
        {
            Bits bits = *m_sets[a];
            bool overlap = false;
            for (size_t i = 0; i < m_words; i++)
            {
                overlap = overlap || (bits[i] & (*m_sets[b])[i]) != 0;
                bits[i] |= (*m_sets[b])[i];
            }
            known->second = {Intern(bits), overlap};
        }
        return known->second;
    }

    std::string Show(SetId id) const
    {
        std::string text;
        for (Rank r = 0; r < m_single.size(); r++)
        {
            if (((*m_sets[id])[r / 64] >> r % 64 & 1) != 0)
            {
                text += (text.empty() ? "" : ",") + std::to_string(r);
            }
        }
        return "{" + text + "}";
    }

  private:
    using Bits = std::vector<uint64_t>;

    SetId Intern(const Bits& bits)
    {
        const auto [known, isNew] = m_ids.try_emplace(bits, m_sets.size());
        if (isNew)
        {
            m_sets.push_back(&known->first); // map nodes stay where they are
        }
        return known->second;
    }

    size_t m_words;
    std::map<Bits, SetId> m_ids;
    std::vector<const Bits*> m_sets;
    std::vector<SetId> m_single;
    SetId m_all;
    std::unordered_map<uint64_t, std::pair<SetId, bool>> m_unions;
};

/// The content of a byte: contributions of some ranks, each from the byte `shift` further up in the
/// rank's buffer.
struct Content
{
    SetId ranks = RankSets::kEmpty;
    int64_t shift = 0;

    bool operator==(const Content& other) const
    {
        return ranks == other.ranks && shift == other.shift;
    }
};

/// From `begin` to the next segment.
struct Segment
{
    uint64_t begin;
    Content content;
};

/// A run of bytes: segments in order, the first at 0.
class SymbolicBytes
{
  public:
    explicit SymbolicBytes(uint64_t size, const Content& content = {})
        : m_size(size)
    {
        if (size > 0)
        {
            m_segments.push_back({0, content});
        }
    }

    uint64_t Size() const
    {
        return m_size;
    }

    template <class Visit> // Visit(begin, end, content), in order
    void ForEach(uint64_t begin, uint64_t end, Visit visit) const
    {
        for (size_t i = begin < end ? IndexOf(begin) : 0; begin < end; i++)
        {
            const uint64_t next =
                std::min(end, i + 1 < m_segments.size() ? m_segments[i + 1].begin : m_size);
            visit(begin, next, m_segments[i].content);
            begin = next;
        }
    }

    /// The contents of a range, as bytes from 0 on.
    SymbolicBytes Copy(uint64_t begin, uint64_t end) const
    {
        SymbolicBytes copy(0);
        copy.m_size = end - begin;
        ForEach(begin, end, [&](uint64_t b, uint64_t, Content content) {
            content.shift += begin; // seen from 0
            copy.m_segments.push_back({b - begin, content});
        });
        return copy;
    }

    /// Replaces the bytes from `begin` on by `data`.
    void Write(uint64_t begin, const SymbolicBytes& data)
    {
        if (data.m_size == 0)
        {
            return;
        }
        const size_t first = Split(begin);
        const size_t last = Split(begin + data.m_size);
        std::vector<Segment> segments = data.m_segments;
        for (Segment& segment : segments)
        {
            segment.begin += begin;
            segment.content.shift -= begin;
        }
        // Mostly as many as before.
        const size_t common = std::min(segments.size(), last - first);
        std::copy_n(segments.begin(), common, m_segments.begin() + first);
        if (common < last - first)
        {
            m_segments.erase(m_segments.begin() + first + common, m_segments.begin() + last);
        }
        else
        {
            m_segments.insert(m_segments.begin() + first + common,
                              segments.begin() + common,
                              segments.end());
        }
    }

  private:
    size_t IndexOf(uint64_t byte) const
    {
        const auto after =
            std::upper_bound(m_segments.begin(),
                             m_segments.end(),
                             byte,
                             [](uint64_t b, const Segment& s) { return b < s.begin; });
        return after - m_segments.begin() - 1;
    }

    /// Index of the segment that begins at this byte, which it makes begin there.
    size_t Split(uint64_t byte)
    {
        if (byte >= m_size)
        {
            return m_segments.size();
        }
        const size_t i = IndexOf(byte);
        if (m_segments[i].begin == byte)
        {
            return i;
        }
        m_segments.insert(m_segments.begin() + i + 1, {byte, m_segments[i].content});
        return i + 1;
    }

    uint64_t m_size;
    std::vector<Segment> m_segments;
};

} // namespace coll

#endif // COLLECTIVES_CORE_SYMBOLIC_BYTES_H
