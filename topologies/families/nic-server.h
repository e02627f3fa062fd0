/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * One direction of a network interface as a server of its queue. Waiting data are a fluid, not
 * packets.
 *
 * **The law.** The messages of the highest priority present share the server alike (processor
 * sharing): with n of them, each advances at 1/n of the rate. Round robin among a NIC's queue pairs
 * does the same, and so do the frames of many senders on one last link, when packets are small
 * against messages. Lower priorities wait. Work is picoseconds at the full rate, so
 *
 *   - one message alone is done after its work, exactly;
 *   - whatever the mix, all is done when the sum of the work is (the server never idles with work);
 *   - of equal messages that come together all are done at the end.
 *
 * Each priority has a clock V that runs at 1/n of time while n of it are served, and a message that
 * comes at V with work w is done at V + w: an arrival changes nobody's entry. O(log n) a message.
 *
 * **Use.** Add(), then Ended() at NextEnd(), as often as it returns true. Times never decrease from
 * call to call, and no call may skip a NextEnd(). Times are whole picoseconds from integer
 * arithmetic: the same on every machine.
 */
#ifndef TOPOLOGIES_FAMILIES_NIC_SERVER_H
#define TOPOLOGIES_FAMILIES_NIC_SERVER_H

#include "contrib/rdma/core/units.h"

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

namespace topo
{

/// One end of a link, which serves messages in turns.
class NicServer
{
  public:
    static constexpr rdma::TimePoint kNever{std::numeric_limits<int64_t>::max()};
    static constexpr uint32_t kPriorities = 8;

    /// \param priority 0 to 7, the highest first (not checked) \param cookie what Ended() will say
    void Add(rdma::Duration work, uint8_t priority, uint64_t cookie, rdma::TimePoint now);

    /// When to call Ended() next, unless Add() is called before; kNever: no message is there.
    rdma::TimePoint NextEnd() const;

    /// The next message that is done by now, in the order of ends, then of arrival. \return whether
    /// there was one; call until there is none
    bool Ended(rdma::TimePoint now, uint64_t& cookie);

    /// Messages that are not done.
    uint32_t Size() const
    {
        return m_size;
    }

  private:
    /// Binary places of V behind the picosecond: what rounding loses of a message stays below 1 ps
    /// for 2^20 arrivals during its stay.
    static constexpr int kFractionBits = 20;

    using Clock = __int128;

    struct Entry
    {
        Clock end; ///< in V
        uint64_t order;
        uint64_t cookie;

        bool operator<(const Entry& other) const // for a heap with the earliest first
        {
            return end != other.end ? end > other.end : order > other.order;
        }
    };

    struct Class
    {
        Clock v = 0;
        std::vector<Entry> heap;
    };

    /// The class that is served; null: no message is there.
    Class* Served();
    const Class* Served() const;
    void Advance(int64_t now);

    std::array<Class, kPriorities> m_classes;
    uint64_t m_added = 0;
    uint32_t m_size = 0;
    int64_t m_now = 0;
};

} // namespace topo

#endif // TOPOLOGIES_FAMILIES_NIC_SERVER_H
