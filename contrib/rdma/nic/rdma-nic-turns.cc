/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-nic-turns.h"

#include "rdma-nic.h"
#include "rdma-packets.h"

#include <algorithm>

namespace ns3
{

RdmaNicTurns::RdmaNicTurns(RdmaNic* nic)
    : m_nic(nic)
{
}

uint8_t
RdmaNicTurns::Pick(uint8_t eligible)
{
    return m_turns.Pick(eligible, *m_nic->m_port);
}

void
RdmaNicTurns::Charge(const RdmaFrame& frame)
{
    m_turns.Charge(frame.priority, frame.wireBytes, *m_nic->m_port);
}

RdmaFrame*
RdmaNicTurns::Pull(uint8_t pausedMask, int64_t now)
{
    const bool limited = m_nic->m_limits != nullptr;
    uint8_t packets = m_nic->m_packetMask & ~pausedMask;
    uint8_t pairs = m_nic->GetReadyPairs(now) & ~pausedMask;
    while (const uint8_t eligible = packets | pairs)
    {
        const uint8_t priority = Pick(eligible);
        const auto bit = static_cast<uint8_t>(1U << priority);
        int64_t& lead = m_lead[priority];
        const bool both = packets & pairs & bit;
        if ((packets & bit) && (!both || lead <= 0))
        {
            RdmaFrame* frame = m_nic->m_packets->Take(priority);
            lead = both ? std::min(lead + frame->wireBytes, MOST_LEAD) : lead;
            Charge(*frame);
            m_nic->WakePairs(now); // nobody else asks them when their time has come
            return frame;
        }
        // With limits, what is prepared had its turn then.
        const uint8_t others = limited ? pausedMask : static_cast<uint8_t>(~bit);
        if (RdmaFrame* frame = m_nic->PullPairs(others, now))
        {
            if (!limited)
            {
                lead = both ? std::max(lead - frame->wireBytes, -MOST_LEAD) : lead;
                Charge(*frame);
            }
            return frame;
        }
        pairs &= limited ? 0 : ~bit; // they are throttled after all
    }
    return m_nic->PullPairs(pausedMask, now);
}

} // namespace ns3
