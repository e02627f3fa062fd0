/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_PORT_STATE_H
#define RDMA_PORT_STATE_H

#include "contrib/rdma/core/ib/ib-sizes.h"
#include "contrib/rdma/core/pint.h"
#include "ib-port-credits.h"
#include "rdma-cell-credits.h"
#include "rdma-frame.h"
#include "rdma-link-retry.h"
#include "rdma-net-device.h"
#include "rdma-pause-times.h"
#include "rdma-port-counters.h"
#include "rdma-port-disc.h"
#include "rdma-port-faults.h"
#include "rdma-port-user.h"
#include "rdma-rate-history.h"

#include "ns3/nstime.h"
#include "ns3/prefetch-line.h"
#include "ns3/rdma-event-order.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * The state of a port, and how others look at it. RdmaPort says what happens to it.
 *
 * What a frame touches is one cache line for each thing that happens to the frame. With thousands
 * of ports every line is a miss, so the order of the members is worth a third of the speed there.
 */
class RdmaPortState : public RdmaNetDevice
{
  public:
    static constexpr uint32_t PRIORITIES = RdmaPauseTimes::PRIORITIES;

    RdmaPortState();

    // What it is ---------------------------------------------------------------------------------

    uint16_t GetPortIndex() const
    {
        return m_index;
    }

    const std::string& GetName() const
    {
        return m_name;
    }

    /// \return whether it has a link: attributes that are read then are refused from then on
    bool IsRunning() const
    {
        return m_peer != nullptr;
    }

    RdmaPort* GetPeer() const
    {
        return m_peer;
    }

    RdmaPortUser* GetUser() const
    {
        return m_user;
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

    /// \return whether another process has this port, and this is its ghost
    bool IsRemote() const
    {
        return m_remote;
    }

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

    // Times and sizes ----------------------------------------------------------------------------

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
    double GetMeanRate(int64_t from, int64_t until) const
    {
        return m_rates.GetMean(from, until, m_rate);
    }

    /// \return those before GetRate, at times when the simulation ran
    const std::vector<RdmaRateHistory::PastRate>& GetPastRates() const
    {
        return m_rates.Get();
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

    /// \return what a frame takes of a credit buffer (64 B each): all between the delimiters, its
    /// VCRC too (core/ib-sizes.h)
    uint32_t GetBlocks(const RdmaFrame* frame) const
    {
        return rdma::IbBlocks(GetFrameBytes(frame));
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

    /// \return serialization times are cut to multiples of this, ps; 1: they are rounded
    int64_t GetTransmitTimeUnitPs() const
    {
        return m_timeUnit;
    }

    int64_t GetDelayPs() const
    {
        return m_delay;
    }

    int64_t GetReceiveLatencyPs() const
    {
        return m_retry ? m_retry->GetLatency() : m_receiveLatency;
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

    /// \return attribute Alpha of a lossless priority, AlphaLossy of another one; 0: its switch's
    double GetAlpha(bool lossless) const
    {
        return lossless ? m_alpha : m_alphaLossy;
    }

    /// \return attribute StaticXoff, bytes; 0: its switch's
    uint64_t GetStaticXoff() const
    {
        return m_staticXoff;
    }

    // How it is ----------------------------------------------------------------------------------

    bool IsDown() const
    {
        return m_down;
    }

    bool IsCut() const
    {
        return m_cut;
    }

    double GetBitErrorRate() const
    {
        return m_faults.GetBitErrorRate();
    }

    /// \return null: this end has PFC, not credits
    const IbLinkCredits* GetCredits() const
    {
        if (m_credits)
        {
            m_credits->Hear();
        }
        return m_credits.get();
    }

    /// \return null: the link has PFC, or InfiniBand's credits
    const RdmaCellCredits* GetCells() const
    {
        return m_cells.get();
    }

    enum FlowControl : uint8_t
    {
        PFC,
        CBFC //!< RdmaCellCredits
    };

    /// \return the attribute FlowControl: one end that has CBFC is enough for a link
    FlowControl GetFlowControl() const
    {
        return m_flowControl;
    }

    /// \return the attribute CreditBuffer, bytes
    uint64_t GetCreditBuffer() const
    {
        return m_creditBuffer;
    }

    /// \return priorities that have a buffer of their own here; 0: there are no cell credits
    uint8_t GetCreditMask() const
    {
        return m_creditMask;
    }

    /// \return bytes of each of these buffers
    uint64_t GetCreditBytes() const
    {
        return m_creditBytes;
    }

    /// \return null: the link has no link-level retry
    const RdmaLinkRetry* GetRetry() const
    {
        return m_retry.get();
    }

    /// \return the attribute LinkRetry: one end is enough for a link to have it
    bool WantsRetry() const
    {
        return m_wantsRetry;
    }

    int64_t GetBusyUntil() const
    {
        return m_busyUntil;
    }

    /// \return null: the port serves its priorities itself
    const RdmaQueueDisc* GetQueueDisc() const;

    /// \return the attribute QueueDisc
    const std::string& GetQueueDiscName() const
    {
        return m_discName;
    }

    /// \return the attribute Shaper
    const std::string& GetShaper() const
    {
        return m_shaper;
    }

    /// Calls `visit` of each frame that waits with a priority, whoever has it.
    void ForEachQueued(uint8_t priority, const RdmaQueueDisc::Visitor& visit) const;

    /// \return whether a frame of this priority could start to be sent now, if it came
    bool MayStart(uint8_t priority, int64_t now) const
    {
        return now >= m_busyUntil && !m_txPending && !m_waiting && !m_hasControl &&
               !(m_paused >> priority & 1) && !m_ownOrder;
    }

    /// \return whether a frame that joined a queue now would be sent at once
    bool IsIdle(uint8_t priority, int64_t now) const
    {
        return now >= m_busyUntil && !m_txPending && !m_waiting && !m_hasControl &&
               !(m_paused >> priority & 1) && !m_ownOrder && !m_queueTraced;
    }

    uint8_t GetPausedMask() const
    {
        return m_paused;
    }

    /// \return when the pause of a priority that was heard last ends or ended, ps
    int64_t GetPauseEnd(uint8_t priority) const
    {
        return m_pauses.until[priority];
    }

    /// \return time that a priority was paused so far, a pause that still lasts included. \param
    /// now ps
    int64_t GetPausedPs(uint8_t priority, int64_t now) const
    {
        return !m_everPaused ? 0 // most never are: what else there is to look at is cold
                             : m_pauses.GetSum(priority, m_paused, now);
    }

    /// \return the same of any priority
    uint64_t GetPausedPs(int64_t now) const
    {
        return m_counters.pausedPs + (m_paused && now > m_pauses.since ? now - m_pauses.since : 0);
    }

    /// \return the next frame of a queue, linked to those behind it; null: it is empty, or a
    /// discipline has its frames (ForEachQueued)
    const RdmaFrame* GetQueueFront(uint8_t priority) const
    {
        return m_queue[priority].list.Front();
    }

    /// \return the frame that joined a queue last; null: as GetQueueFront
    const RdmaFrame* GetQueueBack(uint8_t priority) const
    {
        const RdmaFrameList& list = m_queue[priority].list;
        return list.IsEmpty() ? nullptr : list.Back();
    }

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

    RdmaPortCounters GetCounters() const
    {
        if (m_credits)
        {
            m_credits->Hear();
        }
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

    // What will be needed soon -------------------------------------------------------------------

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

  protected:
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
    int64_t ComputeSerialization(uint32_t wireBytes) const;

    // line 1: arriving here
    alignas(64) uint64_t m_rxFrames{0}; //!< as RdmaPortCounters has it, and so the next ones
    uint64_t m_rxWireBytes{0};
    uint64_t m_txDataFrames{0};  //!< (leaving has no room)
    uint64_t m_maxQueueBytes{0}; //!< since TakeQueuePeak
    RdmaPortUser* m_user{nullptr};
    NodeWindows::Unit* m_unit{nullptr}; //!< whose table of arrivals has a slot for this port
    uint32_t m_context{0};              //!< context of arrivals: RdmaEventOrder
    uint16_t m_slot{0};
    uint16_t m_index{0};
    bool m_rxPending{false};
    bool m_rxInTable{false};    //!< expected in the table of m_unit, not by an event
    bool m_rxTraced{false};     //!< somebody listens to m_rxTrace
    bool m_errorProne : 1;      //!< the link has a bit error rate, or may be cut
    bool m_remote : 1;          //!< a ghost: what arrives here goes to another process
    bool m_cutThrough : 1;      //!< what arrives here is delivered by its first bit
    bool m_hasCredits : 1;      //!< m_credits is not null
    bool m_suspicious : 1;      //!< what arrives may be corrupted, or lost with its link
    bool m_expectsBad : 1;      //!< what arrives may have been passed on with bit errors
    uint32_t m_end{UINT32_MAX}; //!< SetEnd

    // line 2: leaving
    alignas(64) int64_t m_busyUntil{0};
    uint64_t m_queuedBytes{0};
    uint64_t m_txFrames{0};                 //!< as RdmaPortCounters has it
    uint64_t m_txWireBytes{0};              //!< as RdmaPortCounters has it
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
    bool m_countsAhead : 1;     //!< with credits, frames count by their place on the wire
    bool m_sendsWithCare : 1;   //!< m_cut, or there is m_retry or m_cells
    bool m_hasControl : 1;      //!< m_control is not empty
    bool m_peerCutsThrough : 1; //!< the peer's m_cutThrough
    bool m_everPaused : 1;      //!< PFC has held some priority, or credits have
    bool m_ownOrder : 1;        //!< m_credits, m_disc or m_retry say what is sent next
    bool m_txTraced{false};     //!< somebody listens to m_txTrace
    bool m_queueTraced{false};  //!< somebody listens to m_queueTrace, or m_disc has the frames
    uint8_t m_lineOverhead{RdmaFrame::WIRE_ONLY_BYTES};
    uint8_t m_peerShard{0}; //!< where m_peerUnit runs
    uint8_t m_strict{0xc0}; //!< bit p: priority p is strict

    // two queues a line
    alignas(64) std::array<Queue, PRIORITIES> m_queue;
    std::array<SerializationCache, 4> m_serialization;

    // cold
    rdma::PintLink m_pint;
    RdmaPortCounters m_counters;  //!< but for those above
    uint64_t m_maxQueueBefore{0}; //!< largest sum that waited, until TakeQueuePeak
    RdmaFrameList m_inFlight;     //!< towards this port, by arrival: but for NodeWindowUnit::bins
    RdmaPort* m_peer{nullptr};
    uint8_t m_dwrrNext{0};
    /// A link that is down: its transmit event is still to come.
    bool m_txScheduled{false};
    int64_t m_delay{0};
    int64_t m_receiveLatency{0};
    // with credits, in one line
    alignas(64) std::unique_ptr<IbPortCredits> m_credits; //!< null: none
    RdmaFrameList m_control; //!< MAC control frames that wait for the transmitter
    /// MAC control frames towards this port: a switch's pipeline does not delay them.
    RdmaFrameList m_controlInFlight;
    RdmaPauseTimes m_pauses;
    uint32_t m_pauseResponse{0};  //!< 512 bit times
    uint32_t m_interfaceDelay{0}; //!< bit times
    double m_alpha{0};            //!< attributes Alpha, AlphaLossy, StaticXoff; 0: the switch's
    double m_alphaLossy{0};
    uint64_t m_staticXoff{0};
    RdmaPortFaults m_faults;
    uint64_t m_rate{100000000000};
    RdmaRateHistory m_rates;
    int64_t m_timeUnit{1};                //!< ps
    double m_clockTolerance{0};           //!< ppm
    double m_clock{1};                    //!< serialization times are as many times those of m_rate
    std::unique_ptr<RdmaPortDisc> m_disc; //!< null: neither discipline nor shapers
    std::unique_ptr<RdmaLinkRetry> m_retry;   //!< null: none
    std::unique_ptr<RdmaCellCredits> m_cells; //!< null: none
    uint8_t m_creditMask{0};
    uint64_t m_creditBytes{0};
    FlowControl m_flowControl{PFC};
    uint64_t m_creditBuffer{0};       //!< attribute CreditBuffer, bytes; 0: by the link
    uint32_t m_creditSpacing{6400};   //!< attribute CreditUpdateSpacing, bytes
    bool m_wantsRetry{false};         //!< attribute LinkRetry
    uint32_t m_replayLimit{255};      //!< attribute ReplayLimit
    uint32_t m_replayBuffer{1048576}; //!< attribute ReplayBuffer, bytes
    uint32_t m_ackSpacing{2048};      //!< attribute RetryAckSpacing, bytes
    Time m_replayTimer;               //!< attribute ReplayTimer; 0: by the link
    std::string m_discName;           //!< attribute QueueDisc
    std::string m_shaper;             //!< attribute Shaper
    std::string m_name;

  private:
    /// Fails to compile if what a frame touches takes more lines than it should.
    static void CheckLines();
};

} // namespace ns3

#endif /* RDMA_PORT_STATE_H */
