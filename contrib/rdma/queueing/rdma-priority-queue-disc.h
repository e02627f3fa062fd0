/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_PRIORITY_QUEUE_DISC_H
#define RDMA_PRIORITY_QUEUE_DISC_H

#include "ns3/rdma-port.h"
#include "ns3/rdma-queue-disc.h"

#include <array>
#include <cstdint>
#include <string>

namespace ns3
{

/**
 * \ingroup rdma
 * A discipline of first-in, first-out queues, one a priority: a class derived from it says whose
 * turn it is.
 */
class RdmaPriorityQueueDisc : public RdmaQueueDisc
{
  public:
    static TypeId GetTypeId();

    std::string Attach(const RdmaPort& port, uint64_t seed) override;
    void Push(RdmaFrame* frame, int64_t now) override;
    RdmaFrame* Pop(uint8_t eligible, int64_t now) override;
    RdmaFrameList Take(uint8_t priority) override;
    void ForEach(uint8_t priority, const Visitor& visit) const override;

  protected:
    /// \param eligible mask of priorities that may send, not 0 \return one of them
    virtual uint8_t Pick(uint8_t eligible, int64_t now) = 0;

    /// \return the frame of a priority that is sent next. \pre one waits
    const RdmaFrame& GetFront(uint8_t priority) const
    {
        return *m_queues[priority].Front();
    }

    /// \return weights and strict priorities, as they are now
    const RdmaPort& GetPort() const
    {
        return *m_port;
    }

  private:
    const RdmaPort* m_port{nullptr};
    std::array<RdmaFrameList, RdmaPort::PRIORITIES> m_queues;
};

} // namespace ns3

#endif /* RDMA_PRIORITY_QUEUE_DISC_H */
