/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "collectives/recall/ring-recurrence.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

namespace coll
{

namespace
{

constexpr int64_t kNoTime = std::numeric_limits<int64_t>::max();
/// Of the ACKs that a message meets on its way, as many as a step more or less.
constexpr int64_t kAcks = 4;
/// What a hop's latency may differ by and still be one constant, as a share.
constexpr double kAlike = 1e-4;
/// What positions may be off by, as a share of the time that is checked.
constexpr double kDrift = 1e-4;

int64_t
Share(double share, int64_t of)
{
    return static_cast<int64_t>(share * static_cast<double>(of));
}

} // namespace

RingRecurrence::RingRecurrence(RingShape shape)
    : m_shape(std::move(shape)),
      m_hops(static_cast<uint32_t>(m_shape.kinds.size()))
{
    m_constants.resize(static_cast<std::size_t>(m_hops) * m_shape.sizeCount);
}

int64_t
RingRecurrence::JitterOf(uint32_t hop, int64_t latency) const
{
    return std::max(kAcks * m_shape.ack[m_shape.kinds[hop]], Share(kAlike, latency));
}

int64_t
RingRecurrence::SnapGap(uint32_t hop, uint32_t size, int64_t sum, int64_t count) const
{
    // In a row of messages that wait for one another the rows' ends decide whether there is an ACK
    // more or less. In the long run there is one a message, or none.
    const uint32_t kind = m_shape.kinds[hop];
    const int64_t least = m_shape.gaps[kind * m_shape.sizeCount + size];
    const int64_t acks = m_shape.acks[kind * m_shape.sizeCount + size];
    for (const int64_t gap : {least + acks, least})
    {
        if (std::abs(sum - gap * count) <= m_shape.ack[kind])
        {
            return gap;
        }
    }
    return (sum + count / 2) / count;
}

template <class F>
void
RingRecurrence::ForEach(const RingTimes& times, uint32_t hop, uint32_t size, F tell) const
{
    const uint32_t next = Next(hop);
    for (uint32_t i = 0; i < 2 * (times.steps / 3); ++i)
    {
        if (SizeAt(hop, i) == size)
        {
            const int64_t arrival = times.At(next, i + 1);
            tell(i, arrival - times.At(hop, i), arrival - times.At(next, i));
        }
    }
}

void
RingRecurrence::LearnHop(const RingTimes& times, uint32_t hop, uint32_t size)
{
    const std::size_t number = static_cast<std::size_t>(hop) * m_shape.sizeCount + size;
    const std::size_t known = m_shape.kinds[hop] * m_shape.sizeCount + size;
    const int64_t leastGap = m_shape.gaps[known];
    const uint32_t from = times.steps / 3;
    int64_t least = kNoTime;
    int64_t farthest = 0;
    ForEach(times, hop, size, [&](uint32_t i, int64_t latency, int64_t gap) {
        if (i >= from)
        {
            least = std::min(least, latency);
            farthest = std::max(farthest, gap);
        }
    });
    m_known[number] = least != kNoTime;
    if (!m_known[number])
    {
        return;
    }
    const int64_t jitter = JitterOf(hop, least);
    // As close as can be all the time: there has been a queue, and the latency says nothing.
    // Packets of a link's flow control come between messages, too: of InfiniBand's 0.1% were seen.
    constexpr double kFlowControl = 2e-3;
    const int64_t most = leastGap + m_shape.acks[known] + jitter + Share(kFlowControl, leastGap);
    const bool isFull = leastGap > 0 && farthest <= most;
    int64_t latencies = 0;
    int64_t alone = 0;
    int64_t gaps = 0;
    int64_t behind = 0;
    ForEach(times, hop, size, [&](uint32_t i, int64_t latency, int64_t gap) {
        const bool waited = leastGap > 0 && latency > least + jitter;
        if (i >= from && !waited)
        {
            latencies += latency;
            ++alone;
        }
        if (i >= from && (waited || isFull))
        {
            gaps += gap;
            ++behind;
        }
    });
    m_constants[number].latency = isFull ? std::min(m_shape.idle[known], least) : latencies / alone;
    m_constants[number].gap = behind ? SnapGap(hop, size, gaps, behind) : leastGap;
}

void
RingRecurrence::Pool()
{
    struct Sum
    {
        int64_t latency = 0;
        int64_t gap = 0;
        int64_t count = 0;
    };

    std::vector<Sum> sums(m_shape.gaps.size());
    const auto sumOf = [&](std::size_t number) -> Sum& {
        const auto hop = number / m_shape.sizeCount;
        return sums[m_shape.kinds[hop] * m_shape.sizeCount + number % m_shape.sizeCount];
    };
    for (std::size_t number = 0; number < m_constants.size(); ++number)
    {
        if (m_known[number])
        {
            Sum& sum = sumOf(number);
            sum.latency += m_constants[number].latency;
            sum.gap += m_constants[number].gap;
            ++sum.count;
        }
    }
    for (std::size_t number = 0; number < m_constants.size(); ++number)
    {
        const Sum& sum = sumOf(number);
        if (!m_known[number] && sum.count)
        {
            m_known[number] = true;
            m_constants[number] = {sum.latency / sum.count, sum.gap / sum.count};
        }
    }
}

void
RingRecurrence::Advance(Row& row, uint32_t from, uint32_t until) const
{
    Row next = row;
    for (uint32_t i = from; i < until; ++i)
    {
        const auto pass = [&](uint32_t p, uint32_t to) {
            const uint32_t size = m_shape.sizeCount == 1 ? 0 : SizeAt(p, i);
            const Hop& hop = m_constants[static_cast<std::size_t>(p) * m_shape.sizeCount + size];
            next.arrivals[to] = std::max(row.at[p] + hop.latency, row.arrivals[to] + hop.gap);
            next.at[to] = std::max(row.at[to], next.arrivals[to]);
        };
        for (uint32_t p = 0; p + 1 < m_hops; ++p)
        {
            pass(p, p + 1);
        }
        pass(m_hops - 1, 0);
        std::swap(row, next);
    }
}

bool
RingRecurrence::Check(const RingTimes& times, uint32_t from)
{
    Row row;
    for (uint32_t p = 0; p < m_hops; ++p)
    {
        row.at.push_back(times.At(p, from));
    }
    row.arrivals = row.at;
    const std::vector<int64_t> first = row.at;
    int64_t most = 0;
    // A message that is some ACKs late makes all behind it late: at most one in two steps stays.
    const int64_t ack = *std::max_element(m_shape.ack.begin(), m_shape.ack.end());
    int64_t jitter = ack * (times.steps - from) / 2;
    for (uint32_t p = 0; p < m_hops; ++p)
    {
        jitter = std::max(jitter, Share(kAlike, m_constants[p * m_shape.sizeCount].latency));
    }
    for (uint32_t i = from; i + 1 < times.steps; ++i)
    {
        Advance(row, i, i + 1);
        for (uint32_t p = 0; p < m_hops; ++p)
        {
            most = std::max(most, std::abs(row.at[p] - times.At(p, i + 1)));
        }
    }
    int64_t drift = 0;
    int64_t passed = 0;
    for (uint32_t p = 0; p < m_hops; ++p)
    {
        drift += row.at[p] - times.At(p, times.steps - 1);
        passed += times.At(p, times.steps - 1) - first[p];
    }
    m_miss = std::max(kDrift, static_cast<double>(most) * m_hops / static_cast<double>(passed));
    return most <= std::max(jitter, Share(kDrift, passed) / m_hops) &&
           std::abs(drift) <= Share(kDrift, passed) + m_hops * ack / 4;
}

bool
RingRecurrence::Learn(const RingTimes& times)
{
    const uint32_t third = times.steps / 3;
    m_known.assign(m_constants.size(), false);
    for (uint32_t hop = 0; hop < m_hops; ++hop)
    {
        for (uint32_t size = 0; size < m_shape.sizeCount; ++size)
        {
            LearnHop(times, hop, size);
        }
    }
    Pool();
    return std::find(m_known.begin(), m_known.end(), false) == m_known.end() &&
           Check(times, 2 * third);
}

std::vector<int64_t>
RingRecurrence::Foresee(const RingTimes& times, uint32_t step) const
{
    Row row;
    for (uint32_t p = 0; p < m_hops; ++p)
    {
        row.at.push_back(times.At(p, times.steps - 1));
    }
    row.arrivals = row.at;
    Advance(row, times.steps - 1, step);
    return row.at;
}

std::vector<int64_t>
RingRecurrence::Delay(const std::vector<int64_t>& launches,
                      const std::vector<int64_t>& before,
                      uint32_t step) const
{
    Row with{launches, before};
    Row without{launches, std::vector<int64_t>(m_hops, std::numeric_limits<int64_t>::min() / 2)};
    // Often they come to the same soon.
    constexpr uint32_t kAtOnce = 64;
    uint32_t i = 0;
    while (i < step && (i == 0 || with.at != without.at || with.arrivals != without.arrivals))
    {
        const uint32_t until = std::min(step, i == 0 ? 1 : i + kAtOnce);
        Advance(with, i, until);
        Advance(without, i, until);
        i = until;
    }
    for (uint32_t p = 0; p < m_hops; ++p)
    {
        with.at[p] -= without.at[p];
    }
    return with.at;
}

} // namespace coll
