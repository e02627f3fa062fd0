/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_PORT_USER_H
#define RDMA_PORT_USER_H

#include "rdma-frame.h"

#include "ns3/node-window-unit.h"

#include <cstdint>

namespace ns3
{

class RdmaPort;

/**
 * \ingroup rdma
 * What stands behind a port: a NIC or a switch.
 */
class RdmaPortUser : public NodeWindowUser
{
  public:
    /// A frame has been received whole. The user owns it now. \param now ps
    virtual void OnFrame(RdmaPort* port, RdmaFrame* frame, int64_t now) = 0;

    /**
     * A queued frame starts to be sent: it has left its queue, and counts as out of the buffer from
     * here on (assumed: a real switch frees its cells one by one while they are sent). It may still
     * be marked. Only called for frames that went through Enqueue. \param queueBytes what its queue
     * held before, itself included
     */
    virtual void OnDequeue(RdmaPort* port, RdmaFrame* frame, uint64_t queueBytes, int64_t now) = 0;

    /**
     * The transmitter is idle and no queued frame may go: make one, or none.
     * \param pausedMask priorities that PFC holds back
     */
    virtual RdmaFrame* Pull(RdmaPort* port, uint8_t pausedMask, int64_t now) = 0;

    /// The link is down; these frames were queued for it, and the user owns them now. By default
    /// they are lost: RdmaPort::LoseWithLink.
    virtual void OnLinkDown(RdmaPort* port, RdmaFrameList frames, int64_t now);

    /// \return the NIC or switch: this one, or behind it
    virtual RdmaPortUser* GetDevice()
    {
        return this;
    }

    /// \return priorities that this user wants the peer of a port to pause
    virtual uint8_t GetPausing(const RdmaPort*) const
    {
        return 0;
    }
};

} // namespace ns3

#endif /* RDMA_PORT_USER_H */
