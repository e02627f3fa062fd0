/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_PAUSE_TIMES_H
#define RDMA_PAUSE_TIMES_H

#include <algorithm>
#include <array>
#include <cstdint>

namespace ns3
{

/**
 * \ingroup rdma
 * When and how long the priorities of a port were paused (InfiniBand: had no credits). All times
 * are in ps.
 */
struct RdmaPauseTimes
{
    static constexpr uint32_t PRIORITIES = 8;

    std::array<int64_t, PRIORITIES> until{};   //!< the pause that was heard last ends
    int64_t since{0};                          //!< some priority is paused
    std::array<int64_t, PRIORITIES> sinceOf{}; //!< the pause that lasts began
    std::array<int64_t, PRIORITIES> endedOf{}; //!< sum of the pauses that have ended
    uint8_t ignored{0};                        //!< bit p: pauses of priority p have no effect

    /// Other priorities are paused now. \param before, after masks \param from when what begins now
    /// is felt: not before now
    /// \return how long any priority was paused, if none is any more; else 0
    int64_t Change(uint8_t before, uint8_t after, int64_t now, int64_t from)
    {
        const int64_t ended = before && !after ? std::max<int64_t>(0, now - since) : 0;
        if (!before)
        {
            since = from;
        }
        const uint8_t released = before & ~after;
        const uint8_t changed = before ^ after;
        for (uint32_t p = 0; p < PRIORITIES; ++p)
        {
            if (released >> p & 1)
            {
                endedOf[p] += std::max<int64_t>(0, now - sinceOf[p]);
            }
            else if (changed >> p & 1)
            {
                sinceOf[p] = from;
            }
        }
        return ended;
    }

    /// \param paused mask \return how long a priority was paused so far
    int64_t GetSum(uint8_t priority, uint8_t paused, int64_t now) const
    {
        const int64_t lasts = paused >> priority & 1 ? now - sinceOf[priority] : 0;
        return endedOf[priority] + std::max<int64_t>(0, lasts);
    }
};

} // namespace ns3

#endif /* RDMA_PAUSE_TIMES_H */
