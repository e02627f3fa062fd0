/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * One direction of a link in a fluid model: messages that share its rate. No message comes in
 * faster than earlier links allow.
 *
 * **The law.** Each message of the highest priority present gets the same share of the rate, or its
 * own speed where that is less. The others share the rest (max-min fairness on one link). The rate
 * that remains goes to the next priority, and so on. So
 *
 *   - a message alone is done after its own duration, exactly;
 *   - messages whose speeds together fit the link do not feel one another;
 *   - while there is enough to do, the link works at its full rate, whatever the mix (but for less
 *     than a bit/s a message, as shares are whole bits a second).
 *
 *     400 Gb/s     6 x 100 G and 1 x 25 G: 25, and (400 - 25) / 6 = 62.5 for each of the others
 *
 * Messages of one priority and speed are a class. Its clock V is the amount that each of its
 * messages has been given (bit/s times ps, an exact integer). A message that comes at V with work w
 * is done at V + w. O(classes + log n) per message. If every message has a speed of its own, there
 * are as many classes as messages at once.
 *
 * **Use.** As NicServer: Add(), then Ended() at NextEnd(), as often as it returns true. Times never
 * decrease, and no call may skip a NextEnd().
 */
#ifndef TOPOLOGIES_SCALE_UP_FAIR_LINK_H
#define TOPOLOGIES_SCALE_UP_FAIR_LINK_H

#include "contrib/rdma/core/units.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace topo
{

class FairLink
{
  public:
    static constexpr rdma::TimePoint kNever{std::numeric_limits<int64_t>::max()};

    explicit FairLink(rdma::BitRate rate = {});

    /// \param alone its duration if it is alone, at its speed
    /// \param speed at most the link's rate, at least 1 bit/s (not checked)
    /// \param priority the highest goes first
    /// \param cookie returned by Ended()
    void Add(rdma::Duration alone,
             rdma::BitRate speed,
             uint8_t priority,
             uint64_t cookie,
             rdma::TimePoint now);

    /// When to call Ended() next, unless Add() is called before; kNever: nothing moves.
    rdma::TimePoint NextEnd() const
    {
        return m_next;
    }

    /// The next message that is done by now. If several end together: the highest priority and
    /// lowest speed first; within a class by end, then by arrival.
    /// \return whether there was one; call until there is none
    bool Ended(rdma::TimePoint now, uint64_t& cookie);

    /// Messages that are not done.
    uint32_t Size() const
    {
        return m_size;
    }

  private:
    using Work = __int128; ///< bit/s times ps

    static constexpr std::size_t kMostIdle = 16; ///< empty classes that are kept

    struct Entry
    {
        Work end; ///< in V
        uint64_t order;
        uint64_t cookie;

        bool operator<(const Entry& other) const // for a heap with the earliest first
        {
            return end != other.end ? end > other.end : order > other.order;
        }
    };

    struct Class
    {
        uint8_t priority = 0;
        uint64_t speed = 0; ///< bit/s
        uint64_t given = 0; ///< to each of its messages now, bit/s
        Work v = 0;
        std::vector<Entry> heap; ///< empty: the class has no messages
    };

    Class& ClassOf(uint8_t priority, uint64_t speed);
    /// All clocks go on to now.
    void Advance(int64_t now);
    /// Sets the shares from now on, and the next message that is done.
    void Share();

    uint64_t m_rate;              ///< bit/s
    std::vector<Class> m_classes; ///< by priority, the highest first, then by speed, ascending
    uint64_t m_added = 0;
    uint32_t m_size = 0;
    int64_t m_now = 0;
    rdma::TimePoint m_next = kNever;
};

} // namespace topo

#endif // TOPOLOGIES_SCALE_UP_FAIR_LINK_H
