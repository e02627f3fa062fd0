/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 *     fair       T = (1 - r) B / n
 *                B: size of the shared pool; r: share of it that is kept for newcomers;
 *                n: congested queues of this side, the one that asks included.
 *
 * With n fixed this is complete partitioning (Kamoun & Kleinrock, IEEE Trans. Commun. 28(7), 1980);
 * here the partitions are the queues that have something to store, whatever their priority. n
 * queues that want all hold (1 - r) B / n each, and alpha has no say. A queue counts as congested
 * from 20 KiB on, as ABM's authors count them (abm-limit.h); r = 1/8 is assumed. Our own scheme, no
 * vendor's.
 */
#ifndef RDMA_CORE_FAIR_LIMIT_H
#define RDMA_CORE_FAIR_LIMIT_H

#include "contrib/rdma/core/queue-limit.h"
#include "contrib/rdma/core/registered-part.h"

#include <array>
#include <cstddef>
#include <vector>

namespace rdma
{

inline const RegisteredBufferPolicy kFairPolicy{
    BufferPolicyName{{"fair", "equal parts of the pool for all congested queues"}}};

class FairLimit : public QueueLimit
{
  public:
    static constexpr uint64_t kCongestedBytes = 20 * 1024;
    static constexpr double kReserve = 1.0 / 8;

    /// \param poolBytes B \param congestedBytes from which on a queue counts
    FairLimit(uint32_t ports, uint64_t poolBytes, double reserve, uint64_t congestedBytes)
        : m_share(static_cast<uint64_t>((1 - reserve) * static_cast<double>(poolBytes))),
          m_congestedBytes(congestedBytes)
    {
        for (auto& queues : m_bytes)
        {
            queues.resize(std::size_t{ports} * 8);
        }
    }

    uint64_t Limit(QueueSide side, uint32_t port, uint8_t priority, uint64_t, int64_t) override
    {
        const auto s = static_cast<std::size_t>(side);
        const bool counts = m_bytes[s][std::size_t{port} * 8 + priority] >= m_congestedBytes;
        return m_share / (m_congested[s] + !counts);
    }

    void OnChange(QueueSide side, uint32_t port, uint8_t priority, int64_t bytes, int64_t) override
    {
        const auto s = static_cast<std::size_t>(side);
        uint64_t& queue = m_bytes[s][std::size_t{port} * 8 + priority];
        m_congested[s] -= queue >= m_congestedBytes;
        queue += static_cast<uint64_t>(bytes); // modulo 2^64, but never below 0
        m_congested[s] += queue >= m_congestedBytes;
    }

    /// n of a side, without one that asks.
    uint64_t Congested(QueueSide side) const
    {
        return m_congested[static_cast<std::size_t>(side)];
    }

  private:
    uint64_t m_share;
    uint64_t m_congestedBytes;
    std::array<std::vector<uint64_t>, 2> m_bytes; ///< [side][port * 8 + priority]
    std::array<uint64_t, 2> m_congested{};
};

} // namespace rdma

#endif // RDMA_CORE_FAIR_LIMIT_H
