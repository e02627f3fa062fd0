/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_PORT_H
#define RDMA_PORT_H

#include "contrib/rdma/core/ib/ib-sizes.h"
#include "contrib/rdma/core/pint.h"
#include "prefetch-line.h"
#include "rdma-event-order.h"
#include "rdma-event.h"
#include "rdma-frame.h"
#include "rdma-port-counters.h"
#include "rdma-port-user.h"

#include "ns3/mac48-address.h"
#include "ns3/net-device.h"
#include "ns3/nstime.h"
#include "ns3/random-variable-stream.h"
#include "ns3/traced-callback.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ns3
{

class RdmaChannel;
class RdmaGateway;
class RdmaPackets;
struct IbLinkCredits;
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
 * on demand (a NIC's queue pairs).
 *
 * With credits (UseCredits) it is one end of an InfiniBand link: a priority is a virtual lane, VL
 * arbitration takes the place of the schedule above, and a lane whose next packet has no credits is
 * "paused" until it has: see IbLinkCredits.
 */
class RdmaPort : public NetDevice
{
  public:
    static TypeId GetTypeId();

    static constexpr uint32_t PRIORITIES = 8;

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
    /// \param mask bit p: priority p is strict
    void SetStrictMask(uint8_t mask);
    /// \param bytes quantum of a DWRR priority per round; more than 0
    void SetWeight(uint8_t priority, uint32_t bytes);

    /// \return mask: bit p: priority p is strict
    uint8_t GetStrictMask() const
    {
        return m_strict;
    }

    /// \return bytes, as SetWeight has it
    uint32_t GetWeight(uint8_t priority) const
    {
        return m_queue[priority].weight;
    }

    /// From now on a NetDevice of the whole fabric. \param packets aggregated to it
    void SetPackets(RdmaPackets* packets);
    /// Frames of one time arrive in the order of these numbers at the ports of a node: see
    /// RdmaEventOrder. The scheduler must be QuadHeapScheduler. \param number of the port at its
    /// node
    void SetArrivalOrder(uint32_t number);
    /// An end of an InfiniBand link. Both ends, before anything is sent; then StartCredits.
    void UseCredits(const IbPortConfig& config);
    /// The initial flow-control packets of both ends have been exchanged.
    void StartCredits();
    /// Frames are delivered when their first bit has arrived (and the receive latency is over):
    /// to a switch that may pass them on while the rest still comes.
    void SetCutThrough(bool cutThrough);

    /// This is the ghost of a port that another process has: whatever arrives goes there.
    /// \param link number of the link at the gateway
    void SetRemote(RdmaGateway* gateway, uint32_t link);

    bool IsRemote() const
    {
        return m_remote;
    }

    // With the node-window engine: what is sent to a port of another unit goes there as mail, when
    // the unit has run, and is taken when that one runs.

    // Before each run, in this order, of all ports:

    /// \param slot of its table of arrivals
    void SetSlot(NodeWindows::Unit& unit, uint32_t slot);
    void UseWindows();

    /// \return whether SetArrivalOrder was called
    bool HasArrivalOrder() const
    {
        return RdmaEventOrder::NodeOf(m_context) != m_context;
    }

    uint32_t GetArrivalContext() const
    {
        return m_context;
    }

    /// \return the number of its node
    uint32_t GetContext() const
    {
        return RdmaEventOrder::NodeOf(m_context);
    }

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
        if (m_suspicious || m_rxTraced || m_hasCredits || frame->opcode == RdmaOpcode::PACKET)
        {
            Deliver(frame, frame->time);
            return;
        }
        ++m_rxFrames;
        m_rxWireBytes += frame->wireBytes;
        m_user->OnFrame(this, frame, frame->time);
    }

    // What will be needed soon:

    /// by a frame that arrives,
    void PrefetchReceiver() const
    {
        PrefetchLine(&m_rxFrames);
    }

    /// by one that leaves,
    void PrefetchTransmitter() const
    {
        PrefetchLine(&m_busyUntil);
    }

    /// by one that has waited,
    void PrefetchQueue() const
    {
        PrefetchLine(&m_busyUntil);
        PrefetchLine(&m_queue[2]);
    }

    /// and that one itself.
    void PrefetchFront() const
    {
        if (const uint8_t eligible = m_waiting & ~m_paused)
        {
            PrefetchLine(m_queue[31 - __builtin_clz(eligible)].list.Front());
        }
    }

    int64_t AssignStreams(int64_t stream);

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

    bool IsDown() const
    {
        return m_down;
    }

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

    bool IsCut() const
    {
        return m_cut;
    }

    /// Before anything is sent: this link may be cut or get bit errors, at both ends. With credits
    /// they are counted then as on a link with bit errors. \param stream first of the two random
    /// streams that errors and drops take
    void MayFail(int64_t stream);
    /// From now on. \param rate probability of a bit error of what arrives here \pre MayFail
    void SetBitErrorRate(double rate);

    double GetBitErrorRate() const
    {
        return m_bitErrorRate;
    }

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
            m_queueTrace(this, frame->priority, queue.bytes, now);
        }
        Kick(now);
        m_maxQueueBytes = std::max(m_maxQueueBytes, m_queuedBytes); // what is sent at once is out
    }

    /// \return whether a frame that joined a queue now would be sent at once
    bool IsIdle(uint8_t priority, int64_t now) const
    {
        return now >= m_busyUntil && !m_txPending && !m_waiting && !m_hasControl &&
               !(m_paused >> priority & 1) && !m_hasCredits && !m_queueTraced;
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
     * GetBlocks. \param at when its last bit has left, ps: now or later
     */
    void ReturnCredits(uint8_t lane, uint32_t blocks, int64_t at, int64_t now);

    /// \return null: this end has PFC, not credits
    const IbLinkCredits* GetCredits() const
    {
        return m_credits.get();
    }

    /// \return what a frame takes of a credit buffer (64 B each): all between the delimiters, its
    /// VCRC too (core/ib-sizes.h)
    uint32_t GetBlocks(const RdmaFrame* frame) const
    {
        return rdma::IbBlocks(GetFrameBytes(frame));
    }

    /// PFC has no effect on these priorities until they are given up again (a watchdog's
    /// "forward"). Pauses are still heard: see GetPauseEnd. \param mask bit p: priority p
    void IgnorePauses(uint8_t mask, int64_t now);

    /// \return when the pause of a priority that was heard last ends or ended, ps
    int64_t GetPauseEnd(uint8_t priority) const
    {
        return m_pausedUntil[priority];
    }

    /// A frame that another process sent: as if the port at the other end had. \param at when its
    /// last bit arrives, ps, not before now
    void ArriveFromRemote(RdmaFrame* frame, int64_t at);

    /// Empty a queue: the frames are the caller's, not a word of them to the user. \param now ps
    RdmaFrameList TakeQueue(uint8_t priority, int64_t now);

    /// \return the frame that joined a queue last; null: the queue is empty
    const RdmaFrame* GetQueueBack(uint8_t priority) const
    {
        return m_waiting >> priority & 1 ? m_queue[priority].list.Back() : nullptr;
    }

    /// The frame that joined a queue last changes places with another one. \pre the queue is not
    /// empty. \param frame this one, and then that one
    void ExchangeLast(uint8_t priority, RdmaFrame& frame, int64_t now);

    uint64_t GetQueueBytes(uint8_t priority) const
    {
        return m_waiting >> priority & 1 ? m_queue[priority].bytes : 0;
    }

    uint64_t GetQueuedBytes() const
    {
        return m_queuedBytes;
    }

    /// Largest sum of what has waited since this was asked last, all priorities, as
    /// RdmaPortCounters::maxQueueBytes has it of the whole time: bytes behind the frame that is
    /// being sent; one that is sent as it comes does not wait. At least what waits now.
    uint64_t TakeQueuePeak()
    {
        const uint64_t peak = std::exchange(m_maxQueueBytes, m_queuedBytes);
        m_maxQueueBefore = std::max(m_maxQueueBefore, peak);
        return peak;
    }

    int64_t GetBusyUntil() const
    {
        return m_busyUntil;
    }

    uint8_t GetPausedMask() const
    {
        return m_paused;
    }

    // Looking at it ------------------------------------------------------------------------------

    uint16_t GetPortIndex() const
    {
        return m_index;
    }

    const std::string& GetName() const
    {
        return m_name;
    }

    RdmaPort* GetPeer() const
    {
        return m_peer;
    }

    RdmaPortUser* GetUser() const
    {
        return m_user;
    }

    uint64_t GetRate() const
    {
        return m_rate;
    }

    /**
     * What the transmitter could have sent, for its busy share: bits sent over this times the time.
     * Neither a pause nor a cut cable takes from it: the rate is the transmitter's, and both are
     * reasons why it sent less, or in vain. \param from, until ps; if they are one, the rate then
     * \return mean rate in between, bit/s; if it did not change in between, that rate exactly
     */
    double GetMeanRate(int64_t from, int64_t until) const;

    /// A rate that the port had, at a time when the simulation ran.
    struct PastRate
    {
        int64_t until; //!< ps; ascending
        uint64_t bps;
    };

    /// \return those before GetRate
    const std::vector<PastRate>& GetPastRates() const
    {
        return m_pastRates;
    }

    /// \return bytes of a frame that only the line sees, not a buffer
    uint32_t GetLineOverhead() const
    {
        return m_lineOverhead;
    }

    /// \return what buffers count of a frame
    uint32_t GetFrameBytes(const RdmaFrame* frame) const
    {
        return frame->wireBytes - m_lineOverhead;
    }

    /// \return serialization times are cut to multiples of this, ps; 1: they are rounded
    int64_t GetTransmitTimeUnitPs() const
    {
        return m_timeUnit;
    }

    int64_t GetDelayPs() const
    {
        return m_delay;
    }

    /// \return from the arrival of a pause until it holds, ps: attribute PauseResponse
    int64_t GetPauseResponsePs() const
    {
        return ToPs(512 * uint64_t{m_pauseResponse}, m_rate);
    }

    /// \return what the interfaces at both ends add to the delay of a link of this rate, one way,
    /// ps: attribute InterfaceDelay
    int64_t GetInterfaceDelayPs(uint64_t rateBps) const
    {
        return ToPs(m_interfaceDelay, rateBps);
    }

    /// \return from when the last bit of a data frame leaves here until the peer has it, its
    /// receive latency included, ps
    int64_t GetReachPs() const
    {
        return m_peerUnit ? m_reach : m_delay + m_peer->m_receiveLatency;
    }

    /// Its number among the ends of an RdmaFabric; UINT32_MAX: it is in none.
    void SetEnd(uint32_t end)
    {
        m_end = end;
    }

    uint32_t GetEnd() const
    {
        return m_end;
    }

    int64_t GetReceiveLatencyPs() const
    {
        return m_receiveLatency;
    }

    RdmaPortCounters GetCounters() const
    {
        RdmaPortCounters counters = m_counters;
        counters.rxFrames = m_rxFrames;
        counters.rxWireBytes = m_rxWireBytes;
        counters.txFrames = m_txFrames;
        counters.txWireBytes = m_txWireBytes;
        counters.txDataFrames = m_txDataFrames;
        counters.maxQueueBytes = std::max(m_maxQueueBefore, m_maxQueueBytes);
        return counters;
    }

    /// For whoever counts: but for what every frame counts, which the port does itself.
    RdmaPortCounters& Count()
    {
        return m_counters;
    }

    /// \return RdmaPortCounters::txWireBytes
    uint64_t GetTxWireBytes() const
    {
        return m_txWireBytes;
    }

    /// A packet that asks for PINT leaves. \return the code of the utilisation
    uint8_t GetPint(int64_t period, int64_t now);

    /// \return the same of one priority. \param now ps
    int64_t GetPausedPs(uint8_t priority, int64_t now) const
    {
        return !m_everPaused ? 0 // most never are: what else there is to look at is cold
                             : m_pausedPsOf[priority] +
                                   (m_paused >> priority & 1 ? now - m_pausedSinceOf[priority] : 0);
    }

    /// \return the next frame of a queue, linked to those behind it; or null
    const RdmaFrame* GetQueueFront(uint8_t priority) const
    {
        return m_queue[priority].list.Front();
    }

    /// \return time paused so far, a pause that still lasts included. \param now ps
    uint64_t GetPausedPs(int64_t now) const
    {
        return m_counters.pausedPs + (m_paused ? now - m_pausedSince : 0);
    }

    /// \return exact serialization time of a frame, ps
    int64_t GetSerialization(uint32_t wireBytes)
    {
        if (m_psPerByte)
        {
            return int64_t{m_psPerByte} * wireBytes;
        }
        // Sizes of data packets and ACKs are multiples of 4, or of 2: a slot for each all the same.
        SerializationCache& entry = m_serialization[(wireBytes ^ wireBytes >> 2) % 4];
        if (entry.wireBytes != wireBytes)
        {
            entry = {wireBytes, ComputeSerialization(wireBytes)};
        }
        return entry.ps;
    }

    // NetDevice ----------------------------------------------------------------------------------

    void SetIfIndex(const uint32_t index) override;
    uint32_t GetIfIndex() const override;
    Ptr<Channel> GetChannel() const override;
    void SetAddress(Address address) override;
    Address GetAddress() const override;
    bool SetMtu(const uint16_t mtu) override;
    uint16_t GetMtu() const override;
    bool IsLinkUp() const override;
    void AddLinkChangeCallback(Callback<void> callback) override;
    bool IsBroadcast() const override;
    Address GetBroadcast() const override;
    bool IsMulticast() const override;
    Address GetMulticast(Ipv4Address group) const override;
    Address GetMulticast(Ipv6Address group) const override;
    bool IsBridge() const override;
    bool IsPointToPoint() const override;
    /// Ordinary traffic. With RdmaPackets: to whoever in the fabric has the address. Else to the
    /// port at the other end of the link, whatever the address; queued with priority 0.
    bool Send(Ptr<Packet> packet, const Address& dest, uint16_t protocol) override;
    bool SendFrom(Ptr<Packet> packet,
                  const Address& source,
                  const Address& dest,
                  uint16_t protocol) override;
    Ptr<Node> GetNode() const override;
    void SetNode(Ptr<Node> node) override;
    bool NeedsArp() const override;
    void SetReceiveCallback(NetDevice::ReceiveCallback callback) override;
    void SetPromiscReceiveCallback(NetDevice::PromiscReceiveCallback callback) override;
    bool SupportsSendFrom() const override;
    /// A packet of the fabric is here: to those that SetReceiveCallback and
    /// SetPromiscReceiveCallback named.
    void PassUp(Ptr<Packet> packet,
                uint16_t protocol,
                Mac48Address source,
                Mac48Address destination,
                PacketType type);

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

  private:
    struct Queue
    {
        RdmaFrameList list;
        uint64_t bytes{0};
        uint32_t weight{8192};
        uint32_t deficit{0};
    };

    struct SerializationCache
    {
        uint32_t wireBytes{0};
        int64_t ps{0};
    };

    /// \return time of so many bits at a rate, ps
    static int64_t ToPs(uint64_t bits, uint64_t rateBps);
    void SetTransmitTimeUnit(Time unit);
    Time GetTransmitTimeUnit() const;
    int64_t ComputeSerialization(uint32_t wireBytes) const;

    void OnTransmitEvent();
    void OnReceiveEvent();
    void OnPauseEvent();

    /// An event for when the transmitter is idle. \pre none is pending
    void ScheduleTransmit();
    /// \pre the transmitter is idle
    void StartNext(int64_t now);

    /// A frame has been started: if more waits, an event for when the transmitter is idle.
    void GoOn()
    {
        if (!m_txPending && (m_hasControl || ((m_waiting | m_pull) & ~m_paused)))
        {
            ScheduleTransmit();
        }
    }

    RdmaFrame* Dequeue(uint8_t eligible, int64_t now);
    uint8_t PickDwrr(uint8_t eligible);
    void Transmit(RdmaFrame* frame, int64_t now);
    /// To a port of another unit.
    void Send(RdmaFrame* frame, int64_t now);
    /// Take a frame whose first bit arrives at `from` and its last one at `at`.
    void Arrive(RdmaFrame* frame, int64_t from, int64_t at);
    /// The same, but for when it is delivered, which the frame says.
    void ArriveAsTold(RdmaFrame* frame);
    static bool IsControl(const RdmaFrame* frame);
    /// \return when a frame is delivered
    int64_t DeliveryTime(const RdmaFrame* frame, int64_t from, int64_t at) const;
    void ExpectFrames();
    /// The first frame of m_inFlight will be here.
    void ScheduleReceive();
    uint32_t ControlContext() const;
    bool IsCorrupted(const RdmaFrame* frame);
    /// \return whether the frame had bit errors or was lost with its link, and is gone
    bool DropCorrupted(RdmaFrame* frame, int64_t now);
    void GoDown(int64_t now);
    void ComeUp(int64_t now);
    /// What is on the wire towards this port is lost.
    void LoseWire(int64_t now);
    void LoseFrameOnWire(RdmaFrame& frame, int64_t now);
    /// Sent into a cut cable.
    void LoseSent(RdmaFrame* frame, int64_t now);
    /// \return whether a frame is dropped without a word, and is gone
    bool DropSilently(RdmaFrame* frame, int64_t now);
    void TellCreditsAnew(int64_t now);

    void UpdateSuspicion()
    {
        m_suspicious = m_errorProne || m_lost || m_silentDrops > 0;
    }

    void Deliver(RdmaFrame* frame, int64_t now);
    void OnPause(RdmaFrame* frame, int64_t now);
    void SetPaused(uint8_t mask, int64_t now);

    // credits
    uint8_t WithCredits(uint8_t lanes, int64_t now);
    RdmaFrame* NextWithCredits(int64_t now);
    void CountArrival(RdmaFrame* frame);
    void CountIfNotYet(RdmaFrame* frame);
    void CountAheadOf(const RdmaFrame& control);
    void QueueCreditUpdate(uint8_t lane, int64_t now);
    void FillCreditUpdate(RdmaFrame* frame, int64_t now);
    void OnCreditUpdate(const RdmaFrame& frame, int64_t now);
    void OnCreditEvent();
    void OnCreditTimer();
    void StartCreditTimer(int64_t now);

    /// A trace source that says in a byte whether anybody listens: its callbacks are a cache line
    /// that no frame needs otherwise.
    template <class... Arguments>
    class Trace
    {
      public:
        explicit Trace(bool& listened)
            : m_listened(listened)
        {
        }

        void ConnectWithoutContext(const CallbackBase& callback)
        {
            m_callbacks.ConnectWithoutContext(callback);
            Update();
        }

        void Connect(const CallbackBase& callback, std::string path)
        {
            m_callbacks.Connect(callback, std::move(path));
            Update();
        }

        void DisconnectWithoutContext(const CallbackBase& callback)
        {
            m_callbacks.DisconnectWithoutContext(callback);
            Update();
        }

        void Disconnect(const CallbackBase& callback, std::string path)
        {
            m_callbacks.Disconnect(callback, std::move(path));
            Update();
        }

        void operator()(Arguments... arguments) const
        {
            m_callbacks(arguments...);
        }

      private:
        void Update()
        {
            m_listened = !m_callbacks.IsEmpty();
        }

        bool& m_listened;
        TracedCallback<Arguments...> m_callbacks;
    };

    // What a frame touches, one cache line for each thing that happens to it: with thousands of
    // ports every line is a miss, so the order of the members is worth a third of the speed there.

    // line 1: arriving here
    alignas(64) uint64_t m_rxFrames{0}; //!< as RdmaPortCounters has it, and so the next ones
    uint64_t m_rxWireBytes{0};
    uint64_t m_txDataFrames{0};  //!< (leaving has no room)
    uint64_t m_maxQueueBytes{0}; //!< since TakeQueuePeak
    RdmaPortUser* m_user{nullptr};
    NodeWindows::Unit* m_unit{nullptr}; //!< whose table of arrivals has a slot for this port
    uint32_t m_context{0};              //!< of arrivals: RdmaEventOrder
    uint16_t m_slot{0};
    uint16_t m_index{0};
    bool m_rxPending{false};
    bool m_rxInTable{false};    //!< of m_unit, not as an event
    bool m_rxTraced{false};     //!< somebody listens to m_rxTrace
    bool m_errorProne : 1;      //!< the link has a bit error rate, or may be cut
    bool m_remote : 1;          //!< a ghost: what arrives here goes to another process
    bool m_cutThrough : 1;      //!< what arrives here is delivered by its first bit
    bool m_hasCredits : 1;      //!< m_credits is not null
    bool m_suspicious : 1;      //!< what arrives may be corrupted, or lost with its link
    uint32_t m_end{UINT32_MAX}; //!< SetEnd

    // line 2: leaving
    alignas(64) int64_t m_busyUntil{0};
    uint64_t m_queuedBytes{0};
    uint64_t m_txFrames{0};                 //!< as RdmaPortCounters has it
    uint64_t m_txWireBytes{0};              //!< the same
    int64_t m_reach{0};                     //!< m_delay, and the peer's m_receiveLatency
    NodeWindows::Unit* m_peerUnit{nullptr}; //!< null: what is sent arrives directly
    uint32_t m_psPerByte{0};                //!< 0: not a whole number, or too many
    uint16_t m_peerSlot{0};                 //!< the peer's in the table of m_peerUnit
    uint8_t m_waiting{0};                   //!< bit p: queue p is not empty
    uint8_t m_pull{0};                      //!< bit p: the user could make a frame of priority p
    uint8_t m_paused{0};                    //!< bit p: PFC holds priority p
    bool m_txPending{false};                //!< and of a port whose link is down
    bool m_down : 1;
    bool m_cut : 1;             //!< what is sent is lost
    bool m_hasControl : 1;      //!< m_control is not empty
    bool m_peerCutsThrough : 1; //!< the peer's m_cutThrough
    bool m_everPaused : 1;      //!< PFC has held some priority, or credits have
    bool m_txTraced{false};     //!< somebody listens to m_txTrace
    bool m_queueTraced{false};  //!< the same of m_queueTrace
    uint8_t m_lineOverhead{RdmaFrame::WIRE_ONLY_BYTES};
    uint8_t m_peerShard{0}; //!< where m_peerUnit runs
    uint8_t m_strict{0xc0}; //!< bit p: priority p is strict

    // two queues a line
    alignas(64) std::array<Queue, PRIORITIES> m_queue;
    std::array<SerializationCache, 4> m_serialization;

    /// Fails to compile if what a frame touches takes more lines than it should.
    static void CheckLines();

    // cold
    rdma::PintLink m_pint;
    RdmaPortCounters m_counters;  //!< but for those above
    uint64_t m_maxQueueBefore{0}; //!< of what waited until TakeQueuePeak
    RdmaFrameList m_inFlight;     //!< towards this port, by arrival: but for NodeWindowUnit::bins
    RdmaPort* m_peer{nullptr};
    uint8_t m_dwrrNext{0};
    int64_t m_delay{0};
    int64_t m_receiveLatency{0};
    RdmaFrameList m_control; //!< MAC control frames that wait for the transmitter
    Trace<const RdmaPort*, const RdmaFrame*, int64_t> m_rxTrace{m_rxTraced};
    Trace<const RdmaPort*, const RdmaFrame*, int64_t> m_txTrace{m_txTraced};
    Trace<const RdmaPort*, uint8_t, uint64_t, int64_t> m_queueTrace{m_queueTraced};
    RdmaTimer<RdmaPort, &RdmaPort::OnTransmitEvent> m_txEvent; //!< without m_unit
    RdmaTimer<RdmaPort, &RdmaPort::OnReceiveEvent> m_rxEvent;
    std::array<int64_t, PRIORITIES> m_pausedUntil{};
    int64_t m_pausedSince{0};
    std::array<int64_t, PRIORITIES> m_pausedPsOf{};    //!< ended pauses, ps
    std::array<int64_t, PRIORITIES> m_pausedSinceOf{}; //!< of those that last
    RdmaFrameList m_controlInFlight; //!< MAC control frames towards this port: not delayed by a
                                     //!< switch's pipeline
    bool m_txScheduled{
        false};               //!< of a port whose link is down: its transmit event is still to come
    uint8_t m_ignored{0};     //!< bit p: pauses of priority p have no effect
    uint32_t m_lost{0};       //!< frames of m_inFlight that were lost with their link
    uint32_t m_pauseResponse; //!< 512 bit times
    uint32_t m_interfaceDelay; //!< bit times
    double m_bitErrorRate{0};
    double m_bitsToError{0};
    Ptr<ExponentialRandomVariable> m_errors;
    double m_silentDrops{0};                    //!< probability
    Ptr<UniformRandomVariable> m_dropsAtRandom; //!< null: not MayFail
    uint64_t m_rate{100000000000};
    std::vector<PastRate> m_pastRates;
    int64_t m_timeUnit{1}; //!< ps
    RdmaTimer<RdmaPort, &RdmaPort::OnPauseEvent> m_pauseEvent;
    std::unique_ptr<IbLinkCredits> m_credits;
    std::unique_ptr<RdmaTimer<RdmaPort, &RdmaPort::OnCreditEvent>> m_creditEvent;
    std::unique_ptr<RdmaTimer<RdmaPort, &RdmaPort::OnCreditTimer>> m_creditTimer;

    std::string m_name;
    Ptr<RdmaChannel> m_channel;
    Ptr<Node> m_nodeObject;
    uint32_t m_ifIndex{0};
    uint16_t m_mtu{4096};
    Mac48Address m_address;
    NetDevice::ReceiveCallback m_receive;
    NetDevice::PromiscReceiveCallback m_promiscReceive;
    RdmaPackets* m_packets{nullptr}; //!< null: ordinary packets cross one link

    TracedCallback<const RdmaPort*, const RdmaFrame*, int64_t> m_corruptTrace;
    TracedCallback<const RdmaPort*, const RdmaFrame*, int64_t> m_linkDownTrace;
    TracedCallback<const RdmaPort*, const RdmaFrame*, int64_t> m_cutSentTrace;
    TracedCallback<const RdmaPort*, const RdmaFrame*, int64_t> m_silentDropTrace;
    TracedCallback<> m_linkChange;
    TracedCallback<const RdmaPort*, uint8_t, uint8_t, int64_t> m_pauseTrace;

    RdmaGateway* m_gateway{nullptr}; //!< of a ghost
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
