/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_PORT_H
#define RDMA_PORT_H

#include "rdma-frame.h"
#include "rdma-listened-trace.h"
#include "rdma-port-state.h"
#include "rdma-port-user.h"

#include "ns3/node-windows.h"
#include "ns3/nstime.h"
#include "ns3/prefetch-line.h"
#include "ns3/rdma-event.h"
#include "ns3/traced-callback.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace ns3
{

class RdmaChannel;
class RdmaGateway;
struct IbPortConfig;

/**
 * \ingroup rdma
 * One end of a link: eight egress queues, a transmitter, a receiver, and PFC or credits.
 *
 * Laws (asserted in tests): frames enqueued = sent + queued; a frame occupies the transmitter for
 * exactly its serialization time; two frames never overlap on a link; a paused priority starts no
 * frame.
 *
 * Events: at most one arrival event is pending per port (frames in flight wait in a list, a link
 * keeps order), and a transmit event only while something waits. Neither is ever cancelled.
 *
 * Scheduling: MAC control frames first, then the strict priorities from 7 down, then the others by
 * deficit weighted round robin (Shreedhar & Varghese, SIGCOMM 1995), then whatever the user makes
 * on demand (a NIC's queue pairs). A queue discipline (RdmaQueueDisc) takes the place of the two in
 * the middle. Shapers (attribute Shaper) keep a priority out of both while it exceeds its rate.
 *
 * With credits (UseCredits) it is one end of an InfiniBand link: a priority is a virtual lane, VL
 * arbitration takes the place of the schedule above, and a lane whose next packet has no credits is
 * "paused" until it has: see IbLinkCredits.
 *
 * An Ethernet port may have cell credits instead of PFC (StartCells, RdmaCellCredits), by which
 * priorities are "paused", and link-level retry (StartRetry, RdmaLinkRetry), which stands between
 * the schedule and the line: at both ends of a link, or at none.
 */
class RdmaPort : public RdmaPortState, public NodeWindowPort
{
  public:
    static TypeId GetTypeId();

    RdmaPort();
    ~RdmaPort() override;

    // Set-up -------------------------------------------------------------------------------------

    void SetUser(RdmaPortUser* user, uint16_t index);
    /// Called by RdmaChannel::Attach.
    void AttachTo(Ptr<RdmaChannel> channel, Ptr<RdmaPort> peer);
    void SetRate(uint64_t bps);
    /// Frames are delivered to the user this much after their last bit arrived (a switch's
    /// pipeline).
    void SetReceiveLatency(int64_t ps);
    void SetName(std::string name);
    /// Makes the queue discipline of the attribute QueueDisc: once there is a cable, before the
    /// first frame. \param seed of its random numbers \return what is wrong, or nothing
    std::string StartQueueDisc(uint64_t seed);
    /// Shapers of the attribute Shaper, or, if it is empty, as its switch has them: after
    /// StartQueueDisc, before the first frame. \param ofSwitch as the attribute \return what is
    /// wrong, or nothing
    std::string StartShapers(const std::string& ofSwitch);
    /// \param mask bit p: priority p is strict
    void SetStrictMask(uint8_t mask);
    /// \param bytes quantum of a DWRR priority per round; more than 0
    void SetWeight(uint8_t priority, uint32_t bytes);

    /// Frames of one time arrive in the order of these numbers at the ports of a node: see
    /// RdmaEventOrder. The scheduler must be RdmaQuadHeapScheduler. \param number of the port at
    /// its node
    void SetArrivalOrder(uint32_t number);
    /// Link-level retry: at both ends of an Ethernet link, before anything is sent, once the
    /// receive latency is set. \param largestFrame bytes \return what is wrong, or nothing
    std::string StartRetry(uint32_t largestFrame);

    /// What the two ends of a link have agreed on (StartCells).
    struct CellSetUp
    {
        uint8_t receiveMask{0};   //!< bit p: priority p has a buffer here
        uint64_t receiveBytes{0}; //!< of each of these
        uint8_t sendMask{0};      //!< the same of the peer
        uint64_t sendBytes{0};
        uint32_t largestFrame{0}; //!< bytes
        bool consumes{false};     //!< what comes leaves the buffer at once
    };

    /// Credits instead of PFC: at both ends of an Ethernet link, before switches start. \return
    /// what is wrong, or nothing
    std::string StartCells(const CellSetUp& setUp);
    /// \return bytes of a receive buffer that let one priority have the whole rate of this port,
    /// or so \param pipelinePs from the arrival of a frame until it may leave the buffer
    uint64_t GetCreditsForRate(uint32_t largestFrame, int64_t pipelinePs) const;
    /// An end of an InfiniBand link. Both ends, before anything is sent; then StartCredits.
    void UseCredits(const IbPortConfig& config);
    /// The initial flow-control packets of both ends have been exchanged.
    void StartCredits();
    /// Frames are delivered when their first bit has arrived (and the receive latency is over):
    /// to a switch that may pass them on while the rest still comes. Ethernet: those with bit
    /// errors, too (IsBad).
    void SetCutThrough(bool cutThrough);
    /// Ethernet: switches of this fabric may pass frames with bit errors on to this port.
    void ExpectBadFrames();

    /// This is the ghost of a port that another process has: whatever arrives goes there.
    /// \param link number of the link at the gateway
    void SetRemote(RdmaGateway* gateway, uint32_t link);

    // For the node-window engine (NodeWindowPortsOf): what is sent to a port of another unit goes
    // there as mail, when the unit has run, and is taken when that one runs.

    using Link = RdmaChannel;

    static RdmaPort* Of(NodeWindowPort* port)
    {
        return static_cast<RdmaPort*>(port);
    }

    static const RdmaPort* Of(const NodeWindowPort* port)
    {
        return static_cast<const RdmaPort*>(port);
    }

    static RdmaFrame* Of(NodeWindowFrame* frame)
    {
        return static_cast<RdmaFrame*>(frame);
    }

    static void Free(RdmaFrame* frame)
    {
        RdmaFramePool::Get().Free(frame);
    }

    static void LeaveThread()
    {
        RdmaFramePool::LeaveThread();
    }

    /// Nothing else is to happen: what is on its way here without an event gets one.
    void Listen()
    {
        if (m_hasCredits)
        {
            m_credits->Listen();
        }
    }

    // Before each run, in this order, of all ports:

    /// \param slot of its table of arrivals
    void SetSlot(NodeWindows::Unit& unit, uint32_t slot);
    void UseWindows();

    /// The transmitter is idle.
    void TransmitNext()
    {
        OnTransmitEvent();
    }

    /// What has been expected is here.
    void Receive()
    {
        m_rxInTable = false;
        OnReceiveEvent();
    }

    /// The other end's unit is another thread's from now on. \param shard where it runs
    void SetPeerShard(uint32_t shard)
    {
        m_peerShard = static_cast<uint8_t>(shard);
    }

    /// The port at the other end has sent this, and it has to be known before it arrives.
    void Take(RdmaFrame* frame)
    {
        ArriveAsTold(frame);
    }

    /// A frame is here.
    void Receive(RdmaFrame* frame)
    {
        if (m_suspicious || m_rxTraced || frame->opcode == RdmaOpcode::PACKET)
        {
            Deliver(frame, frame->time);
            return;
        }
        ++m_rxFrames;
        m_rxWireBytes += frame->wireBytes;
        if (m_hasCredits)
        {
            m_credits->Take(frame->priority, GetBlocks(frame), frame->time);
        }
        m_user->OnFrame(this, frame, frame->time);
    }

    /// A frame that arrives: what hangs off it. \param deep whether its journey may end here
    static void PrefetchFrame(const RdmaFrame& frame, uint32_t depth, bool deep)
    {
        const RdmaFrameExtra* extra = frame.extra;
        if (extra && depth == 0)
        {
            PrefetchLine(extra);
        }
        else if (extra && extra->journey && deep)
        {
            PrefetchLines(extra->journey.get(), extra->journey.get() + 1);
        }
        else if (extra && extra->journey)
        {
            extra->journey->PrefetchHop(extra->joined);
        }
    }

    int64_t AssignStreams(int64_t stream);

    /// \return whether a frame of Ethernet is one that is found to have bit errors once it is whole
    static bool IsBad(const RdmaFrame& frame)
    {
        return frame.dscp & RdmaFrame::BAD;
    }

    /// Such a frame was delivered here, and is whole now: counted, told of and freed.
    void LoseBad(RdmaFrame* frame, int64_t now);

    // Failure --------------------------------------------------------------------------------

    /**
     * Ethernet: the link goes down or comes up again at this end; do it at both, down first and up
     * last (RdmaFabric::SetLinkDown).
     *
     * Down: what is on the wire towards this port is lost, the last bit being late; what has come
     * whole is not. What is queued goes to the user (OnLinkDown), MAC control frames are lost.
     * Nothing is sent, and ordinary packets are refused (NetDevice::Send). Up: the port pauses what
     * its peer's user wants paused (assumed: both ends tell each other before they send data), and
     * sends. A port that is down already is left alone, and so is one that is up. \param now ps
     */
    void SetLinkUp(bool up, int64_t now);

    /// A frame is lost with its link: told of (trace source LinkDown) and freed.
    void LoseWithLink(RdmaFrame* frame, int64_t now);

    // Faults: RdmaFaults does them at both ends, by events without context.

    /**
     * The cable is cut, and nobody knows: what is on the wire towards this port is lost, and so is
     * all that this port sends from now on, which takes the transmitter's time as ever. (Of a frame
     * that is passed on while it comes in the rest still comes: assumed.) With credits, what is
     * sent in vain takes none. \pre MayFail \param now ps
     */
    void Cut(int64_t now);
    /// The cable is whole again: both ends, before SetLinkUp. \param now ps
    void Mend(int64_t now);

    /// Before anything is sent: this link may be cut or get bit errors, at both ends. With credits
    /// they are counted then as on a link with bit errors. \param stream first of the two random
    /// streams that errors and drops take
    void MayFail(int64_t stream);
    /// From now on. \param rate probability of a bit error of what arrives here \pre MayFail
    void SetBitErrorRate(double rate);

    /// From now on what arrives here whole, but for MAC control frames, is dropped without a word.
    /// \param probability of each frame by itself \pre MayFail
    void SetSilentDrops(double probability);

    // Data plane ---------------------------------------------------------------------------------

    /// Queue a frame for its priority and send as soon as may be. \param now ps
    void Enqueue(RdmaFrame* frame, int64_t now)
    {
        if (IsIdle(frame->priority, now))
        {
            SendAtOnce(frame, now);
            return;
        }
        Queue& queue = m_queue[frame->priority];
        queue.bytes += GetFrameBytes(frame);
        queue.list.PushBack(frame);
        m_waiting |= 1U << frame->priority;
        m_queuedBytes += GetFrameBytes(frame);
        if (m_queueTraced)
        {
            OnQueued(frame, now);
        }
        Kick(now);
        m_maxQueueBytes = std::max(m_maxQueueBytes, m_queuedBytes); // what is sent at once is out
    }

    /// The same, of a port with credits.
    void EnqueueOnLane(RdmaFrame* frame, int64_t now)
    {
        const bool idle = now >= m_busyUntil && !m_txPending && !m_waiting && !m_pull &&
                          !m_hasControl && !m_paused && !m_countsAhead && !m_queueTraced;
        if (idle && m_credits->Spend(frame->priority, GetBlocks(frame)))
        {
            SendAtOnce(frame, now);
            return;
        }
        Enqueue(frame, now);
    }

    /// As Enqueue, without the queue. \pre IsIdle
    void SendAtOnce(RdmaFrame* frame, int64_t now)
    {
        const uint32_t bytes = GetFrameBytes(frame);
        m_busyUntil = now + GetSerialization(frame->wireBytes);
        m_user->OnDequeue(this, frame, bytes, now);
        Transmit(frame, now);
        GoOn();
    }

    /// The user may have something to send now: look. \param now ps
    void Kick(int64_t now)
    {
        if (m_txPending)
        {
            // The event is due when the transmitter is idle again. When that is now, leave it to
            // the event all the same: at a resolution coarser than ps the frame that comes now may
            // be up to a tick behind that moment, and so would be what waits since before.
            return;
        }
        if (now >= m_busyUntil)
        {
            StartNext(now);
        }
        else
        {
            ScheduleTransmit();
        }
    }

    /// \param mask bit p: the user could make a frame of priority p, so it is asked (Pull) whenever
    /// the transmitter is idle
    void SetPullMask(uint8_t mask)
    {
        m_pull = mask;
    }

    /// Send an 802.1Qbb frame: for each priority in `mask`, pause for `quanta` x 512 bit times (0:
    /// resume).
    void SendPause(uint8_t mask, uint16_t quanta, int64_t now);

    /**
     * InfiniBand: a frame that was received here leaves the buffer. \param blocks of the frame, see
     * GetBlocks
     */
    void ReturnCredits(uint8_t lane, uint32_t blocks, int64_t now)
    {
        m_credits->Return(lane, blocks, now, now, nullptr);
    }

    /// The same, by another port of the switch, whose user hears that it leaves the queue there
    /// (OnDequeue): it has left when its last bit has.
    void ReturnCreditsAfter(uint8_t lane, uint32_t blocks, RdmaPort& out, int64_t now)
    {
        m_credits->Return(lane, blocks, out.m_busyUntil, now, out.m_credits.get());
    }

    /// With cell credits: so many bytes of a frame that was received here leave the buffer.
    void ReturnCells(uint8_t priority, uint64_t bytes, int64_t now)
    {
        if (m_cells)
        {
            m_cells->Return(priority, bytes, now);
        }
    }

    /// PFC has no effect on these priorities until they are given up again (a watchdog's
    /// "forward"). Pauses are still heard: see GetPauseEnd. \param mask bit p: priority p
    void IgnorePauses(uint8_t mask, int64_t now);

    /// A frame that another process sent: as if the port at the other end had. \param at when its
    /// last bit arrives, ps, not before now
    void ArriveFromRemote(RdmaFrame* frame, int64_t at);

    /// Empty a queue: the frames are the caller's, not a word of them to the user. \param now ps
    RdmaFrameList TakeQueue(uint8_t priority, int64_t now);

    /// The discipline makes room for a frame that would join. \return a frame of its priority, the
    /// caller's now; null: there is none, or no discipline
    RdmaFrame* Evict(const RdmaFrame& arriving, int64_t now);

    /// The frame that joined a queue last changes places with another one. \pre the queue is not
    /// empty, and no discipline has it. \param frame this one, and then that one
    void ExchangeLast(uint8_t priority, RdmaFrame& frame, int64_t now);

    /// A frame leaves a queue and is the caller's, not a word of it to the user. \param before the
    /// frame before it in the queue; null: it is the first \param now ps
    void TakeQueued(uint8_t priority, RdmaFrame& frame, RdmaFrame* before, int64_t now);

    /// \return from when the last bit of a data frame leaves here until the peer has it, its
    /// receive latency included, ps
    int64_t GetReachPs() const
    {
        return (m_peerUnit ? m_reach : m_delay + m_peer->m_receiveLatency) +
               (m_retry ? m_peer->GetReceiveLatencyPs() : 0);
    }

    // NetDevice ----------------------------------------------------------------------------------

    bool IsLinkUp() const override;
    void SetNode(Ptr<Node> node) override;

    /// (port, frame, ps)
    typedef void (*FrameTracedCallback)(const RdmaPort* port, const RdmaFrame* frame, int64_t now);
    /// (port, priority, bytes in its queue from now on, ps)
    typedef void (*QueueTracedCallback)(const RdmaPort* port,
                                        uint8_t priority,
                                        uint64_t bytes,
                                        int64_t now);
    /// (port, mask of priorities paused now, mask that changed, ps)
    typedef void (*PauseTracedCallback)(const RdmaPort* port,
                                        uint8_t paused,
                                        uint8_t changed,
                                        int64_t now);

  protected:
    void DoDispose() override;
    void SendOnLink(Ptr<Packet> packet, uint16_t protocol) override;

  private:
    friend class IbPortCredits;
    friend class RdmaLinkRetry;
    friend class RdmaCellCredits;
    friend class RdmaPortDisc;

    /// Draws by how much its clock is off: within this much (ppm).
    void SetClockTolerance(double ppm);
    double GetClockTolerance() const;
    void SetTransmitTimeUnit(Time unit);
    Time GetTransmitTimeUnit() const;
    void OnTransmitEvent();
    void OnReceiveEvent();
    void OnPauseEvent();

    /// An event for when the transmitter is idle. \pre none is pending
    void ScheduleTransmit();
    /// \pre the transmitter is idle \param isAll whether the event that runs does nothing else
    void StartNext(int64_t now, bool isAll = false);

    /// A frame has been started: if more waits, an event for when the transmitter is idle.
    void GoOn()
    {
        if (GoesOn())
        {
            ScheduleTransmit();
        }
    }

    /// \return whether GoOn makes one
    bool GoesOn() const
    {
        return !m_txPending && (m_hasControl || ((m_waiting | m_pull) & ~m_paused));
    }

    [[gnu::returns_nonnull]] RdmaFrame* Dequeue(uint8_t eligible, int64_t now);

    /// The transmitter is idle. \return what waits, or what the user makes; null: nothing
    RdmaFrame* NextFrame(int64_t now)
    {
        if (const uint8_t eligible = m_waiting & ~m_paused)
        {
            return Dequeue(eligible, now);
        }
        RdmaFrame* frame = m_user->Pull(this, m_paused, now);
        if (frame)
        {
            m_busyUntil = now + GetSerialization(frame->wireBytes);
        }
        return frame;
    }

    /// A frame has joined a queue: its discipline and listeners. Not inlined: most ports have
    /// neither.
    [[gnu::noinline]] void OnQueued(RdmaFrame* frame, int64_t now);
    /// The discipline has given a frame away.
    void OnDiscLeft(const RdmaFrame& frame, int64_t now);
    uint8_t PickDwrr(uint8_t eligible);
    void Transmit(RdmaFrame* frame, int64_t now);
    void SendToUnit(RdmaFrame* frame, int64_t now);
    /// Take a frame whose first bit arrives at `from` and its last one at `at`.
    void Arrive(RdmaFrame* frame, int64_t from, int64_t at);
    /// The same, but for when it is delivered, which the frame says.
    void ArriveAsTold(RdmaFrame* frame);

    static bool IsControl(const RdmaFrame* frame)
    {
        return frame->opcode == RdmaOpcode::PAUSE || frame->opcode == RdmaOpcode::FLOW_CONTROL;
    }

    /// \return when a frame is delivered
    int64_t DeliveryTime(const RdmaFrame* frame, int64_t from, int64_t at) const;
    void ExpectFrames();
    /// The first frame of m_inFlight will be here.
    void ScheduleReceive();
    uint32_t ControlContext() const;
    /// \return whether the frame had bit errors or was lost with its link, and is gone
    bool DropCorrupted(RdmaFrame* frame, int64_t now);
    /// \return whether a frame was lost with its link while it was on the way, and is gone
    bool DropLostOnWire(RdmaFrame* frame, int64_t now);
    void GoDown(int64_t now);
    void ComeUp(int64_t now);
    /// What is on the wire towards this port is lost.
    void LoseWire(int64_t now);
    void LoseFrameOnWire(RdmaFrame& frame, int64_t now);
    /// Sent into a cut cable.
    void LoseSent(RdmaFrame* frame, int64_t now);
    /// \return whether a frame is dropped without a word, and is gone
    bool DropSilently(RdmaFrame* frame, int64_t now);

    /// \return whether a frame that comes has been passed on with bit errors
    bool IsBadHere(const RdmaFrame& frame) const
    {
        return m_expectsBad && !IsControl(&frame) && IsBad(frame);
    }

    void UpdateSuspicion()
    {
        m_suspicious = m_errorProne || m_expectsBad || m_faults.lostOnWire ||
                       m_faults.DropsSilently() || m_retry || m_cells;
        m_countsAhead = m_errorProne && m_hasCredits;
    }

    void Deliver(RdmaFrame* frame, int64_t now);
    /// A good frame goes to the user.
    void HandOver(RdmaFrame* frame, int64_t now);
    void OnPause(RdmaFrame* frame, int64_t now);
    /// Replay timer and spacing of ACKs, by the link's rates as they are now. \pre m_retry
    void TimeRetry();
    /// A control ordered set, of 8 B: an ACK or NACK of m_retry, or an update of m_cells.
    void QueueWord(uint8_t flags, int64_t now);
    void FillWord(RdmaFrame* frame, int64_t now);
    void OnWord(const RdmaFrame& frame, int64_t now);

    /// A frame has come: a host takes it out of its buffer.
    void CountCells(const RdmaFrame& frame, int64_t now)
    {
        if (m_cells)
        {
            m_cells->OnArrival(frame, now);
        }
    }

    void SetPaused(uint8_t mask, int64_t now);

    RdmaListenedTrace<const RdmaPort*, const RdmaFrame*, int64_t> m_rxTrace{m_rxTraced};
    RdmaListenedTrace<const RdmaPort*, const RdmaFrame*, int64_t> m_txTrace{m_txTraced};
    RdmaListenedTrace<const RdmaPort*, uint8_t, uint64_t, int64_t> m_queueTrace{m_queueTraced};
    TracedCallback<const RdmaPort*, const RdmaFrame*, int64_t> m_corruptTrace;
    TracedCallback<const RdmaPort*, const RdmaFrame*, int64_t> m_linkDownTrace;
    TracedCallback<const RdmaPort*, const RdmaFrame*, int64_t> m_cutSentTrace;
    TracedCallback<const RdmaPort*, const RdmaFrame*, int64_t> m_silentDropTrace;
    TracedCallback<const RdmaPort*, uint8_t, uint8_t, int64_t> m_pauseTrace;

    RdmaTimer<RdmaPort, &RdmaPort::OnTransmitEvent> m_txEvent; //!< without m_unit
    RdmaTimer<RdmaPort, &RdmaPort::OnReceiveEvent> m_rxEvent;
    RdmaTimer<RdmaPort, &RdmaPort::OnPauseEvent> m_pauseEvent;

    RdmaGateway* m_gateway{nullptr}; //!< a ghost's
    uint32_t m_gatewayLink{0};
};

/**
 * \ingroup rdma
 * A frame with an attachment leaves the queue of a switch that it joined at frame.time: its journey
 * and its telemetry, if it has them.
 */
void NoteLeaving(RdmaPort& port, RdmaFrame& frame, int64_t now);

} // namespace ns3

#endif /* RDMA_PORT_H */
