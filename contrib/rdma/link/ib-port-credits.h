/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef IB_PORT_CREDITS_H
#define IB_PORT_CREDITS_H

#include "ib-link-credits.h"

#include "ns3/rdma-event.h"

#include <cstdint>

namespace ns3
{

class RdmaPort;
struct RdmaFrame;

/**
 * \ingroup rdma
 * The part of a port that has credits: which virtual lane sends next, and what the port tells its
 * peer by flow-control packets.
 *
 * On the wire, frames come one after another; what is behind the wire (a switch's latency) differs
 * between data and flow-control packets. So blocks are counted in the order of the wire. Without
 * bit errors that is as soon as a frame is known of (FCCL, their sum with what is free, is the same
 * either way). With bit errors, which are found then, it is when the frame is here or a
 * flow-control packet behind it is.
 */
class IbPortCredits : public IbLinkCredits
{
  public:
    /// \param port outlives this
    IbPortCredits(const IbPortConfig& config, RdmaPort& port);

    /// The initial flow-control packets of both ends have been exchanged.
    void Start(IbPortCredits& peer);

    /// The transmitter is idle. \return the next frame, out of its queue; null: no lane may send
    RdmaFrame* Next(int64_t now);
    /// A frame that was received leaves the buffer: RdmaPort::ReturnCredits.
    void Return(uint8_t lane, uint32_t blocks, int64_t at, int64_t now);
    /// A frame arrives: its blocks count as used.
    void CountArrival(RdmaFrame* frame);
    /// The same, unless it was counted ahead of a flow-control packet.
    void CountIfNotYet(RdmaFrame* frame);
    /// Counts packets in the pipeline that were ahead of this flow-control packet on the wire.
    void CountAheadOf(const RdmaFrame& control);
    /// A flow-control packet starts to be sent. What it says holds then, not when it was queued.
    void FillUpdate(RdmaFrame* frame, int64_t now);
    void OnUpdate(const RdmaFrame& frame, int64_t now);
    /// The link works again: tells the peer the state of all lanes.
    void TellAnew(int64_t now);

  private:
    /// \return the lanes whose next frame, if it is known, has credits; the others wait
    uint8_t WithCredits(uint8_t lanes, int64_t now);
    void QueueUpdate(uint8_t lane, int64_t now);
    void OnEvent();
    void OnTimer();
    void StartTimer(int64_t now);

    RdmaPort& m_port;
    RdmaTimer<IbPortCredits, &IbPortCredits::OnEvent> m_event;
    RdmaTimer<IbPortCredits, &IbPortCredits::OnTimer> m_timer;
};

} // namespace ns3

#endif /* IB_PORT_CREDITS_H */
