/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "rdma-nic-turns.h"

#include "rdma-nic-limits.h"
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
RdmaNicTurns::PickPrepared(uint8_t pairs, uint8_t pausedMask)
{
    const uint8_t packets = m_nic->m_packetMask & ~pausedMask;
    const uint8_t priority = m_turns.Pick(pairs | packets, *m_nic->m_port);
    return ArePacketsFirst(priority, packets, pairs) ? NOBODY : priority;
}

void
RdmaNicTurns::Charge(const RdmaFrame& frame)
{
    if (m_nic->m_packetMask >> frame.priority & 1)
    {
        int64_t& lead = m_lead[frame.priority];
        lead = std::max(lead - frame.wireBytes, -MOST_LEAD);
    }
    m_turns.Charge(frame.priority, frame.wireBytes, *m_nic->m_port);
}

RdmaFrame*
RdmaNicTurns::TakePacket(uint8_t priority, bool both)
{
    RdmaFrame* frame = m_nic->m_packets->Take(priority);
    if (both)
    {
        m_lead[priority] = std::min(m_lead[priority] + frame->wireBytes, MOST_LEAD);
    }
    m_turns.Charge(priority, frame->wireBytes, *m_nic->m_port);
    return frame;
}

RdmaFrame*
RdmaNicTurns::Pull(uint8_t pausedMask, int64_t now)
{
    if (m_nic->m_limits)
    {
        return PullLimited(pausedMask, now);
    }
    const uint8_t packets = m_nic->m_packetMask & ~pausedMask;
    uint8_t pairs = m_nic->GetReadyPairs(now) & ~pausedMask;
    while (const uint8_t eligible = packets | pairs)
    {
        const uint8_t priority = m_turns.Pick(eligible, *m_nic->m_port);
        if (ArePacketsFirst(priority, packets, pairs))
        {
            RdmaFrame* frame = TakePacket(priority, pairs >> priority & 1);
            m_nic->WakePairs(now); // nobody else asks them when their time has come
            return frame;
        }
        const auto bit = static_cast<uint8_t>(1U << priority);
        if (RdmaFrame* frame = m_nic->PullPairs(static_cast<uint8_t>(~bit), now))
        {
            Charge(*frame);
            return frame;
        }
        pairs &= ~bit; // they are throttled after all
    }
    return m_nic->PullPairs(pausedMask, now);
}

RdmaFrame*
RdmaNicTurns::PullLimited(uint8_t pausedMask, int64_t now)
{
    // What is prepared had its turn when it was chosen.
    RdmaFrame* frame = m_nic->PullPairs(pausedMask, now);
    const uint8_t packets = m_nic->m_packetMask & ~pausedMask;
    if (frame || !packets)
    {
        return frame;
    }
    // It is the turn of packets, or no other packet is ready.
    const uint8_t priority = m_turns.Pick(packets, *m_nic->m_port);
    frame = TakePacket(priority, m_nic->m_readyMask >> priority & 1);
    m_nic->m_limits->Prepare(pausedMask, now); // the next one, while this one is sent
    return frame;
}

} // namespace ns3
