/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "scenarios/training/steps/speed-profile.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace training
{

void
SpeedProfile::Add(const Span& span)
{
    m_spans.push_back(span);
    std::set<int64_t> times;
    for (const Span& s : m_spans)
    {
        times.insert({s.from, s.until});
    }
    times.erase(NEVER);
    m_pieces.clear();
    for (const int64_t time : times)
    {
        double share = 1;
        for (const Span& s : m_spans)
        {
            share *= s.from <= time && time < s.until ? s.share : 1;
        }
        m_pieces.push_back({time, share});
    }
}

const SpeedProfile::Piece*
SpeedProfile::PieceAt(int64_t now) const
{
    const auto after =
        std::upper_bound(m_pieces.begin(), m_pieces.end(), now, [](int64_t t, const Piece& p) {
            return t < p.from;
        });
    return after == m_pieces.begin() ? nullptr : &*(after - 1);
}

bool
SpeedProfile::IsStopped(int64_t now) const
{
    const Piece* piece = PieceAt(now);
    return piece && piece->share == 0;
}

int64_t
SpeedProfile::ResumesAt(int64_t now) const
{
    const Piece* piece = PieceAt(now);
    if (!piece || piece->share > 0)
    {
        return now;
    }
    for (++piece; piece != m_pieces.data() + m_pieces.size(); ++piece)
    {
        if (piece->share > 0)
        {
            return piece->from;
        }
    }
    return NEVER;
}

int64_t
SpeedProfile::StoppedForGood(int64_t now) const
{
    if (ResumesAt(now) != NEVER)
    {
        return now;
    }
    const Piece* piece = PieceAt(now);
    while (piece != m_pieces.data() && (piece - 1)->share == 0)
    {
        --piece;
    }
    return piece->from;
}

int64_t
SpeedProfile::WorkIn(int64_t from, int64_t until) const
{
    double work = 0;
    const Piece* piece = PieceAt(from);
    const Piece* const last = m_pieces.data() + m_pieces.size();
    for (int64_t at = from; at < until;)
    {
        const Piece* next = piece ? piece + 1 : m_pieces.data();
        const int64_t end = next == last ? until : std::min(until, next->from);
        work += static_cast<double>(end - at) * (piece ? piece->share : 1);
        at = end;
        piece = next == last ? piece : next;
    }
    return std::llround(work);
}

int64_t
SpeedProfile::EndOf(int64_t from, int64_t work) const
{
    double left = static_cast<double>(work);
    const Piece* piece = PieceAt(from);
    const Piece* const last = m_pieces.data() + m_pieces.size();
    for (int64_t at = from;;)
    {
        const double share = piece ? piece->share : 1;
        const Piece* next = piece ? piece + 1 : m_pieces.data();
        const double room = next == last ? -1 : static_cast<double>(next->from - at) * share;
        if (share > 0 && (next == last || room >= left))
        {
            const double end = static_cast<double>(at) + std::ceil(left / share);
            return end >= 9e18 ? NEVER : at + static_cast<int64_t>(std::ceil(left / share));
        }
        if (next == last)
        {
            return left > 0 ? NEVER : at;
        }
        left -= room;
        at = next->from;
        piece = next;
    }
}

} // namespace training
