/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef IB_PORT_CREDITS_H
#define IB_PORT_CREDITS_H

#include "ib-link-credits.h"

#include "ns3/abort.h"
#include "ns3/rdma-event.h"

#include <cstdint>
#include <string>

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
 * between data and flow-control packets. On a link with bit errors, blocks are counted in the order
 * of the wire: when the frame is here or a flow-control packet behind it is. Without bit errors
 * they are counted when the frame is here, and FCTBS says nothing that is not known: FCCL, their
 * sum with what is free, is the same whenever they are counted.
 *
 * A flow-control packet that no lane waits for has no event when it arrives (node-window engine,
 * no bit errors, nobody listens to PhyRx): it is heard (Hear) when a lane has too few credits, or
 * when somebody looks, as of the time at which it came.
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

    /// A port of one lane: takes the credits of a packet that goes at once. \return whether it may;
    /// else see Next
    bool Spend(uint8_t lane, uint32_t blocks)
    {
        rdma::IbCreditSender& sender = lanes[lane].sender;
        if (!hasOneLane || !sender.CanSend(blocks))
        {
            return false;
        }
        sender.OnSent(blocks);
        return true;
    }

    /// A frame that was received leaves the buffer: RdmaPort::ReturnCredits. \param out the port
    /// that sends it until `at`; null: none does
    void Return(uint8_t index, uint32_t blocks, int64_t at, int64_t now, IbPortCredits* out)
    {
        Lane& lane = lanes[index];
        lane.untold += blocks;
        if (at <= now)
        {
            lane.receiver.OnFreed(blocks);
        }
        else
        {
            lane.Leave(at, blocks, now);
        }
        if (lane.updateQueued || lane.updateScheduled ||
            (lane.untold < lane.updateBlocks && timerPending))
        {
            return;
        }
        TellOrWait(index, at, now, out);
    }

    /// A frame is here, without bit errors: its blocks count as used.
    void Count(uint8_t lane, uint32_t blocks)
    {
        NS_ABORT_MSG_UNLESS(lanes[lane].receiver.OnReceived(blocks),
                            GetPortName() << ": a packet came without credits");
    }

    /// The same, and where what has arrived leaves the buffer at once it does so.
    void Take(uint8_t lane, uint32_t blocks, int64_t now)
    {
        Count(lane, blocks);
        if (lanes[lane].consumes)
        {
            Return(lane, blocks, now, now, nullptr);
        }
    }

    /// Link with bit errors: a frame arrives, its blocks count as used.
    void CountArrival(RdmaFrame* frame);
    /// The same, unless it was counted ahead of a flow-control packet.
    void CountIfNotYet(RdmaFrame* frame);
    /// Counts packets in the pipeline that were ahead of this flow-control packet on the wire.
    void CountAheadOf(const RdmaFrame& control);
    /// A flow-control packet starts to be sent. What it says holds then, not when it was queued.
    void FillUpdate(RdmaFrame* frame, int64_t now);
    void OnUpdate(const RdmaFrame& frame, int64_t now);
    /// A flow-control packet is on its way. \return whether nobody waits for it
    bool GoesUnheard();

    /// Takes what has come unheard, as of when it came.
    void Hear()
    {
        if (m_unheard)
        {
            HearAll();
        }
    }

    /// What is still to come unheard will be heard by events.
    void Listen();
    /// The link works again: tells the peer the state of all lanes.
    void TellAnew(int64_t now);

  private:
    const std::string& GetPortName() const;
    RdmaFrame* NextOfAny(uint8_t candidates, int64_t now);
    /// A lane has no credits for its next frame. \param made the frame, if it is in no queue
    void Hold(RdmaFrame* made, uint8_t lane, int64_t now);

    /// \return whether there are credits for a packet; what came unheard is heard first
    bool HasCredits(const Lane& lane, uint32_t blocks)
    {
        if (!lane.sender.CanSend(blocks))
        {
            Hear(); // a limit that came later is no smaller
            return lane.sender.CanSend(blocks);
        }
        return true;
    }

    /// \return the lanes whose next frame, if it is known, has credits; the others wait
    uint8_t WithCredits(uint8_t lanes, int64_t now);
    void HearAll();
    /// Blocks are free at `at`, and no flow-control packet is under way: one, or a timer.
    void TellOrWait(uint8_t lane, int64_t at, int64_t now, IbPortCredits* out);
    /// A frame starts to be sent here. \return whether the event at its end, which is there for
    /// what this port sends next, is that of another port's update as well
    bool TakesAlong(IbPortCredits& other);

    /// That event.
    void TellAlong()
    {
        if (m_along)
        {
            TellOther();
        }
    }

    void TellOther();

    void QueueUpdate(uint8_t lane, int64_t now);
    void OnEvent();
    void OnTimer();
    void StartTimer(int64_t now);

    bool m_unheard{false}; //!< RdmaPort::m_controlInFlight has packets without an event
    RdmaPort& m_port;
    IbPortCredits* m_along{nullptr}; //!< TakesAlong
    RdmaTimer<IbPortCredits, &IbPortCredits::OnEvent> m_event;
    RdmaTimer<IbPortCredits, &IbPortCredits::OnTimer> m_timer;
};

} // namespace ns3

#endif /* IB_PORT_CREDITS_H */
