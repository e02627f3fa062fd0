/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef PIFO_QUEUE_DISC_H
#define PIFO_QUEUE_DISC_H

#include "ns3/rdma-port.h"
#include "ns3/rdma-priority-turns.h"
#include "ns3/rdma-queue-disc.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * A push-in, first-out queue (Sivaraman et al.: Programmable Packet Scheduling at Line Rate,
 * SIGCOMM 2016): each frame gets a rank when it comes, and the least rank is sent first, of equal
 * ones the frame that came first. Derive a class and say what the rank is.
 *
 * This one's rank is the bytes left of the message (RdmaQueueDisc::RankOf). Later packets of a
 * message have smaller ranks and overtake earlier ones: take it with a recovery that takes any
 * order (RdmaNic::LossRecovery), or srpt, which keeps the order of flows.
 *
 * Priorities take turns by the port's StrictPriorities and weights, in bytes; each has a heap of
 * its own.
 */
class PifoQueueDisc : public RdmaQueueDisc
{
  public:
    static TypeId GetTypeId();

    std::string GetName() const override;
    std::string Attach(const RdmaPort& port, uint64_t seed) override;
    void Push(RdmaFrame* frame, int64_t now) override;
    RdmaFrame* Pop(uint8_t eligible, int64_t now) override;
    RdmaFrameList Take(uint8_t priority) override;
    void ForEach(uint8_t priority, const Visitor& visit) const override;
    uint16_t GetNeeds() const override;

  protected:
    /// \param now when the frame joins, ps \return its rank
    virtual int64_t GetRank(const RdmaFrame& frame, int64_t now);

    const RdmaPort& GetPort() const
    {
        return *m_port;
    }

  private:
    struct Entry
    {
        int64_t rank;
        uint64_t number; //!< frames that joined before
        RdmaFrame* frame;
    };

    static bool IsLater(const Entry& a, const Entry& b)
    {
        return a.rank != b.rank ? a.rank > b.rank : a.number > b.number;
    }

    const RdmaPort* m_port{nullptr};
    uint64_t m_joined{0};
    std::array<std::vector<Entry>, RdmaPort::PRIORITIES> m_heaps; //!< the least on top
    RdmaPriorityTurns m_turns;
};

} // namespace ns3

#endif /* PIFO_QUEUE_DISC_H */
