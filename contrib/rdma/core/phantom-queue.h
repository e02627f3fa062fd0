/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * A phantom queue: Alizadeh, Kabbani, Edsall, Prabhakar, Vahdat & Yasuda, "Less is more: trading a
 * little bandwidth for ultra-low latency in the data center" (HULL), NSDI 2012, section 3.
 *
 * A counter per link: what is sent adds to it, and it drains at a share of the link's rate. A frame
 * that finds it above a threshold is marked, so senders hold back before the link is full and its
 * real queue stays empty. Sent at the rate C, a queue that drains at 0.95 C grows by 0.05 C: 6,250
 * B in 10 us at 100 Gb/s.
 *
 * Share 0.95 and threshold 1 kB per Gb/s: assumed (the paper's abstract gives up some 10% of the
 * bandwidth).
 */
#ifndef RDMA_CORE_PHANTOM_QUEUE_H
#define RDMA_CORE_PHANTOM_QUEUE_H

#include "contrib/rdma/core/registered-part.h"
#include "contrib/rdma/core/units.h"

#include <algorithm>
#include <cstdint>

namespace rdma
{

inline const RegisteredMarker kPhantomMarker{
    MarkerName{{"phantom", "by a counter that drains at a share of the port's rate (HULL)"}}};

/// Of one port. Times are ps.
class PhantomQueue
{
  public:
    static constexpr double kShare = 0.95;

    PhantomQueue() = default;

    /// \param share of the rate at which it drains, in (0, 1]
    PhantomQueue(BitRate rate, double share)
        : m_bytesPerPs(share * static_cast<double>(rate.bps) / 8e12)
    {
    }

    /// \return bytes in it. \param now not before the last call's
    double Bytes(int64_t now)
    {
        m_bytes = std::max(0.0, m_bytes - m_bytesPerPs * static_cast<double>(now - m_last));
        m_last = now;
        return m_bytes;
    }

    /// A frame starts to be sent. \param wireBytes all that the link carries of it
    void Add(uint32_t wireBytes, int64_t now)
    {
        m_bytes = Bytes(now) + wireBytes;
    }

  private:
    double m_bytesPerPs = 0;
    double m_bytes = 0;
    int64_t m_last = 0;
};

} // namespace rdma

#endif // RDMA_CORE_PHANTOM_QUEUE_H
