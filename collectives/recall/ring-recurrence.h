/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The rest of a ring, from its first steps.
 *
 * In a ring (Schedule::PassesOn) a position passes on at step i the message that it got then, and
 * the next position has it at step i + 1. Where t is when a position is at a step,
 *
 *     t[p+1][i+1] = max(t[p][i] + L[p], t[p+1][i] + g[p])
 *
 * L is how long a message takes over the hop if none is before it there, the sender's software
 * included, and g how far apart two arrive at least. Queues in series with constant service times
 * do exactly this: the longest path through them takes L, and one more message the longest of the
 * service times.
 *
 *                0 ........ m ......... 2m ........ 3m ...................... steps
 *     observed   settles    L and g     checked     |
 *     computed                          |<--------->|<------------------------>|
 *
 * Other traffic, losses, and rates that congestion control changes are no such constants. They show
 * where the recurrence runs over steps that were observed, and misses.
 *
 * Times are ps. Sizes of messages are numbered: a message keeps its size along the ring.
 */
#ifndef COLLECTIVES_RECALL_RING_RECURRENCE_H
#define COLLECTIVES_RECALL_RING_RECURRENCE_H

#include <cstdint>
#include <vector>

namespace coll
{

/// What is known of a ring beforehand. Hop p leads from position p to p + 1, the last one to 0.
struct RingShape
{
    std::vector<uint32_t> kinds; ///< by hop: hops of one kind have the same rates and delays
    std::vector<uint8_t> sizes;  ///< by position: of the message that it sends at step 0
    uint32_t sizeCount = 1;
    std::vector<int64_t> idle; ///< by kind and size: L, where gaps are known
    std::vector<int64_t> gaps; ///< by kind and size: on the link with the least rate; 0: not known
    std::vector<int64_t> acks; ///< by kind and size: the link's time for a message's ACKs
    std::vector<int64_t> ack;  ///< by kind: for one of them, which a message may have to wait for
};

/// When positions were at the first steps of a ring; step 0 is the launch.
struct RingTimes
{
    uint32_t steps = 0;
    std::vector<int64_t> at; ///< by position and step

    int64_t At(uint32_t position, uint32_t step) const
    {
        return at[static_cast<std::size_t>(position) * steps + step];
    }
};

class RingRecurrence
{
  public:
    explicit RingRecurrence(RingShape shape);

    /// Learns from the middle third of these steps, and checks with the last one.
    /// \return whether L and g explain it
    bool Learn(const RingTimes& times);

    /// \return the largest difference over the steps that Learn checked, as a share of their time;
    /// at least what it does not notice
    double GetMiss() const
    {
        return m_miss;
    }

    /// When positions are at a later step. \pre Learn has returned true \param times as for Learn
    std::vector<int64_t> Foresee(const RingTimes& times, uint32_t step) const;

    /// How much later positions are at a step if earlier messages are before the first ones.
    /// \param launches by position
    /// \param before by position: when it got the last one of the earlier messages
    std::vector<int64_t> Delay(const std::vector<int64_t>& launches,
                               const std::vector<int64_t>& before,
                               uint32_t step) const;

  private:
    struct Hop
    {
        int64_t latency; ///< L
        int64_t gap;     ///< g
    };

    /// All positions at a step.
    struct Row
    {
        std::vector<int64_t> at;       ///< has got its message, and has launched
        std::vector<int64_t> arrivals; ///< of the last message
    };

    uint32_t Next(uint32_t position) const
    {
        return position + 1 == m_hops ? 0 : position + 1;
    }

    uint32_t SizeAt(uint32_t position, uint32_t step) const
    {
        const uint32_t back = step % m_hops;
        return m_shape.sizes[position >= back ? position - back : position + m_hops - back];
    }

    Hop& HopOf(uint32_t position, uint32_t size)
    {
        return m_constants[static_cast<std::size_t>(position) * m_shape.sizeCount + size];
    }

    /// \param tell step, how long a message of this size was under way, and how long after the one
    /// before it came; of the steps to learn from and those before
    template <class F>
    void ForEach(const RingTimes& times, uint32_t hop, uint32_t size, F tell) const;
    void LearnHop(const RingTimes& times, uint32_t hop, uint32_t size);
    /// Where a size was not observed on a hop, it is as on others of its kind.
    void Pool();
    int64_t JitterOf(uint32_t hop, int64_t latency) const;
    int64_t SnapGap(uint32_t hop, uint32_t size, int64_t sum, int64_t count) const;
    void Advance(Row& row, uint32_t from, uint32_t until) const;
    /// The recurrence from this step on.
    bool Check(const RingTimes& times, uint32_t from);

    RingShape m_shape;
    uint32_t m_hops;
    std::vector<Hop> m_constants; ///< by hop and size
    std::vector<bool> m_known;    ///< by hop and size: observed
    double m_miss = 0;
};

} // namespace coll

#endif // COLLECTIVES_RECALL_RING_RECURRENCE_H
