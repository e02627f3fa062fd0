/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_PORT_DISC_H
#define RDMA_PORT_DISC_H

#include "rdma-port-shapers.h"
#include "rdma-queue-disc.h"

#include "ns3/rdma-event.h"

#include <cstdint>
#include <memory>

namespace ns3
{

class RdmaPort;

/**
 * \ingroup rdma
 * The part of an Ethernet port that has a queue discipline, shapers or both. A discipline has the
 * frames; the port goes on to count bytes by priority. Without one the frames stay in the port,
 * which serves them as it does without this part.
 */
class RdmaPortDisc
{
  public:
    /// \param disc null: the port's own order \param port outlives this
    RdmaPortDisc(Ptr<RdmaQueueDisc> disc, RdmaPort& port);

    /// The transmitter is idle. \return the next frame, or one that the user makes; null: none
    [[gnu::noinline]] RdmaFrame* Next(int64_t now);

    /// Before the first frame.
    void SetShapers(const rdma::ClassShapers& shapers)
    {
        m_shapers = std::make_unique<RdmaPortShapers>(shapers);
    }

    /// \return null: the port's own order
    RdmaQueueDisc* Find() const
    {
        return PeekPointer(m_disc);
    }

  private:
    RdmaFrame* Pop(uint8_t eligible, int64_t now);
    void WakeAt(int64_t at, int64_t now);
    void OnWake();

    Ptr<RdmaQueueDisc> m_disc;
    std::unique_ptr<RdmaPortShapers> m_shapers; //!< null: none
    RdmaPort& m_port;
    int64_t m_wakeAt{RdmaQueueDisc::NEVER};
    RdmaTimer<RdmaPortDisc, &RdmaPortDisc::OnWake> m_wakeEvent;
};

} // namespace ns3

#endif /* RDMA_PORT_DISC_H */
