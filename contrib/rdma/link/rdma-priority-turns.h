/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_PRIORITY_TURNS_H
#define RDMA_PRIORITY_TURNS_H

#include "rdma-port-state.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace ns3
{

/**
 * \ingroup rdma
 * Whose turn it is among priorities, by a port's StrictPriorities and weights: the highest strict
 * one, else deficit round robin (Shreedhar & Varghese, SIGCOMM 1995) with debts: a frame may go
 * while its priority has credit, and what it takes beyond is paid in later rounds. So the frame
 * that will go need not be known, as with a NIC's queue pairs.
 *
 * A round gives each priority its weight as credit. It begins when no priority that may send has
 * credit. Who could not send keeps debts, which rounds pay back, but no credit: so a paced sender
 * that waits for its rate gets no more than its share. Of two that always have frames, bytes over
 * weights differ by less than a round and a frame.
 */
class RdmaPriorityTurns
{
  public:
    /// \param eligible mask of priorities that may send, not 0 \return one of them
    uint8_t Pick(uint8_t eligible, const RdmaPortState& port)
    {
        if (const uint8_t strict = eligible & port.GetStrictMask())
        {
            return static_cast<uint8_t>(31 - __builtin_clz(strict));
        }
        for (;;)
        {
            for (uint32_t i = 0; i < PRIORITIES; ++i)
            {
                const uint8_t priority = (m_next + i) % PRIORITIES;
                if ((eligible >> priority & 1) && m_credit[priority] > 0)
                {
                    m_next = priority;
                    return priority;
                }
            }
            StartRound(eligible, port);
        }
    }

    /// \param cost of what a priority sends, in units of weights; more than 0
    void Charge(uint8_t priority, int64_t cost, const RdmaPortState& port)
    {
        if (!(port.GetStrictMask() >> priority & 1))
        {
            m_credit[priority] -= cost;
        }
    }

  private:
    static constexpr uint32_t PRIORITIES = RdmaPortState::PRIORITIES;

    /// As many rounds as it takes until somebody has credit.
    void StartRound(uint8_t eligible, const RdmaPortState& port)
    {
        int64_t rounds = INT64_MAX;
        for (uint8_t p = 0; p < PRIORITIES; ++p)
        {
            if (eligible >> p & 1)
            {
                rounds = std::min(rounds, 1 - m_credit[p] / port.GetWeight(p));
            }
        }
        for (uint8_t p = 0; p < PRIORITIES; ++p)
        {
            m_credit[p] += rounds * port.GetWeight(p);
            if (!(eligible >> p & 1))
            {
                m_credit[p] = std::min<int64_t>(m_credit[p], 0);
            }
        }
        m_next = (m_next + 1) % PRIORITIES;
    }

    std::array<int64_t, PRIORITIES> m_credit{};
    uint8_t m_next{0}; //!< whose turn it is, while it has credit
};

} // namespace ns3

#endif /* RDMA_PRIORITY_TURNS_H */
