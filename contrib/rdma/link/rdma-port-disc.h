/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_PORT_DISC_H
#define RDMA_PORT_DISC_H

#include "rdma-queue-disc.h"

#include "ns3/rdma-event.h"

#include <cstdint>

namespace ns3
{

class RdmaPort;

/**
 * \ingroup rdma
 * The part of an Ethernet port that has a queue discipline. The discipline has the frames; the port
 * goes on to count bytes by priority.
 */
class RdmaPortDisc
{
  public:
    /// \param port outlives this
    RdmaPortDisc(Ptr<RdmaQueueDisc> disc, RdmaPort& port);

    /// The transmitter is idle. \return the next frame, or one that the user makes; null: none
    [[gnu::noinline]] RdmaFrame* Next(int64_t now);

    const RdmaQueueDisc& Get() const
    {
        return *m_disc;
    }

    RdmaQueueDisc& Get()
    {
        return *m_disc;
    }

  private:
    void WakeAt(int64_t at, int64_t now);
    void OnWake();

    Ptr<RdmaQueueDisc> m_disc;
    RdmaPort& m_port;
    int64_t m_wakeAt{RdmaQueueDisc::NEVER};
    RdmaTimer<RdmaPortDisc, &RdmaPortDisc::OnWake> m_wakeEvent;
};

} // namespace ns3

#endif /* RDMA_PORT_DISC_H */
