/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_PORT_SHAPERS_H
#define RDMA_PORT_SHAPERS_H

#include "contrib/rdma/core/class-shapers.h"
#include "rdma-frame.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace ns3
{

/**
 * \ingroup rdma
 * Rates that some priorities of a port may not exceed (attribute Shaper). A rate is of what the
 * line carries, preamble and gap included, as the port's own is (assumed).
 */
class RdmaPortShapers
{
  public:
    explicit RdmaPortShapers(const rdma::ClassShapers& shapers)
    {
        for (uint32_t p = 0; p < shapers.size(); ++p)
        {
            if (shapers[p].rate.bps)
            {
                m_buckets[p] = rdma::TokenBucket(shapers[p].rate, shapers[p].burst);
                m_shaped |= 1U << p;
            }
        }
    }

    /// \return those of a mask of priorities that may not send yet
    uint8_t GetHeld(uint8_t eligible, int64_t now) const
    {
        uint8_t held = 0;
        for (uint32_t left = eligible & m_shaped; left; left &= left - 1)
        {
            const uint32_t priority = __builtin_ctz(left);
            held |= (m_buckets[priority].GetDue() > now) << priority;
        }
        return held;
    }

    /// \param held mask, not 0, of those that are shaped \return when the first of them may send
    int64_t GetDue(uint8_t held) const
    {
        int64_t due = INT64_MAX;
        for (uint32_t left = held; left; left &= left - 1)
        {
            due = std::min(due, m_buckets[__builtin_ctz(left)].GetDue());
        }
        return due;
    }

    /// A frame starts to be sent.
    void Charge(const RdmaFrame& frame, int64_t now)
    {
        if (m_shaped >> frame.priority & 1)
        {
            m_buckets[frame.priority].Charge(rdma::Bytes(frame.wireBytes), now);
        }
    }

  private:
    std::array<rdma::TokenBucket, 8> m_buckets;
    uint8_t m_shaped{0}; //!< bit p: priority p has a rate
};

} // namespace ns3

#endif /* RDMA_PORT_SHAPERS_H */
