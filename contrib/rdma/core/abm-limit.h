/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 *     abm        T = alpha (1 / n) (mu / b) (B - Q)
 *                Addanki, Apostolaki, Ghobadi, Schmid & Vanbever, "ABM: Active Buffer Management
 *                in Datacenters", SIGCOMM 2022.
 *                n: congested queues of the priority, at least 1;
 *                mu / b: the queue's drain rate over its port's rate.
 *                Bounds what one priority takes, and how long it takes to drain.
 *
 * ABM leaves open how n and mu are measured. Here as in the authors' code (inet-tub/ns3-datacenter,
 * switch-mmu.cc): a queue of q bytes counts min(1, q / 20 KiB) towards n; mu is what left the queue
 * in the last interval of 25 us, and mu / b = 1 for a queue of less than 20 KiB or of which less
 * than 2 KiB left. Two things are done otherwise: the intervals are not kept by a timer but begin
 * with what happens to the queue, so that no event is needed; and q is counted when frames come and
 * go, not at the look-ups only.
 */
#ifndef RDMA_CORE_ABM_LIMIT_H
#define RDMA_CORE_ABM_LIMIT_H

#include "contrib/rdma/core/queue-limit.h"
#include "contrib/rdma/core/registered-part.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace rdma
{

inline const RegisteredBufferPolicy kAbmPolicy{BufferPolicyName{
    {"abm", "a share of what is free, by drain rate and congested queues (SIGCOMM 2022)"}}};

/// What ABM knows of the queues that share a pool. Times are ps.
class AbmQueues
{
  public:
    static constexpr uint64_t kCongestedBytes = 20 * 1024;
    static constexpr uint64_t kLeastDrained = 2 * 1024;
    static constexpr int64_t kIntervalPs = 25 * 1000000LL;

    AbmQueues() = default;

    /// \param portRates bits per second, for each port; queues are port * 8 + priority
    explicit AbmQueues(std::vector<uint64_t> portRates)
        : m_rates(std::move(portRates)),
          m_queues(m_rates.size() * 8)
    {
    }

    /// T of a queue. \param alphaFree alpha (B - Q)
    uint64_t Threshold(std::size_t queue, uint64_t alphaFree, int64_t now)
    {
        Roll(queue, now);
        const double n = Congested(static_cast<uint8_t>(queue % 8));
        return static_cast<uint64_t>(static_cast<double>(alphaFree) * m_queues[queue].drain /
                                     (n > 1 ? n : 1));
    }

    void OnStored(std::size_t queue, uint64_t bytes, int64_t now)
    {
        Roll(queue, now);
        Set(queue, m_queues[queue].bytes + bytes);
    }

    void OnReleased(std::size_t queue, uint64_t bytes, int64_t now)
    {
        Roll(queue, now);
        m_queues[queue].drained += bytes;
        Set(queue, m_queues[queue].bytes - bytes);
    }

    /// n of a priority, before it is taken for at least 1.
    double Congested(uint8_t priority) const
    {
        return static_cast<double>(m_congested[priority]) / static_cast<double>(kCongestedBytes);
    }

    /// mu / b of a queue.
    double Drain(std::size_t queue) const
    {
        return m_queues[queue].drain;
    }

  private:
    struct Queue
    {
        uint64_t bytes = 0;
        uint64_t drained = 0; ///< since `since`
        int64_t since = 0;
        double drain = 1;
    };

    /// Begins a new interval if the last one is over.
    void Roll(std::size_t queue, int64_t now)
    {
        Queue& q = m_queues[queue];
        const int64_t elapsed = now - q.since;
        if (elapsed < kIntervalPs)
        {
            return;
        }
        q.drain = 1;
        if (q.bytes > kCongestedBytes && q.drained > kLeastDrained)
        {
            const double rate =
                static_cast<double>(q.drained) * 8e12 / static_cast<double>(elapsed);
            const double share = rate / static_cast<double>(m_rates[queue / 8]);
            q.drain = share < 1 ? share : 1;
        }
        q.drained = 0;
        q.since = now;
    }

    void Set(std::size_t queue, uint64_t bytes)
    {
        const auto capped = [](uint64_t b) { return b < kCongestedBytes ? b : kCongestedBytes; };
        uint64_t& before = m_queues[queue].bytes;
        m_congested[queue % 8] += capped(bytes) - capped(before); // modulo 2^64, but never below 0
        before = bytes;
    }

    std::vector<uint64_t> m_rates;
    std::vector<Queue> m_queues;
    uint64_t m_congested[8] = {}; ///< sum of min(q, kCongestedBytes), by priority
};

/// ABM at both sides of a switch.
class AbmLimit : public QueueLimit
{
  public:
    /// \param portRates bits per second
    explicit AbmLimit(const std::vector<uint64_t>& portRates)
        : m_sides{AbmQueues(portRates), AbmQueues(portRates)}
    {
    }

    uint64_t Limit(QueueSide side,
                   uint32_t port,
                   uint8_t priority,
                   uint64_t alphaFree,
                   int64_t now) override
    {
        return Of(side).Threshold(std::size_t{port} * 8 + priority, alphaFree, now);
    }

    void OnChange(QueueSide side,
                  uint32_t port,
                  uint8_t priority,
                  int64_t bytes,
                  int64_t now) override
    {
        const std::size_t queue = std::size_t{port} * 8 + priority;
        if (bytes < 0)
        {
            Of(side).OnReleased(queue, static_cast<uint64_t>(-bytes), now);
        }
        else
        {
            Of(side).OnStored(queue, static_cast<uint64_t>(bytes), now);
        }
    }

  private:
    AbmQueues& Of(QueueSide side)
    {
        return m_sides[static_cast<std::size_t>(side)];
    }

    std::array<AbmQueues, 2> m_sides;
};

} // namespace rdma

#endif // RDMA_CORE_ABM_LIMIT_H
