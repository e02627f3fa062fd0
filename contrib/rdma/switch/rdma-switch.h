/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RDMA_SWITCH_H
#define RDMA_SWITCH_H

#include "contrib/rdma/core/arrival-lottery.h"
#include "contrib/rdma/core/ecn-law.h"
#include "contrib/rdma/core/flow-hash.h"
#include "contrib/rdma/core/shared-buffer.h"
#include "pfc-watchdog.h"
#include "rdma-credit-returns.h"
#include "rdma-cut-through.h"
#include "rdma-switch-base.h"

#include "ns3/data-rate.h"
#include "ns3/rdma-buffer-policy.h"
#include "ns3/rdma-marker.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace ns3
{

/**
 * \ingroup rdma
 * An output-queued Ethernet switch with a shared buffer, PFC and ECN, or one that trims. It stores
 * and forwards, or cuts through (CutThrough: RdmaCutThrough).
 *
 * A frame comes in whole, spends the pipeline latency, is admitted to the shared buffer (or
 * dropped, for one of the reasons in DropReason), queued at its egress port, and leaves.
 * Conservation, asserted in tests, per switch: frames received = forwarded + dropped (by reason) +
 * queued; bytes in the buffer = bytes in the egress queues.
 *
 * Sizes that depend on speed are given for a port of 100 Gb/s and scaled with each port's rate
 * (FIELD: no thresholds to be listed by hand for every link speed).
 *
 * Trimming (attribute TrimPackets), as NDP's switches do it: where the queue of an egress port has
 * no room for a packet that may be trimmed (RdmaFrame::TRIMMABLE), either that packet or the last
 * one of the queue, each with probability 1/2, loses its payload and joins the queue of headers,
 * TrimPriority. That one gets ten headers' bytes a full packet's, by deficit round robin. A header
 * for which there is no room is returned to its sender (TrimReturn), once; what else finds none
 * there is dropped: HEADER_QUEUE_FULL. There is no standard wire form of a trimmed RoCEv2 packet:
 * ours is the packet's headers with lengths and checksums of their own and TrimDscp; a returned one
 * has addresses exchanged and a BTH opcode of its own (rdma::RoceOpcode::kReturned). Source:
 * rdma-switch-trimming.cc.
 */
class RdmaSwitch : public RdmaSwitchBase
{
  public:
    static TypeId GetTypeId();

    RdmaSwitch();
    ~RdmaSwitch() override;

    /// \return what is wrong with the attributes of ECN taken together, as Start() does; or nothing
    std::string CheckEcn() const;

    /// \return whether it has started: of its attributes, ECN's act at once from then on, and those
    /// that are read at the start are refused
    bool IsRunning() const
    {
        return !m_ecnLaws.empty();
    }

    /// Marks by the attributes of ECN from now on; it aborts if CheckEcn() says why not.
    void ApplyEcn();

    /// Most that EcnKmin and EcnKmax take, per 100 Gb/s (bytes).
    static constexpr uint64_t MAX_THRESHOLD = 1000000000000;

    /// Sizes the buffer and thresholds from the attributes and the ports.
    std::string Start(uint32_t largestFrameBytes) override;
    void RestartDraws() override;

    int64_t GetLatencyPs() const override
    {
        return m_pipelineLatency.GetPicoSeconds();
    }

    const rdma::SharedBuffer& GetBuffer() const
    {
        return m_buffer;
    }

    uint64_t GetSharedBufferPeak() const override
    {
        return m_buffer.StoredPeak();
    }

    std::string GetShaper() const override
    {
        return m_shaper;
    }

    bool Trims() const override
    {
        return m_trimBytes > 0;
    }

    uint64_t GetTrimmed() const override
    {
        return m_trimmed;
    }

    uint64_t GetTrimmedBytes() const override
    {
        return m_trimmedBytes;
    }

    uint64_t GetReturned() const override
    {
        return m_returned;
    }

    /// \return pause storms found by the PFC watchdog
    uint64_t GetPfcStorms() const
    {
        return m_watchdog ? m_watchdog->GetStorms() : 0;
    }

    bool IsCutThrough() const override
    {
        return m_cutThrough;
    }

    uint32_t GetCutThroughBytes(uint32_t lineOverhead) const override
    {
        return RdmaCutThrough::GetHeaderBytes(lineOverhead);
    }

    // For RdmaCutThrough:

    /// The headers of a frame are here. \return the port that it is to leave by; NO_PORT: none of
    /// its own
    uint16_t Find(const RdmaPort& port, RdmaFrame& frame, int64_t now);
    /// It goes on. \param way as Find said
    void Pass(uint16_t way, RdmaPort* port, RdmaFrame* frame, int64_t now);

    /// It had bit errors: it has not been received.
    void Forget()
    {
        UncountReceived();
    }

    bool Store(RdmaFrame* frame, uint16_t inPort, int64_t now) override;
    void Resume(RdmaFrame* frame, int64_t now) override;
    void PutBack(RdmaFrame* frame, uint16_t inPort, int64_t now) override;
    void SendAlong(uint16_t way, const RdmaPort& in, RdmaFrame* frame, int64_t now) override;

    // RdmaPortUser
    void OnFrame(RdmaPort* port, RdmaFrame* frame, int64_t now) override;
    void OnDequeue(RdmaPort* port, RdmaFrame* frame, uint64_t queueBytes, int64_t now) override;
    void OnLinkDown(RdmaPort* port, RdmaFrameList frames, int64_t now) override;
    uint8_t GetPausing(const RdmaPort* port) const override;
    void Prefetch(const NodeWindowBin& arrivals, uint32_t depth) const override;

    /// (ingress port that asks its peer, priority, pause or resume, bytes stored of it, ps)
    typedef void (*PfcTracedCallback)(const RdmaPort* port,
                                      uint8_t priority,
                                      bool pause,
                                      uint64_t stored,
                                      int64_t now);

    /// (egress port that had no room, what is left of the frame, ps)
    typedef void (*TrimTracedCallback)(const RdmaPort* port, const RdmaFrame* frame, int64_t now);

    /// (egress port, priority, a pause storm begins or ends, ps)
    typedef void (*StormTracedCallback)(const RdmaPort* port,
                                        uint8_t priority,
                                        bool begins,
                                        int64_t now);

  protected:
    void DoDispose() override;

  private:
    /// Of one queue.
    struct Lottery : rdma::ArrivalLottery<RdmaFrame>
    {
        Lottery(uint32_t ports, uint64_t seed)
            : ArrivalLottery(ports),
              draws(seed)
        {
        }

        uint64_t draws; //!< where its own draws stand, as m_draws
    };

    /// Which of the lossy frames that come to a full queue within a frame time are lost.
    enum Arrivals : uint8_t
    {
        LOTTERY, //!< rdma::ArrivalLottery
        FIXED,   //!< those that come last
    };

    /// Bytes of headers in a round in which a full packet leaves: ten of the least frames (the
    /// paper's 10:1; sim/compositeprioqueue.cpp: _ratio_high).
    static constexpr uint32_t TRIM_WEIGHT = 10 * rdma::kMinimumFrameBytes;

    static bool IsTrimmable(const RdmaFrame& frame)
    {
        return (frame.flags & RdmaFrame::TRIMMABLE) && frame.payload && IsRequest(frame.opcode);
    }

    /// A frame goes on to where it is addressed to. \param port where it came in
    void Forward(RdmaPort* port, RdmaFrame* frame, int64_t now);
    /// The buffer takes a frame, or it is dropped. \return whether it does
    bool Admit(uint16_t index, RdmaPort* port, RdmaPort* egress, RdmaFrame* frame, int64_t now);
    /// A frame that the buffer has taken joins the queue of a port.
    void Join(uint16_t index, RdmaPort* egress, RdmaFrame* frame, int64_t now);
    /// The same by this port.
    void ForwardBy(uint16_t index, RdmaPort* port, RdmaFrame* frame, int64_t now);
    /// A frame has no room: queued ones leave for it, if the egress's discipline says so.
    /// \return whether it is admitted now; else it is dropped
    [[gnu::noinline]] bool AdmitAfterAll(RdmaPort* port,
                                         RdmaPort* egress,
                                         RdmaFrame* frame,
                                         DropReason reason,
                                         int64_t now);
    /// It has no way of its own.
    void ForwardToAll(RdmaPort* port, RdmaFrame* frame, uint16_t set, int64_t now);
    std::string StartTrimming(uint32_t largestFrameBytes);
    /// Cuts its payload off. \param egress that has no room for it
    void Trim(RdmaPort* egress, RdmaFrame* frame, int64_t now);
    /// \param port where it came in; of what is returned \return the frame that is to join the
    /// egress queue of its priority: this one, or what has been trimmed in its place; null: none
    RdmaFrame* MakeRoom(RdmaPort*& port, RdmaPort* egress, RdmaFrame* frame, int64_t now);

    /// Thresholds of a priority per 100 Gb/s, as EcnOfPriority gives them.
    struct PriorityCurve
    {
        bool given{false};
        bool off{false};
        uint64_t kmin{0};
        uint64_t kmax{0};
        double pmax{0};
    };

    using PriorityCurves = std::array<PriorityCurve, RdmaPort::PRIORITIES>;

    /// Reads EcnOfPriority. \return what is wrong, or nothing
    std::string ReadCurves(PriorityCurves& curves) const;
    /// Alphas, or the latency, of a running switch have changed.
    void ApplyAlphas();
    void ApplyLatency();
    /// What the attributes say of ECN, for a port of this rate.
    rdma::EcnLaw MakeEcnLaw(rdma::BitRate rate, const PriorityCurve& curve) const;

    /// What telemetry needs of a priority of a port.
    struct ToldQueue
    {
        uint64_t sent{0};     //!< bytes of frames with telemetry, as the line counts them
        int64_t since{0};     //!< begin of a window, ps
        uint64_t sentThen{0}; //!< `sent` then
        uint64_t portThen{0}; //!< bytes that the port had sent then
        uint64_t others{0};   //!< rate of all else in the window before, bit/s
        uint8_t active{0};    //!< bit p: priority p had frames in the window
        uint8_t before{0};    //!< the same of the window before
    };

    /// Telemetry of a frame that leaves is of its queue, not of its port (TelemetryOfQueue).
    void TellOfQueue(const RdmaPort& port, RdmaFrame& frame, int64_t now);

    /// One for each port, if there is a Marker. \return what is wrong, or nothing
    std::string MakeMarkers();
    std::string StartMarkers();
    /// \return what is wrong with BufferPolicy, or nothing
    std::string MakePolicy();
    /// \return whether some link has credits instead of PFC
    bool HasCells() const;
    /// \return null: the buffer's own thresholds do
    rdma::QueueLimit* MakeLimit();

    /// \param length bytes in the queue, or ps in it
    bool Marks(uint32_t port, const RdmaFrame& frame, uint64_t length)
    {
        const rdma::EcnLaw& law =
            m_priorityLaws.empty() ? m_ecnLaws[port]
                                   : m_priorityLaws[port * RdmaPort::PRIORITIES + frame.priority];
        return law.Marks(length, [this, port] { return Draw(port); });
    }

    /// A frame joins a queue that is looked at then: marks it, maybe.
    void MarkJoining(RdmaPort* port, RdmaFrame* frame, uint64_t queueBytes, int64_t now);
    /// A frame leaves a queue that may be long enough: marks it, maybe. \param length what its law
    /// goes by
    void MarkLeaving(RdmaPort* port,
                     RdmaFrame* frame,
                     uint64_t queueBytes,
                     uint64_t length,
                     int64_t now);

    /// Uniform in [0, 1). Each port draws for itself: what passes at others does not change what
    /// happens to the frames of this one. A counter in steps of 2^64 over the golden ratio, mixed.
    double Draw(uint32_t port)
    {
        return Draw(m_draws[port]);
    }

    static double Draw(uint64_t& draws)
    {
        draws += 0x9e3779b97f4a7c15ULL;
        return static_cast<double>(rdma::Mix64(draws) >> 11) * 0x1p-53;
    }

    /// \return that of a queue; null: it has lost nothing so far
    Lottery* FindLottery(uint16_t port, uint8_t priority) const
    {
        return m_lotteries.empty() ? nullptr
                                   : m_lotteries[port * RdmaPort::PRIORITIES + priority].get();
    }

    /// A lossy frame has found no room. \param port where it came in \return whether it joins the
    /// queue nevertheless, in place of another one; else it is gone
    bool ReplaceQueued(RdmaPort* port,
                       RdmaPort* egress,
                       RdmaFrame* frame,
                       DropReason reason,
                       int64_t now);

    /// \return what the buffer counts of a frame. Not the port's own, which would be one more cache
    /// line.
    uint32_t FrameBytes(const RdmaFrame* frame) const
    {
        return frame->wireBytes - m_lineOverhead;
    }

    /// What the attributes say of the buffer, sizes of ports aside. \return an error, or nothing
    std::string ConfigureBuffer(rdma::SharedBufferConfig& config) const;
    void Pause(RdmaPort* port, uint8_t priority, bool pause, int64_t now);
    /// A queued frame is given up.
    void DropQueued(RdmaPort* port, RdmaFrame* frame, DropReason reason, int64_t now);
    void ScheduleRefresh(int64_t now);
    void OnRefresh();

    // hot
    std::vector<rdma::EcnLaw> m_ecnLaws; //!< law of each port, by bytes or by time
    /// Least Kmin of all laws, or what markers ask for: most frames need not ask their port's.
    uint64_t m_leastKmin{UINT64_MAX};
    std::vector<uint64_t> m_draws; //!< of each port: where its draws stand
    uint64_t m_drawSeed{0};        //!< where they began: see RestartDraws
    rdma::SharedBuffer m_buffer;
    uint64_t m_trimBytes{0}; //!< of a queue of TrimRate; 0: packets are not trimmed
    bool m_ecn;
    bool m_marksJoining{false}; //!< frames that join queues are looked at
    bool m_markOnEnqueue;
    bool m_looksAtJoins{false}; //!< m_marksJoining, or there are m_lotteries
    bool m_markBySojourn;
    uint32_t m_lineOverhead{0}; //!< line overhead of its ports
    uint32_t m_markWithout{0};  //!< mask: these bytes of a frame are not of the queue it leaves
    std::unique_ptr<RdmaPfcWatchdog> m_watchdog; //!< null: off

    std::vector<std::unique_ptr<Lottery>> m_lotteries; //!< by port and priority; empty: no losses
    std::vector<rdma::EcnLaw> m_priorityLaws;          //!< [port][priority]; empty: m_ecnLaws
    std::vector<Ptr<RdmaMarker>> m_markers;            //!< of each port; empty: marking is inline
    uint8_t m_unmarked{0};                //!< bit p: EcnOfPriority turns priority p off
    Ptr<RdmaBufferPolicy> m_bufferPolicy; //!< null: the buffer has it inline
    std::unique_ptr<rdma::StaticXoffLimit> m_xoffLimit;
    std::unique_ptr<RdmaCreditReturns> m_creditReturns; //!< null: no port has cell credits
    std::unique_ptr<RdmaCutThrough> m_passing;          //!< null: frames are stored

    // attributes
    Arrivals m_arrivals;
    Time m_pipelineLatency;
    int64_t m_startedLatency{0}; //!< ps, of what runs
    uint64_t m_bufferPer100G;
    uint64_t m_bufferBytes;
    std::string m_chip;
    std::string m_policy;
    bool m_pfc;
    uint8_t m_losslessMask;
    double m_alpha;
    double m_alphaLossy;
    std::string m_alphaOfPriority;
    std::string m_shaper;
    uint64_t m_guaranteedBytes;
    uint64_t m_xonOffset;
    uint64_t m_ecnKmin;
    uint64_t m_ecnKmax;
    double m_ecnPmax;
    std::string m_ecnOfPriority;
    bool m_telemetryOfQueue;
    /// By port and priority; empty: telemetry of ports is told.
    std::vector<ToldQueue> m_toldQueues;
    std::string m_marker;
    bool m_cutThrough;
    uint64_t m_staticXoff;
    bool m_markBehind;
    bool m_ecnPer100G;
    uint16_t m_pauseQuanta;
    Time m_watchdogDetection;
    Time m_watchdogRestoration;
    RdmaPfcWatchdog::Action m_watchdogAction;

    uint32_t m_trimPackets;
    uint64_t m_trimHeaderBytes;
    DataRate m_trimRate;

    /// Limits of an egress port: bytes of its queue from which on packets are trimmed, and bytes of
    /// its queue of headers.
    struct TrimLimit
    {
        uint64_t data;
        uint64_t headers;
    };

    std::vector<TrimLimit> m_trimLimits;
    uint8_t m_trimPriority;
    uint8_t m_trimDscp;
    bool m_trimReturn;
    uint64_t m_trimmed{0};
    uint64_t m_trimmedBytes{0};
    uint64_t m_returned{0};

    bool m_refreshPending{false};
    RdmaTimer<RdmaSwitch, &RdmaSwitch::OnRefresh> m_refreshEvent;
    uint32_t m_pausedUpstreams{0};

    TracedCallback<const RdmaPort*, uint8_t, bool, uint64_t, int64_t> m_pfcTrace;
    TracedCallback<const RdmaPort*, uint8_t, bool, int64_t> m_stormTrace;
    TracedCallback<const RdmaPort*, const RdmaFrame*, int64_t> m_trimTrace;
};

} // namespace ns3

#endif /* RDMA_SWITCH_H */
