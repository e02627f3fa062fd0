/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_PAUSE_TIMES_H
#define RDMA_PAUSE_TIMES_H

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

    /// Other priorities are paused now. \param before, after masks
    /// \return how long any priority was paused, if none is any more; else 0
    int64_t Change(uint8_t before, uint8_t after, int64_t now)
    {
        const int64_t ended = before && !after ? now - since : 0;
        if (!before)
        {
            since = now;
        }
        const uint8_t released = before & ~after;
        const uint8_t changed = before ^ after;
        for (uint32_t p = 0; p < PRIORITIES; ++p)
        {
            if (released >> p & 1)
            {
                endedOf[p] += now - sinceOf[p];
            }
            else if (changed >> p & 1)
            {
                sinceOf[p] = now;
            }
        }
        return ended;
    }

    /// \param paused mask \return how long a priority was paused so far
    int64_t GetSum(uint8_t priority, uint8_t paused, int64_t now) const
    {
        return endedOf[priority] + (paused >> priority & 1 ? now - sinceOf[priority] : 0);
    }
};

} // namespace ns3

#endif /* RDMA_PAUSE_TIMES_H */
