/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_NIC_TURNS_H
#define RDMA_NIC_TURNS_H

#include "ns3/rdma-priority-turns.h"

#include <array>
#include <cstdint>

namespace ns3
{

class RdmaNic;
struct RdmaFrame;

/**
 * \ingroup rdma
 * Enhanced transmission selection (IEEE 802.1Qaz) in a NIC, attribute RdmaNic::Ets: queue pairs and
 * ordinary packets of all priorities take turns as RdmaPriorityTurns says, by bytes on the line.
 * Where both have frames of one priority, they share it by bytes. ACKs, NAKs and CNPs still go
 * first: they wait in the port's own queues.
 *
 * With a bus or another limit (RdmaNicLimits) a queue pair's packet has its turn when the NIC
 * chooses to prepare it, which is one packet ahead of the line.
 */
class RdmaNicTurns
{
  public:
    /// \param nic outlives this
    explicit RdmaNicTurns(RdmaNic* nic);

    /// The line is idle: whose turn is it? \return null: nobody's
    RdmaFrame* Pull(uint8_t pausedMask, int64_t now);

    /// With limits: whose packet is prepared next? \param pairs priorities of queue pairs that may
    /// have something to send, not 0 \param pausedMask of those that may not
    /// \return one of `pairs`; NOBODY: it is the turn of ordinary packets
    uint8_t PickPrepared(uint8_t pairs, uint8_t pausedMask);
    /// A queue pair's packet has its turn.
    void Charge(const RdmaFrame& frame);

    static constexpr uint8_t NOBODY = RdmaPortState::PRIORITIES;

  private:
    RdmaFrame* PullLimited(uint8_t pausedMask, int64_t now);
    /// An ordinary packet has its turn. \param both whether queue pairs of its priority wait
    RdmaFrame* TakePacket(uint8_t priority, bool both);

    /// \return whether ordinary packets of a priority go before its queue pairs
    bool ArePacketsFirst(uint8_t priority, uint8_t packets, uint8_t pairs) const
    {
        return (packets >> priority & 1) && (!(pairs >> priority & 1) || m_lead[priority] <= 0);
    }

    /// Most that ordinary packets are ahead of queue pairs of their priority, or behind (bytes).
    static constexpr int64_t MOST_LEAD = 65536;

    RdmaNic* m_nic;
    RdmaPriorityTurns m_turns;
    std::array<int64_t, RdmaPortState::PRIORITIES> m_lead{}; //!< of ordinary packets, bytes
};

} // namespace ns3

#endif /* RDMA_NIC_TURNS_H */
